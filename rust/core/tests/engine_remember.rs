//! Storing: ids, turn numbers, keys, judges' verdicts, documents.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp, clippy::cloned_ref_to_slice_refs)]
mod engine_support;

use engine_support::*;
use retentive_core::engine::{BoundModel, NewMemory, Reach, RecallRequest};
use retentive_core::error::Error;
use retentive_core::model::{Judge, Kind, Vector};

#[test]
fn the_same_words_said_twice_are_two_turns_with_rising_numbers() {
    let disk = on_disk();
    let db = &disk.engine;
    db.add(said("a", "ok"));
    db.add(said("a", "ok"));
    db.add(said("b", "ok"));
    let turns = db.turns("a", None, None, NOW, &go).unwrap();
    assert_eq!(turns.iter().map(|turn| turn.turn).collect::<Vec<_>>(), [Some(0), Some(1)]);
    assert_eq!(db.turns("b", None, None, NOW, &go).unwrap()[0].turn, Some(0));
}

#[test]
fn an_explicit_turn_raises_the_mark() {
    let db = open(None);
    db.add(NewMemory { turn: Some(41), ..said("a", "late") });
    db.add(said("a", "later"));
    let turns = db.turns("a", None, None, NOW, &go).unwrap();
    assert_eq!(turns[1].turn, Some(42));
}

#[test]
fn an_id_in_use_is_a_conflict_and_stores_nothing_of_the_batch() {
    let disk = on_disk();
    let db = &disk.engine;
    let id = db.add(said("a", "first"));
    let again = vec![said("a", "fine"), NewMemory { id, ..said("a", "second") }];
    assert!(matches!(db.remember(again, NOW, &go), Err(Error::Conflict(_))));
    assert_eq!(db.count(&session("a"), None, NOW, &go).unwrap(), 1);
    db.add(said("a", "usable afterwards"));
}

#[test]
fn a_vector_of_another_length_is_refused() {
    let db = open(None);
    let wrong = NewMemory { vectors: vec![Vector::first(vec![1.0, 0.0])], ..said("a", "short") };
    assert!(matches!(db.remember(vec![wrong], NOW, &go), Err(Error::Dimension { expected: DIMENSION, got: 2, .. })));
}

#[test]
fn a_new_value_under_a_key_supersedes_and_the_same_value_changes_nothing() {
    let disk = on_disk();
    let db = &disk.engine;
    let first = db.add(keyed("a", "plan", "Customer is on the monthly plan"));
    let again = db.add(keyed("a", "plan", "Customer is on the monthly plan"));
    assert_eq!(first, again);
    let second = db.add(keyed("a", "plan", "Customer is on the annual plan"));
    assert_eq!(db.fact("plan", None, Some("a"), NOW, &go).unwrap().unwrap().id, second);
    assert_eq!(db.recalled("which plan", "a"), ["Customer is on the annual plan"]);
    assert_eq!(ids(&db.history(&first, &go).unwrap()), [first.clone(), second]);
    assert_eq!(db.fact("plan", None, Some("b"), NOW, &go).unwrap(), None);
}

#[test]
fn a_key_of_a_user_is_one_key_in_all_the_users_sessions() {
    let db = open(None);
    let owned = |session: &str, text: &str| NewMemory { user: Some("ann".to_owned()), ..keyed(session, "city", text) };
    db.add(owned("s1", "Lives in Rome"));
    db.add(owned("s2", "Lives in Oslo"));
    let facts = db.facts(Some("ann"), None, NOW, &go).unwrap();
    assert_eq!(texts(&facts), ["Lives in Oslo"]);
    assert!(db.facts(None, Some("s1"), NOW, &go).unwrap().is_empty());
}

#[test]
fn a_judges_verdict_applies_only_to_what_is_still_live_and_of_the_same_owner() {
    let disk = on_disk();
    let db = &disk.engine;
    let old = db.add(fact("a", "Ann loves cricket"));
    let other = db.add(fact("b", "Ann loves cricket"));
    let gone = db.add(fact("a", "Ann loves chess"));
    let heir = db.correct(&gone, "Ann loves go");
    let verdict = NewMemory {
        judge: Judge::Ok,
        supersedes: vec![old.clone(), other.clone(), gone.clone(), "mem_unknown".to_owned()],
        ..fact("a", "Ann hates cricket")
    };
    let new = db.add(verdict);
    assert_eq!(db.one(&old).unwrap().superseded_by, Some(new));
    assert_eq!(db.one(&other).unwrap().superseded_by, None);
    assert_eq!(db.one(&gone).unwrap().superseded_by, Some(heir));
}

#[test]
fn judge_candidates_are_the_nearest_live_facts_of_the_owner_and_session() {
    let disk = on_disk();
    let db = &disk.engine;
    db.add(fact("a", "Ann loves cricket"));
    db.add(NewMemory { kind: Kind::Pinned, ..fact("a", "Ann loves tea") });
    db.add(said("a", "Ann loves cricket matches"));
    db.add(fact("b", "Ann loves cricket too"));
    db.add(NewMemory { expires: Some(NOW), ..fact("a", "Ann loves cricket a lot") });
    let text = "Ann hates cricket";
    let found = db.judge_candidates(text, Some(&embed(text)), None, None, Some("a"), 5, NOW, &go).unwrap();
    assert_eq!(found.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["Ann loves cricket", "Ann loves tea"]);
    let words = db.judge_candidates("cricket", None, None, None, Some("a"), 5, NOW, &go).unwrap();
    assert_eq!(words.len(), 1);
    let same = db.judge_candidates("Ann loves cricket", None, None, None, Some("a"), 5, NOW, &go).unwrap();
    assert!(same.iter().all(|(_, text)| text != "Ann loves cricket"));
}

#[test]
fn documents_are_replaced_by_id_and_the_same_again_changes_nothing() {
    let disk = on_disk();
    let db = &disk.engine;
    db.add(document("d", "The export button is in the menu"));
    let before = db.one("d").unwrap();
    db.add(document("d", "The export button is in the menu"));
    assert_eq!(db.one("d").unwrap(), before);
    db.add(document("d", "The export button is in the toolbar"));
    assert_eq!(db.count(&anybody(), None, NOW, &go).unwrap(), 1);
    let hits = db.search(&look("export button menu", Reach::default()), &go).unwrap();
    assert_eq!(texts(&hits.memories), ["The export button is in the toolbar"]);
    let turn = db.add(said("a", "a turn"));
    assert!(matches!(db.remember(vec![document(&turn, "mine")], NOW, &go), Err(Error::Conflict(_))));
}

#[test]
fn vectors_come_back_as_they_were_given() {
    let disk = on_disk();
    let db = &disk.engine;
    let parts = vec![embed("one"), embed("two")];
    let id = db.add(NewMemory { vectors: parts.iter().cloned().map(Vector::first).collect(), ..said("a", "one two") });
    let none = db.add(NewMemory { vectors: Vec::new(), ..said("a", "bare") });
    let got = db.vectors(&[id, "unknown".to_owned(), none], &go).unwrap();
    assert_eq!(got, [Some(parts), None, Some(Vec::new())]);
}

#[test]
fn another_model_is_refused_with_the_way_out() {
    let disk = on_disk();
    let db = &disk.engine;
    let bind = |bound: BoundModel| db.bind_models(&[bound], &go);
    bind(model("made-up", Some(embed("the probe")))).unwrap();
    bind(model("anything", None)).unwrap();
    let other_name = bind(model("other", Some(embed("the probe"))));
    assert!(matches!(other_name, Err(Error::Fingerprint { message, .. }) if message.contains("reembed")));
    let other_model = bind(model("made-up", Some(embed("else"))));
    assert!(matches!(other_model, Err(Error::Fingerprint { .. })));
    let other_size = bind(BoundModel { dimension: 8, ..model("made-up", Some(vec![1.0; 8])) });
    assert!(matches!(other_size, Err(Error::Dimension { expected: DIMENSION, got: 8, .. })));
    assert_eq!(db.models(&go).unwrap(), [("made-up".to_owned(), DIMENSION)]);
}

#[test]
fn models_are_bound_as_a_whole_and_in_their_order() {
    let db = unbound(None, 64);
    let (one, two) = (model("one", Some(embed("the probe"))), model("two", Some(embed("another probe"))));
    assert!(matches!(db.bind_models(&[], &go), Err(Error::InvalidInput(_))));
    assert!(matches!(db.bind_models(&[one.clone(), two.clone(), one.clone()], &go), Err(Error::InvalidInput(_))));
    db.bind_models(&[one.clone(), two.clone()], &go).unwrap();
    db.bind_models(&[one.clone(), two.clone()], &go).unwrap();
    for others in [vec![one.clone()], vec![two.clone()], vec![two, one]] {
        let refused = db.bind_models(&others, &go);
        assert!(matches!(refused, Err(Error::Fingerprint { message, .. }) if message.contains("\"one\" and \"two\"")));
    }
    assert_eq!(db.models(&go).unwrap(), [("one".to_owned(), DIMENSION), ("two".to_owned(), DIMENSION)]);
}

#[test]
fn a_probe_that_comes_later_leaves_the_vectors_given_before() {
    let db = unbound(None, 64);
    db.bind_models(&[model("ours", None)], &go).unwrap();
    let id = db.add(said("a", "given before"));
    db.bind_models(&[model("ours", Some(embed("the probe")))], &go).unwrap();
    assert_eq!(db.vectors(&[id], &go).unwrap(), [Some(vec![embed("given before")])]);
    let other = db.bind_models(&[model("ours", Some(embed("else")))], &go);
    assert!(matches!(other, Err(Error::Fingerprint { .. })));
}

#[test]
fn a_memory_has_a_vector_of_each_model_or_of_none() {
    let db = unbound(None, 64);
    db.bind_models(&[model("one", None), model("two", None)], &go).unwrap();
    let of = |slot| Vector { slot, values: embed("x") };
    for (vectors, missing) in [(vec![of(0)], "two"), (vec![of(1)], "one"), (vec![of(0), of(1), of(2)], "model 3")] {
        let refused = db.remember(vec![NewMemory { vectors, ..said("a", "x") }], NOW, &go);
        assert!(matches!(refused, Err(Error::Configuration { message, .. }) if message.contains(missing)));
    }
    let short = Vector { slot: 1, values: vec![1.0; 8] };
    let refused = db.remember(vec![NewMemory { vectors: vec![of(0), short], ..said("a", "x") }], NOW, &go);
    assert!(matches!(refused, Err(Error::Dimension { expected: DIMENSION, got: 8, .. })));
    assert_eq!(db.count(&anybody(), None, NOW, &go).unwrap(), 0);
    db.add(NewMemory { vectors: vec![of(0), of(1)], ..said("a", "x") });
    db.add(NewMemory { vectors: Vec::new(), ..said("a", "x y") });
    let request = RecallRequest { vectors: vec![embed("x"), embed("x")], ..ask("x", session("a")) };
    assert_eq!(db.recall(&request, &go).unwrap().memories.len(), 2);
}

#[test]
fn a_closed_collection_says_so() {
    let disk = on_disk();
    let db = &disk.engine;
    db.close();
    db.close();
    assert!(db.closed());
    assert!(matches!(db.remember(vec![said("a", "late")], NOW, &go), Err(Error::Closed(_))));
    assert!(matches!(db.recall(&ask("late", session("a")), &go), Err(Error::Closed(_))));
}
