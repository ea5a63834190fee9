//! What opens, what is refused, and what the refusal says.
#![allow(unsafe_code, reason = "giving up root in a child has no safe form")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::unit_arg, clippy::redundant_closure_for_method_calls)]
mod store_support;

use std::path::Path;

use retentive_core::error::{Error, Result};
use retentive_core::store::{Durability, OpenOptions, Store};
use store_support::*;

fn try_open(path: &Path) -> Result<Store> {
    Store::open(options(path), &never)
}

fn readonly(path: &Path) -> Result<Store> {
    Store::open(OpenOptions { readonly: true, ..options(path) }, &never)
}

fn raw(path: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(path).unwrap()
}

#[test]
fn a_missing_folder_a_folder_and_a_file_as_folder_are_operating_system_errors() {
    let folder = Folder::new();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "x").unwrap();
    let errno = |path: &Path| match try_open(path) {
        Err(Error::Io { errno, .. }) => errno,
        other => panic!("{other:?}"),
    };
    assert_eq!(errno(&folder.path().join("missing/chat.db")), libc::ENOENT);
    assert_eq!(errno(folder.path()), libc::EISDIR);
    assert_eq!(errno(&plain.join("chat.db")), libc::ENOTDIR);
    assert!(matches!(readonly(&folder.file()), Err(Error::Io { errno: libc::ENOENT, .. })));
    assert!(!folder.file().exists());
}

#[test]
fn what_is_not_ours_is_refused_and_left_as_it_was() {
    let folder = Folder::new();
    let text = folder.path().join("text.db");
    std::fs::write(&text, "a text that is long enough to be mistaken for nothing else. ".repeat(100)).unwrap();
    let foreign = folder.path().join("foreign.db");
    raw(&foreign).execute_batch("CREATE TABLE notes(x); INSERT INTO notes VALUES ('mine')").unwrap();
    for path in [&text, &foreign] {
        let before = std::fs::read(path).unwrap();
        for refused in [try_open(path), readonly(path)] {
            let error = refused.unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. } | Error::Version { .. }), "{error:?}");
            let message = error.to_string();
            assert!(
                message.contains("not a retentive collection") && message.contains(path.to_str().unwrap()),
                "{message}"
            );
        }
        assert_eq!(std::fs::read(path).unwrap(), before);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_newer_schema_is_refused_and_a_newer_writer_may_only_be_read() {
    let folder = Folder::new();
    put(&open(&folder.file()), "s", &turn("a", "x"));
    raw(&folder.file()).execute_batch("PRAGMA user_version=2").unwrap();
    for refused in [try_open(&folder.file()), readonly(&folder.file())] {
        let Err(Error::Version { found, supported, message, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!((found, supported), (2, 1));
        assert!(message.contains("upgrade"));
    }
    raw(&folder.file()).execute_batch("PRAGMA user_version=1").unwrap();
    let store = open(&folder.file());
    assert!(row(&store, "a").is_some());
    // A newer program raises the bar while this one has the file open.
    store.limit_pages(100_000).unwrap();
    raise_least_writer(&folder.file());
    let refused = store.write(&never, |tx| put_in(tx, "s", &turn("b", "x")));
    assert!(matches!(refused, Err(Error::Version { found: 2, .. })), "{refused:?}");
    assert!(row(&store, "a").is_some());
    drop(store);
    assert!(matches!(try_open(&folder.file()), Err(Error::Version { found: 2, .. })));
    assert!(row(&readonly(&folder.file()).unwrap(), "a").is_some());
}

/// As a newer version would: with the checksum that the row then has.
fn raise_least_writer(path: &Path) {
    let file = raw(path);
    let mut numbers: [i64; 9] = file
        .query_row(
            "SELECT schema, least_writer, epoch, rev, next_seq, next_vid, next_scope, erased, scrubbed FROM meta",
            [],
            |row| {
                let mut numbers = [0; 9];
                for (index, number) in numbers.iter_mut().enumerate() {
                    *number = row.get(index)?;
                }
                Ok(numbers)
            },
        )
        .unwrap();
    numbers[1] = 2;
    let bytes = numbers.map(i64::to_le_bytes);
    let sum = xxhash_rust::xxh3::xxh3_64_with_seed(bytes.as_flattened(), 0) as i64;
    file.execute("UPDATE meta SET least_writer = 2, sum = ?1", [sum]).unwrap();
}

#[test]
fn another_language_is_refused_with_the_way_out() {
    let folder = Folder::new();
    drop(open(&folder.file()));
    let german = OpenOptions { language: "german".into(), ..options(&folder.file()) };
    let Err(Error::Configuration { hint, .. }) = Store::open(german, &never) else { panic!() };
    assert!(hint.contains("english"));
}

#[test]
fn paths_are_taken_as_they_are() {
    let folder = Folder::new();
    for name in ["file:a?mode=memory.db", "a%20b#c.db", ":memory:", "ünï.db", "a b.db"] {
        let path = folder.path().join(name);
        put(&open(&path), "s", &turn("a", name));
        assert!(path.exists());
        assert_eq!(row(&open(&path), "a").unwrap().text, name);
    }
}

#[test]
fn a_read_only_collection_reads_beside_a_writer_and_refuses_to_write() {
    let folder = Folder::new();
    let writer = open(&folder.file());
    put(&writer, "s", &turn("a", "x"));
    let reader = readonly(&folder.file()).unwrap();
    assert!(reader.facts().readonly);
    assert!(row(&reader, "a").is_some());
    put(&writer, "s", &turn("b", "x"));
    assert!(row(&reader, "b").is_some());
    let refused = reader.write(&never, |tx| put_in(tx, "s", &turn("c", "x")));
    let Err(Error::Store { message, .. }) = refused else { panic!("{refused:?}") };
    assert!(message.contains("read-only"), "{message}");
    drop(reader);
    put(&writer, "s", &turn("d", "x"));
    assert_eq!(turn_numbers(&writer, "s"), [0, 1, 2]);
}

/// Permissions mean nothing to root, so these run in a child that gives it up.
fn as_nobody(test: &str, file: &Path) {
    let output = child(test, file, "").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn become_nobody() {
    // SAFETY: plain system calls; they fail where we are not root, and then there is nothing to give up.
    unsafe {
        libc::setgid(65_534);
        libc::setuid(65_534);
    }
}

fn permit(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_folder_that_cannot_be_written_opens_as_it_is_and_refuses_writes() {
    let folder = Folder::new();
    put(&open(&folder.file()), "s", &turn("a", "x"));
    permit(folder.path(), 0o555);
    permit(&folder.file(), 0o444);
    as_nobody("child_opens_what_it_cannot_write", &folder.file());
    permit(folder.path(), 0o755);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_opens_what_it_cannot_write() {
    become_nobody();
    let (file, _) = given();
    for store in [try_open(&file).unwrap(), readonly(&file).unwrap()] {
        assert!(store.facts().readonly);
        assert_eq!(row(&store, "a").unwrap().text, "x");
        let refused = store.write(&never, |tx| put_in(tx, "s", &turn("b", "x")));
        assert!(matches!(&refused, Err(Error::Store { message, .. }) if message.contains("read-only")), "{refused:?}");
    }
    let new = file.with_file_name("new.db");
    assert!(matches!(try_open(&new), Err(Error::Io { errno: libc::EACCES, .. })), "{:?}", try_open(&new));
}

#[test]
fn commits_that_a_read_only_opening_would_not_see_are_an_error() {
    let folder = Folder::new();
    let status = child("child_leaves_a_log_behind", &folder.file(), "").status().unwrap();
    assert!(!status.success());
    std::fs::remove_file(folder.path().join("chat.db-shm")).unwrap();
    permit(folder.path(), 0o555);
    as_nobody("child_is_told_of_the_log", &folder.file());
    permit(folder.path(), 0o755);
    assert_eq!(row(&open(&folder.file()), "a").unwrap().text, "x");
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_leaves_a_log_behind() {
    let store = open(&given().0);
    put(&store, "s", &turn("a", "x"));
    std::process::abort();
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn child_is_told_of_the_log() {
    become_nobody();
    let (file, _) = given();
    for refused in [readonly(&file), try_open(&file)] {
        let Err(Error::Store { message, .. }) = refused else { panic!("{refused:?}") };
        assert!(message.contains("chat.db-wal"), "{message}");
    }
}

#[test]
fn facts_say_what_is_open() {
    let folder = Folder::new();
    let store = Store::open(OpenOptions { durability: Durability::Full, ..options(&folder.file()) }, &never).unwrap();
    put(&store, "s", &turn("a", "x"));
    let facts = store.facts();
    assert_eq!(facts.path.as_deref(), Some(folder.file().as_path()));
    assert_eq!((facts.durability, facts.readonly, facts.erasure_pending), (Durability::Full, false, false));
    assert!(facts.wal_bytes > 0);
    let epoch = read(&store, |tx| Ok(tx.epoch()));
    assert_eq!(epoch, read(&open(&folder.file()), |tx| Ok(tx.epoch())), "of the file, not of the handle");
    assert_ne!(facts.epoch, in_memory().facts().epoch);
    assert_eq!(in_memory().facts().path, None);
}

#[test]
fn an_empty_file_is_begun_and_one_that_has_a_log_was_cut_off() {
    let folder = Folder::new();
    std::fs::write(folder.file(), "").unwrap();
    put(&open(&folder.file()), "s", &turn("a", "x"));
    assert!(row(&open(&folder.file()), "a").is_some());
    let log = folder.path().join("chat.db-wal");
    std::fs::write(&log, "what was committed last").unwrap();
    std::fs::write(folder.file(), "").unwrap();
    for refused in [try_open(&folder.file()), readonly(&folder.file())] {
        let Err(Error::Corrupt { message, .. }) = refused else { panic!("{refused:?}") };
        assert!(message.contains("was cut off") && message.contains("backup"), "{message}");
    }
    assert_eq!(std::fs::read(&log).unwrap(), b"what was committed last");
}
