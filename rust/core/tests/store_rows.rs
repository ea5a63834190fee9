//! What is stored comes back as given; conflicts and failures leave nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::unit_arg, clippy::redundant_closure_for_method_calls)]
mod store_support;

use retentive_core::error::Error;
use retentive_core::model::{Judge, Kind, Outcome, Vector};
use retentive_core::store::{NewMemory, NewModel, Owners, Scan};
use store_support::*;

#[test]
fn a_memory_comes_back_as_given_from_a_file_and_from_memory() {
    let folder = Folder::new();
    for store in [open(&folder.file()), in_memory()] {
        let new = NewMemory {
            role: Some("assistant".into()),
            name: Some("Zoë".into()),
            key: Some("diet".into()),
            metadata: Some(r#"{"b": 1.0, "a": [1e400, "\u00e9"]}"#.into()),
            expires: Some(9_000_000),
            tokens: 17,
            words: 9,
            question: 255,
            vectors: vec![Vector::first(vec![1.0, f32::MIN_POSITIVE]), Vector::first(vec![-0.0, 2.5])],
            consolidated_from: vec!["t1".into(), "t2".into()],
            judge: Judge::Failed,
            ..fact("given id", "I eat no meat.\n\u{0}ok")
        };
        store
            .write(&never, |tx| {
                let scope = tx.ensure_scope(Some("ann"), Some("s1"))?;
                let seq = tx.insert(&scope, &new)?.seq;
                tx.add_feedback(seq, Outcome::Useful, 5)?;
                tx.add_feedback(seq, Outcome::DeadEnd, -6)
            })
            .unwrap();
        let row = row(&store, "given id").unwrap();
        assert_eq!((row.text, row.metadata), (new.text.clone(), new.metadata.clone()));
        assert_eq!((row.role, row.name, row.key), (new.role.clone(), new.name.clone(), new.key.clone()));
        assert_eq!((row.user.as_deref(), row.session.as_deref()), (Some("ann"), Some("s1")));
        assert_eq!(row.consolidated_from, new.consolidated_from);
        assert_eq!(row.feedback, [(Outcome::Useful, 5), (Outcome::DeadEnd, -6)]);
        assert_eq!((row.head.kind, row.head.judge, row.head.keyed), (Kind::Fact, Judge::Failed, true));
        assert_eq!((row.head.turn, row.head.expires, row.head.question), (None, Some(9_000_000), 255));
        assert_eq!(read(&store, |tx| tx.vectors(row.head.seq)), new.vectors);
        assert_eq!(read(&store, |tx| tx.metadata(row.head.seq)), new.metadata);
        let mut loaded = Vec::new();
        read(&store, |tx| tx.changes(row.head.partition, 0, &mut |row| Ok(loaded.push(row.clone()))));
        assert_eq!(loaded.len(), 1);
        assert_eq!((&loaded[0].terms, &loaded[0].vectors), (&new.terms, &new.vectors));
        assert_eq!(loaded[0].feedback, [(1, 5), (-1, -6)]);
    }
}

#[test]
fn an_id_in_use_is_a_conflict_and_leaves_nothing() {
    let store = in_memory();
    put(&store, "s", &turn("a", "first"));
    let conflict = store.write(&never, |tx| put_in(tx, "other", &turn("a", "second")));
    assert!(matches!(conflict, Err(Error::Conflict(_))));
    assert_eq!(row(&store, "a").unwrap().text, "first");
    assert_eq!(read(&store, |tx| tx.scope(None, Some("other"))), None);
}

#[test]
fn a_job_that_fails_or_panics_leaves_nothing_and_the_store_usable() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let failed = store.write(&never, |tx| {
        put_in(tx, "s", &turn("a", "one"))?;
        Err::<(), _>(Error::invalid("changed my mind"))
    });
    assert!(matches!(failed, Err(Error::InvalidInput(_))));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        store.write(&never, |tx| {
            put_in(tx, "s", &turn("b", "two"))?;
            std::panic::resume_unwind(Box::new("stop")) as retentive_core::error::Result<()>
        })
    }));
    assert!(panicked.is_err());
    put(&store, "s", &turn("c", "three"));
    assert_eq!(row(&store, "a"), None);
    assert_eq!(row(&store, "b"), None);
    assert_eq!(turn_numbers(&store, "s"), [0]);
}

#[test]
fn turn_numbers_rise_survive_erasure_and_follow_explicit_ones() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let first = put(&store, "s", &turn("a", "x"));
    put(&store, "s", &turn("b", "x"));
    put(&store, "s", &NewMemory { turn: Some(10), ..turn("c", "x") });
    put(&store, "s", &NewMemory { turn: Some(4), ..turn("d", "x") });
    put(&store, "s", &fact("e", "no turn"));
    put(&store, "s", &turn("f", "x"));
    assert_eq!(turn_numbers(&store, "s"), [0, 1, 4, 10, 11]);
    let all = read(&store, |tx| {
        let mut all = Vec::new();
        tx.heads(Scan::All, &mut |head| Ok(all.push(head.seq)))?;
        Ok(all)
    });
    assert_eq!(store.write(&never, |tx| tx.erase(&all)).unwrap(), 6);
    assert_eq!(read(&store, |tx| tx.scope(None, Some("s"))), None);
    drop(store);
    let store = open(&folder.file());
    assert!(put(&store, "s", &turn("a", "again")) > first + 5);
    assert_eq!(turn_numbers(&store, "s"), [12]);
    assert!(matches!(
        store.write(&never, |tx| put_in(tx, "s", &NewMemory { turn: Some(-1), ..turn("z", "x") })),
        Err(Error::InvalidInput(_))
    ));
}

#[test]
fn names_are_compared_byte_for_byte() {
    let store = in_memory();
    let names = [
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
        "é",
        "e\u{301}",
        "😀",
        &"x".repeat(3_000),
    ];
    for (number, name) in names.into_iter().enumerate() {
        put(&store, name, &turn(&number.to_string(), name));
    }
    for name in names {
        let texts = read(&store, |tx| {
            let scope = tx.scope(None, Some(name))?.unwrap();
            Ok(tx.rows(&tx.turns(scope.id, None, 0)?)?.into_iter().map(|row| row.text).collect::<Vec<_>>())
        });
        assert_eq!(texts, [name]);
    }
    assert_eq!(read(&store, |tx| tx.scope(None, Some("joh"))), None);
    assert_eq!(read(&store, |tx| tx.scope(Some("john"), None)), None);
}

#[test]
fn users_own_their_sessions_and_what_has_no_user_stays_apart() {
    let store = in_memory();
    let add = |user: Option<&str>, session: Option<&str>, id: &str| {
        let scope = store
            .write(&never, |tx| {
                let scope = tx.ensure_scope(user, session)?;
                tx.insert(&scope, &fact(id, id))?;
                Ok(scope)
            })
            .unwrap();
        scope.partition
    };
    let ann = add(Some("ann"), Some("s"), "1");
    assert_eq!(add(Some("ann"), None, "2"), ann);
    assert_ne!(add(Some("bob"), Some("s"), "3"), ann);
    let session = add(None, Some("s"), "4");
    let collection = add(None, None, "5");
    assert_ne!(session, collection);
    let names = |owners| {
        read(&store, |tx| {
            Ok(tx.scopes(owners)?.into_iter().map(|scope| (scope.user, scope.session, scope.held)).collect::<Vec<_>>())
        })
    };
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(names(Owners::User("ann")), [(some("ann"), None, 1), (some("ann"), some("s"), 1)]);
    assert_eq!(names(Owners::WithoutUser), [(None, some("s"), 1), (None, None, 1)]);
    assert_eq!(names(Owners::Any).len(), 5);
    assert_eq!(names(Owners::User("nobody")), []);
    assert_eq!(read(&store, |tx| tx.users()), ["ann", "bob"]);
    assert_eq!(read(&store, |tx| tx.partitions(Owners::Any)).len(), 4);
    assert_eq!(read(&store, |tx| tx.owner(Some("ann"), Some("a new session"))), Some(ann));
    assert_eq!(read(&store, |tx| tx.owner(None, Some("a new session"))), None);
}

#[test]
fn the_last_turns_are_those_not_expired_in_order() {
    let store = in_memory();
    let mut scope = 0;
    for number in 0..10 {
        let expires = (number % 3 == 0).then_some(50);
        let seq = put(&store, "s", &NewMemory { expires, ..turn(&number.to_string(), "x") });
        scope = read(&store, |tx| tx.rows(&[seq]))[0].head.scope;
    }
    put(&store, "s", &fact("f", "x"));
    let last = |limit, now| {
        let seqs = read(&store, |tx| tx.turns(scope, limit, now));
        read(&store, |tx| tx.rows(&seqs)).into_iter().filter_map(|row| row.head.turn).collect::<Vec<_>>()
    };
    assert_eq!(last(Some(3), 49), [7, 8, 9]);
    assert_eq!(last(Some(3), 50), [5, 7, 8]);
    assert_eq!(last(Some(0), 50), [0; 0]);
    assert_eq!(last(None, 50), [1, 2, 4, 5, 7, 8]);
    let expired = read(&store, |tx| {
        let mut expired = Vec::new();
        tx.heads(Scan::Expired(50), &mut |head| Ok(expired.push(head.turn)))?;
        Ok(expired)
    });
    assert_eq!(expired, [Some(0), Some(3), Some(6), Some(9)]);
}

#[test]
fn a_key_leads_to_who_holds_it_and_is_not_superseded() {
    let store = in_memory();
    let old = put(&store, "s", &keyed("old", "diet", "meat"));
    put(&store, "s", &keyed("other", "city", "Rome"));
    put(&store, "elsewhere", &keyed("stranger", "diet", "fish"));
    let owner = read(&store, |tx| tx.owner(None, Some("s"))).unwrap();
    assert_eq!(read(&store, |tx| tx.keyed(owner, "diet")).unwrap().seq, old);
    let new = put(&store, "s", &keyed("new", "diet", "no meat"));
    store.write(&never, |tx| tx.supersede(old, new, 77)).unwrap();
    assert_eq!(read(&store, |tx| tx.keyed(owner, "diet")).unwrap().seq, new);
    assert_eq!(read(&store, |tx| tx.keyed_all(owner)).len(), 2);
    assert_eq!(read(&store, |tx| tx.keyed(owner, "Diet")), None);
}

#[test]
fn chains_link_once_and_close_the_gap_when_one_is_forgotten() {
    let store = in_memory();
    let link = |old, new| store.write(&never, |tx| tx.supersede(old, new, 7));
    let seqs = ["a", "b", "c", "d"].map(|id| put(&store, "s", &fact(id, id)));
    let [a, b, c, d] = seqs;
    link(a, b).unwrap();
    link(b, c).unwrap();
    assert!(matches!(link(b, d), Err(Error::Conflict(_))));
    assert!(matches!(link(c, a), Err(Error::Conflict(_))));
    for seq in [a, b, c] {
        assert_eq!(read(&store, |tx| tx.chain(seq)), [a, b, c]);
    }
    store.write(&never, |tx| tx.erase(&[b])).unwrap();
    assert_eq!(read(&store, |tx| tx.chain(a)), [a, c]);
    let first = row(&store, "a").unwrap();
    assert_eq!((first.superseded_by_id.as_deref(), first.head.superseded_at), (Some("c"), Some(7)));
    assert_eq!(row(&store, "c").unwrap().supersedes_id.as_deref(), Some("a"));
    store.write(&never, |tx| tx.erase(&[c])).unwrap();
    let first = row(&store, "a").unwrap();
    assert_eq!((first.head.superseded_by, first.head.superseded_at), (Some(0), Some(7)));
    assert_eq!(first.superseded_by_id, None);
    store.write(&never, |tx| tx.supersede(a, d, 99)).unwrap();
    let first = row(&store, "a").unwrap();
    assert_eq!((first.superseded_by_id.as_deref(), first.head.superseded_at), (Some("d"), Some(7)));
    assert_eq!(read(&store, |tx| tx.chain(d)), [a, d]);
}

#[test]
fn one_memory_may_supersede_several() {
    let store = in_memory();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|id| put(&store, "s", &fact(id, id)));
    for (old, new) in [(a, c), (b, c), (c, d)] {
        store.write(&never, |tx| tx.supersede(old, new, 1)).unwrap();
    }
    assert_eq!(read(&store, |tx| tx.chain(b)), [a, b, c, d]);
    store.write(&never, |tx| tx.erase(&[c])).unwrap();
    assert_eq!(read(&store, |tx| tx.chain(b)), [a, b, d]);
    store.write(&never, |tx| tx.erase(&[a, d])).unwrap();
    assert_eq!(row(&store, "b").unwrap().head.superseded_by, Some(0));
}

#[test]
fn a_fact_marks_the_turns_it_came_from() {
    let store = in_memory();
    let [one, two] = ["1", "2"].map(|id| put(&store, "s", &turn(id, id)));
    put(&store, "s", &NewMemory { cited: vec![one], consolidated_from: vec!["1".into()], ..fact("f", "f") });
    assert!(read(&store, |tx| tx.cited(one)));
    assert!(!read(&store, |tx| tx.cited(two)));
    assert!(row(&store, "1").unwrap().head.cited);
}

fn model(name: &str, probe: Vec<f32>) -> NewModel {
    NewModel { name: name.into(), dimension: probe.len() as u32, probe }
}

#[test]
fn the_models_are_those_set_last_in_their_order() {
    let store = in_memory();
    assert_eq!(read(&store, |tx| tx.models()), []);
    let (one, two) = (model("one", vec![1.0, 2.0]), model("two", vec![0.5]));
    for models in [vec![one.clone()], vec![two.clone(), one], vec![two]] {
        store.write(&never, |tx| tx.set_models(&models)).unwrap();
        let found = read(&store, |tx| tx.models());
        let found = found.into_iter().map(|found| model(&found.name, found.probe));
        assert_eq!(found.collect::<Vec<_>>(), models);
    }
}

#[test]
fn vectors_of_two_models_stand_in_one_run_and_are_read_model_by_model() {
    let store = in_memory();
    store.write(&never, |tx| tx.set_models(&[model("one", vec![1.0]), model("two", vec![1.0, 0.0])])).unwrap();
    let of = |slot, values: &[f32]| Vector { slot, values: values.to_vec() };
    let vectors = vec![of(1, &[3.0, 4.0]), of(0, &[1.0]), of(1, &[5.0, 6.0]), of(0, &[2.0])];
    let in_order = [of(0, &[1.0]), of(0, &[2.0]), of(1, &[3.0, 4.0]), of(1, &[5.0, 6.0])];
    let seq = put(&store, "s", &NewMemory { vectors, ..turn("1", "x") });
    assert_eq!(read(&store, |tx| tx.vectors(seq)), in_order);
    let rows = read(&store, |tx| tx.rows_with_vectors(&[seq]));
    assert_eq!(rows[0].1, in_order);
}

#[test]
fn a_vector_of_a_model_that_is_not_current_any_more_is_damage() {
    let store = in_memory();
    store.write(&never, |tx| tx.set_models(&[model("one", vec![1.0])])).unwrap();
    let seq = put(&store, "s", &NewMemory { vectors: vec![Vector::first(vec![2.0])], ..turn("1", "x") });
    store.write(&never, |tx| tx.set_models(&[model("two", vec![1.0])])).unwrap();
    assert!(matches!(store.read(&never, |tx| tx.vectors(seq)), Err(Error::Corrupt { .. })));
    assert!(matches!(store.read(&never, |tx| tx.expect_no_model()), Err(Error::Corrupt { .. })));
}

#[test]
fn a_vector_of_a_model_that_there_is_not_stores_nothing() {
    let store = in_memory();
    let wrong = NewMemory { vectors: vec![Vector { slot: 1, values: vec![1.0] }], ..turn("1", "x") };
    let refused = store.write(&never, |tx| {
        let scope = tx.ensure_scope(None, Some("s"))?;
        tx.insert(&scope, &wrong)
    });
    assert!(matches!(refused, Err(Error::InvalidInput(_))));
    assert!(row(&store, "1").is_none());
}

#[test]
fn clear_forgets_everything_and_numbers_go_on() {
    let store = in_memory();
    let last = (0..5).map(|number| put(&store, "s", &turn(&number.to_string(), "x"))).max().unwrap();
    assert_eq!(store.write(&never, |tx| tx.clear()).unwrap(), 5);
    let stats = read(&store, |tx| tx.stats());
    assert_eq!((stats.by_kind, stats.scopes, stats.partitions, stats.erased), ([0; 4], 0, 0, 5));
    assert!(put(&store, "s", &turn("0", "x")) > last);
    assert_eq!(turn_numbers(&store, "s"), [5]);
}
