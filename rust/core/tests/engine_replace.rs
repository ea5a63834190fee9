//! Other turns in a session's place.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod engine_support;

use engine_support::*;
use retentive_core::error::Error;

#[test]
fn the_turns_are_others_and_the_facts_and_other_sessions_stay() {
    let disk = on_disk();
    let db = &disk.engine;
    db.add(said("a", "an old turn"));
    let fact = db.add(fact("a", "an old fact"));
    db.add(said("b", "another session"));
    let ids = db.replace_turns(None, "a", vec![said("a", "first"), said("a", "second")], NOW, &go).unwrap();
    let turns = db.turns("a", None, None, NOW, &go).unwrap();
    assert_eq!(turns.iter().map(|turn| turn.text.as_str()).collect::<Vec<_>>(), ["first", "second"]);
    assert_eq!(ids.len(), 2);
    assert!(turns[0].turn > Some(0), "turn numbers are never given twice");
    assert!(db.one(&fact).is_some());
    assert_eq!(db.turns("b", None, None, NOW, &go).unwrap().len(), 1);
}

#[test]
fn what_fails_changes_nothing() {
    let disk = on_disk();
    let db = &disk.engine;
    let old = db.add(said("a", "an old turn"));
    let fact = db.add(fact("a", "an old fact"));
    let mut clashing = said("a", "clashing");
    clashing.id = fact;
    let failed = db.replace_turns(None, "a", vec![said("a", "first"), clashing], NOW, &go);
    assert!(matches!(failed, Err(Error::Conflict(_))));
    assert_eq!(ids(&db.turns("a", None, None, NOW, &go).unwrap()), [old]);
}

#[test]
fn an_id_of_the_old_turns_may_be_given_again() {
    let disk = on_disk();
    let db = &disk.engine;
    let old = db.add(said("a", "an old turn"));
    let mut again = said("a", "the same turn, edited");
    again.id = old.clone();
    assert_eq!(db.replace_turns(None, "a", vec![again], NOW, &go).unwrap(), std::slice::from_ref(&old));
    assert_eq!(db.one(&old).unwrap().text, "the same turn, edited");
    db.replace_turns(None, "a", Vec::new(), NOW, &go).unwrap();
    assert!(db.turns("a", None, None, NOW, &go).unwrap().is_empty());
}
