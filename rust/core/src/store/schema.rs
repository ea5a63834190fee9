//! Schema 1: the tables, who may open them, and the two rows that describe the file. `docs/format.md` explains each column.
use std::hash::Hasher;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row};
use siphasher::sip::SipHasher13;

use super::calibration;
use super::codec::sum_numbers;
use super::fault::{self, At};
use crate::error::{Error, Result};

/// "RTNV", in the header of the file.
pub(super) const APPLICATION_ID: i64 = 0x5254_4E56;
/// What this version writes, and the newest it reads.
pub const SCHEMA: i64 = 1;
/// What this version is, as a writer: a file may ask for a newer one without a change of schema.
pub(super) const WRITER: i64 = 1;
/// Of the stored terms.
pub const ANALYSIS: i64 = 1;
/// Of the stored `tokens`.
pub const ESTIMATE: i64 = 1;

const TABLES: &str = "
CREATE TABLE origin(id INTEGER PRIMARY KEY CHECK (id = 1), hash_key BLOB NOT NULL, language TEXT NOT NULL,
    analysis INTEGER NOT NULL, estimate INTEGER NOT NULL, sum INTEGER NOT NULL) STRICT;
CREATE TABLE meta(id INTEGER PRIMARY KEY CHECK (id = 1), schema INTEGER NOT NULL, least_writer INTEGER NOT NULL,
    epoch INTEGER NOT NULL, rev INTEGER NOT NULL, next_seq INTEGER NOT NULL, next_vid INTEGER NOT NULL,
    next_scope INTEGER NOT NULL, erased INTEGER NOT NULL, scrubbed INTEGER NOT NULL, sum INTEGER NOT NULL) STRICT;
CREATE TABLE scope(id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, partition INTEGER NOT NULL, has_user INTEGER NOT NULL,
    next_turn INTEGER NOT NULL, rev INTEGER NOT NULL, held INTEGER NOT NULL, owned INTEGER NOT NULL,
    tombstones INTEGER NOT NULL, pruned_below INTEGER NOT NULL, sum INTEGER NOT NULL) STRICT;
CREATE INDEX scope_hash ON scope(hash);
CREATE INDEX scope_partition ON scope(partition);
CREATE TABLE names(scope INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE memory(seq INTEGER PRIMARY KEY, id INTEGER NOT NULL, scope INTEGER NOT NULL, partition INTEGER NOT NULL,
    kind INTEGER NOT NULL, turn INTEGER, ts INTEGER NOT NULL, expires INTEGER, key INTEGER, vid INTEGER NOT NULL,
    parts INTEGER NOT NULL, tokens INTEGER NOT NULL, words INTEGER NOT NULL, question INTEGER NOT NULL, supersedes INTEGER,
    superseded_by INTEGER, superseded_at INTEGER, judge INTEGER NOT NULL, cited INTEGER NOT NULL, feedbacks INTEGER NOT NULL,
    rev INTEGER NOT NULL, sum INTEGER NOT NULL) STRICT;
CREATE INDEX memory_id ON memory(id);
CREATE INDEX memory_rev ON memory(partition, rev);
CREATE INDEX memory_turn ON memory(scope, turn);
CREATE INDEX memory_key ON memory(partition, key) WHERE key IS NOT NULL AND superseded_by IS NULL;
CREATE INDEX memory_successor ON memory(superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memory_expires ON memory(expires) WHERE expires IS NOT NULL;
CREATE TABLE content(seq INTEGER PRIMARY KEY, head BLOB NOT NULL, body BLOB NOT NULL) STRICT;
CREATE TABLE vector(vid INTEGER PRIMARY KEY, seq INTEGER NOT NULL, model INTEGER NOT NULL, part INTEGER NOT NULL,
    data BLOB NOT NULL) STRICT;
CREATE TABLE feedback(id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, outcome INTEGER NOT NULL, ts INTEGER NOT NULL,
    sum INTEGER NOT NULL) STRICT;
CREATE INDEX feedback_seq ON feedback(seq);
CREATE TABLE tombstone(partition INTEGER NOT NULL, rev INTEGER NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY (partition, rev, seq)) STRICT, WITHOUT ROWID;
CREATE TABLE model(id INTEGER PRIMARY KEY, name TEXT NOT NULL, dimension INTEGER NOT NULL, probe BLOB NOT NULL,
    current INTEGER NOT NULL, incoming INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE incoming(seq INTEGER PRIMARY KEY, vid INTEGER NOT NULL, parts INTEGER NOT NULL, sum INTEGER NOT NULL) STRICT;
";

/// In an order in which they can be copied.
pub(super) const TABLE_NAMES: [&str; 12] = [
    "origin",
    "meta",
    "scope",
    "names",
    "memory",
    "content",
    "vector",
    "feedback",
    "tombstone",
    "model",
    "incoming",
    "calibration",
];

/// Hashes names so that an index need not hold them. The key is the file's own.
#[derive(Clone, Copy)]
pub(super) struct HashKey([u64; 2]);

impl HashKey {
    pub(super) fn scope(self, names: &[u8]) -> i64 {
        self.hash(b's', names)
    }

    pub(super) fn id(self, id: &str) -> i64 {
        self.hash(b'i', id.as_bytes())
    }

    pub(super) fn key(self, key: &str) -> i64 {
        self.hash(b'k', key.as_bytes())
    }

    fn hash(self, domain: u8, bytes: &[u8]) -> i64 {
        let [first, second] = self.0;
        let mut hasher = SipHasher13::new_with_keys(first, second);
        hasher.write_u8(domain);
        hasher.write(bytes);
        hasher.finish() as i64
    }
}

/// What was decided when the file was made.
#[derive(Clone)]
pub(super) struct Origin {
    pub hash_key: HashKey,
    pub language: String,
    pub analysis: i64,
    pub estimate: i64,
}

impl Origin {
    pub(super) fn new(entropy: &[u8; 32], language: &str) -> Self {
        let word = |at: usize| entropy.get(at..).and_then(<[u8]>::first_chunk).copied().map_or(0, u64::from_le_bytes);
        Self {
            hash_key: HashKey([word(0), word(8)]),
            language: language.to_owned(),
            analysis: ANALYSIS,
            estimate: ESTIMATE,
        }
    }

    fn sum(&self) -> i64 {
        let [first, second] = self.hash_key.0;
        let language = xxhash_rust::xxh3::xxh3_64(self.language.as_bytes());
        sum_numbers(&[first as i64, second as i64, language as i64, self.analysis, self.estimate].map(Some))
    }

    pub(super) fn load(sql: &Connection, path: &Path) -> Result<Self> {
        let (key, language, analysis, estimate, sum): (Vec<u8>, _, _, _, i64) = sql
            .query_row("SELECT hash_key, language, analysis, estimate, sum FROM origin WHERE id = 1", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
            })
            .at(path)?;
        let mut words = key.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let hash_key = HashKey([words.next().unwrap_or(0), words.next().unwrap_or(0)]);
        let origin = Self { hash_key, language, analysis, estimate };
        if origin.sum() != sum {
            return Err(Error::corrupt(path, "the row of `origin` does not match its checksum"));
        }
        Ok(origin)
    }

    pub(super) fn store(&self, sql: &Connection) -> rusqlite::Result<()> {
        let key = self.hash_key.0.map(u64::to_le_bytes);
        sql.execute(
            "INSERT INTO origin VALUES (1, ?, ?, ?, ?, ?)",
            (key.as_flattened(), &self.language, self.analysis, self.estimate, self.sum()),
        )?;
        Ok(())
    }
}

/// The counters of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meta {
    pub schema: i64,
    pub least_writer: i64,
    pub epoch: i64,
    /// Newest rev given out.
    pub rev: i64,
    pub next_seq: i64,
    pub next_vid: i64,
    /// Scopes are numbered without gaps and never deleted: one less than this is how many there are.
    pub next_scope: i64,
    /// Rev of the last write that erased.
    pub erased: i64,
    /// Up to this rev, what was erased is known to be gone from the WAL.
    pub scrubbed: i64,
}

impl Meta {
    /// Of a file in which nothing is.
    pub(super) fn new(entropy: &[u8; 32]) -> Self {
        let epoch = entropy.last_chunk().copied().map_or(0, i64::from_le_bytes);
        let (rev, erased, scrubbed) = (0, 0, 0);
        let (next_seq, next_vid, next_scope) = (1, 1, 1);
        Self { schema: SCHEMA, least_writer: 1, epoch, rev, next_seq, next_vid, next_scope, erased, scrubbed }
    }

    fn numbers(&self) -> [i64; 9] {
        let Self { schema, least_writer, epoch, rev, next_seq, next_vid, next_scope, erased, scrubbed } = *self;
        [schema, least_writer, epoch, rev, next_seq, next_vid, next_scope, erased, scrubbed]
    }

    fn sum(&self) -> i64 {
        sum_numbers(&self.numbers().map(Some))
    }

    pub(super) fn load(sql: &Connection, path: &Path) -> Result<Self> {
        let select = "SELECT schema, least_writer, epoch, rev, next_seq, next_vid, next_scope, erased, scrubbed, sum FROM meta WHERE id = 1";
        let (meta, sum) = sql
            .prepare_cached(select)
            .and_then(|mut statement| statement.query_row([], |row| Ok((Self::read(row)?, row.get::<_, i64>(9)?))))
            .at(path)?;
        if meta.sum() != sum {
            return Err(Error::corrupt(path, "the row of `meta` does not match its checksum"));
        }
        if meta.schema != SCHEMA {
            return Err(newer(path, meta.schema));
        }
        Ok(meta)
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            schema: row.get(0)?,
            least_writer: row.get(1)?,
            epoch: row.get(2)?,
            rev: row.get(3)?,
            next_seq: row.get(4)?,
            next_vid: row.get(5)?,
            next_scope: row.get(6)?,
            erased: row.get(7)?,
            scrubbed: row.get(8)?,
        })
    }

    pub(super) fn store(&self, sql: &Connection) -> rusqlite::Result<()> {
        let mut statement =
            sql.prepare_cached("INSERT OR REPLACE INTO meta VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
        for (index, number) in self.numbers().into_iter().chain([self.sum()]).enumerate() {
            statement.raw_bind_parameter(index + 1, number)?;
        }
        statement.raw_execute()?;
        Ok(())
    }

    pub(super) fn allows_writing(&self, path: &Path) -> Result<()> {
        if self.least_writer <= WRITER {
            return Ok(());
        }
        let message = format!(
            "may only be written by a newer retentive (it asks for writer {}, this is {WRITER}); upgrade, or open it with readonly=True",
            self.least_writer
        );
        Err(Error::Version { path: path.to_path_buf(), found: self.least_writer, supported: WRITER, message })
    }
}

pub(super) enum Identity {
    Empty,
    Ours,
}

/// Whose file this is, by its header, in one snapshot: another opener may be making it. Reads only.
pub(super) fn identify(sql: &Connection, path: &Path) -> Result<Identity> {
    if !sql.is_autocommit() {
        return identity(sql, path);
    }
    sql.execute_batch("BEGIN").at(path)?;
    let identity = identity(sql, path);
    // Ends a read; there is nothing to lose.
    let _ = sql.execute_batch("ROLLBACK");
    identity
}

fn identity(sql: &Connection, path: &Path) -> Result<Identity> {
    let application: i64 = sql.query_row("PRAGMA application_id", [], |row| row.get(0)).at(path)?;
    let version: i64 = sql.query_row("PRAGMA user_version", [], |row| row.get(0)).at(path)?;
    let tables = sql.query_row("SELECT 1 FROM sqlite_schema LIMIT 1", [], |_| Ok(())).optional().at(path)?;
    match (application, version, tables) {
        (APPLICATION_ID, SCHEMA, Some(())) => Ok(Identity::Ours),
        (0, 0, None) => Ok(Identity::Empty),
        (APPLICATION_ID, 0, _) | (APPLICATION_ID, _, None) => Err(Error::corrupt(
            path,
            "its header says it is a retentive collection, but it has no tables or no version",
        )),
        (APPLICATION_ID, newer_version, _) => Err(newer(path, newer_version)),
        (other, _, _) => {
            let message = format!(
                "not a retentive collection: an SQLite database of another program (application id {other:#010x}); choose another name or path"
            );
            Err(Error::Version { path: path.to_path_buf(), found: version, supported: SCHEMA, message })
        }
    }
}

pub(super) fn expect_ours(sql: &Connection, path: &Path) -> Result<()> {
    match identify(sql, path)? {
        Identity::Ours => Ok(()),
        Identity::Empty => Err(Error::corrupt(path, "the file is empty: not a retentive collection (yet)")),
    }
}

fn newer(path: &Path, found: i64) -> Error {
    let message =
        format!("written by a newer retentive (schema {found}, this one knows {SCHEMA}); upgrade retentive to open it");
    Error::Version { path: path.to_path_buf(), found, supported: SCHEMA, message }
}

/// Makes the tables in an empty file, or finds that another opener has. Atomic: a crash leaves an empty file or a whole schema.
pub(super) fn ensure(sql: &Connection, path: &Path, entropy: &[u8; 32], language: &str) -> Result<()> {
    if let Identity::Ours = identify(sql, path)? {
        return Ok(());
    }
    sql.execute_batch("BEGIN IMMEDIATE").at(path)?;
    let made = match identify(sql, path) {
        Ok(Identity::Ours) => Ok(()),
        Ok(Identity::Empty) => create(sql, entropy, language).at(path),
        Err(error) => Err(error),
    };
    match made {
        Ok(()) => sql.execute_batch("COMMIT").at(path),
        Err(error) => {
            let _ = sql.execute_batch("ROLLBACK");
            Err(error)
        }
    }
}

/// What makes each table and index of this schema.
pub(super) fn definitions() -> rusqlite::Result<Vec<(String, Option<String>)>> {
    let sql = Connection::open_in_memory()?;
    create_tables(&sql)?;
    create_indexes(&sql)?;
    definitions_in(&sql)
}

/// Name and text of each table and index that there is.
pub(super) fn definitions_in(sql: &Connection) -> rusqlite::Result<Vec<(String, Option<String>)>> {
    let mut statement = sql.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name")?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// The tables, without their indexes, and whose file it is.
pub(super) fn create_tables(sql: &Connection) -> rusqlite::Result<()> {
    statements("CREATE TABLE").try_for_each(|statement| sql.execute_batch(statement))?;
    sql.execute_batch(calibration::TABLE)?;
    sql.execute_batch(&format!("PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={SCHEMA};"))
}

pub(super) fn create_indexes(sql: &Connection) -> rusqlite::Result<()> {
    statements("CREATE INDEX").try_for_each(|statement| sql.execute_batch(statement))
}

fn statements(start: &'static str) -> impl Iterator<Item = &'static str> {
    TABLES.split(';').map(str::trim).filter(move |statement| statement.starts_with(start))
}

fn create(sql: &Connection, entropy: &[u8; 32], language: &str) -> rusqlite::Result<()> {
    create_tables(sql)?;
    create_indexes(sql)?;
    Origin::new(entropy, language).store(sql)?;
    Meta::new(entropy).store(sql)
}

/// Turns the write-ahead log on. Where the file system cannot share memory between processes, that is an error: without it
/// readers would wait for writers.
pub(super) fn ensure_wal(sql: &Connection, path: &Path) -> Result<()> {
    let mode: String = sql.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0)).at(path)?;
    if mode == "wal" {
        return Ok(());
    }
    Err(fault::store(
        path,
        format!(
            "this file system does not support SQLite's write-ahead log (it stayed in {mode} mode); choose a local disk"
        ),
    ))
}
