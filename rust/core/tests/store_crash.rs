//! Killed writers, full disks and damaged files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::unit_arg, clippy::redundant_closure_for_method_calls)]
mod store_support;

use std::io::{BufRead, BufReader};

use retentive_core::error::Error;
use retentive_core::model::Vector;
use retentive_core::store::{Durability, NewMemory, OpenOptions, Owners, Scan, Store};
use store_support::*;

#[test]
fn a_writer_killed_at_any_moment_loses_nothing_it_was_told_is_stored_or_erased() {
    let folder = Folder::new();
    let (mut stored, mut erased) = (Vec::new(), Vec::new());
    for round in 0..12 {
        let mut writer = child("child_writes_until_killed", &folder.file(), &round.to_string()).spawn().unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut take = |line: String| {
            stored.extend(line.strip_prefix("stored ").map(str::to_owned));
            erased.extend(line.strip_prefix("erased ").map(str::to_owned));
        };
        // Killed after a different number of acknowledgements each time, in the middle of whatever comes next.
        lines.by_ref().take(10 + 7 * round).for_each(&mut take);
        writer.kill().unwrap();
        lines.for_each(&mut take);
        writer.wait().unwrap();

        let store = open(&folder.file());
        // The erasure that was under way may have been committed without a word.
        let silent = erased_with(stored.last().unwrap());
        for id in &stored {
            let row = row(&store, id);
            assert_eq!(row.as_ref().map(|row| &row.text), row.is_some().then_some(id));
            let gone = erased.contains(id) || silent.as_ref() == Some(id) && row.is_none();
            assert_eq!(row.is_none(), gone, "{id}");
        }
        let turns = turn_numbers(&store, "s");
        assert!(turns.windows(2).all(|pair| pair[0] < pair[1]));
        let loaded = read(&store, |tx| {
            let (mut count, partition) = (0, tx.owner(None, Some("s"))?.unwrap());
            tx.changes(partition, 0, &mut |_| Ok(count += 1))?;
            Ok(count)
        });
        assert_eq!(loaded, turns.len());
    }
    assert!(stored.len() > 400 && erased.len() > 80);
}

/// What the child erases right after it has stored this one.
fn erased_with(id: &str) -> Option<String> {
    let (round, number) = id.split_once('-')?;
    let number: u64 = number.parse().ok()?;
    (number % 4 == 3).then(|| format!("{round}-{}", number - 2))
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_writes_until_killed() {
    let (file, round) = given();
    let store = open(&file);
    for number in 0.. {
        let id = format!("{round}-{number}");
        put(&store, "s", &NewMemory { vectors: vec![Vector::first(vec![1.0; 256])], ..turn(&id, &id) });
        println!("stored {id}");
        if let Some(older) = erased_with(&id) {
            store.write(&never, |tx| tx.erase(&[tx.find(&older)?.unwrap().seq])).unwrap();
            println!("erased {older}");
            store.scrub(&never).unwrap();
        }
    }
}

#[test]
fn a_full_disk_is_an_error_that_leaves_the_old_data_readable() {
    let folder = Folder::new();
    let store = open(&folder.file());
    put(&store, "s", &turn("before", "x"));
    store.limit_pages(60).unwrap();
    let big = "x".repeat(20_000);
    let mut stored = 0;
    let full = loop {
        match store.write(&never, |tx| put_in(tx, "s", &turn(&format!("{stored}"), &big))) {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(full, Error::Full { .. }), "{full:?}");
    assert!(stored > 2);
    assert_eq!(turn_numbers(&store, "s"), (0..=stored).collect::<Vec<_>>());
    assert_eq!(row(&store, "before").unwrap().text, "x");
    store.limit_pages(1_000_000).unwrap();
    put(&store, "s", &turn("after", &big));
    assert_eq!(turn_numbers(&store, "s").len() as i64, stored + 2);
}

#[test]
fn members_of_a_group_that_a_full_disk_rolls_back_are_told() {
    let folder = Folder::new();
    let store = open(&folder.file());
    put(&store, "s", &turn("before", "x"));
    store.limit_pages(150).unwrap();
    let big = "x".repeat(20_000);
    let stored: usize = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|thread| {
                let (store, big) = (&store, &big);
                scope.spawn(move || {
                    let attempts = (0..12).map(|number| {
                        let id = format!("{thread}-{number}");
                        store.write(&never, |tx| put_in(tx, "s", &turn(&id, big))).inspect_err(|error| {
                            assert!(matches!(error, Error::Full { .. }), "{error:?}");
                        })
                    });
                    attempts.flatten().count()
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert!(stored < 96);
    assert_eq!(turn_numbers(&store, "s").len(), stored + 1);
}

#[test]
fn a_file_system_without_space_refuses_and_keeps_what_was_stored() {
    on_a_small_file_system("size=1m", "child_fills_the_file_system");
}

#[test]
fn a_file_system_that_takes_no_more_files_says_so_and_is_read() {
    on_a_small_file_system("size=4m,nr_inodes=20", "child_fills_the_file_system_with_files");
}

/// A file system in a mount namespace of its own, gone with the child. Needs Linux and its permission.
fn on_a_small_file_system(options: &str, test: &str) {
    let folder = Folder::new();
    let inner = child(test, &folder.file(), "");
    let mount = format!("mount -t tmpfs -o {options} none \"$0\" || exit 77; exec \"$@\"");
    let output = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c", &mount])
        .arg(folder.path())
        .arg(inner.get_program())
        .args(inner.get_args())
        .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .output();
    match output {
        Ok(output) if output.status.success() || output.status.code() == Some(101) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        _ => println!("no mount namespace here: not tested"),
    }
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_fills_the_file_system() {
    let (file, _) = given();
    let store = open(&file);
    let mut stored = 0;
    let full = loop {
        match store.write(&never, |tx| put_in(tx, "s", &turn(&format!("{stored}"), &"x".repeat(9_000)))) {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(full, Error::Full { .. }), "{full:?}");
    assert!(stored > 5);
    for _ in 0..3 {
        assert!(store.write(&never, |tx| put_in(tx, "s", &turn("more", &"x".repeat(9_000)))).is_err());
    }
    assert_eq!(turn_numbers(&store, "s"), (0..stored).collect::<Vec<_>>());
    drop(store);
    assert_eq!(turn_numbers(&open(&file), "s"), (0..stored).collect::<Vec<_>>());
}

#[test]
#[ignore = "run by a test above in a process of its own"]
fn child_fills_the_file_system_with_files() {
    let (file, _) = given();
    let store = open(&file);
    store.write(&never, |tx| put_in(tx, "s", &turn("here", "hello"))).unwrap();
    drop(store);
    let folder = file.parent().unwrap();
    let mut others = (0..).map(|number| folder.join(format!("other-{number}")));
    let filled: Vec<_> = others.by_ref().take_while(|other| std::fs::File::create_new(other).is_ok()).collect();
    assert!(filled.len() > 5);
    let is_full = |error: Option<Error>| matches!(error, Some(Error::Full { .. }));
    // SQLite has no place for the log: the file is read as one that cannot change.
    let store = open(&file);
    assert_eq!(turn_numbers(&store, "s"), [0]);
    let refused = store.write(&never, |tx| put_in(tx, "s", &turn("more", "hello"))).err();
    assert!(refused.is_some(), "there is no log to write");
    assert!(is_full(Store::open(options(&folder.join("new.db")), &never).err()));
    drop(store);
    std::fs::remove_file(filled.first().unwrap()).unwrap();
    std::fs::remove_file(filled.last().unwrap()).unwrap();
    let store = open(&file);
    assert!(is_full(store.compact(&never).err()));
    assert_eq!(turn_numbers(&store, "s"), [0]);
}

/// Reads everything; an error is an answer, a wrong row is not.
fn read_all(store: &Store, expected: &[String]) -> retentive_core::error::Result<()> {
    store.read(&never, |tx| {
        let mut seqs = Vec::new();
        tx.heads(Scan::All, &mut |head| Ok(seqs.push(head.seq)))?;
        assert_eq!(seqs.len(), expected.len(), "rows are missing");
        for row in tx.rows(&seqs)? {
            assert!(expected.contains(&row.text), "a wrong row: {:?}", row.text);
            assert_eq!(row.id, row.text);
            assert_eq!(tx.vectors(row.head.seq)?, [Vector::first(vec![0.25, -1.5, 3.0])]);
        }
        assert_eq!(tx.partitions(Owners::Any)?.len(), usize::from(!expected.is_empty()));
        for scope in tx.partitions(Owners::Any)? {
            assert_eq!(scope.session.as_deref(), Some("s"));
            let mut rows = 0;
            tx.changes(scope.id, 0, &mut |_| Ok(rows += 1))?;
            assert_eq!(rows, expected.len(), "a partition that is not whole");
        }
        for id in expected {
            // A damaged index may hide a memory from this one look-up, which `verify` finds; it never leads to another one.
            if let Some(head) = tx.find(id)? {
                assert_eq!(tx.rows(&[head.seq])?[0].text, *id);
            }
        }
        Ok(())
    })
}

#[test]
fn a_flipped_byte_anywhere_is_an_error_or_changes_nothing() {
    let folder = Folder::new();
    let expected: Vec<String> =
        (0..60).map(|number| format!("text number {number} {}", "y".repeat(number * 5))).collect();
    let store = open(&folder.file());
    for text in &expected {
        put(&store, "s", &turn(text, text));
    }
    drop(store);
    let whole = std::fs::read(folder.file()).unwrap();
    let mut refused = 0;
    for attempt in 0..600_usize {
        let mut damaged = whole.clone();
        let at = attempt.wrapping_mul(7_919) % whole.len();
        damaged[at] ^= 1 << (attempt % 8);
        let place = Folder::new();
        std::fs::write(place.file(), damaged).unwrap();
        let answer = Store::open(options(&place.file()), &never).and_then(|store| read_all(&store, &expected));
        if let Err(error) = answer {
            let known = matches!(
                error,
                Error::Corrupt { .. } | Error::Version { .. } | Error::Configuration { .. } | Error::Store { .. }
            );
            assert!(known, "byte {at}: {error:?}");
            assert!(error.to_string().contains(place.file().to_str().unwrap()), "{error}");
            refused += 1;
        }
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn a_file_cut_anywhere_is_an_error_or_whole() {
    let folder = Folder::new();
    let expected: Vec<String> = (0..60).map(|number| format!("text number {number}")).collect();
    let store = open(&folder.file());
    for text in &expected {
        put(&store, "s", &turn(text, text));
    }
    drop(store);
    let whole = std::fs::read(folder.file()).unwrap();
    for cut in (1..whole.len()).step_by(1_531) {
        let place = Folder::new();
        std::fs::write(place.file(), &whole[..cut]).unwrap();
        let answer = Store::open(options(&place.file()), &never).and_then(|store| read_all(&store, &expected));
        // Whole it is when only the empty end of the last page is missing.
        match answer {
            Ok(()) => assert!(whole.len() - cut < 4_096, "cut to {cut} of {} bytes", whole.len()),
            Err(error) => assert!(matches!(error, Error::Corrupt { .. } | Error::Version { .. }), "{cut}: {error:?}"),
        }
    }
}

#[test]
fn damage_in_the_log_costs_its_last_commits_and_never_consistency() {
    let folder = Folder::new();
    let expected: Vec<String> = (0..40).map(|number| format!("text number {number}")).collect();
    let status = child("child_leaves_40_turns_in_the_log", &folder.file(), "").status().unwrap();
    assert!(!status.success());
    let main = std::fs::read(folder.file()).unwrap();
    let log = std::fs::read(folder.path().join("chat.db-wal")).unwrap();
    for attempt in 1..80_usize {
        let mut damaged = log.clone();
        if attempt % 2 == 0 {
            damaged.truncate(log.len() * attempt / 80);
        } else {
            damaged[log.len() * attempt / 80] ^= 16;
        }
        let place = Folder::new();
        std::fs::write(place.file(), &main).unwrap();
        std::fs::write(place.path().join("chat.db-wal"), damaged).unwrap();
        let Ok(store) = Store::open(options(&place.file()), &never) else { continue };
        let found = turn_numbers(&store, "s").len();
        assert_eq!(turn_numbers(&store, "s"), (0..found as i64).collect::<Vec<_>>());
        read_all(&store, &expected[..found]).unwrap();
    }
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_leaves_40_turns_in_the_log() {
    let store = open(&given().0);
    for number in 0..40 {
        let text = format!("text number {number}");
        put(&store, "s", &turn(&text, &text));
    }
    std::process::abort();
}

/// How often a child of ours asks the disk to sync. `None` where there is no strace, or it may not trace.
fn syncs(test: &str, durability: &str) -> Option<usize> {
    let folder = Folder::new();
    let trace = folder.path().join("trace");
    let command = child(test, &folder.file(), durability);
    let traced = std::process::Command::new("strace")
        .args(["-f", "-e", "trace=fsync,fdatasync", "-o"])
        .arg(&trace)
        .arg(command.get_program())
        .args(command.get_args())
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    traced.ok().filter(std::process::ExitStatus::success)?;
    Some(std::fs::read_to_string(&trace).unwrap().matches("sync(").count())
}

#[test]
fn full_durability_syncs_each_commit_and_normal_does_not() {
    if let (Some(full), Some(normal)) =
        (syncs("child_writes_20_turns", "full"), syncs("child_writes_20_turns", "normal"))
    {
        assert!((20..40).contains(&full), "{full} syncs");
        assert!(normal < 12, "{normal} syncs");
    }
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_writes_20_turns() {
    let store = open_as_given();
    for number in 0..20 {
        put(&store, "s", &turn(&number.to_string(), "x"));
    }
}

#[test]
fn threads_that_write_at_once_share_syncs() {
    if let Some(syncs) = syncs("child_writes_from_8_threads", "full") {
        assert!(syncs < 200, "{syncs} syncs for 400 writes");
    }
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_writes_from_8_threads() {
    let store = open_as_given();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = &store;
            scope.spawn(move || {
                (0..50).for_each(|number| {
                    put(store, "s", &turn(&format!("{thread}-{number}"), "x"));
                });
            });
        }
    });
    assert_eq!(turn_numbers(&store, "s").len(), 400);
}

fn open_as_given() -> Store {
    let (file, durability) = given();
    let durability = if durability == "full" { Durability::Full } else { Durability::Normal };
    Store::open(OpenOptions { durability, ..options(&file) }, &never).unwrap()
}
