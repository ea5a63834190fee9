//! Many memories at once are stored as one by one: the same rows, byte by byte.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
mod store_support;

use retentive_core::error::{Error, Result};
use retentive_core::store::{NewMemory, OpenOptions, Store, WriteTx};
use rusqlite::types::Value;
use store_support::*;

type Owned = (Option<&'static str>, Option<&'static str>, NewMemory);

const TABLES: [&str; 6] = ["meta", "scope", "names", "memory", "content", "vector"];

/// With the same hash key and epoch in each.
fn opened(folder: &Folder) -> Store {
    Store::open(OpenOptions { entropy: [7; 32], ..options(&folder.file()) }, &never).unwrap()
}

/// Every row of every table that an insert writes.
fn dump(folder: &Folder) -> Vec<Vec<Value>> {
    let sql = rusqlite::Connection::open(folder.file()).unwrap();
    let rows = |table: &&str| {
        let mut statement = sql.prepare(&format!("SELECT * FROM {table} ORDER BY 1")).unwrap();
        let width = statement.column_count();
        let read = statement.query_map([], |row| (0..width).map(|at| row.get(at)).collect()).unwrap();
        read.map(rusqlite::Result::unwrap).collect::<Vec<Vec<Value>>>()
    };
    TABLES.iter().flat_map(rows).collect()
}

/// Of two users and of nobody, in sessions and outside, by turns; with texts, kinds and turn numbers of each sort.
fn mixed(count: usize) -> Vec<Owned> {
    let owners = [
        (Some("ann"), Some("chat")),
        (None, Some("chat")),
        (Some("ann"), None),
        (Some("bo"), Some("chat")),
        (None, None),
        (Some("ann"), Some("other")),
    ];
    let memory = |number: usize| {
        let id = format!("mem-{number}");
        let new = if number.is_multiple_of(4) { fact(&id, "of the facts") } else { turn(&id, "one of the turns") };
        let explicit = (number.is_multiple_of(7) && !number.is_multiple_of(4)).then_some(3 * number as i64);
        let vectors = if number.is_multiple_of(5) { Vec::new() } else { new.vectors.clone() };
        NewMemory { turn: explicit, vectors, metadata: Some(format!("{{\"n\": {number}}}")), ..new }
    };
    (0..count)
        .map(|number| (owners[number % owners.len()].0, owners[number % owners.len()].1, memory(number)))
        .collect()
}

fn one_by_one(tx: &WriteTx<'_>, memories: &[Owned]) -> Result<()> {
    memories.iter().try_for_each(|(user, session, new)| {
        let scope = tx.ensure_scope(*user, *session)?;
        tx.insert(&scope, new).map(drop)
    })
}

fn at_once(tx: &WriteTx<'_>, memories: &[Owned]) -> Result<()> {
    tx.fill(|filling| {
        memories.iter().try_for_each(|(user, session, new)| filling.insert(*user, *session, new).map(drop))
    })
}

#[test]
fn memories_stored_at_once_are_the_rows_that_one_by_one_makes() {
    let memories = mixed(200);
    let dumps = [one_by_one, at_once].map(|way| {
        let folder = Folder::new();
        let store = opened(&folder);
        for part in memories.chunks(70) {
            store.write(&never, |tx| way(tx, part)).unwrap();
        }
        assert_eq!(store.verify(&never).unwrap().problems, []);
        drop(store);
        dump(&folder)
    });
    assert_eq!(dumps[0].len(), 1 + 7 + 7 + 200 + 200 + 160);
    assert_eq!(dumps[0], dumps[1]);
}

#[test]
fn an_emptied_scope_gets_its_names_and_goes_on_counting() {
    let dumps = [one_by_one, at_once].map(|way| {
        let folder = Folder::new();
        let store = opened(&folder);
        let gone = (Some("ann"), Some("chat"), turn("gone", "soon gone"));
        store.write(&never, |tx| way(tx, &[gone])).unwrap();
        let seq = read(&store, |tx| tx.find("gone")).unwrap().seq;
        store.write(&never, |tx| tx.erase(&[seq]).map(drop)).unwrap();
        store.write(&never, |tx| way(tx, &mixed(12))).unwrap();
        let row = row(&store, "mem-6").unwrap();
        assert_eq!((row.user.as_deref(), row.session.as_deref(), row.head.turn), (Some("ann"), Some("chat"), Some(1)));
        drop(store);
        dump(&folder)
    });
    assert_eq!(dumps[0], dumps[1]);
}

#[test]
fn an_id_in_use_leaves_nothing_of_what_came_with_it() {
    let folder = Folder::new();
    let store = opened(&folder);
    store.write(&never, |tx| at_once(tx, &mixed(3))).unwrap();
    let before = dump(&folder);
    let fresh = |id: &str| (Some("cy"), Some("new"), turn(id, "somebody new"));
    for second in ["mem-1", "first"] {
        let refused = store.write(&never, |tx| at_once(tx, &[fresh("first"), fresh(second)]));
        assert!(matches!(refused, Err(Error::Conflict(message)) if message.contains(second)));
        assert_eq!(dump(&folder), before);
    }
}

/// A checkpoint comes behind the commit that made the log long: without one it would hold all of the 40 MB.
#[test]
fn a_long_log_is_copied_into_the_file() {
    let folder = Folder::new();
    let store = opened(&folder);
    let text = "long ".repeat(20_000);
    for part in 0..10 {
        let memories: Vec<_> = (0..40).map(|number| turn(&format!("mem-{part}-{number}"), &text)).collect();
        let memories: Vec<Owned> = memories.into_iter().map(|new| (None, Some("s"), new)).collect();
        store.write(&never, |tx| at_once(tx, &memories)).unwrap();
    }
    let facts = store.facts();
    assert!(facts.wal_bytes < 24 << 20, "{} bytes of log", facts.wal_bytes);
    assert!(facts.file_bytes > 16 << 20, "{} bytes of file", facts.file_bytes);
}
