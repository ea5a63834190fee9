//! Killed writers, full disks and damaged files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::unit_arg, clippy::redundant_closure_for_method_calls)]
mod store_support;

use std::io::{BufRead, BufReader};

use retentive_core::error::Error;
use retentive_core::store::{Durability, NewMemory, OpenOptions, Owners, Scan, Store};
use store_support::*;

#[test]
fn a_writer_killed_at_any_moment_loses_nothing_it_was_told_is_stored() {
    let folder = Folder::new();
    let mut acknowledged = Vec::new();
    for round in 0..12 {
        let mut writer = child("child_writes_until_killed", &folder.file(), &round.to_string()).spawn().unwrap();
        let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        // Killed after a different number of acknowledgements each time, in the middle of whatever comes next.
        let told = lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("stored ").map(str::to_owned));
        let mut told = told.peekable();
        acknowledged.extend(told.by_ref().take(3 + 7 * round));
        writer.kill().unwrap();
        writer.wait().unwrap();
        acknowledged.extend(told);
        let store = open(&folder.file());
        for id in &acknowledged {
            assert_eq!(&row(&store, id).expect(id).text, id);
        }
        let turns = turn_numbers(&store, "s");
        assert!(turns.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(turns.len() >= acknowledged.len());
    }
    assert!(acknowledged.len() > 400);
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_writes_until_killed() {
    let (file, round) = given();
    let store = open(&file);
    for number in 0.. {
        let id = format!("{round}-{number}");
        put(&store, "s", &NewMemory { vectors: vec![vec![1.0; 256]], ..turn(&id, &id) });
        println!("stored {id}");
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
    let folder = Folder::new();
    let inner = child("child_fills_the_file_system", &folder.file(), "");
    // A file system of one megabyte in a mount namespace of its own, gone with the child. Needs Linux and its permission.
    let output = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c", "mount -t tmpfs -o size=1m none \"$0\" || exit 77; exec \"$@\""])
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

/// Reads everything; an error is an answer, a wrong row is not.
fn read_all(store: &Store, expected: &[String]) -> retentive_core::error::Result<()> {
    store.read(&never, |tx| {
        let mut seqs = Vec::new();
        tx.heads(Scan::All, &mut |head| Ok(seqs.push(head.seq)))?;
        assert_eq!(seqs.len(), expected.len(), "rows are missing");
        for row in tx.rows(&seqs)? {
            assert!(expected.contains(&row.text), "a wrong row: {:?}", row.text);
            assert_eq!(row.id, row.text);
            assert_eq!(tx.vectors(row.head.seq)?, [[0.25, -1.5, 3.0]]);
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

#[test]
fn full_durability_syncs_each_commit_and_normal_does_not() {
    let syncs = |durability: &str| {
        let folder = Folder::new();
        let trace = folder.path().join("trace");
        let command = child("child_writes_20_turns", &folder.file(), durability);
        let traced = std::process::Command::new("strace")
            .args(["-f", "-e", "trace=fsync,fdatasync", "-o"])
            .arg(&trace)
            .arg(command.get_program())
            .args(command.get_args())
            .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status();
        match traced {
            Ok(status) if status.success() => Some(std::fs::read_to_string(&trace).unwrap().matches("sync(").count()),
            // Where there is no strace, or it may not trace, this cannot be seen.
            _ => None,
        }
    };
    if let (Some(full), Some(normal)) = (syncs("full"), syncs("normal")) {
        assert!((20..40).contains(&full), "{full} syncs");
        assert!(normal < 12, "{normal} syncs");
    }
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_writes_20_turns() {
    let (file, durability) = given();
    let durability = if durability == "full" { Durability::Full } else { Durability::Normal };
    let store = Store::open(OpenOptions { durability, ..options(&file) }, &never).unwrap();
    for number in 0..20 {
        put(&store, "s", &turn(&number.to_string(), "x"));
    }
}
