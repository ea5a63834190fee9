//! Corrections, chains, feedback, and answers as of an instant.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp, clippy::cloned_ref_to_slice_refs)]
mod engine_support;

use engine_support::*;
use retentive_core::engine::{Correction, NewMemory, RecallRequest};
use retentive_core::error::Error;
use retentive_core::model::{Kind, Outcome};

#[test]
fn a_correction_is_found_and_what_it_corrects_is_not() {
    let disk = on_disk();
    let db = &disk.engine;
    let old = db.add(fact("a", "The deadline is Friday"));
    let new = db.correct(&old, "The deadline is Monday");
    assert_eq!(db.recalled("when is the deadline", "a"), ["The deadline is Monday"]);
    let hits = db.search(&look("deadline Friday", session("a")), &go).unwrap();
    assert_eq!(texts(&hits.memories), ["The deadline is Monday"]);
    let chain = db.history(&old, &go).unwrap();
    assert_eq!(ids(&chain), [old.clone(), new.clone()]);
    assert_eq!(chain[0].superseded_by, Some(new.clone()));
    assert_eq!(chain[1].supersedes, Some(old));
    assert_eq!(chain[0].feedback, [(Outcome::Corrected, NOW)]);
}

#[test]
fn correcting_any_of_a_chain_extends_its_tip() {
    let disk = on_disk();
    let db = &disk.engine;
    let first = db.add(fact("a", "version one"));
    let second = db.correct(&first, "version two");
    let third = db.correct(&first, "version three");
    let fourth = db.correct(&second, "version one");
    assert_eq!(ids(&db.history(&third, &go).unwrap()), [first, second, third, fourth.clone()]);
    assert_eq!(ids(&db.ranked(&ask("version", session("a"))).memories), [fourth]);
}

#[test]
fn the_correction_of_a_turn_is_a_fact_and_the_turn_stays_what_was_said() {
    let db = open(None);
    let turn = db.add(NewMemory { metadata: Some("{\"k\": 1}".to_owned()), ..said("a", "I live in Rome") });
    let id = db.correct(&turn, "I live in Oslo");
    let new = db.one(&id).unwrap();
    assert_eq!((new.kind, new.session.as_deref(), new.role.as_deref()), (Kind::Fact, Some("a"), Some("user")));
    assert_eq!(new.metadata.as_deref(), Some("{\"k\": 1}"));
    let turns = db.turns("a", None, None, NOW, &go).unwrap();
    assert_eq!(texts(&turns), ["I live in Rome"]);
    assert_eq!(turns[0].superseded_by, Some(id));
    assert_eq!(db.recalled("where do I live", "a"), ["I live in Oslo"]);
}

#[test]
fn a_corrected_pin_stays_a_pin_and_a_key_stays_its_key() {
    let disk = on_disk();
    let db = &disk.engine;
    let pin = db.add(NewMemory { kind: Kind::Pinned, ..keyed("a", "plan", "On the monthly plan") });
    let id = db.correct(&pin, "On the annual plan");
    let new = db.one(&id).unwrap();
    assert_eq!((new.kind, new.key.as_deref()), (Kind::Pinned, Some("plan")));
    assert_eq!(db.fact("plan", None, Some("a"), NOW, &go).unwrap().unwrap().id, id);
    let parts = db.context(&block("plan", session("a"), 2), &go).unwrap();
    assert_eq!(texts(&parts.pinned), ["On the annual plan"]);
}

#[test]
fn a_correction_gets_the_expiry_of_its_kind() {
    let db = open(None);
    let turn = db.add(said("a", "short lived"));
    let expires = vec![(Kind::Fact, Some(NOW + DAY)), (Kind::Pinned, None)];
    let correction = Correction { expires, ..correction("longer lived") };
    let id = db.feedback(&turn, Outcome::Corrected, NOW, Some(correction), NOW, &go).unwrap().unwrap();
    assert_eq!(db.one(&id).unwrap().expires, Some(NOW + DAY));
}

#[test]
fn feedback_on_what_is_unknown_expired_or_forgotten_is_not_found() {
    let disk = on_disk();
    let db = &disk.engine;
    let expired = db.add(NewMemory { expires: Some(NOW), ..fact("a", "gone") });
    let forgotten = db.add(fact("a", "forgotten"));
    db.delete(std::slice::from_ref(&forgotten), &go).unwrap();
    for id in ["mem_nobody", &expired, &forgotten] {
        let outcome = db.feedback(id, Outcome::Useful, NOW, None, NOW, &go);
        assert!(matches!(outcome, Err(Error::NotFound { .. })), "{id}");
    }
}

#[test]
fn feedback_moves_a_memory_and_is_bounded() {
    let disk = on_disk();
    let db = &disk.engine;
    let liked = db.add(fact("a", "green tea in the morning"));
    db.add(fact("a", "green tea in the evening"));
    let off = db.add(fact("a", "the invoice was paid by wire"));
    db.feedback(&liked, Outcome::Useful, NOW, None, NOW, &go).unwrap();
    for _ in 0..100 {
        db.feedback(&off, Outcome::Useful, NOW, None, NOW, &go).unwrap();
    }
    let found = db.ranked(&ask("green tea", session("a"))).memories;
    assert_eq!(found[0].id, liked);
    assert_eq!(
        found[0].scoring.as_ref().unwrap().iter().find(|(name, _)| *name == "feedback"),
        Some(&("feedback", 1.0))
    );
    assert!(db.one(&off).unwrap().feedback.len() == 100);
}

#[test]
fn as_of_answers_with_what_had_been_said_by_then() {
    let disk = on_disk();
    let db = &disk.engine;
    let old = db.add(NewMemory { ts: NOW - 10 * DAY, ..fact("a", "The office is in Rome") });
    let moved = Correction { ts: NOW - 5 * DAY, ..correction("The office is in Oslo") };
    db.feedback(&old, Outcome::Corrected, NOW, Some(moved), NOW, &go).unwrap();
    db.add(NewMemory {
        ts: NOW - 8 * DAY,
        expires: Some(NOW - 6 * DAY),
        ..fact("a", "The office is closed this week")
    });
    let then = |days: i64| {
        let request = RecallRequest { as_of: Some(NOW - days * DAY), ..ask("where is the office", session("a")) };
        let mut texts = texts(&db.ranked(&request).memories);
        texts.sort();
        texts
    };
    assert_eq!(then(11), Vec::<String>::new());
    assert_eq!(then(9), ["The office is in Rome"]);
    assert_eq!(then(7), ["The office is closed this week", "The office is in Rome"]);
    assert_eq!(then(6), ["The office is in Rome"]);
    assert_eq!(then(5), ["The office is in Oslo"]);
}

#[test]
fn what_was_superseded_never_comes_back_when_its_successor_goes() {
    let disk = on_disk();
    let db = &disk.engine;
    let old = db.add(fact("a", "The deadline is Friday"));
    let new = db.correct(&old, "The deadline is Monday");
    db.delete(&[new], &go).unwrap();
    assert!(db.recalled("deadline", "a").is_empty());
    assert_eq!(db.one(&old).unwrap().superseded_by.as_deref(), Some("forgotten"));
    let later = db.correct(&old, "The deadline is Tuesday");
    assert_eq!(ids(&db.ranked(&ask("deadline", session("a"))).memories), [later]);
}

#[test]
fn superseded_memories_are_recalled_only_when_asked_for() {
    let db = open(None);
    let old = db.add(fact("a", "The deadline is Friday"));
    db.correct(&old, "The deadline is Monday");
    let all = RecallRequest { include_superseded: true, ..ask("deadline", session("a")) };
    assert_eq!(db.ranked(&all).memories.len(), 2);
}

#[test]
fn correcting_a_keyed_fact_with_the_value_it_has_changes_nothing() {
    let disk = on_disk();
    let db = &disk.engine;
    let id = db.add(keyed("a", "plan", "On the annual plan"));
    assert_eq!(db.correct(&id, "On the annual plan"), id);
    assert_eq!(db.history(&id, &go).unwrap().len(), 1);
}

#[test]
fn many_threads_that_correct_one_memory_leave_one_tip() {
    let disk = on_disk();
    let db = &disk.engine;
    let first = db.add(fact("a", "version zero"));
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let first = &first;
            scope.spawn(move || db.correct(first, &format!("version of thread {thread}")));
        }
    });
    assert_eq!(db.history(&first, &go).unwrap().len(), 17);
    assert_eq!(db.ranked(&ask("version", session("a"))).memories.len(), 1);
}
