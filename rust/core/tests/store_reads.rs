//! An erasing call and the reads of its own process: short, long, through another handle, of the same thread, in a forked child.
#![cfg(unix)]
#![allow(unsafe_code, reason = "fork, waitpid and alarm have no safe form")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unit_arg)]
mod store_support;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use retentive_core::error::Error;
use retentive_core::store::{OpenOptions, Store};
use store_support::*;

/// The file is as it is after an erasure: nothing is in the log.
fn erase_one(store: &Store, id: &str) {
    let seq = put(store, "s", &turn(id, "what goes"));
    assert_eq!(store.write(&never, |tx| tx.erase(&[seq])).unwrap(), 1);
}

/// A read that takes so long, and says when it has reading.
fn long_read(store: &Store, reading: &AtomicBool, takes: Duration) {
    let read = store.read_aside(&never, |_, _| {
        reading.store(true, Ordering::SeqCst);
        sleep(takes);
        Ok(())
    });
    read.unwrap();
}

fn wait_for(reading: &AtomicBool) {
    while !reading.load(Ordering::SeqCst) {
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn short_reads_of_two_handles_never_keep_the_log_from_being_emptied() {
    let folder = Folder::new();
    let (store, other) = (open(&folder.file()), open(&folder.file()));
    let stop = AtomicBool::new(false);
    scope(|scope| {
        for reader in [&store, &store, &other, &other] {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::SeqCst) {
                    reader.read(&never, |_| Ok(sleep(Duration::from_millis(3)))).unwrap();
                }
            });
        }
        for number in 0..40 {
            erase_one(&store, &format!("memory {number}"));
            store.scrub(&never).unwrap();
            assert_eq!(store.facts().wal_bytes, 0);
            assert!(!store.facts().erasure_pending && !other.facts().erasure_pending);
        }
        stop.store(true, Ordering::SeqCst);
    });
}

#[test]
fn a_long_read_is_waited_for_while_short_ones_go_on() {
    let folder = Folder::new();
    let (store, other) = (open(&folder.file()), open(&folder.file()));
    let (reading, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    scope(|scope| {
        scope.spawn(|| long_read(&other, &reading, Duration::from_millis(600)));
        wait_for(&reading);
        erase_one(&store, "a");
        let slowest = scope.spawn(|| {
            let mut slowest = Duration::ZERO;
            while !stop.load(Ordering::SeqCst) {
                let began = Instant::now();
                store.read(&never, |_| Ok(())).unwrap();
                slowest = slowest.max(began.elapsed());
            }
            slowest
        });
        let began = Instant::now();
        store.scrub(&never).unwrap();
        assert!(began.elapsed() > Duration::from_millis(300));
        assert_eq!(store.facts().wal_bytes, 0);
        stop.store(true, Ordering::SeqCst);
        assert!(slowest.join().unwrap() < Duration::from_millis(300));
    });
}

#[test]
fn long_reads_that_overlap_let_an_erasure_pass_and_are_let_pass_by_the_next() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let (stop, reading) = (AtomicBool::new(false), AtomicBool::new(false));
    scope(|scope| {
        let readers = [0, 1, 2].map(|_| {
            scope.spawn(|| {
                let mut count = 0;
                while !stop.load(Ordering::SeqCst) {
                    long_read(&store, &reading, Duration::from_millis(20));
                    count += 1;
                }
                count
            })
        });
        wait_for(&reading);
        for number in 0..10 {
            erase_one(&store, &format!("memory {number}"));
            store.scrub(&never).unwrap();
            assert_eq!(store.facts().wal_bytes, 0);
        }
        stop.store(true, Ordering::SeqCst);
        let counts = readers.map(|reader| reader.join().unwrap());
        assert!(counts.iter().all(|count| *count >= 2), "{counts:?}");
    });
}

#[test]
fn a_read_that_takes_longer_than_an_erasure_waits_completes_it_at_its_end() {
    let folder = Folder::new();
    let hasty = OpenOptions { busy_timeout: Duration::ZERO, ..options(&folder.file()) };
    let store = Store::open(hasty, &never).unwrap();
    let reading = AtomicBool::new(false);
    scope(|scope| {
        let reader = scope.spawn(|| long_read(&store, &reading, Duration::from_millis(1_500)));
        wait_for(&reading);
        erase_one(&store, "a");
        store.scrub(&never).unwrap();
        assert!(!reader.is_finished() && store.facts().erasure_pending);
        reader.join().unwrap();
        // No call was needed.
        let log = folder.path().join("chat.db-wal");
        assert_eq!(log.metadata().unwrap().len(), 0);
    });
    assert!(!store.facts().erasure_pending);
}

#[test]
fn ctrl_c_ends_the_wait_and_the_erasure_is_completed_later() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let (reading, asked) = (AtomicBool::new(false), AtomicBool::new(false));
    scope(|scope| {
        scope.spawn(|| long_read(&store, &reading, Duration::from_millis(400)));
        wait_for(&reading);
        erase_one(&store, "a");
        let interrupt = || asked.swap(true, Ordering::SeqCst);
        assert!(matches!(store.scrub(&interrupt), Err(Error::Interrupted)));
        assert!(store.facts().erasure_pending);
    });
    assert_eq!(store.facts().wal_bytes, 0);
}

#[test]
fn a_thread_that_reads_does_not_wait_for_itself() {
    let folder = Folder::new();
    let (store, other) = (open(&folder.file()), open(&folder.file()));
    let began = Instant::now();
    let nested = other.read(&never, |_| {
        erase_one(&store, "a");
        store.scrub(&never)?;
        assert!(store.facts().erasure_pending);
        store.read(&never, |tx| tx.find("a"))
    });
    assert_eq!(nested.unwrap(), None);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(store.read(&never, |tx| tx.find("a")).unwrap(), None);
    assert_eq!(folder.path().join("chat.db-wal").metadata().unwrap().len(), 0);
}

#[test]
fn threads_that_erase_at_once_through_two_handles_all_come_to_an_end() {
    let folder = Folder::new();
    let (store, other) = (open(&folder.file()), open(&folder.file()));
    scope(|scope| {
        for (thread, store) in [&store, &other, &store, &other].into_iter().enumerate() {
            scope.spawn(move || {
                for number in 0..25 {
                    erase_one(store, &format!("memory {thread} {number}"));
                    store.scrub(&never).unwrap();
                }
            });
        }
    });
    assert!(!store.facts().erasure_pending && !other.facts().erasure_pending);
    assert_eq!(store.facts().wal_bytes, 0);
}

/// Runs alone: it forks.
#[test]
fn a_child_waits_for_no_erasure_of_its_parent() {
    let folder = Folder::new();
    let status = child("child_forks_beside_an_erasure", &folder.file(), "").status().unwrap();
    assert!(status.success());
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_forks_beside_an_erasure() {
    let (file, _) = given();
    let store = open(&file);
    for round in 0..4 {
        let reading = AtomicBool::new(false);
        scope(|scope| {
            scope.spawn(|| long_read(&store, &reading, Duration::from_millis(150)));
            wait_for(&reading);
            erase_one(&store, &format!("memory {round}"));
            scope.spawn(|| store.scrub(&never).unwrap());
            sleep(Duration::from_millis(60));
            // SAFETY: the child calls only what this test is about, and `_exit`.
            match unsafe { libc::fork() } {
                0 => {
                    // SAFETY: kills this child, and only it, if it hangs.
                    unsafe { libc::alarm(20) };
                    let read = store.read_aside(&never, |tx, _| tx.find("none"));
                    erase_one(&store, &format!("child {round}"));
                    let good = matches!(read, Ok(None)) && store.scrub(&never).is_ok();
                    // SAFETY: leaves without running the parent's destructors.
                    unsafe { libc::_exit(i32::from(!good)) }
                }
                child => {
                    let mut status = 0;
                    // SAFETY: waits for a child of ours.
                    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status}");
                }
            }
        });
        assert!(!store.facts().erasure_pending);
    }
}
