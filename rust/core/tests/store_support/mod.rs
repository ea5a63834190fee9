//! What the tests of the store share.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc, clippy::must_use_candidate)]
use std::path::{Path, PathBuf};
use std::time::Duration;

use retentive_core::error::Result;
use retentive_core::model::{Judge, Kind, Marks, Vector};
use retentive_core::store::{Durability, NewMemory, OpenOptions, ReadTx, Row, Seq, Store, WriteTx};

pub fn never() -> bool {
    false
}

pub fn options(path: &Path) -> OpenOptions {
    OpenOptions {
        path: Some(path.to_path_buf()),
        durability: Durability::Normal,
        language: "english".into(),
        busy_timeout: Duration::from_secs(30),
        readonly: false,
        entropy: entropy(),
    }
}

/// Different in every process and call, without a dependency.
fn entropy() -> [u8; 32] {
    use std::hash::{BuildHasher, RandomState};
    let words = [(); 4].map(|()| RandomState::new().hash_one(std::process::id()).to_le_bytes());
    words.as_flattened().try_into().unwrap()
}

pub fn open(path: &Path) -> Store {
    Store::open(options(path), &never).unwrap()
}

pub fn in_memory() -> Store {
    Store::open(OpenOptions { path: None, ..options(Path::new("")) }, &never).unwrap()
}

pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn file(&self) -> PathBuf {
        self.0.path().join("chat.db")
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

pub fn turn(id: &str, text: &str) -> NewMemory {
    NewMemory {
        id: id.into(),
        kind: Kind::Turn,
        role: Some("user".into()),
        name: None,
        key: None,
        text: text.into(),
        metadata: None,
        turn: None,
        ts: 1_000_000,
        expires: None,
        tokens: 3,
        words: 2,
        question: 0,
        terms: text.split(' ').map(|word| (hash(word), 1)).collect(),
        marks: Marks::default(),
        vectors: vec![Vector::first(vec![0.25, -1.5, 3.0])],
        consolidated_from: Vec::new(),
        cited: Vec::new(),
        judge: Judge::None,
    }
}

pub fn fact(id: &str, text: &str) -> NewMemory {
    NewMemory { kind: Kind::Fact, ..turn(id, text) }
}

pub fn keyed(id: &str, key: &str, text: &str) -> NewMemory {
    NewMemory { key: Some(key.into()), ..fact(id, text) }
}

fn hash(word: &str) -> u64 {
    word.bytes().fold(14_695_981_039_346_656_037, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211))
}

pub fn put(store: &Store, session: &str, new: &NewMemory) -> Seq {
    store.write(&never, |tx| put_in(tx, session, new)).unwrap()
}

pub fn put_in(tx: &WriteTx<'_>, session: &str, new: &NewMemory) -> Result<Seq> {
    let scope = tx.ensure_scope(None, Some(session))?;
    Ok(tx.insert(&scope, new)?.seq)
}

pub fn read<T>(store: &Store, job: impl FnOnce(&ReadTx<'_>) -> Result<T>) -> T {
    store.read(&never, job).unwrap()
}

pub fn row(store: &Store, id: &str) -> Option<Row> {
    read(store, |tx| {
        let Some(head) = tx.find(id)? else { return Ok(None) };
        Ok(tx.rows(&[head.seq])?.pop())
    })
}

pub fn turn_numbers(store: &Store, session: &str) -> Vec<i64> {
    read(store, |tx| {
        let Some(scope) = tx.scope(None, Some(session))? else { return Ok(Vec::new()) };
        let seqs = tx.turns(scope.id, None, 0)?;
        Ok(tx.rows(&seqs)?.into_iter().filter_map(|row| row.head.turn).collect())
    })
}

/// Runs one ignored test of this binary in a process of its own.
pub fn child(test: &str, file: &Path, argument: &str) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    command.env("STORE_FILE", file).env("STORE_ARGUMENT", argument);
    command.stdout(std::process::Stdio::piped());
    command
}

/// Inside such a process: the file and the argument.
pub fn given() -> (PathBuf, String) {
    (std::env::var_os("STORE_FILE").unwrap().into(), std::env::var("STORE_ARGUMENT").unwrap())
}
