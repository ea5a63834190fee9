//! `verify`, `compact` and `salvage` at the store: what Python cannot set up.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
#![allow(clippy::redundant_closure_for_method_calls)] // the method itself is not general enough in its lifetimes
mod store_support;

use retentive_core::error::Error;
use retentive_core::store::{Fault, SalvageOptions, salvage};
use store_support::{Folder, in_memory, keyed, never, open, put, read, row, turn};

#[test]
fn two_holders_of_one_key_are_a_duplicate() {
    let store = in_memory();
    put(&store, "s", &keyed("first", "city", "Paris"));
    assert!(store.verify(&never).unwrap().ok());
    put(&store, "s", &keyed("second", "city", "Rome"));
    let report = store.verify(&never).unwrap();
    let found: Vec<_> = report.problems.iter().map(|problem| (problem.kind, problem.id.as_deref())).collect();
    assert_eq!(found, [(Fault::Duplicate, Some("second"))]);
}

#[test]
fn who_asks_to_stop_stops_it() {
    let folder = Folder::new();
    let store = open(&folder.file());
    for number in 0..2_000 {
        put(&store, "s", &turn(&format!("m{number}"), "a few words"));
    }
    assert!(matches!(store.verify(&|| true), Err(Error::Interrupted)));
    assert!(matches!(store.compact(&|| true), Err(Error::Interrupted)));
    assert!(store.verify(&never).unwrap().ok());
}

#[test]
fn what_was_erased_takes_no_space_after_a_compaction_and_numbers_stay() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let seqs: Vec<_> =
        (0..400).map(|number| put(&store, "s", &turn(&format!("m{number}"), &"word ".repeat(80)))).collect();
    store.write(&never, |tx| tx.erase(&seqs[..40])).unwrap();
    store.scrub(&never).unwrap();
    assert!(store.compact(&never).unwrap() > 0);
    assert!(store.verify(&never).unwrap().ok());
    assert_eq!(read(&store, |tx| tx.stats()).erased, 0);
    assert!(row(&store, "m0").is_none());
    assert_eq!(row(&store, "m399").unwrap().head.seq, seqs[399]);
    let next = put(&store, "s", &turn("next", "a few words"));
    assert!(next > seqs[399]);
}

#[test]
fn numbers_that_were_forgotten_are_not_given_out_again_after_a_salvage() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let seqs: Vec<_> = (0..5).map(|number| put(&store, "s", &turn(&format!("m{number}"), "a few words"))).collect();
    store.write(&never, |tx| tx.erase(&seqs[3..])).unwrap();
    let rev = read(&store, |tx| tx.stats()).rev;
    store.close();
    let into = folder.path().join("saved.db");
    let options =
        SalvageOptions { copy: folder.file(), into: into.clone(), language: "english".into(), entropy: [7; 32] };
    let report = salvage(&options, &never).unwrap();
    assert!(report.ok());
    assert_eq!(report.checked["memory"], 3);
    let saved = open(&into);
    assert!(saved.verify(&never).unwrap().ok());
    assert!(read(&saved, |tx| tx.stats()).rev >= rev);
    assert!(put(&saved, "s", &turn("next", "a few words")) > seqs[4]);
    assert_eq!(row(&saved, "next").unwrap().head.turn, Some(5));
    assert!(matches!(salvage(&options, &never), Err(Error::Io { errno: libc::EEXIST, .. })));
}
