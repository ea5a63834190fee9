//! Opening connections, and the settings each one gets.
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Once};

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags, ffi};

use super::fault::{self, At};
use super::identity::{FileId, Standing};
use super::log::Log;
use super::schema::{self, Meta, Origin};
use crate::error::{Error, Result};

/// Whether a commit that has returned survives a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// One fsync a commit.
    #[default]
    Full,
    /// May lose the last commits at a power cut, never consistency.
    Normal,
}

/// How a connection is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// The writer's first connection: makes the file if it is missing.
    Create,
    Write,
    /// Reads beside writers; needs write access to the `-shm` file only.
    Read,
    /// Reads, where nothing may be written.
    ReadOnly,
    /// Reads a file that nobody can change.
    Immutable,
    Memory,
}

/// One SQLite connection to a collection whose identity was checked.
pub(super) struct Conn {
    pub sql: Connection,
    pub origin: Origin,
    pub access: Access,
    /// Of the file as it was opened: another one since then means that it was replaced underneath.
    pub epoch: i64,
    generation: u64,
    file: Option<FileId>,
    pub standing: Option<Standing>,
    log: Option<Log>,
    /// How long the write-ahead log was at the last commit, in pages.
    log_pages: Arc<AtomicI32>,
    is_quiet: bool,
}

impl Conn {
    /// Opens a collection that exists.
    pub(super) fn open(path: &Path, access: Access, durability: Durability) -> Result<Self> {
        let file = FileId::of(path, access)?;
        let sql = connect(path, access, durability)?;
        schema::expect_ours(&sql, path)?;
        Self::adopt(sql, path, access, file)
    }

    /// Takes over a connection to what is known to be a collection. `file`: what was at the path before it was opened.
    pub(super) fn adopt(sql: Connection, path: &Path, access: Access, file: Option<FileId>) -> Result<Self> {
        let origin = Origin::load(&sql, path)?;
        let epoch = Meta::load(&sql, path)?.epoch;
        let log = Log::of(path, access)?;
        let generation = epoch as u64 ^ file.as_ref().map_or(0, FileId::hash);
        let standing = Standing::of(path, access, file.as_ref())?;
        let log_pages = Arc::default();
        let mut conn = Self { sql, origin, access, epoch, generation, file, standing, log, log_pages, is_quiet: false };
        conn.expect_in_place(path)?;
        if access == Access::Write {
            let log_pages = Arc::clone(&conn.log_pages);
            let note = move |_: &mut Wal, pages| {
                log_pages.store(pages, Ordering::Relaxed);
                Ok(())
            };
            conn.sql.wal_hook(Some(note)).at(path)?; // in place of SQLite's own, which copies within the commit
        }
        Ok(conn)
    }

    /// After a commit, and what follows from it: copies the log into the main file when it is long. SQLite itself would do so within
    /// the commit, when readers see it already and the writer does not know yet.
    pub(super) fn checkpoint_if_due(&self) {
        if self.log_pages.load(Ordering::Relaxed) >= LONG_LOG_PAGES && !self.has_lost_log() {
            // The commit is done whatever becomes of this; the next commit tries again, as SQLite's own would.
            let _ = self.sql.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
    }

    /// The counters, as the first read of a transaction: it fixes the snapshot.
    pub(super) fn meta(&self, path: &Path) -> Result<Meta> {
        let meta = Meta::load(&self.sql, path).map_err(|error| self.expect_log(path).err().unwrap_or(error))?;
        self.expect_in_place(path)?;
        // The caller opens another connection and tries again.
        if meta.epoch != self.epoch {
            return Err(fault::busy(path));
        }
        if self.access == Access::Write {
            self.expect_log(path)?;
        }
        Ok(meta)
    }

    /// Whoever writes behind a log that was cut, or into one that was removed, would lose it, and what was stored before.
    fn expect_log(&self, path: &Path) -> Result<()> {
        if self.has_lost_log() { Err(fault::lost_log(path)) } else { Ok(()) }
    }

    fn has_lost_log(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.is_lost(&self.sql))
    }

    /// The file is still what its path leads to: what is written to one that was replaced or deleted would be lost. Busy: it was
    /// replaced, and the caller opens another connection and tries again. Not where the old log is still there.
    pub(super) fn expect_in_place(&self, path: &Path) -> Result<()> {
        match FileId::of(path, self.access)? {
            found if found == self.file => Ok(()),
            Some(_) => {
                self.standing.as_ref().map_or(Ok(()), Standing::expect_own_log)?;
                Err(fault::busy(path))
            }
            None => Err(fault::io(path, libc::ENOENT)),
        }
    }

    /// Differs between files, and between a backup and the file that it replaced.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Closes without a checkpoint: before a fork, and where nothing may be written.
    pub(super) fn close_quietly(mut self) {
        self.is_quiet = true;
    }

    /// Of a file that was moved or replaced: SQLite would leave its log where it was, for whoever opens that name next. It goes into
    /// the file that it belongs to, wherever that is now, unless somebody is reading from it.
    fn take_log_along(&self) {
        let left = self.standing.as_ref().filter(|standing| standing.is_away_from_its_log());
        if let Some(standing) = left
            && !self.has_lost_log()
            && self.sql.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)) == Ok(0)
        {
            standing.remove_log();
        }
    }
}

impl Drop for Conn {
    /// The last connection to close copies the log into the file: of one that was cut, as far as it goes.
    fn drop(&mut self) {
        if !self.is_quiet && self.access == Access::Write {
            self.take_log_along();
        }
        if self.is_quiet || self.log.as_ref().is_some_and(|log| !log.may_be_copied(&self.sql)) {
            let _ = self.sql.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
    }
}

/// SQLite counts the memory it has, for everybody at once, under a lock that each allocation of each thread takes. Nobody asks for it.
#[allow(unsafe_code)]
fn count_no_memory() {
    static DONE: Once = Once::new();
    // SAFETY: a setting that SQLite takes before its first use and refuses later, when it changes nothing; `Once` has one thread call it.
    DONE.call_once(|| unsafe {
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0);
    });
}

pub(super) fn connect(path: &Path, access: Access, durability: Durability) -> Result<Connection> {
    count_no_memory();
    let common = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let rights = match access {
        Access::Create | Access::Memory => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        Access::Write | Access::Read => OpenFlags::SQLITE_OPEN_READ_WRITE,
        Access::ReadOnly | Access::Immutable => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    let sql = if access == Access::Memory {
        Connection::open_in_memory_with_flags(common | rights).at(path)?
    } else {
        refuse_endless(path)?;
        Connection::open_with_flags(uri(path, access)?, common | rights)
            .at(path)
            .map_err(|error| explain(error, path, access))?
    };
    configure(&sql, access, durability).at(path)?;
    Ok(sql)
}

/// Opening a pipe waits for somebody at its other end, and a device gives bytes without an end. Folders SQLite refuses itself.
fn refuse_endless(path: &Path) -> Result<()> {
    for end in ["", "-journal", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        let endless = |found: std::fs::Metadata| !found.is_file() && !found.is_dir();
        if Path::new(&name).metadata().is_ok_and(endless) {
            let message = format!(
                "{} is a pipe, a socket or a device, expected a file; remove it, or choose another name or path",
                name.display()
            );
            return Err(fault::store(path, message));
        }
    }
    Ok(())
}

/// A file that is not there although we asked for it to be made: its folder does not let us.
fn explain(error: Error, path: &Path, access: Access) -> Error {
    match (&error, path.parent()) {
        (Error::Io { errno: libc::ENOENT, .. }, Some(folder)) if access == Access::Create && folder.is_dir() => {
            fault::io(folder, libc::EACCES)
        }
        _ => error,
    }
}

/// A checkpoint every 16 MB of log: it costs two fsyncs, and writes once what many commits changed.
const LONG_LOG_PAGES: i32 = 4000;
const WRITER: &str = "PRAGMA cache_size=-16000; PRAGMA wal_autocheckpoint=4000;";
/// Holds the pages above the leaves of a million memories: each row of a session that is scattered over them is below others. And the
/// rows of twenty sessions that are read in turns: with SQLite's own 2 MB each read takes them from the system again.
const READER: &str = "PRAGMA cache_size=-16000;";

fn configure(sql: &Connection, access: Access, durability: Durability) -> rusqlite::Result<()> {
    // We wait ourselves, outside the fork gate (rusqlite's own default is five seconds inside SQLite).
    sql.busy_timeout(std::time::Duration::ZERO)?;
    sql.set_prepared_statement_cache_capacity(64);
    rusqlite::vtab::array::load_module(sql)?;
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // Else a prepared statement is planned anew for each value bound to a range: ten times what it costs to run.
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    // fullfsync: on macOS fsync does not reach the disk. temp_store: no savepoint's journal may spill texts into a temporary file.
    sql.execute_batch(&format!(
        "PRAGMA synchronous={synchronous}; PRAGMA fullfsync=ON; PRAGMA checkpoint_fullfsync=ON; PRAGMA secure_delete=ON; \
         PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF; PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY; \
         PRAGMA foreign_keys=OFF; PRAGMA journal_size_limit=67108864;"
    ))?;
    match access {
        Access::Create | Access::Write | Access::Memory => sql.execute_batch(WRITER),
        Access::Read => sql.execute_batch(&format!("PRAGMA query_only=ON; {READER}")),
        Access::ReadOnly | Access::Immutable => sql.execute_batch(READER),
    }
}

/// A URI takes every path as it is: `file:x`, `:memory:` and `a?b` are names of files here.
pub(super) fn uri(path: &Path, access: Access) -> Result<String> {
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            0 => return Err(Error::invalid(format!("the path {} contains a NUL character", path.display()))),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => uri.push(char::from(*byte)),
            _ => write!(uri, "%{byte:02X}").map_err(|_| fault::store(path, "the path cannot be written as a URI"))?,
        }
    }
    if access == Access::Immutable {
        uri.push_str("?immutable=1");
    }
    Ok(uri)
}

pub(super) fn wal_path(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

pub(super) fn shm_path(path: &Path) -> PathBuf {
    beside(path, "-shm")
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Size of the write-ahead log, by its folder entry alone. 0: every commit is in the main file.
pub(super) fn wal_bytes(path: &Path) -> u64 {
    wal_path(path).metadata().map_or(0, |found| found.len())
}
