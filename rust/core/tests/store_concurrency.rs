//! Many threads, handles and processes on one file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::unit_arg, clippy::redundant_closure_for_method_calls)]
mod store_support;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use retentive_core::error::Error;
use retentive_core::store::{OpenOptions, Store};
use store_support::*;

#[test]
fn threads_share_commits_and_every_turn_number_is_given_once() {
    let folder = Folder::new();
    let store = open(&folder.file());
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..25 {
                    put(store, "s", &turn(&format!("{thread}-{number}"), "x"));
                }
            });
        }
    });
    assert_eq!(turn_numbers(&store, "s"), (0..400).collect::<Vec<_>>());
}

#[test]
fn a_member_that_fails_or_panics_does_not_touch_the_others() {
    let folder = Folder::new();
    let store = open(&folder.file());
    let panics = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..12 {
            let (store, panics) = (&store, &panics);
            scope.spawn(move || {
                for number in 0..20 {
                    let id = format!("{thread}-{number}");
                    match thread % 3 {
                        0 => drop(put(store, "s", &turn(&id, "kept"))),
                        1 => {
                            let refused = store.write(&never, |tx| {
                                put_in(tx, "s", &turn(&id, "refused"))?;
                                Err::<(), _>(Error::invalid("no"))
                            });
                            assert!(matches!(refused, Err(Error::InvalidInput(_))));
                        }
                        _ => {
                            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                                store.write(&never, |tx| {
                                    put_in(tx, "s", &turn(&id, "panicked"))?;
                                    std::panic::resume_unwind(Box::new(7)) as retentive_core::error::Result<()>
                                })
                            }));
                            assert_eq!(*panicked.unwrap_err().downcast::<i32>().unwrap(), 7);
                            panics.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                }
            });
        }
    });
    assert_eq!(panics.load(Ordering::SeqCst), 80);
    assert_eq!(turn_numbers(&store, "s"), (0..80).collect::<Vec<_>>());
    assert_eq!(read(&store, |tx| tx.stats()).by_kind, [0, 80, 0, 0]);
}

#[test]
fn two_handles_on_one_file_share_its_numbers() {
    let folder = Folder::new();
    let handles = [open(&folder.file()), open(&folder.file())];
    std::thread::scope(|scope| {
        for (handle, store) in handles.iter().enumerate() {
            for thread in 0..3 {
                scope.spawn(move || {
                    for number in 0..30 {
                        put(store, "s", &turn(&format!("{handle}-{thread}-{number}"), "x"));
                    }
                });
            }
        }
    });
    for store in &handles {
        assert_eq!(turn_numbers(store, "s"), (0..180).collect::<Vec<_>>());
    }
}

#[test]
fn eight_processes_open_a_new_file_at_once_and_lose_nothing() {
    let folder = Folder::new();
    let children: Vec<_> =
        (0..8).map(|number| child("child_writes_200", &folder.file(), &number.to_string()).spawn().unwrap()).collect();
    let store = open(&folder.file());
    let mut seen = 0;
    for child in children {
        let now = turn_numbers(&store, "s").len();
        assert!(now >= seen);
        seen = now;
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(turn_numbers(&store, "s"), (0..1_600).collect::<Vec<_>>());
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_writes_200() {
    let (file, argument) = given();
    let store = open(&file);
    for number in 0..200 {
        put(&store, "s", &turn(&format!("{argument}-{number}"), "x"));
    }
}

#[test]
fn racing_openers_in_one_process_make_one_collection() {
    for _ in 0..20 {
        let folder = Folder::new();
        let barrier = Barrier::new(8);
        let epochs: Vec<u64> = std::thread::scope(|scope| {
            let openers: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        open(&folder.file()).facts().epoch
                    })
                })
                .collect();
            openers.into_iter().map(|opener| opener.join().unwrap()).collect()
        });
        assert!(epochs.iter().all(|epoch| *epoch == epochs[0]));
    }
}

#[test]
fn readers_see_whole_commits_only_and_never_wait_for_the_writer() {
    let folder = Folder::new();
    let store = open(&folder.file());
    put(&store, "s", &turn("first", "x"));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..40 {
                store
                    .write(&never, |tx| {
                        put_in(tx, "s", &turn(&format!("a{number}"), "x"))?;
                        put_in(tx, "s", &turn(&format!("b{number}"), "x"))
                    })
                    .unwrap();
            }
            done.store(true, Ordering::SeqCst);
        });
        while !done.load(Ordering::SeqCst) {
            assert_eq!(turn_numbers(&store, "s").len() % 2, 1);
        }
    });
    // Inside an open write transaction of this very store, another connection still reads.
    store
        .write(&never, |tx| {
            put_in(tx, "s", &turn("uncommitted", "x"))?;
            std::thread::scope(|scope| scope.spawn(|| assert_eq!(row(&store, "uncommitted"), None)).join().unwrap());
            Ok(())
        })
        .unwrap();
    assert!(row(&store, "uncommitted").is_some());
}

#[test]
fn a_held_file_is_busy_after_the_timeout_and_ctrl_c_is_heard_before() {
    let folder = Folder::new();
    let holder = open(&folder.file());
    let short = OpenOptions { busy_timeout: Duration::from_millis(120), ..options(&folder.file()) };
    let store = Store::open(short, &never).unwrap();
    let patient = open(&folder.file());
    holder
        .write(&never, |_| {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let began = Instant::now();
                    let refused = store.write(&never, |tx| put_in(tx, "s", &turn("a", "x")));
                    let Err(Error::Busy { message, .. }) = refused else { panic!("{refused:?}") };
                    assert!(message.contains("busy_timeout_s"), "{message}");
                    assert!(began.elapsed() >= Duration::from_millis(120));
                    let asked = AtomicUsize::new(0);
                    let stop = || asked.fetch_add(1, Ordering::SeqCst) >= 2;
                    let stopped = patient.write(&stop, |tx| put_in(tx, "s", &turn("b", "x")));
                    assert!(matches!(stopped, Err(Error::Interrupted)));
                });
            });
            Ok(())
        })
        .unwrap();
    put(&store, "s", &turn("c", "x"));
    assert_eq!(turn_numbers(&holder, "s"), [0]);
}

#[test]
fn closing_while_others_work_ends_in_answers_or_closed_and_never_hangs() {
    for _ in 0..10 {
        let folder = Folder::new();
        let store = open(&folder.file());
        let stored = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let (store, stored) = (&store, &stored);
                scope.spawn(move || {
                    for number in 0.. {
                        let id = format!("{thread}-{number}");
                        match store.write(&never, |tx| put_in(tx, "s", &turn(&id, "x"))) {
                            Ok(_) => stored.fetch_add(1, Ordering::SeqCst),
                            Err(Error::Closed(_)) => return,
                            Err(other) => panic!("{other}"),
                        };
                        match store.read(&never, |tx| tx.find(&id)) {
                            Ok(found) => assert!(found.is_some()),
                            Err(Error::Closed(_)) => return,
                            Err(other) => panic!("{other}"),
                        }
                    }
                });
            }
            while stored.load(Ordering::SeqCst) < 20 {
                std::thread::yield_now();
            }
            store.close();
            store.close();
        });
        assert!(matches!(store.read(&never, |_| Ok(())), Err(Error::Closed(_))));
        assert_eq!(turn_numbers(&open(&folder.file()), "s").len(), stored.load(Ordering::SeqCst));
    }
}
