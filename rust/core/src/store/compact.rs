//! Giving space back. What was erased stands in the file as rows of zeroes, and deleting those would leave copies of others behind
//! (see `erase`). So what lives is written, in order, into another file, and that one replaces all pages of this one in a single
//! transaction. The other file lies beside this one, without a name: nobody else can open it, and a crash takes it along.
use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, params_from_iter};

use super::aside::Stop;
use super::errno::{errno, is_full};
use super::fault::{self, At};
use super::group::{Writer, run};
use super::patience::{Interrupt, Patience};
use super::schema;
use super::scrub::empty_log;
use super::shared::Shared;
use super::sqlite::{Access, Conn};
use crate::error::{Error, Result};

/// Pages that are copied between two looks at whether to stop.
const PAGES: i32 = 512;

/// How long reads of this process are held back for the log to be emptied.
const LONGEST_HOLD: Duration = Duration::from_millis(50);

impl Shared {
    /// Bytes given back. Holds other writers off; nobody may be reading an old snapshot when it begins.
    pub(super) fn compact(&self, stop: &Stop) -> Result<u64> {
        self.writable()?;
        let stopped = || stop.wanted();
        let interrupt: Interrupt<'_> = &stopped;
        let mut patience = Patience::new(self.busy_timeout(), interrupt);
        patience.retry(&self.path, || self.try_compact(stop))
    }

    fn try_compact(&self, stop: &Stop) -> Result<u64> {
        let mut writer = self.lock_idle();
        self.usable()?;
        self.connect_writer(&mut writer)?;
        if let Err(error) = self.expect_same_file(&writer) {
            if matches!(error, Error::Busy { .. }) && !self.is_in_memory() {
                writer.conn = None; // the next attempt opens what is there now
            }
            return Err(error);
        }
        let before = self.size_without_log(&writer)?;
        let Some(conn) = &mut writer.conn else { return Err(fault::store(&self.path, "no connection to write on")) };
        let done = if self.is_in_memory() {
            replace_in_memory(conn, &self.path, stop)
        } else {
            let reader = self.connect(Access::Read)?;
            replace(conn, &reader, &self.path, stop)
        };
        done?;
        self.scrub_after_compacting(&mut writer);
        // Where somebody began to read meanwhile, the file becomes smaller when they have ended.
        let after = writer.conn.as_ref().map_or(Ok(0), |conn| size(&conn.sql)).at(&self.path)?;
        Ok(before.saturating_sub(after))
    }

    fn expect_same_file(&self, writer: &Writer) -> Result<()> {
        let Some(conn) = &writer.conn else { return Err(fault::store(&self.path, "no connection to write on")) };
        conn.meta(&self.path)?.allows_writing(&self.path)
    }

    /// Busy: somebody reads from the log.
    fn size_without_log(&self, writer: &Writer) -> Result<u64> {
        let Some(conn) = &writer.conn else { return Err(fault::store(&self.path, "no connection to write on")) };
        if !self.is_in_memory() {
            let held = self.reads.hold(LONGEST_HOLD);
            let emptied = held.is_some() && empty_log(&conn.sql, &self.path)?;
            if !emptied {
                return Err(fault::busy(&self.path));
            }
        }
        size(&conn.sql).at(&self.path)
    }
}

fn size(sql: &Connection) -> rusqlite::Result<u64> {
    let pragma = |name: &str| sql.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    Ok(u64::try_from(pragma("page_count")?.saturating_mul(pragma("page_size")?)).unwrap_or(0))
}

/// `reader` is another connection to the same file.
fn replace(conn: &mut Conn, reader: &Conn, path: &Path, stop: &Stop) -> Result<()> {
    let spare = Spare::beside(path)?;
    make_tables(&reader.sql, &spare.0).at(path)?;
    let backup = Backup::new(&spare.0, &mut conn.sql).at(path)?;
    // No page yet, but the lock: what is read from here on is the newest there will be.
    match backup.step(0).at(path)? {
        StepResult::More => {}
        StepResult::Busy | StepResult::Locked => return Err(fault::busy(path)),
        _ => return Err(fault::store(path, "SQLite finished a copy that had not begun")),
    }
    run(&reader.sql, "BEGIN").at(path)?;
    let copied = reader.meta(path).and_then(|_| copy_rows(&reader.sql, &spare.0, path, stop));
    let ended = run(&reader.sql, "COMMIT").at(path);
    copied.and(ended)?;
    copy_pages(&backup, path, stop)
}

/// It has one connection, and its lock is held.
fn replace_in_memory(conn: &mut Conn, path: &Path, stop: &Stop) -> Result<()> {
    let spare = Connection::open_in_memory().at(path)?;
    make_tables(&conn.sql, &spare).at(path)?;
    copy_rows(&conn.sql, &spare, path, stop)?;
    copy_pages(&Backup::new(&spare, &mut conn.sql).at(path)?, path, stop)
}

fn copy_pages(backup: &Backup<'_, '_>, path: &Path, stop: &Stop) -> Result<()> {
    loop {
        if stop.wanted() {
            return Err(Error::Interrupted);
        }
        match backup.step(PAGES).at(path)? {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            _ => return Err(fault::busy(path)),
        }
    }
}

fn make_tables(old: &Connection, new: &Connection) -> rusqlite::Result<()> {
    let page_size: i64 = old.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    // Without secure_delete the old root of a tree keeps what was in it before the tree grew.
    new.execute_batch(&format!(
        "PRAGMA page_size={page_size}; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA secure_delete=ON;"
    ))?;
    schema::create_tables(new)
}

/// Every row but those of zeroes that belong to nothing. Indexes come last: they are made in order then.
fn copy_rows(old: &Connection, new: &Connection, path: &Path, stop: &Stop) -> Result<()> {
    run(new, "BEGIN").at(path)?;
    for table in schema::TABLE_NAMES {
        copy_table(old, new, table, path, stop)?;
    }
    schema::create_indexes(new).at(path)?;
    run(new, "COMMIT").at(path)
}

fn copy_table(old: &Connection, new: &Connection, table: &str, path: &Path, stop: &Stop) -> Result<()> {
    let mut select = old.prepare(&format!("SELECT * FROM {table}")).at(path)?;
    let width = select.column_count();
    let places = vec!["?"; width].join(", ");
    let mut insert = new.prepare(&format!("INSERT INTO {table} VALUES ({places})")).at(path)?;
    let mut rows = select.query([]).at(path)?;
    while let Some(row) = rows.next().at(path)? {
        if stop.wanted() {
            return Err(Error::Interrupted);
        }
        let values = (0..width).map(|column| row.get_ref(column)).collect::<rusqlite::Result<Vec<_>>>().at(path)?;
        if is_erased(old, table, &values).at(path)? {
            continue;
        }
        insert.execute(params_from_iter(values.into_iter().map(rusqlite::types::ToSqlOutput::Borrowed))).at(path)?;
    }
    Ok(())
}

/// A row of zeroes that a memory still points at is damage: it stays, to be found.
fn is_erased(sql: &Connection, table: &str, values: &[ValueRef<'_>]) -> rusqlite::Result<bool> {
    let mut blobs = values.iter().filter_map(|value| if let ValueRef::Blob(blob) = value { Some(blob) } else { None });
    if !matches!(table, "content" | "vector") || !blobs.all(|blob| blob.iter().all(|byte| *byte == 0)) {
        return Ok(false);
    }
    let number = |index: usize| values.get(index).and_then(|value| value.as_i64().ok());
    let (key, seq) = (number(0), number(usize::from(table == "vector")));
    let select = if table == "content" {
        "SELECT EXISTS (SELECT 1 FROM memory WHERE seq = ?2 AND ?1 = ?2)"
    } else {
        "SELECT EXISTS (SELECT 1 FROM memory WHERE seq = ?2 AND ?1 BETWEEN vid AND vid + parts - 1) \
         OR EXISTS (SELECT 1 FROM incoming WHERE seq = ?2 AND ?1 BETWEEN vid AND vid + parts - 1)"
    };
    let owned: bool = sql.prepare_cached(select)?.query_row((key, seq), |row| row.get(0))?;
    Ok(!owned)
}

/// A file without a name, in the folder of the collection: what is in it was there before.
struct Spare(Connection);

impl Spare {
    fn beside(path: &Path) -> Result<Self> {
        let name = Self::create(path)?;
        let flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let sql = Connection::open_with_flags(&name, flags).at(&name)?;
        // SQLite opens it now: journals off, or it would look for one under the name.
        let opened =
            sql.execute_batch("PRAGMA journal_mode=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY;");
        let removed = std::fs::remove_file(&name);
        opened.at(&name)?;
        removed.map_err(|error| fault::io(&name, errno(&error, libc::EIO)))?;
        Ok(Self(sql))
    }

    /// An empty file that was not there: by two handles, or two processes of one number in containers of their own, each its own.
    fn create(path: &Path) -> Result<PathBuf> {
        loop {
            let mut name = path.as_os_str().to_owned();
            // A fresh key each time, by which nothing is hashed.
            name.push(format!("-compact-{:016x}", RandomState::new().build_hasher().finish()));
            let name = PathBuf::from(name);
            match File::create_new(&name) {
                Ok(_) => return Ok(name),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) if is_full(&error) => return Err(fault::full(&name)),
                Err(error) => return Err(fault::io(&name, errno(&error, libc::EIO))),
            }
        }
    }
}
