//! Turns into facts, a batch at a time.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp, clippy::cloned_ref_to_slice_refs)]
mod engine_support;

use engine_support::*;
use retentive_core::engine::{BatchRequest, Engine};
use retentive_core::error::Error;

fn batch(keep_recent: usize, batch_turns: usize) -> BatchRequest {
    BatchRequest {
        session: "a".to_owned(),
        user: None,
        keep_recent,
        before: None,
        batch_turns,
        now: NOW,
        skip: Vec::new(),
    }
}

fn talk(db: &Engine, turns: usize) -> Vec<String> {
    (0..turns).map(|n| db.add(said("a", &format!("turn {n}")))).collect()
}

#[test]
fn a_batch_is_the_oldest_turns_without_the_last_ones() {
    let disk = on_disk();
    let db = &disk.engine;
    let turns = talk(db, 10);
    assert_eq!(ids(&db.consolidation_batch(&batch(6, 40), &go).unwrap()), turns[..4]);
    assert_eq!(ids(&db.consolidation_batch(&batch(0, 3), &go).unwrap()), turns[..3]);
    let skipping = BatchRequest { skip: turns[..2].to_vec(), ..batch(6, 40) };
    assert_eq!(ids(&db.consolidation_batch(&skipping, &go).unwrap()), turns[2..4]);
    assert!(db.consolidation_batch(&batch(10, 40), &go).unwrap().is_empty());
    assert!(db.consolidation_batch(&BatchRequest { before: Some(NOW - DAY), ..batch(0, 40) }, &go).unwrap().is_empty());
}

#[test]
fn facts_and_the_deletion_of_their_turns_come_together() {
    let disk = on_disk();
    let db = &disk.engine;
    let turns = talk(db, 4);
    let facts = vec![(fact("a", "they counted"), turns[..2].to_vec())];
    let (ids, removed) = db.commit_consolidation(&turns, facts, true, NOW, &go).unwrap().unwrap();
    assert_eq!(removed, 4);
    assert_eq!(db.one(&ids[0]).unwrap().consolidated_from, turns[..2]);
    assert!(db.turns("a", None, None, NOW, &go).unwrap().is_empty());
    db.add(said("a", "next"));
    assert_eq!(db.turns("a", None, None, NOW, &go).unwrap()[0].turn, Some(4));
}

#[test]
fn turns_that_are_kept_are_not_summarised_again() {
    let db = open(None);
    let turns = talk(&db, 4);
    let facts = vec![(fact("a", "they counted"), turns[..2].to_vec())];
    db.commit_consolidation(&turns[..2], facts, false, NOW, &go).unwrap().unwrap();
    assert_eq!(ids(&db.consolidation_batch(&batch(0, 40), &go).unwrap()), turns[2..]);
    assert_eq!(db.turns("a", None, None, NOW, &go).unwrap().len(), 4);
}

#[test]
fn a_batch_that_changed_meanwhile_stores_nothing() {
    let disk = on_disk();
    let db = &disk.engine;
    let turns = talk(db, 4);
    db.delete(&turns[..1], &go).unwrap();
    let facts = || vec![(fact("a", "they counted"), turns.clone())];
    assert_eq!(db.commit_consolidation(&turns, facts(), true, NOW, &go).unwrap(), None);
    db.correct(&turns[1], "turn one");
    assert_eq!(db.commit_consolidation(&turns[1..], facts(), true, NOW, &go).unwrap(), None);
    assert_eq!(db.turns("a", None, None, NOW, &go).unwrap().len(), 3);
    let unsuperseded = ids(&db.consolidation_batch(&batch(0, 40), &go).unwrap());
    assert_eq!(unsuperseded, turns[2..]);
}

#[test]
fn a_fact_that_cannot_be_stored_leaves_the_turns() {
    let db = open(None);
    let turns = talk(&db, 2);
    let bad = retentive_core::engine::NewMemory { id: turns[0].clone(), ..fact("a", "an id in use") };
    let failed = db.commit_consolidation(&turns, vec![(bad, turns.clone())], true, NOW, &go);
    assert!(matches!(failed, Err(Error::Conflict(_))));
    assert_eq!(db.turns("a", None, None, NOW, &go).unwrap().len(), 2);
}
