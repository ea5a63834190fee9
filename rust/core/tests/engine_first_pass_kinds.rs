//! Large scopes of everything that a collection can hold (two models, facts that cite turns, what was superseded, metadata), and of what
//! changes between two reads: what a first pass keeps, against ranking everything.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout)]
mod engine_support;

use engine_support::*;
use proptest::prelude::*;
use retentive_core::engine::{Engine, NewMemory, Reach, RecallRequest};
use retentive_core::model::{Kind, Vector};

const SESSIONS: usize = 40;
const TURNS: usize = 50;
const WORDS: usize = 300;

/// A small generator of numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    fn text(&mut self, words: usize) -> String {
        let mut word = || {
            let of = 1 + self.next(WORDS);
            format!("term{}", self.next(of))
        };
        (0..words).map(|_| word()).collect::<Vec<_>>().join(" ")
    }
}

/// Another model's vector: other directions, which agree on nothing.
fn second(text: &str) -> Vector {
    let moved: Vec<String> = text.split_whitespace().map(|word| format!("other-{word}")).collect();
    Vector { slot: 1, values: embed(&moved.join(" ")) }
}

fn of_both(text: &str) -> Vec<Vector> {
    vec![Vector::first(embed(text)), second(text)]
}

/// Two models; in each session facts from its turns, keyed facts with successors, metadata, some turns that expire.
fn filled() -> Engine {
    let db = unbound(None, 64);
    db.bind_models(&[model("one", Some(embed("the probe"))), model("two", Some(embed("its probe")))], &go).unwrap();
    let mut numbers = Numbers(5);
    for name in (0..SESSIONS).map(|number| format!("s{number}")) {
        let turns = (0..TURNS).map(|turn| {
            let text = numbers.text(8);
            let ts = NOW - (1 + turn as i64 / 20) * DAY + turn as i64 * MINUTE;
            let role = if turn % 2 == 0 { "user" } else { "assistant" };
            let metadata = (turn % 5 == 0).then(|| r#"{"colour":"teal"}"#.to_owned());
            let expires = (turn % 9 == 0).then_some(NOW + DAY);
            let vectors = of_both(&text);
            NewMemory { ts, role: Some(role.to_owned()), metadata, expires, vectors, ..said(&name, &text) }
        });
        let turns = db.remember(turns.collect(), NOW, &go).unwrap();
        let facts = turns.chunks(10).map(|cited| {
            let text = numbers.text(6);
            (NewMemory { vectors: of_both(&text), ..fact(&name, &text) }, cited[..2].to_vec())
        });
        let facts = facts.collect();
        db.commit_consolidation(&turns, facts, false, NOW, &go).unwrap().unwrap();
        for ago in [3, 1] {
            let text = numbers.text(6);
            db.add(NewMemory { vectors: of_both(&text), ts: NOW - ago * DAY, ..keyed(&name, "plan", &text) });
        }
    }
    db
}

fn question(text: &str) -> RecallRequest {
    let mut request = RecallRequest { vectors: vec![embed(text), second(text).values], ..ask(text, Reach::default()) };
    request.settings.dense_weights = vec![0.3, 0.2];
    request
}

/// The ids that a first pass gives and those of ranking everything.
fn both(db: &Engine, request: &RecallRequest) -> (Vec<String>, Vec<String>) {
    db.rank_everything_up_to(0);
    let passed = ids(&db.ranked(request).memories);
    db.rank_everything_up_to(usize::MAX);
    (passed, ids(&db.ranked(request).memories))
}

type Change = fn(&mut RecallRequest);

const CHANGES: [(&str, Change); 9] = [
    ("two models", |_| {}),
    ("facts alone", |request| request.kinds = vec![Kind::Fact]),
    ("turns alone", |request| request.kinds = vec![Kind::Turn]),
    ("a filter", |request| request.filter = Some(r#"{"colour":"teal"}"#.to_owned())),
    ("two days ago", |request| request.as_of = Some(NOW - 2 * DAY)),
    ("superseded ones too", |request| request.include_superseded = true),
    ("what has expired by then", |request| request.now = NOW + 2 * DAY),
    ("one role", |request| request.settings.recall_roles = Some(vec!["assistant".to_owned()])),
    ("one model", |request| {
        request.vectors.truncate(1);
        request.settings.dense_weights.truncate(1);
    }),
];

#[test]
fn whatever_is_asked_for_the_best_ten_are_those_of_ranking_everything() {
    let db = filled();
    let mut numbers = Numbers(9);
    for (name, change) in CHANGES {
        let (mut found, mut asked) = (0, 0);
        for _ in 0..12 {
            let mut request = question(&numbers.text(4));
            change(&mut request);
            let (passed, exact) = both(&db, &request);
            // What stands last in a pool may be another memory, and one that its turns say is left out.
            assert!(passed.len().abs_diff(exact.len()) <= 1, "{name}: {} and {}", passed.len(), exact.len());
            asked += exact.len();
            found += exact.iter().filter(|id| passed.contains(id)).count();
        }
        let share = found as f64 / asked as f64;
        println!("recall@10 against ranking everything, {name}: {share:.4}");
        assert!(share >= 0.98, "{name}: {share}");
    }
}

/// What happens to a collection between two reads of everything.
#[derive(Debug, Clone, Copy)]
enum Step {
    Say(usize),
    Forget,
    Supersede(usize),
    Read(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..6_usize).prop_map(Step::Say),
        Just(Step::Forget),
        (0..6_usize).prop_map(Step::Supersede),
        (0..CHANGES.len()).prop_map(Step::Read),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_read_of_everything_sees_what_was_committed_before_it(steps in prop::collection::vec(any_step(), 1..25)) {
        let db = unbound(None, 64);
        db.bind_models(&[model("one", Some(embed("the probe"))), model("two", Some(embed("its probe")))], &go).unwrap();
        let mut numbers = Numbers(3);
        let mut held: Vec<String> = Vec::new();
        let new = |session: usize, text: &str| NewMemory { vectors: of_both(text), ..said(&format!("s{session}"), text) };
        for session in 0..6 {
            held.extend(db.remember((0..70).map(|_| new(session, &numbers.text(6))).collect(), NOW, &go).unwrap());
        }
        for step in steps {
            match step {
                Step::Say(session) => held.push(db.add(new(session, &numbers.text(6)))),
                Step::Forget => {
                    let gone = held.swap_remove(numbers.next(held.len()));
                    let one = retentive_core::engine::Forget { ids: Some(vec![gone]), ..forget(Reach::default(), &[Kind::Turn]) };
                    db.forget(&one, &go).unwrap();
                }
                Step::Supersede(session) => {
                    let text = numbers.text(6);
                    db.add(NewMemory { vectors: of_both(&text), ..keyed(&format!("s{session}"), "plan", &text) });
                }
                Step::Read(change) => {
                    let mut request = RecallRequest { limit: Some(12), ..question(&numbers.text(4)) };
                    CHANGES[change].1(&mut request);
                    let (passed, exact) = both(&db, &request);
                    prop_assert_eq!(passed.len(), exact.len());
                    let shared = exact.iter().filter(|id| passed.contains(id)).count();
                    prop_assert!(shared * 10 >= exact.len() * 9, "{}: {} of {}", CHANGES[change].0, shared, exact.len());
                }
            }
        }
    }
}

#[test]
fn what_another_process_wrote_is_in_the_next_read_of_everything() {
    let disk = on_disk();
    let (db, other) = (&disk.engine, open(Some(&disk.folder.path().join("chat.db"))));
    let mut numbers = Numbers(7);
    for name in ["a", "b", "c"] {
        db.remember((0..120).map(|_| said(name, &numbers.text(6))).collect(), NOW, &go).unwrap();
    }
    db.rank_everything_up_to(0);
    let found = || ids(&db.ranked(&ask("unusual zebra", Reach::default())).memories);
    let none = found();
    let zebra = other.add(said("b", "unusual zebra"));
    let brief = other.add(NewMemory { expires: Some(NOW + MINUTE), ..said("d", "unusual zebra once") });
    assert!(!none.contains(&zebra) && found().contains(&zebra) && found().contains(&brief));
    let later = RecallRequest { now: NOW + DAY, ..ask("unusual zebra", Reach::default()) };
    assert!(!ids(&db.ranked(&later).memories).contains(&brief));
    let mine = db.ranked(&ask("unusual zebra", user("nobody")));
    assert!(mine.memories.is_empty());
    other
        .forget(
            &retentive_core::engine::Forget {
                ids: Some(vec![zebra.clone()]),
                ..forget(Reach::default(), &[Kind::Turn])
            },
            &go,
        )
        .unwrap();
    assert!(!found().contains(&zebra) && found().contains(&brief));
}
