//! Who sees what: sessions, users, filters, expiry, what was forgotten.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp, clippy::cloned_ref_to_slice_refs)]
mod engine_support;

use engine_support::*;
use retentive_core::engine::{Forget, Mode, NewMemory, Reach, RecallRequest, SearchRequest};
use retentive_core::model::Kind;

const NAMES: [&str; 14] = [
    "john",
    "johnny",
    "john_doe",
    "john-doe",
    "a%",
    "a.b",
    "a:b",
    "A",
    "a",
    " a ",
    "😀",
    "caf\u{e9}",
    "cafe\u{301}",
    "_vx_session",
];

#[test]
fn every_session_sees_its_own_memories_only() {
    let disk = on_disk();
    let db = &disk.engine;
    for name in NAMES {
        db.add(said(name, &format!("the secret word of number {}", NAMES.iter().position(|n| *n == name).unwrap())));
    }
    for (number, name) in NAMES.into_iter().enumerate() {
        assert_eq!(db.recalled("secret word", name), [format!("the secret word of number {number}")], "{name}");
        assert_eq!(db.turns(name, None, None, NOW, &go).unwrap().len(), 1);
    }
    let mut sessions = db.sessions(&Reach::default(), NOW, &go).unwrap();
    sessions.sort_unstable();
    let mut names = NAMES.map(str::to_owned);
    names.sort_unstable();
    assert_eq!(sessions, names);
}

#[test]
fn what_has_no_user_and_what_has_one_do_not_see_each_other() {
    let disk = on_disk();
    let db = &disk.engine;
    let of = |user: &str, session: &str, text: &str| NewMemory { user: Some(user.to_owned()), ..said(session, text) };
    db.add(said("s", "nobody's secret word"));
    db.add(of("ann", "s", "the secret word of ann"));
    db.add(of("ann", "t", "another secret word of ann"));
    db.add(of("bob", "s", "the secret word of bob"));
    let seen = |reach: Reach| {
        let mut texts = texts(&db.ranked(&ask("secret word", reach)).memories);
        texts.sort();
        texts
    };
    assert_eq!(seen(Reach::default()), ["nobody's secret word"]);
    assert_eq!(seen(session("s")), ["nobody's secret word"]);
    assert_eq!(seen(user("ann")), ["another secret word of ann", "the secret word of ann"]);
    assert_eq!(seen(Reach { session: Some("s".to_owned()), ..user("ann") }), ["the secret word of ann"]);
    assert_eq!(seen(anybody()).len(), 4);
    assert_eq!(seen(Reach { session: Some("s".to_owned()), ..anybody() }).len(), 3);
    assert_eq!(db.users(NOW, &go).unwrap(), ["ann", "bob"]);
    assert_eq!(db.sessions(&user("ann"), NOW, &go).unwrap(), ["s", "t"]);
}

#[test]
fn a_filter_decides_before_the_limit() {
    let disk = on_disk();
    let db = &disk.engine;
    let crowd: Vec<NewMemory> = (0..1000).map(|_| said("a", "the very same words again")).collect();
    db.remember(crowd, NOW, &go).unwrap();
    db.add(said("b", "the very same words again"));
    let marked =
        db.add(NewMemory { metadata: Some("{\"rare\": true}".to_owned()), ..said("a", "something else entirely") });
    assert_eq!(db.ranked(&ask("the very same words again", session("b"))).memories.len(), 1);
    let filtered = RecallRequest {
        filter: Some("{\"rare\": true}".to_owned()),
        limit: Some(1),
        ..ask("the very same words again", session("a"))
    };
    assert_eq!(ids(&db.ranked(&filtered).memories), [marked]);
    let by_session = RecallRequest {
        filter: Some("{\"_vx_session\": \"b\"}".to_owned()),
        ..ask("the very same words again", Reach::default())
    };
    assert_eq!(db.ranked(&by_session).memories.len(), 1);
}

#[test]
fn filters_see_reserved_keys_and_the_callers_own() {
    let db = open(None);
    let mut turn = said("a", "red apple");
    turn.metadata = Some("{\"kind\": \"mine\", \"n\": 3}".to_owned());
    db.add(turn);
    db.add(NewMemory { role: Some("assistant".to_owned()), ..said("a", "green apple") });
    db.add(fact("a", "blue apple"));
    let count = |filter: &str| db.count(&session("a"), Some(filter), NOW, &go).unwrap();
    assert_eq!(count("{\"kind\": \"mine\"}"), 1);
    assert_eq!(count("{\"_vx_kind\": \"turn\"}"), 2);
    assert_eq!(count("{\"n\": {\"$gte\": 3}}"), 1);
    assert_eq!(count("{\"$and\": [{\"_vx_role\": \"assistant\"}, {\"_vx_turn\": 1}]}"), 1);
    assert_eq!(count("{\"_vx_ts\": {\"$lt\": \"1970-01-01T00:00:00.000000+00:00\"}}"), 0);
    for (filter, expected) in [
        ("{\"_vx_kind\": \"fact\"}", "blue apple"),
        ("{\"_vx_role\": \"assistant\"}", "green apple"),
        ("{\"n\": 3}", "red apple"),
    ] {
        let request = RecallRequest { filter: Some(filter.to_owned()), ..ask("apple", session("a")) };
        assert_eq!(texts(&db.ranked(&request).memories), [expected], "{filter}");
    }
}

#[test]
fn expiry_is_exact_and_needs_no_sweep() {
    let disk = on_disk();
    let db = &disk.engine;
    let id = db.add(NewMemory { expires: Some(NOW + 1), ..keyed("a", "door", "the door code is blue") });
    let at = |now: i64| {
        let recalled = db.ranked(&RecallRequest { now, ..ask("door code", session("a")) }).memories.len();
        let searched =
            db.search(&SearchRequest { now, ..look("door code", session("a")) }, &go).unwrap().memories.len();
        let counted = db.count(&session("a"), None, now, &go).unwrap();
        let fetched = db.get(std::slice::from_ref(&id), now, &go).unwrap()[0].iter().count();
        let keyed = db.fact("door", None, Some("a"), now, &go).unwrap().iter().count();
        let listed = db.facts(None, Some("a"), now, &go).unwrap().len();
        let judged = db.judge_candidates("code", None, None, None, Some("a"), 5, now, &go).unwrap().len();
        [recalled, searched, counted, fetched, keyed, listed, judged]
    };
    assert_eq!(at(NOW), [1; 7]);
    assert_eq!(at(NOW + 1), [0; 7]);
    assert_eq!(db.expire(NOW, &go).unwrap(), 0);
    assert_eq!(db.expire(NOW + 1, &go).unwrap(), 1);
    assert_eq!(at(NOW), [0; 7]);
}

#[test]
fn what_is_gone_takes_no_place() {
    let disk = on_disk();
    let db = &disk.engine;
    for (number, go_away) in ["forgotten", "expired", "superseded"].into_iter().enumerate() {
        let name = format!("s{number}");
        let better = db.add(NewMemory {
            expires: (go_away == "expired").then_some(NOW),
            ..said(&name, "the red bicycle in the shed")
        });
        db.add(said(&name, "the red bicycle was in the shed"));
        match go_away {
            "forgotten" => assert_eq!(db.delete(&[better], &go).unwrap(), 1),
            "superseded" => drop(db.correct(&better, "a blue boat")),
            _ => {}
        }
        for mode in [Mode::Dense, Mode::Lexical, Mode::Hybrid] {
            let recall = RecallRequest { limit: Some(1), mode, ..ask("the red bicycle in the shed", session(&name)) };
            assert_eq!(db.ranked(&recall).memories[0].text, "the red bicycle was in the shed", "{go_away}");
            let search = SearchRequest { limit: Some(1), mode, ..look("the red bicycle in the shed", session(&name)) };
            assert_eq!(
                db.search(&search, &go).unwrap().memories[0].text,
                "the red bicycle was in the shed",
                "{go_away}"
            );
        }
    }
}

#[test]
fn forget_takes_what_it_names_and_nothing_else() {
    let disk = on_disk();
    let db = &disk.engine;
    for _ in 0..5 {
        db.add(said("a", "in a"));
        db.add(said("b", "in b"));
    }
    let kept = db.add(fact("a", "a fact of a"));
    assert_eq!(db.forget(&forget(session("a"), &[Kind::Turn]), &go).unwrap(), 5);
    assert!(db.one(&kept).is_some());
    assert_eq!(db.forget(&forget(session("a"), &[Kind::Turn, Kind::Fact, Kind::Pinned]), &go).unwrap(), 1);
    assert_eq!(db.count(&session("a"), None, NOW, &go).unwrap(), 0);
    assert_eq!(db.sessions(&Reach::default(), NOW, &go).unwrap(), ["b"]);
    let again = open(Some(&disk.folder.path().join("chat.db")));
    assert!(again.recalled("in a", "a").is_empty());
    assert_eq!(again.turns("b", None, None, NOW, &go).unwrap().len(), 5);
}

#[test]
fn forget_by_age_by_state_and_by_id() {
    let db = open(None);
    let old = db.add(NewMemory { ts: NOW - 100 * DAY, ..said("a", "old") });
    db.add(said("a", "new"));
    let aged = Forget { before: Some(NOW - 90 * DAY), ..forget(session("a"), &[Kind::Turn]) };
    assert_eq!(db.forget(&aged, &go).unwrap(), 1);
    assert_eq!(db.one(&old), None);
    let first = db.add(fact("a", "one"));
    let second = db.correct(&first, "two");
    let stale = Forget { superseded: true, ..forget(session("a"), &[Kind::Fact]) };
    assert_eq!(db.forget(&stale, &go).unwrap(), 1);
    assert_eq!(ids(&db.history(&second, &go).unwrap()), [second.clone()]);
    let named =
        Forget { ids: Some(vec![second.clone(), "unknown".to_owned()]), ..forget(Reach::default(), &[Kind::Turn]) };
    assert_eq!(db.forget(&named, &go).unwrap(), 1);
    let theirs = db.add(NewMemory { user: Some("ann".to_owned()), ..fact("s", "ann's") });
    let not_reached = Forget { ids: Some(vec![theirs]), ..forget(Reach::default(), &[]) };
    assert_eq!(db.forget(&not_reached, &go).unwrap(), 0);
}

#[test]
fn clear_leaves_nothing() {
    let disk = on_disk();
    let db = &disk.engine;
    db.add(said("a", "one"));
    db.add(document("d", "two"));
    assert_eq!(db.clear(&go).unwrap(), 2);
    assert_eq!(db.count(&anybody(), None, NOW, &go).unwrap(), 0);
    assert!(db.recalled("one", "a").is_empty());
    db.add(said("a", "again"));
    assert_eq!(db.recalled("again", "a"), ["again"]);
}
