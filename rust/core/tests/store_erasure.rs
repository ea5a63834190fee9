//! What is forgotten is gone from the files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::unit_arg, clippy::redundant_closure_for_method_calls)]
mod store_support;

use std::path::Path;

use retentive_core::model::{Marks, Vector};
use retentive_core::store::{NewMemory, Scan};
use store_support::*;

/// Every piece of a memory that must not be found again.
struct Secret {
    seq: i64,
    needles: Vec<Vec<u8>>,
}

fn remember(store: &retentive_core::store::Store, number: u64) -> Secret {
    let word = |kind: &str| format!("{kind}-{:016x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    // Every seventh is long enough for overflow pages.
    let text = word("text") + &" and so on".repeat(if number.is_multiple_of(7) { 700 } else { number as usize % 40 });
    let vector: Vec<f32> = (0..64).map(|at| (number as f32).mul_add(1.37, at as f32)).collect();
    let term = number.wrapping_mul(0xD6E8_FEB8_6659_FD93) | 1 << 63;
    let new = NewMemory {
        name: Some(word("name")),
        key: number.is_multiple_of(3).then(|| word("key")),
        metadata: Some(format!("{{\"{}\":1}}", word("meta"))),
        terms: vec![(term, 1)],
        marks: Marks::default(),
        vectors: vec![Vector::first(vector.clone()), Vector::first(vector.iter().map(|x| -x).collect())],
        ..turn(&word("id"), &text)
    };
    let (user, session) = (word("user"), word("session"));
    let seq = store
        .write(&never, |tx| {
            let user = number.is_multiple_of(2).then_some(user.as_str());
            let scope = tx.ensure_scope(user, Some(&session))?;
            Ok(tx.insert(&scope, &new)?.seq)
        })
        .unwrap();
    let mut needles: Vec<Vec<u8>> =
        ["text", "name", "key", "meta", "id", "user", "session"].map(|kind| word(kind).into_bytes()).into();
    needles.push(vector.iter().flat_map(|float| float.to_le_bytes()).take(32).collect());
    needles.push(term.to_le_bytes().to_vec());
    Secret { seq, needles }
}

/// How many of the needles are in the bytes of the collection's files. Only after every connection was closed, or in a copy made
/// by another process.
fn found(folder: &Path, needles: &[Vec<u8>]) -> usize {
    let haystack: Vec<u8> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_file())
        .flat_map(|entry| std::fs::read(entry.path()).unwrap())
        .collect();
    let mut prefixes = std::collections::HashMap::<&[u8], Vec<&[u8]>>::new();
    for needle in needles {
        prefixes.entry(&needle[..8]).or_default().push(needle);
    }
    let mut hits = std::collections::HashSet::new();
    for (at, window) in haystack.windows(8).enumerate() {
        for needle in prefixes.get(window).into_iter().flatten() {
            if haystack[at..].starts_with(needle) {
                hits.insert(*needle);
            }
        }
    }
    hits.len()
}

#[test]
#[ignore = "run by the tests below in a process of its own"]
fn child_copies_the_files() {
    let (file, target) = given();
    for suffix in ["", "-wal", "-shm"] {
        let source = format!("{}{suffix}", file.display());
        if Path::new(&source).exists() {
            std::fs::copy(&source, format!("{target}/copy{suffix}")).unwrap();
        }
    }
}

#[test]
fn nothing_of_a_random_third_of_2000_memories_is_left_in_any_file() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let mut secrets: Vec<Secret> = (1..=1_000).map(|number| remember(&store, number)).collect();
    let third = |secret: &Secret| secret.seq.wrapping_mul(2_654_435_761) % 3 == 0;
    // Erased in two rounds with inserts between them, so that pages fill, split and are rebalanced around the holes.
    let erase = |secrets: &[Secret]| {
        let seqs: Vec<i64> = secrets.iter().filter(|secret| third(secret)).map(|secret| secret.seq).collect();
        for some in seqs.chunks(37) {
            store.write(&never, |tx| tx.erase(some)).unwrap();
        }
        store.scrub(&never).unwrap();
    };
    erase(&secrets);
    secrets.extend((1_001..=2_000).map(|number| remember(&store, number)));
    erase(&secrets);
    assert!(!store.facts().erasure_pending);

    let (gone, kept): (Vec<_>, Vec<_>) = secrets.iter().partition(|secret| third(secret));
    let needles = |secrets: &[&Secret]| secrets.iter().flat_map(|secret| secret.needles.clone()).collect::<Vec<_>>();
    let copies = Folder::new();
    let status = child("child_copies_the_files", &folder.file(), copies.path().to_str().unwrap()).status().unwrap();
    assert!(status.success());
    assert!(gone.len() > 500, "{} erased", gone.len());
    assert_eq!(found(copies.path(), &needles(&gone)), 0);
    // The search itself works: of what was kept, all but the absent users and keys are found.
    assert!(found(copies.path(), &needles(&kept)) > kept.len() * 7);
    drop(store);
    assert_eq!(found(folder.path(), &needles(&gone)), 0);
}

#[test]
fn erased_rows_keep_their_place_and_length() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let secrets: Vec<Secret> = (1..=300).map(|number| remember(&store, number)).collect();
    store.scrub(&never).unwrap();
    let pages = |store| read(store, |tx| tx.stats());
    let before = pages(&store);
    let all: Vec<i64> = secrets.iter().map(|secret| secret.seq).collect();
    store.write(&never, |tx| tx.erase(&all)).unwrap();
    let after = pages(&store);
    assert_eq!(after.erased, 300);
    // Rows that hold only numbers may go; the blobs stay where they were.
    assert!(after.pages >= before.pages && after.free_pages < 60, "{before:?} {after:?}");
    drop(store);
    let store = open(&folder.file());
    assert_eq!(read(&store, |tx| tx.rows(&all)), []);
    assert!(all.iter().all(|seq| read(&store, |tx| tx.vectors(*seq)).is_empty()));
    assert!(all.iter().all(|seq| read(&store, |tx| tx.metadata(*seq)).is_none()));
}

#[test]
fn a_reader_holds_the_erasure_up_and_a_later_call_completes_it() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let other = open(&folder.file());
    let secret = remember(&store, 42);
    other
        .read(&never, |tx| {
            assert!(!tx.rows(&[secret.seq])?.is_empty());
            store.write(&never, |tx| tx.erase(&[secret.seq])).unwrap();
            store.scrub(&never).unwrap();
            assert!(store.facts().erasure_pending);
            // The old snapshot still reads what it read before.
            assert!(!tx.rows(&[secret.seq])?.is_empty());
            Ok(())
        })
        .unwrap();
    assert!(!store.facts().erasure_pending);
    assert!(!other.facts().erasure_pending);
    assert_eq!(store.facts().wal_bytes, 0);
}

#[test]
fn a_held_up_erasure_is_still_pending_after_a_crash() {
    let folder = Folder::new();
    let status = child("child_erases_beside_a_reader_and_dies", &folder.file(), "").status().unwrap();
    assert!(!status.success());
    let reader = open(&folder.file());
    reader
        .read(&never, |_| {
            let store = open(&folder.file());
            assert!(store.facts().erasure_pending);
            Ok(())
        })
        .unwrap();
    let store = open(&folder.file());
    assert!(!store.facts().erasure_pending);
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_erases_beside_a_reader_and_dies() {
    let (file, _) = given();
    let (store, other) = (open(&file), open(&file));
    let secret = remember(&store, 42);
    let _ = other.read(&never, |_| {
        store.write(&never, |tx| tx.erase(&[secret.seq])).unwrap();
        store.scrub(&never).unwrap();
        std::process::abort() as retentive_core::error::Result<()>
    });
}

#[test]
fn a_replaced_document_leaves_no_copy() {
    let folder = Folder::new();
    let store = open(&folder.file());
    for round in 0..50 {
        store
            .write(&never, |tx| {
                let scope = tx.ensure_scope(None, None)?;
                if let Some(head) = tx.find("doc")? {
                    tx.erase(&[head.seq])?;
                }
                tx.insert(&scope, &fact("doc", &format!("version {round:04} of the document")))
            })
            .unwrap();
    }
    let mut count = 0;
    read(&store, |tx| tx.heads(Scan::All, &mut |_| Ok(count += 1)));
    assert_eq!(count, 1);
    drop(store);
    let needles: Vec<Vec<u8>> =
        (0..50).map(|round| format!("version {round:04} of the document").into_bytes()).collect();
    assert_eq!(found(folder.path(), &needles), 1);
}
