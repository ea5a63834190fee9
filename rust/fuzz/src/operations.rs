//! Any sequence of operations on a collection in memory, against a plain map.
use std::collections::BTreeMap;
use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use retentive_core::engine::{BoundModel, Correction, Engine, Forget, NewMemory, Options, Reach};
use retentive_core::error::Error;
use retentive_core::model::{Judge, Kind, Outcome, Vector};
use retentive_core::store::Durability;

const NOW: i64 = 1_700_000_000_000_000;
const DAY: i64 = 86_400_000_000;

#[derive(Debug, Arbitrary)]
enum Operation {
    Remember { session: u8, kind: u8, text: String, key: Option<u8>, days: Option<u8>, turn: Option<u16> },
    Correct { memory: u8, text: String },
    Rate { memory: u8, good: bool },
    Delete { memories: [u8; 2] },
    Forget { session: u8, facts: bool },
    Expire { days: u8 },
    Replace { session: u8, texts: Vec<String> },
    Clear,
}

#[derive(Debug, Clone)]
struct Row {
    text: String,
    session: String,
    kind: Kind,
    key: Option<String>,
    expires: Option<i64>,
    turn: Option<i64>,
    live: bool,
}

struct Twin {
    engine: Engine,
    rows: BTreeMap<String, Row>,
    next_turn: BTreeMap<String, i64>,
    ids: u64,
}

fn go() -> bool {
    false
}

fn session(number: u8) -> String {
    format!("s{}", number % 3)
}

fn blank(text: &str) -> bool {
    text.trim().is_empty()
}

pub fn check(bytes: &[u8]) {
    let Ok(operations) = Vec::<Operation>::arbitrary(&mut Unstructured::new(bytes)) else { return };
    let mut twin = Twin::new();
    for operation in operations.iter().take(60) {
        twin.apply(operation);
        twin.compare(&operations);
    }
}

impl Twin {
    fn new() -> Self {
        let options = Options {
            path: None,
            name: "fuzz".to_owned(),
            language: "english".to_owned(),
            durability: Durability::Normal,
            cache_mb: 16,
            busy_timeout: Duration::from_secs(1),
            readonly: false,
            entropy: [7; 32],
        };
        let engine = Engine::open(options, &go).expect("an empty collection");
        let model = BoundModel { name: "made-up".to_owned(), dimension: 3, probe: None };
        engine.bind_models(&[model], &go).expect("a first model");
        Self { engine, rows: BTreeMap::new(), next_turn: BTreeMap::new(), ids: 0 }
    }

    fn new_id(&mut self) -> String {
        self.ids += 1;
        format!("mem_{:026}", self.ids)
    }

    fn known(&self, number: u8) -> Option<String> {
        self.rows.keys().nth(usize::from(number) % self.rows.len().max(1)).cloned()
    }

    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Remember { session: number, kind, text, key, days, turn } => {
                let kind = [Kind::Turn, Kind::Fact, Kind::Pinned][usize::from(*kind) % 3];
                let is_turn = kind == Kind::Turn;
                let row = Row {
                    text: text.clone(),
                    session: session(*number),
                    kind,
                    key: key.filter(|_| !is_turn).map(|key| format!("k{}", key % 2)),
                    expires: days.map(|days| NOW + DAY * (1 + i64::from(days))),
                    turn: turn.filter(|_| is_turn).map(i64::from),
                    live: true,
                };
                self.remember(row);
            }
            Operation::Correct { memory, text } => self.correct(*memory, text),
            Operation::Rate { memory, good } => {
                let Some(id) = self.known(*memory) else { return };
                let outcome = if *good { Outcome::Useful } else { Outcome::DeadEnd };
                assert_eq!(self.engine.feedback(&id, outcome, NOW, None, NOW, &go).expect("feedback"), None);
            }
            Operation::Delete { memories } => {
                let ids: Vec<String> = memories.iter().filter_map(|number| self.known(*number)).collect();
                let found = ids.iter().filter(|id| self.rows.remove(*id).is_some()).count();
                assert_eq!(self.engine.delete(&ids, &go).expect("delete"), found);
            }
            Operation::Forget { session: number, facts } => self.forget(&session(*number), *facts),
            Operation::Expire { days } => {
                let now = NOW + DAY * i64::from(*days);
                let gone = self.remove(|row| row.expires.is_some_and(|expires| expires <= now));
                assert_eq!(self.engine.expire(now, &go).expect("expire"), gone);
            }
            Operation::Replace { session: number, texts } => self.replace(&session(*number), texts),
            Operation::Clear => {
                let count = self.rows.len();
                self.rows.clear();
                assert_eq!(self.engine.clear(&go).expect("clear"), count);
            }
        }
    }

    fn remove(&mut self, gone: impl Fn(&Row) -> bool) -> usize {
        let before = self.rows.len();
        self.rows.retain(|_, row| !gone(row));
        before - self.rows.len()
    }

    fn forget(&mut self, session: &str, facts: bool) {
        let kinds = if facts { vec![Kind::Fact, Kind::Pinned] } else { vec![Kind::Turn] };
        let gone = self.remove(|row| row.session == session && kinds.contains(&row.kind));
        let reach = Reach { session: Some(session.to_owned()), ..Reach::default() };
        let request = Forget { reach, kinds, before: None, ids: None, superseded: false, now: NOW };
        assert_eq!(self.engine.forget(&request, &go).expect("forget"), gone);
    }

    fn memory(id: &str, row: &Row) -> NewMemory {
        NewMemory {
            id: id.to_owned(),
            text: row.text.clone(),
            kind: row.kind,
            user: None,
            session: Some(row.session.clone()),
            role: Some("user".to_owned()),
            name: None,
            key: row.key.clone(),
            turn: row.turn,
            ts: NOW - DAY,
            expires: row.expires,
            metadata: None,
            vectors: vec![Vector::first(vec![1.0, 0.5, -0.25])],
            model_epoch: None,
            judge: Judge::None,
            supersedes: Vec::new(),
            replace: false,
        }
    }

    fn number(&mut self, row: &mut Row) {
        if row.kind == Kind::Turn {
            let next = self.next_turn.entry(row.session.clone()).or_default();
            let number = row.turn.unwrap_or(*next);
            *next = (*next).max(number + 1);
            row.turn = Some(number);
        }
    }

    fn holder(&self, row: &Row) -> Option<String> {
        row.key.as_ref()?;
        let mut holders = self
            .rows
            .iter()
            .filter(|(_, other)| other.live && (&other.session, &other.key) == (&row.session, &row.key));
        holders.next().map(|(id, _)| id.clone())
    }

    fn remember(&mut self, mut row: Row) {
        if blank(&row.text) {
            return; // refused above the engine
        }
        let id = self.new_id();
        let stored = self.engine.remember(vec![Self::memory(&id, &row)], NOW, &go).expect("remember");
        let holder = self.holder(&row);
        if let Some(holder) = holder.as_ref().filter(|holder| self.rows[*holder].text == row.text) {
            assert_eq!(stored, [holder.clone()], "the same value changes nothing");
            return;
        }
        assert_eq!(stored, [id.clone()]);
        if let Some(holder) = holder {
            self.rows.get_mut(&holder).expect("known").live = false;
        }
        self.number(&mut row);
        self.rows.insert(id, row);
    }

    fn correct(&mut self, memory: u8, text: &str) {
        let Some(id) = self.known(memory).filter(|_| !blank(text)) else { return };
        let new = self.new_id();
        let correction = Correction {
            id: new.clone(),
            text: text.to_owned(),
            ts: NOW,
            vectors: vec![Vector::first(vec![0.5, 0.5, 0.5])],
            model_epoch: None,
            expires: Vec::new(),
        };
        let tip = self.engine.history(&id, &go).expect("history").pop().expect("itself");
        let answer = self.engine.feedback(&id, Outcome::Corrected, NOW, Some(correction), NOW, &go);
        let answer = answer.expect("a correction").expect("its id");
        let old = self.rows[&tip.id].clone();
        let kind = if old.kind == Kind::Turn { Kind::Fact } else { old.kind };
        let row = Row { text: text.to_owned(), kind, turn: None, expires: None, live: true, ..old };
        let holder = self.holder(&row);
        if answer != new {
            assert_eq!(Some(&answer), holder.as_ref());
            assert_eq!(self.rows[&answer].text, text);
            return;
        }
        for older in holder.iter().chain([&tip.id]) {
            self.rows.get_mut(older).expect("known").live = false;
        }
        self.rows.insert(new, row);
    }

    fn replace(&mut self, session: &str, texts: &[String]) {
        let mut new = Vec::new();
        for text in texts.iter().filter(|text| !blank(text)).take(5) {
            let row = Row {
                text: text.clone(),
                session: session.to_owned(),
                kind: Kind::Turn,
                key: None,
                expires: None,
                turn: None,
                live: true,
            };
            new.push((self.new_id(), row));
        }
        let memories = new.iter().map(|(id, row)| Self::memory(id, row)).collect();
        self.engine.replace_turns(None, session, memories, NOW, &go).expect("replace_turns");
        self.remove(|row| row.session == session && row.kind == Kind::Turn);
        for (id, mut row) in new {
            self.number(&mut row);
            self.rows.insert(id, row);
        }
    }

    fn compare(&self, operations: &[Operation]) {
        let ids: Vec<String> = self.rows.keys().cloned().collect();
        let found = self.engine.get(&ids, NOW, &go).expect("get");
        for ((id, row), memory) in self.rows.iter().zip(found) {
            let memory = memory.unwrap_or_else(|| panic!("{id} is lost: {operations:?}"));
            let got = (&memory.text, memory.kind, memory.turn, memory.superseded_by.is_none());
            assert_eq!(got, (&row.text, row.kind, row.turn, row.live), "{id}: {operations:?}");
        }
        let everybody = Reach { any_user: true, ..Reach::default() };
        assert_eq!(self.engine.count(&everybody, None, NOW, &go).expect("count"), self.rows.len(), "{operations:?}");
        for number in 0..3 {
            let session = session(number);
            let turns = self.engine.turns(&session, None, None, NOW, &go).expect("turns");
            let mut expected: Vec<&String> = self
                .rows
                .iter()
                .filter(|(_, row)| row.session == session && row.kind == Kind::Turn)
                .map(|(id, _)| id)
                .collect();
            let mut listed: Vec<&String> = turns.iter().map(|turn| &turn.id).collect();
            expected.sort();
            listed.sort();
            assert_eq!(listed, expected, "{operations:?}");
        }
        let missing = self.engine.history("mem_none", &go);
        assert!(matches!(missing, Err(Error::NotFound { .. })));
    }
}
