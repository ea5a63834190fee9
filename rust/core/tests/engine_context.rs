//! The parts of a context block.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp, clippy::cloned_ref_to_slice_refs)]
mod engine_support;

use engine_support::*;
use retentive_core::engine::{ContextRequest, NewMemory, Reach};
use retentive_core::model::Kind;

fn pinned(text: &str) -> NewMemory {
    NewMemory { kind: Kind::Pinned, ..said("a", text) }
}

#[test]
fn nothing_appears_twice() {
    let disk = on_disk();
    let db = &disk.engine;
    db.add(pinned("speaks German"));
    for number in 0..10 {
        db.add(said("a", &format!("we talked about German grammar, part {number}")));
    }
    let parts = db.context(&block("German grammar", session("a"), 3), &go).unwrap();
    assert_eq!(texts(&parts.pinned), ["speaks German"]);
    let recent: Vec<_> = parts.recent.iter().map(|turn| turn.turn).collect();
    assert_eq!(recent, [Some(7), Some(8), Some(9)]);
    assert_eq!(parts.ranked.memories.len(), 7);
    let shown: Vec<String> = ids(&parts.pinned).into_iter().chain(ids(&parts.recent)).collect();
    assert!(parts.ranked.memories.iter().all(|memory| !shown.contains(&memory.id)));
}

#[test]
fn pinned_facts_of_a_session_and_of_no_session_are_shown_and_those_of_others_are_not() {
    let db = open(None);
    db.add(NewMemory { ts: NOW - 2 * DAY, ..pinned("of a") });
    db.add(NewMemory { session: None, ts: NOW - 3 * DAY, ..pinned("of all") });
    db.add(NewMemory { session: Some("b".to_owned()), ..pinned("of b") });
    db.add(NewMemory { expires: Some(NOW), ..pinned("of the past") });
    let shown = |reach: Reach| texts(&db.context(&block("anything", reach, 2), &go).unwrap().pinned);
    assert_eq!(shown(session("a")), ["of all", "of a"]);
    assert_eq!(shown(Reach::default()), ["of all"]);
    assert!(shown(user("ann")).is_empty());
}

#[test]
fn with_a_user_everything_the_user_owns_is_recalled_and_recent_is_of_the_session() {
    let disk = on_disk();
    let db = &disk.engine;
    let of = |session: &str, text: &str| NewMemory { user: Some("ann".to_owned()), ..said(session, text) };
    db.add(of("old", "my dog is called Rex"));
    db.add(NewMemory { kind: Kind::Pinned, ..of("old", "is vegetarian") });
    db.add(of("new", "hello again"));
    db.add(said("new", "my dog is called Fido"));
    let request = block("what is my dog called", Reach { session: Some("new".to_owned()), ..user("ann") }, 5);
    let parts = db.context(&request, &go).unwrap();
    assert_eq!(texts(&parts.pinned), ["is vegetarian"]);
    assert_eq!(texts(&parts.recent), ["hello again"]);
    assert_eq!(texts(&parts.ranked.memories), ["my dog is called Rex"]);
}

#[test]
fn recent_turns_stay_within_the_cap_and_show_what_was_said() {
    let db = open(None);
    let turns: Vec<String> = (0..5).map(|n| db.add(said("a", &format!("turn {n}")))).collect();
    db.correct(&turns[4], "turn four");
    let mut request = block("turn", session("a"), 4);
    request.recall.settings.max_turns = Some(2);
    let parts = db.context(&request, &go).unwrap();
    assert_eq!(texts(&parts.recent), ["turn 3", "turn 4"]);
    let none = ContextRequest { recent_session: None, ..request };
    assert!(db.context(&none, &go).unwrap().recent.is_empty());
}

#[test]
fn context_as_of_an_instant_shows_the_turns_said_by_then() {
    let db = open(None);
    for day in (1..6).rev() {
        db.add(NewMemory { ts: NOW - day * DAY, ..said("a", &format!("{day} days ago")) });
    }
    let mut request = block("days", session("a"), 2);
    request.recall.as_of = Some(NOW - 3 * DAY);
    let parts = db.context(&request, &go).unwrap();
    assert_eq!(texts(&parts.recent), ["4 days ago", "3 days ago"]);
    assert_eq!(texts(&parts.ranked.memories), ["5 days ago"]);
}
