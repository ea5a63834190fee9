//! Moving to another model: what is read meanwhile, what is refused after, and that nothing is left behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
mod engine_support;

use engine_support::*;
use retentive_core::engine::{BoundModel, Ended, Engine, Move, NewMemory, Stat};
use retentive_core::error::Error;
use retentive_core::model::{Kind, Vector};

const SMALL: usize = 24;

/// Another model: the same directions turned round, and shorter.
fn other(text: &str) -> Vec<f32> {
    embed(text).into_iter().rev().take(SMALL).collect()
}

fn made_by(name: &str, make: fn(&str) -> Vec<f32>) -> Vec<BoundModel> {
    let probe = make("the probe");
    vec![BoundModel { name: name.to_owned(), dimension: probe.len(), probe: Some(probe) }]
}

fn begin(db: &Engine) -> Move {
    db.begin_reembed(&made_by("other", other), &go).unwrap().unwrap()
}

fn batch(db: &Engine, after: i64, limit: usize) -> Vec<(i64, Vec<Vector>)> {
    let found = db.unembedded(after, limit, &go).unwrap();
    found.into_iter().map(|memory| (memory.seq, vec![Vector::first(other(&memory.text))])).collect()
}

fn finish(db: &Engine, id: i64) -> Option<i64> {
    db.finish_reembed(id, &batch(db, 0, usize::MAX), 0, &go).unwrap().epoch
}

fn vectors_of(db: &Engine, ids: &[String]) -> Vec<Vec<Vec<f32>>> {
    db.vectors(ids, &go).unwrap().into_iter().map(Option::unwrap).collect()
}

fn figure(db: &Engine, name: &str) -> Stat {
    db.stats(&go).unwrap().into_iter().find(|(of, _)| *of == name).unwrap().1
}

fn at(epoch: i64, new: NewMemory) -> NewMemory {
    NewMemory { model_epoch: Some(epoch), ..new }
}

fn asked_with(vector: Vec<f32>, epoch: i64) -> retentive_core::engine::RecallRequest {
    retentive_core::engine::RecallRequest {
        vectors: vec![vector],
        model_epoch: Some(epoch),
        ..ask("green tea", session("a"))
    }
}

#[test]
fn every_memory_has_the_new_vectors_after_the_swap_and_the_old_ones_until_then() {
    let disk = on_disk();
    let db = &disk.engine;
    let texts: Vec<String> = (0..40).map(|number| format!("row {number} of green tea")).collect();
    let mut ids: Vec<String> = texts.iter().map(|text| db.add(said("a", text))).collect();
    ids.push(db.add(document("doc", "a document")));
    let old = vectors_of(db, &ids);
    let moved = begin(db);
    assert_eq!((moved.done, moved.total), (0, 41));
    assert_eq!(db.store_reembedded(moved.id, &batch(db, 0, 30), &go).unwrap(), Some((30, 41)));
    assert_eq!(vectors_of(db, &ids), old);
    assert_eq!((figure(db, "reembed_pending"), figure(db, "reembedded")), (Stat::Bool(true), Stat::Int(30)));
    assert!(db.ranked(&ask("row 7 of green tea", session("a"))).memories[0].text == "row 7 of green tea");
    assert!(finish(db, moved.id).is_some());
    for (id, vectors) in ids.iter().zip(vectors_of(db, &ids)) {
        let text = db.one(id).unwrap().text;
        assert_eq!(vectors, [other(&text)]);
    }
    assert_eq!((figure(db, "reembed_pending"), figure(db, "reembedded")), (Stat::Bool(false), Stat::Int(0)));
    assert_eq!(db.models(&go).unwrap(), [("other".to_owned(), SMALL)]);
}

#[test]
fn a_partition_that_is_in_memory_is_compared_by_the_new_vectors_after_the_swap() {
    for db in [open(None), on_disk().engine] {
        for number in 0..20 {
            db.add(said("a", &format!("row {number}")));
        }
        let text = "row 7";
        assert_eq!(db.ranked(&ask(text, session("a"))).memories[0].text, text);
        let moved = begin(&db);
        let epoch = finish(&db, moved.id).unwrap();
        let request = retentive_core::engine::SearchRequest {
            query: None,
            vectors: vec![other(text)],
            model_epoch: Some(epoch),
            mode: retentive_core::engine::Mode::Dense,
            ..look(text, session("a"))
        };
        let found = db.search(&request, &go).unwrap().memories;
        assert_eq!(found[0].text, text);
        assert!(found[0].similarity.unwrap() > 0.999);
        db.add(at(epoch, NewMemory { vectors: vec![Vector::first(other("row 99"))], ..said("a", "row 99") }));
        assert_eq!(db.search(&request, &go).unwrap().memories[0].text, text);
    }
}

#[test]
fn vectors_of_the_old_model_are_refused_after_the_swap_and_change_nothing() {
    let disk = on_disk();
    let db = &disk.engine;
    let before = db.model_epoch(&go).unwrap();
    let id = db.add(at(before, said("a", "green tea")));
    let moved = begin(db);
    db.add(at(before, said("a", "green tea again")));
    let after = finish(db, moved.id).unwrap();
    assert_ne!(before, after);
    let refused = |result: Result<(), Error>| assert!(matches!(result, Err(Error::Fingerprint { .. })), "{result:?}");
    refused(db.remember(vec![at(before, said("a", "late"))], NOW, &go).map(drop));
    refused(db.recall(&asked_with(embed("green tea"), before), &go).map(drop));
    refused(db.judge_candidates("tea", Some(&embed("tea")), Some(before), None, Some("a"), 5, NOW, &go).map(drop));
    let fix = retentive_core::engine::Correction { model_epoch: Some(before), ..correction("black tea") };
    let outcome = retentive_core::model::Outcome::Corrected;
    refused(db.feedback(&id, outcome, NOW, Some(fix), NOW, &go).map(drop));
    assert_eq!(db.turns("a", None, None, NOW, &go).unwrap().len(), 2);
    assert_eq!(db.recall(&asked_with(other("green tea"), after), &go).unwrap().memories.len(), 2);
}

#[test]
fn what_is_written_replaced_or_forgotten_meanwhile_is_neither_missed_nor_kept() {
    let disk = on_disk();
    let db = &disk.engine;
    let gone = db.add(said("a", "goes away"));
    let stays = db.add(said("a", "stays"));
    db.add(document("doc", "first text"));
    let moved = begin(db);
    db.store_reembedded(moved.id, &batch(db, 0, 10), &go).unwrap();
    db.delete(&[gone], &go).unwrap();
    db.add(document("doc", "second text"));
    let late = batch(db, 0, 10);
    let new = db.add(said("a", "new"));
    assert_eq!(db.finish_reembed(moved.id, &late, 0, &go).unwrap(), Ended { epoch: None, added: 1, done: 2, total: 3 });
    assert_eq!(figure(db, "reembedded"), Stat::Int(2));
    assert!(finish(db, moved.id).is_some());
    let ids = [stays, new, "doc".to_owned()];
    assert_eq!(vectors_of(db, &ids), [[other("stays")], [other("new")], [other("second text")]]);
}

#[test]
fn a_move_goes_on_where_it_was_and_another_model_begins_anew() {
    let disk = on_disk();
    let db = &disk.engine;
    let ids: Vec<String> = (0..10).map(|number| db.add(said("a", &format!("row {number}")))).collect();
    let old = vectors_of(db, &ids);
    let first = begin(db);
    db.store_reembedded(first.id, &batch(db, 0, 4), &go).unwrap();
    assert_eq!(begin(db), Move { done: 4, ..first });
    let third = db.begin_reembed(&made_by("third", other), &go).unwrap().unwrap();
    assert_eq!((third.done, third.total), (0, 10));
    let stale = db.store_reembedded(first.id, &batch(db, 0, 4), &go);
    assert!(matches!(stale, Err(Error::Conflict(_))), "{stale:?}");
    db.store_reembedded(third.id, &batch(db, 0, 4), &go).unwrap();
    assert_eq!(db.begin_reembed(&made_by("made-up", embed), &go).unwrap(), None);
    assert_eq!((figure(db, "reembed_pending"), figure(db, "reembedded")), (Stat::Bool(false), Stat::Int(0)));
    assert_eq!(vectors_of(db, &ids), old);
    let stale = db.finish_reembed(third.id, &[], 0, &go);
    assert!(matches!(stale, Err(Error::Conflict(_))), "{stale:?}");
}

#[test]
fn two_who_move_to_the_same_model_both_finish() {
    let disk = on_disk();
    let second = open(Some(&disk.folder.path().join("chat.db")));
    let db = &disk.engine;
    let id = db.add(said("a", "row"));
    let (one, two) = (begin(db), begin(&second));
    assert_eq!(one.id, two.id);
    let late = batch(&second, 0, 10);
    let epoch = finish(db, one.id);
    assert_eq!(second.store_reembedded(two.id, &late, &go).unwrap(), None);
    assert_eq!(second.finish_reembed(two.id, &late, 0, &go).unwrap(), Ended { epoch, added: 0, done: 1, total: 1 });
    assert_eq!(vectors_of(&second, &[id]), [[other("row")]]);
}

#[test]
fn an_embedder_that_the_move_leads_to_is_told_how_to_finish_it() {
    let disk = on_disk();
    let db = &disk.engine;
    for number in 0..3 {
        db.add(said("a", &format!("row {number}")));
    }
    let moved = begin(db);
    db.store_reembedded(moved.id, &batch(db, 0, 2), &go).unwrap();
    let early = db.bind_models(&made_by("other", other), &go);
    let Err(Error::Fingerprint { message, .. }) = early else { panic!("{early:?}") };
    assert!(message.contains("2 of 3") && message.contains("reembed(embedder)"), "{message}");
    db.bind_models(&made_by("made-up", embed), &go).unwrap();
    let epoch = finish(db, moved.id);
    assert_eq!(db.bind_models(&made_by("other", other), &go).ok(), epoch);
}

#[test]
fn forgetting_every_memory_leaves_a_move_that_can_end() {
    let disk = on_disk();
    let db = &disk.engine;
    db.add(said("a", "row"));
    let moved = begin(db);
    db.store_reembedded(moved.id, &batch(db, 0, 2), &go).unwrap();
    assert_eq!(db.forget(&forget(session("a"), &Kind::ALL), &go).unwrap(), 1);
    assert_eq!(figure(db, "reembedded"), Stat::Int(0));
    assert!(finish(db, moved.id).is_some());
}

#[test]
fn from_one_model_to_two_and_back_every_memory_has_the_vectors_of_each() {
    let disk = on_disk();
    let db = &disk.engine;
    let ids: Vec<String> = (0..6).map(|number| db.add(said("a", &format!("row {number}")))).collect();
    let both = [made_by("other", other), made_by("made-up", embed)].concat();
    let moved = db.begin_reembed(&both, &go).unwrap().unwrap();
    let of = |slot, values| Vector { slot, values };
    let rows = |db: &Engine| -> Vec<(i64, Vec<Vector>)> {
        let found = db.unembedded(0, 100, &go).unwrap();
        found.into_iter().map(|row| (row.seq, vec![of(0, other(&row.text)), of(1, embed(&row.text))])).collect()
    };
    let half: Vec<_> = batch(db, 0, 100);
    assert!(db.store_reembedded(moved.id, &half, &go).is_err(), "vectors of one model for a move to two");
    assert_eq!(figure(db, "reembedded"), Stat::Int(0));
    assert!(db.finish_reembed(moved.id, &rows(db), 0, &go).unwrap().epoch.is_some());
    let stored = vectors_of(db, &ids);
    for (id, vectors) in ids.iter().zip(stored) {
        let text = db.one(id).unwrap().text;
        assert_eq!(vectors, [other(&text)], "the first model's vectors are what get() gives");
    }
    let names: Vec<String> = db.models(&go).unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["other", "made-up"]);
    let back = db.begin_reembed(&made_by("other", other), &go).unwrap().unwrap();
    assert!(finish(db, back.id).is_some());
    assert_eq!(db.models(&go).unwrap().len(), 1);
    assert_eq!(db.recall(&asked_with(other("row 1"), db.model_epoch(&go).unwrap()), &go).unwrap().memories.len(), 6);
}

fn asked_for(text: &str, epoch: i64) -> retentive_core::engine::SearchRequest {
    retentive_core::engine::SearchRequest {
        query: None,
        vectors: vec![other(text)],
        model_epoch: Some(epoch),
        mode: retentive_core::engine::Mode::Dense,
        ..look(text, session("a"))
    }
}

/// A move that ends with two of five memories left without vectors, one of them stored as a document; ids, and the epoch after it.
fn ended_with_two_left(db: &Engine) -> (Vec<String>, i64) {
    let mut ids: Vec<String> = (0..3).map(|number| db.add(said("a", &format!("row {number}")))).collect();
    let moved = begin(db);
    let rows = batch(db, 0, 10);
    ids.push(db.add(said("a", "written meanwhile")));
    ids.push(db.add(document("doc", "a late document")));
    let early = db.finish_reembed(moved.id, &rows, 1, &go).unwrap();
    assert_eq!(early, Ended { epoch: None, added: 3, done: 3, total: 5 });
    let ended = db.finish_reembed(moved.id, &[], 2, &go).unwrap();
    assert_eq!((ended.added, ended.done, ended.total), (0, 3, 5));
    (ids, ended.epoch.unwrap())
}

fn rest(db: &Engine) -> Vec<(i64, Vec<Vector>)> {
    let found = db.without_vectors(0, 100, &go).unwrap();
    found.into_iter().map(|memory| (memory.seq, vec![Vector::first(other(&memory.text))])).collect()
}

#[test]
fn a_move_may_end_with_a_few_left_which_are_found_by_words_until_they_get_their_vectors() {
    for db in [open(None), on_disk().engine] {
        let (ids, epoch) = ended_with_two_left(&db);
        assert_eq!(figure(&db, "without_vectors"), Stat::Int(2));
        assert_eq!((figure(&db, "reembed_pending"), figure(&db, "reembedded")), (Stat::Bool(true), Stat::Int(0)));
        assert_eq!(vectors_of(&db, &ids[3..]), [Vec::<Vec<f32>>::new(), Vec::new()]);
        let bare = retentive_core::engine::SearchRequest {
            mode: retentive_core::engine::Mode::Lexical,
            vectors: Vec::new(),
            ..look("written meanwhile", session("a"))
        };
        assert_eq!(db.search(&bare, &go).unwrap().memories[0].text, "written meanwhile");
        assert_eq!(db.add_vectors(epoch, &rest(&db), &go).unwrap(), (2, 5));
        for (id, vectors) in ids.iter().zip(vectors_of(&db, &ids)) {
            assert_eq!(vectors, [other(&db.one(id).unwrap().text)]);
        }
        assert_eq!((figure(&db, "reembed_pending"), figure(&db, "without_vectors")), (Stat::Bool(false), Stat::Int(0)));
        assert_eq!(db.vectors_progress(&go).unwrap(), (5, 5));
    }
}

#[test]
fn whoever_has_a_partition_in_memory_gets_the_vectors_that_were_added() {
    let disk = on_disk();
    let db = &disk.engine;
    let second = open(Some(&disk.folder.path().join("chat.db")));
    let (_, epoch) = ended_with_two_left(db);
    let request = asked_for("written meanwhile", epoch);
    for reader in [db, &second] {
        assert_ne!(reader.search(&request, &go).unwrap().memories[0].text, "written meanwhile");
    }
    db.add_vectors(epoch, &rest(db), &go).unwrap();
    for reader in [db, &second] {
        let found = reader.search(&request, &go).unwrap().memories;
        assert_eq!(found[0].text, "written meanwhile");
        assert!(found[0].similarity.unwrap() > 0.999);
    }
}

#[test]
fn vectors_are_added_to_none_that_has_some_or_is_gone_and_none_of_another_model() {
    let disk = on_disk();
    let db = &disk.engine;
    let before = db.model_epoch(&go).unwrap();
    let (ids, epoch) = ended_with_two_left(db);
    let rows = rest(db);
    let stale = db.add_vectors(before, &rows, &go);
    assert!(matches!(stale, Err(Error::Fingerprint { .. })), "{stale:?}");
    let longer: Vec<_> = rows.iter().map(|(seq, _)| (*seq, vec![Vector::first(embed("tea"))])).collect();
    let longer = db.add_vectors(epoch, &longer, &go);
    assert!(matches!(longer, Err(Error::Dimension { .. })), "{longer:?}");
    assert_eq!(figure(db, "without_vectors"), Stat::Int(2));
    db.delete(&ids[3..4], &go).unwrap();
    assert_eq!(db.add_vectors(epoch, &rows, &go).unwrap(), (1, 4));
    let others: Vec<_> = rows.iter().map(|(seq, _)| (*seq, vec![Vector::first(other("tea"))])).collect();
    assert_eq!(db.add_vectors(epoch, &others, &go).unwrap(), (0, 4));
    assert_eq!(vectors_of(db, &ids[4..]), [[other("a late document")]]);
}

#[test]
fn a_move_away_from_where_some_were_left_brings_vectors_of_them_too() {
    let disk = on_disk();
    let db = &disk.engine;
    let (ids, epoch) = ended_with_two_left(db);
    let back = db.begin_reembed(&made_by("made-up", embed), &go).unwrap().unwrap();
    let rows: Vec<_> = db.unembedded(0, 100, &go).unwrap();
    let rows: Vec<_> = rows.into_iter().map(|row| (row.seq, vec![Vector::first(embed(&row.text))])).collect();
    assert!(db.finish_reembed(back.id, &rows, 0, &go).unwrap().epoch.is_some());
    let late = db.add_vectors(epoch, &rest(db), &go);
    assert!(matches!(late, Err(Error::Fingerprint { .. })), "{late:?}");
    assert_eq!(vectors_of(db, &ids)[3], [embed("written meanwhile")]);
}
