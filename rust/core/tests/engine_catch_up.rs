//! A partition kept up to date is the same as one loaded anew, whoever wrote.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp, clippy::cloned_ref_to_slice_refs)]
mod engine_support;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use engine_support::*;
use proptest::prelude::*;
use retentive_core::engine::{Engine, Memory, NewMemory, Reach, RecallRequest, Stat};
use retentive_core::model::Outcome;

#[derive(Debug, Clone)]
enum Step {
    Say(u8),
    Note(u8),
    Correct(u8),
    Like(u8),
    Delete(u8),
    /// More than are left to the readers to find.
    Bulk(u8),
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any::<u8>().prop_map(Step::Say),
        2 => any::<u8>().prop_map(Step::Note),
        2 => any::<u8>().prop_map(Step::Correct),
        1 => any::<u8>().prop_map(Step::Like),
        2 => any::<u8>().prop_map(Step::Delete),
        2 => any::<u8>().prop_map(Step::Bulk),
        2 => Just(Step::Look),
    ]
}

fn text(number: u8) -> String {
    let words = ["tea", "rain", "train", "stone", "paper", "green", "slow", "north"];
    format!("{} {} {number}", words[usize::from(number) % 8], words[usize::from(number) / 8 % 8])
}

fn seen(db: &Engine) -> Vec<Memory> {
    let request = RecallRequest { limit: None, include_superseded: true, ..ask("green tea in the rain", user("ann")) };
    db.ranked(&request).memories
}

fn run(db: &Engine, step: &Step, ids: &mut Vec<String>) {
    let own = |new: NewMemory| NewMemory { user: Some("ann".to_owned()), ..new };
    let pick = |ids: &[String], number: &u8| ids.get(usize::from(*number) % ids.len().max(1)).cloned();
    match step {
        Step::Say(number) => ids.push(db.add(own(said(if number % 2 == 0 { "s" } else { "t" }, &text(*number))))),
        Step::Note(number) => ids.push(db.add(own(fact("s", &text(*number))))),
        Step::Correct(number) => ids.extend(pick(ids, number).map(|id| db.correct(&id, &text(number.wrapping_add(1))))),
        Step::Like(number) => {
            if let Some(id) = pick(ids, number) {
                db.feedback(&id, Outcome::Useful, NOW, None, NOW, &go).unwrap();
            }
        }
        Step::Delete(number) => {
            if let Some(id) = pick(ids, number) {
                db.delete(std::slice::from_ref(&id), &go).unwrap();
                ids.retain(|other| *other != id);
            }
        }
        Step::Bulk(number) => {
            let turn = |n| own(said(if n % 3 == 0 { "s" } else { "t" }, &text(number.wrapping_add(n))));
            ids.extend(db.remember((0..80).map(turn).collect(), NOW, &go).unwrap());
        }
        Step::Look => drop(seen(db)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn catching_up_equals_loading_anew(steps in proptest::collection::vec((step(), any::<bool>()), 1..40)) {
        let disk = on_disk();
        let path = disk.folder.path().join("chat.db");
        let other = open(Some(&path));
        let mut ids = Vec::new();
        for (step, by_other) in &steps {
            run(if *by_other { &other } else { &disk.engine }, step, &mut ids);
        }
        let anew = seen(&open(Some(&path)));
        prop_assert_eq!(&seen(&disk.engine), &anew);
        prop_assert_eq!(&seen(&other), &anew);
    }
}

/// Two handles on one file: the other writes to several sessions of one user, a few memories and many at a time.
#[derive(Debug, Clone)]
enum Elsewhere {
    /// So many turns, all to one session or in turns to two.
    Fill(u16, bool),
    Note(u8),
    Correct(u8),
    Like(u8),
    Delete(u8),
}

fn elsewhere() -> impl Strategy<Value = (Elsewhere, u8)> {
    let step = prop_oneof![
        3 => (100_u16..500, any::<bool>()).prop_map(|(count, both)| Elsewhere::Fill(count, both)),
        2 => any::<u8>().prop_map(Elsewhere::Note),
        2 => any::<u8>().prop_map(Elsewhere::Correct),
        1 => any::<u8>().prop_map(Elsewhere::Like),
        2 => any::<u8>().prop_map(Elsewhere::Delete),
    ];
    (step, 0_u8..6)
}

fn run_elsewhere(db: &Engine, step: &Elsewhere, ids: &mut Vec<String>) {
    match step {
        Elsewhere::Fill(count, both) => {
            let session = |n: u16| if *both && n.is_multiple_of(3) { "s" } else { "t" };
            let turn = |n: u16| NewMemory {
                user: Some("ann".to_owned()),
                ..said(session(n), &format!("{} {n}", text((n % 200) as u8)))
            };
            ids.extend(db.remember((0..*count).map(turn).collect(), NOW, &go).unwrap());
        }
        Elsewhere::Note(number) => run(db, &Step::Note(*number), ids),
        Elsewhere::Correct(number) => run(db, &Step::Correct(*number), ids),
        Elsewhere::Like(number) => run(db, &Step::Like(*number), ids),
        Elsewhere::Delete(number) => run(db, &Step::Delete(*number), ids),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    /// A read of one session need not have taken over what is new in others; it shows what a read of everything anew shows.
    #[test]
    fn a_session_is_read_whole_while_others_are_filled_elsewhere(steps in proptest::collection::vec(elsewhere(), 1..10)) {
        let disk = on_disk();
        let path = disk.folder.path().join("chat.db");
        let other = open(Some(&path));
        let of_session = |db: &Engine, name: &str| {
            let reach = Reach { user: Some("ann".to_owned()), session: Some(name.to_owned()), ..Reach::default() };
            db.ranked(&RecallRequest { limit: None, include_superseded: true, ..ask("green tea in the rain", reach) }).memories
        };
        let mut ids = Vec::new();
        for number in 0..12 {
            run(&other, &Step::Say(number), &mut ids);
        }
        seen(&disk.engine);
        for (step, reads) in &steps {
            run_elsewhere(&other, step, &mut ids);
            let anew = open(Some(&path));
            for read in 0..*reads {
                let name = if read == 3 { "t" } else { "s" };
                prop_assert_eq!(of_session(&disk.engine, name), of_session(&anew, name));
            }
        }
        prop_assert_eq!(seen(&disk.engine), seen(&open(Some(&path))));
    }
}

#[test]
fn two_collections_on_one_file_see_each_others_writes() {
    let disk = on_disk();
    let other = open(Some(&disk.folder.path().join("chat.db")));
    let first = disk.engine.add(said("a", "written here"));
    assert_eq!(other.recalled("written", "a"), ["written here"]);
    other.add(said("a", "written there"));
    assert_eq!(disk.engine.recalled("written", "a").len(), 2);
    other.delete(&[first], &go).unwrap();
    assert_eq!(disk.engine.recalled("written", "a"), ["written there"]);
    assert_eq!(disk.engine.turns("a", None, None, NOW, &go).unwrap()[0].turn, Some(1));
}

#[test]
fn more_rows_than_a_segment_holds_are_all_there() {
    let disk = on_disk();
    let db = &disk.engine;
    for chunk in 0..9 {
        let rows = (0..1000).map(|n| said("a", &format!("row {}", chunk * 1000 + n))).collect();
        db.remember(rows, NOW, &go).unwrap();
        db.recalled("row", "a");
    }
    let all = RecallRequest { limit: None, ..ask("row 8999", session("a")) };
    let found = db.ranked(&all).memories;
    assert_eq!(found.len(), 9000);
    let ids: Vec<String> = found.iter().take(5000).map(|memory| memory.id.clone()).collect();
    assert_eq!(db.delete(&ids, &go).unwrap(), 5000);
    assert_eq!(db.ranked(&all).memories.len(), 4000);
}

#[test]
fn a_small_cache_forgets_partitions_and_answers_all_the_same() {
    let disk = on_disk();
    let path = disk.folder.path().join("chat.db");
    for number in 0..20 {
        disk.engine.add(said(&format!("s{number}"), "the same words"));
    }
    let small = open_with_cache(Some(&path), 0);
    let cached =
        |db: &Engine| db.stats(&go).unwrap().into_iter().find(|(name, _)| *name == "cached_partitions").unwrap().1;
    for number in 0..20 {
        assert_eq!(small.recalled("same words", &format!("s{number}")).len(), 1);
    }
    assert_eq!(cached(&small), Stat::Int(1));
    let all = RecallRequest { limit: Some(30), ..ask("same words", Reach::default()) };
    assert_eq!(small.ranked(&all).memories.len(), 20);
    disk.engine.warmup(&go).unwrap();
    assert_eq!(cached(&disk.engine), Stat::Int(20));
}

#[test]
fn readers_beside_a_writer_in_memory_see_whole_transactions() {
    let db = open(None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (0..50).for_each(|_| drop(db.remember(vec![said("a", "one"), said("a", "two")], NOW, &go).unwrap()));
        });
        for _ in 0..50 {
            let all = RecallRequest { limit: None, ..ask("one", session("a")) };
            assert!(db.ranked(&all).memories.len().is_multiple_of(2));
        }
    });
}

/// Each transaction is of so many rows.
fn write_and_read(path: &Path, engine: &Engine, transactions: usize, rows: usize) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut most = 0;
                while !done.load(Ordering::Relaxed) {
                    let all = RecallRequest { limit: None, ..ask("row", session("a")) };
                    let found = engine.ranked(&all).memories;
                    let turns: std::collections::HashSet<_> = found.iter().map(|memory| memory.turn).collect();
                    assert_eq!(turns.len(), found.len());
                    assert!(found.len() >= most && found.len().is_multiple_of(rows), "a transaction is seen whole");
                    most = found.len();
                }
            });
        }
        let other = open(Some(path));
        for number in 0..transactions {
            let writer = if number % 2 == 0 { engine } else { &other };
            let new = (0..rows).map(|row| said("a", &format!("row {row}"))).collect();
            writer.remember(new, NOW, &go).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(engine.turns("a", None, None, NOW, &go).unwrap().len(), transactions * rows);
}

#[test]
fn readers_beside_writers_see_whole_transactions() {
    let disk = on_disk();
    write_and_read(&disk.folder.path().join("chat.db"), &disk.engine, 100, 2);
}

#[test]
fn readers_beside_bulk_writers_see_whole_transactions() {
    let disk = on_disk();
    write_and_read(&disk.folder.path().join("chat.db"), &disk.engine, 20, 80);
}

/// What a partition keeps for its next read must not answer another one.
#[test]
fn reads_of_any_kind_in_any_order_are_those_of_a_fresh_handle() {
    let disk = on_disk();
    let db = &disk.engine;
    for n in 0..40 {
        let expires = (n % 5 == 0).then_some(NOW + n);
        db.add(NewMemory { expires, ts: NOW + n * 1_000_000, ..said("a", &format!("tea {n} and red blue green")) });
        db.add(said("b", &format!("tea {n} elsewhere")));
    }
    let old = db.add(keyed("a", "door", "the tea is behind the red door"));
    db.correct(&old, "the tea is behind the blue door");
    let asked = |n: i64| {
        let mut request = ask("red tea", if n % 7 == 0 { anybody() } else { session("a") });
        request.limit = Some(60);
        request.now = NOW + n % 11 * 4;
        request.include_superseded = n % 3 == 0;
        request.as_of = (n % 13 == 0).then_some(NOW + 7_000_000);
        request.settings.sitting_gap_us = 1 + n % 2 * 3_600_000_000;
        request
    };
    for n in 0..60 {
        let request = asked(n * 17 % 60);
        let fresh = open(Some(&disk.folder.path().join("chat.db")));
        assert_eq!(db.ranked(&request), fresh.ranked(&request), "{n}");
        if n % 20 == 0 {
            db.add(said("a", "one more red tea"));
        }
    }
}
