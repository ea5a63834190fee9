//! What was measured belongs to one model, and is seen by whoever reads next.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::redundant_closure_for_method_calls)]
mod store_support;

use retentive_core::error::Error;
use retentive_core::store::{Calibration, Floors, NewModel, Store};
use store_support::*;

fn model(name: &str) -> NewModel {
    NewModel { name: name.into(), dimension: 3, probe: vec![1.0, 0.0, 0.5] }
}

fn calibration(noise: f64) -> Calibration {
    Calibration { floors: Floors { noise: Some(noise), refusal: None }, report: format!("{{\"noise\": {noise}}}") }
}

fn current(store: &Store) -> i64 {
    store.read(&never, |tx| tx.models()).unwrap()[0].id
}

fn stored(store: &Store) -> Option<Calibration> {
    store.read(&never, |tx| tx.calibration()).unwrap()
}

fn with_model(store: &Store) -> i64 {
    store.write(&never, |tx| tx.set_models(&[model("one")])).unwrap();
    current(store)
}

#[test]
fn it_comes_back_after_reopening_and_only_the_last_one() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let id = with_model(&store);
    assert_eq!(stored(&store), None);
    for noise in [0.25, 0.5] {
        store.write(&never, |tx| tx.set_calibration(id, &calibration(noise))).unwrap();
    }
    drop(store);
    let store = open(&folder.file());
    assert_eq!(stored(&store), Some(calibration(0.5)));
    assert!(store.write(&never, |tx| tx.drop_calibration()).unwrap());
    assert!(!store.write(&never, |tx| tx.drop_calibration()).unwrap());
    assert_eq!(stored(&store), None);
}

#[test]
fn it_does_not_apply_to_another_model() {
    let store = in_memory();
    let id = with_model(&store);
    store.write(&never, |tx| tx.set_calibration(id, &calibration(0.25))).unwrap();
    store.write(&never, |tx| tx.set_models(&[model("two")])).unwrap();
    assert_eq!(stored(&store), None);
    let late = store.write(&never, |tx| tx.set_calibration(id, &calibration(0.5)));
    assert!(matches!(late, Err(Error::Conflict(_))), "{late:?}");
    let two = current(&store);
    store.write(&never, |tx| tx.set_calibration(two, &calibration(0.75))).unwrap();
    assert_eq!(stored(&store), Some(calibration(0.75)));
}

#[test]
fn without_a_model_there_is_nothing_to_store_it_for() {
    let store = in_memory();
    assert!(store.write(&never, |tx| tx.set_calibration(1, &calibration(0.25))).is_err());
    assert_eq!(stored(&store), None);
}

#[test]
fn each_change_is_another_version_of_the_file() {
    let store = in_memory();
    let id = with_model(&store);
    let version = || store.read(&never, |tx| Ok(tx.version())).unwrap();
    let before = version();
    store.write(&never, |tx| tx.set_calibration(id, &calibration(0.25))).unwrap();
    let between = version();
    store.write(&never, |tx| tx.drop_calibration()).unwrap();
    let after = version();
    assert!(before < between && between < after);
    store.write(&never, |tx| tx.drop_calibration()).unwrap();
    assert_eq!(version(), after);
}

#[test]
fn a_flipped_byte_is_found() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let id = with_model(&store);
    store.write(&never, |tx| tx.set_calibration(id, &calibration(0.25))).unwrap();
    drop(store);
    let bytes = std::fs::read(folder.file()).unwrap();
    let report = b"{\"noise\"";
    let place = bytes.windows(report.len()).position(|window| window == report).expect("the report is in the file");
    let mut damaged = bytes;
    damaged[place + 3] ^= 1;
    std::fs::write(folder.file(), damaged).unwrap();
    let store = open(&folder.file());
    let found = store.read(&never, |tx| tx.calibration());
    assert!(matches!(found, Err(Error::Corrupt { .. })), "{found:?}");
}
