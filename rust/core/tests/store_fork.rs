//! A collection that is open when the process forks works on both sides.
#![cfg(unix)]
#![allow(unsafe_code, reason = "fork, waitpid and alarm have no safe form")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::unit_arg, clippy::redundant_closure_for_method_calls)]
mod store_support;

use std::sync::atomic::{AtomicBool, Ordering};

use retentive_core::error::Error;
use retentive_core::store::Store;
use store_support::*;

/// Forks, runs `work` in the child under a watchdog, and says whether it went well.
fn in_child(work: impl FnOnce() -> bool) -> libc::pid_t {
    // SAFETY: the child calls only `work` and `_exit`; what `work` uses is what these tests are about.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: kills this child, and only it, if it hangs.
            unsafe { libc::alarm(20) };
            let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(false);
            // SAFETY: leaves without running destructors or test harness code of the parent.
            unsafe { libc::_exit(i32::from(!good)) }
        }
        child => {
            assert!(child > 0);
            child
        }
    }
}

fn ended_well(child: libc::pid_t) -> bool {
    let mut status = 0;
    // SAFETY: waits for a child of ours.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    waited == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

fn use_it(store: &Store, id: &str) -> bool {
    let stored = store.write(&never, |tx| put_in(tx, "s", &turn(id, id)));
    let found = store.read(&never, |tx| Ok(tx.find(id)?.is_some()));
    stored.is_ok() && matches!(found, Ok(true))
}

/// Runs alone: forks only in a process that has no other tests' threads.
#[test]
fn forking_while_threads_write_and_read_never_hangs() {
    let folder = Folder::new();
    let status = child("child_forks_120_times", &folder.file(), "").status().unwrap();
    assert!(status.success());
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_forks_120_times() {
    let (file, _) = given();
    let store = open(&file);
    let second = open(&file);
    put(&store, "s", &turn("before", "x"));
    let stop = AtomicBool::new(false);
    let mut good = 0;
    let mut written = 0;
    std::thread::scope(|scope| {
        let writers: Vec<_> = [&store, &store, &second]
            .into_iter()
            .enumerate()
            .map(|(thread, store)| {
                let stop = &stop;
                scope.spawn(move || {
                    let mut number = 0;
                    while !stop.load(Ordering::SeqCst) {
                        assert!(use_it(store, &format!("thread {thread} {number}")));
                        number += 1;
                    }
                    number
                })
            })
            .collect();
        for round in 0..120 {
            let child =
                in_child(|| use_it(&store, &format!("child {round}")) && use_it(&second, &format!("second {round}")));
            assert!(use_it(&store, &format!("parent {round}")));
            good += usize::from(ended_well(child));
        }
        stop.store(true, Ordering::SeqCst);
        written = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
    });
    assert_eq!(good, 120);
    let turns = turn_numbers(&store, "s");
    assert_eq!(turns, (0..1 + 360 + written).collect::<Vec<i64>>());
}

#[test]
fn an_in_memory_collection_refuses_in_the_child_and_works_on_in_the_parent() {
    let folder = Folder::new();
    let status = child("child_forks_with_one_in_memory", &folder.file(), "").status().unwrap();
    assert!(status.success());
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_forks_with_one_in_memory() {
    let store = in_memory();
    put(&store, "s", &turn("a", "x"));
    let child = in_child(|| {
        let read = store.read(&never, |tx| tx.find("a"));
        let write = store.write(&never, |tx| put_in(tx, "s", &turn("b", "x")));
        matches!((read, write), (Err(Error::Store { .. }), Err(Error::Store { .. })))
    });
    assert!(ended_well(child));
    put(&store, "s", &turn("b", "x"));
    assert_eq!(turn_numbers(&store, "s"), [0, 1]);
}

#[test]
fn many_forked_workers_share_a_preloaded_collection() {
    let folder = Folder::new();
    let status = child("child_preloads_and_forks_workers", &folder.file(), "").status().unwrap();
    assert!(status.success());
    let store = open(&folder.file());
    assert_eq!(turn_numbers(&store, "s"), (0..=4 * 50).collect::<Vec<_>>());
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_preloads_and_forks_workers() {
    let (file, _) = given();
    let store = open(&file);
    put(&store, "s", &turn("before", "x"));
    let workers: Vec<_> = (0..4)
        .map(|worker| in_child(|| (0..50).all(|number| use_it(&store, &format!("worker {worker} {number}")))))
        .collect();
    assert!(workers.into_iter().all(ended_well));
}
