//! One hot path, called a number of times over a collection that is the same in every run: what `scripts/count_instructions.py`
//! counts under callgrind.
//!
//! `hot --path recall --rounds 20 --rows 500 --dir FOLDER`
use std::error::Error;
use std::path::PathBuf;

use retentive_benches::{Numbers, argument, open, recall_request};
use retentive_core::engine::{BoundModel, ContextRequest, Engine, Mode, NewMemory, RecallRequest, SearchRequest};
use retentive_core::model::{Judge, Kind, Vector};
use retentive_core::store::Durability;

const DIMENSION: usize = 256;
const MINUTE: i64 = 60_000_000;
const START: i64 = 1_735_689_600_000_000;
const SESSION: &str = "session";
/// Turns of a sitting; a day lies between two.
const SITTING: usize = 25;

struct Hot {
    engine: Engine,
    /// Another handle on the same file, as another process has.
    other: Option<Engine>,
    numbers: Numbers,
    rows: usize,
}

impl Hot {
    /// A dozen words, the lower the number the more common; every fifth text asks.
    fn text(&mut self, row: usize) -> String {
        let words: Vec<String> = (0..12).map(|_| format!("word{}", self.common())).collect();
        let end = if row.is_multiple_of(5) { "?" } else { "." };
        format!("{}{end}", words.join(" "))
    }

    fn common(&mut self) -> u64 {
        let (a, b) = (self.numbers.next_u64() % 1000, self.numbers.next_u64() % 1000);
        1 + a * b / 1000
    }

    fn turn(&mut self, row: usize) -> NewMemory {
        NewMemory {
            id: format!("mem_{row}"),
            text: self.text(row),
            kind: Kind::Turn,
            user: None,
            session: Some(SESSION.to_owned()),
            role: Some(if row.is_multiple_of(2) { "user" } else { "assistant" }.to_owned()),
            name: None,
            key: None,
            turn: None,
            ts: START + (row as i64 + (row / SITTING) as i64 * 1440) * MINUTE,
            expires: None,
            metadata: None,
            vectors: vec![Vector::first(self.numbers.vector(DIMENSION))],
            model_epoch: None,
            judge: Judge::None,
            supersedes: Vec::new(),
            replace: false,
        }
    }

    fn recall(&mut self) -> RecallRequest {
        let query = format!("What did we say about {}", self.text(0));
        recall_request(query, self.numbers.vector(DIMENSION), SESSION.to_owned(), self.now())
    }

    fn search(&mut self) -> SearchRequest {
        let recall = self.recall();
        SearchRequest {
            query: Some(recall.query),
            vectors: recall.vectors,
            model_epoch: None,
            reach: recall.reach,
            limit: recall.limit,
            token_budget: None,
            score_gap: None,
            mode: Mode::Hybrid,
            now: recall.now,
            filter: None,
            max_distance: None,
            calibrated: false,
            dense_weights: vec![0.5],
            explain: false,
        }
    }

    fn now(&self) -> i64 {
        START + (self.rows + self.rows / SITTING * 1440) as i64 * MINUTE
    }
}

/// Callgrind counts what this function calls, and nothing else.
#[inline(never)]
fn measured(hot: &Hot, call: &Call) -> Result<(), Box<dyn Error>> {
    let never = || false;
    match call {
        Call::Recall(recall) => drop(hot.engine.recall(recall, &never)?),
        Call::Context(context) => drop(hot.engine.context(context, &never)?),
        Call::Search(search) => drop(hot.engine.search(search, &never)?),
        Call::Remember(turn) => drop(hot.engine.remember(vec![turn.clone()], turn.ts, &never)?),
        Call::Load => hot.engine.warmup(&never)?,
        Call::CatchUp(_) => hot.other.as_ref().ok_or("no other handle")?.warmup(&never)?,
    }
    Ok(())
}

enum Call {
    Recall(RecallRequest),
    Context(ContextRequest),
    Search(SearchRequest),
    Remember(NewMemory),
    /// The first read after opening.
    Load,
    /// After the other handle's process wrote these.
    CatchUp(Vec<NewMemory>),
}

fn calls(hot: &mut Hot, path: &str, rounds: usize) -> Result<Vec<Call>, Box<dyn Error>> {
    let call = |round: usize| {
        Ok(match path {
            "recall" => Call::Recall(hot.recall()),
            "context" => Call::Context(ContextRequest {
                recall: hot.recall(),
                recent_session: Some(SESSION.to_owned()),
                recent_turns: 6,
            }),
            "search" => Call::Search(hot.search()),
            "remember" => Call::Remember(hot.turn(hot.rows + round)),
            "load" => Call::Load,
            "catch_up" => Call::CatchUp((0..hot.rows).map(|row| hot.turn(hot.rows * (1 + round) + row)).collect()),
            _ => return Err(format!("no path is called {path:?}").into()),
        })
    };
    (0..rounds).map(call).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let (path, rounds, rows) =
        (argument("path", String::from("recall")), argument("rounds", 20), argument("rows", 500));
    let file = PathBuf::from(argument("dir", String::from("."))).join("hot.db");
    let mut hot = Hot { engine: open(file.clone(), Durability::Normal)?, other: None, numbers: Numbers::new(3), rows };
    let model = BoundModel { name: "hot".to_owned(), dimension: DIMENSION, probe: None };
    hot.engine.bind_models(&[model], &|| false)?;
    let turns: Vec<NewMemory> = (0..rows).map(|row| hot.turn(row)).collect();
    hot.engine.remember(turns, START, &|| false)?;
    let calls = calls(&mut hot, &path, rounds)?;
    if path == "load" {
        for call in &calls {
            hot.engine = open(file.clone(), Durability::Normal)?;
            measured(&hot, call)?;
        }
        return Ok(());
    }
    if path == "catch_up" {
        let other = hot.other.insert(open(file, Durability::Normal)?);
        other.warmup(&|| false)?;
        for call in &calls {
            if let Call::CatchUp(turns) = call {
                hot.engine.remember(turns.clone(), START, &|| false)?;
            }
            measured(&hot, call)?;
        }
        return Ok(());
    }
    // What the first call does once is not counted.
    let first = Call::Recall(hot.recall());
    let never = || false;
    if let Call::Recall(first) = &first {
        hot.engine.recall(first, &never)?;
        hot.engine.context(
            &ContextRequest { recall: first.clone(), recent_session: Some(SESSION.to_owned()), recent_turns: 6 },
            &never,
        )?;
    }
    for call in &calls {
        measured(&hot, call)?;
    }
    Ok(())
}
