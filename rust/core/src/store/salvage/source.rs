//! The copy of a damaged file, opened, also where its first page is no more.
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::error::{Error, Result};
use crate::store::errno::errno;
use crate::store::fault::{self, At};
use crate::store::schema;
use crate::store::sqlite::{Access, Durability, connect, wal_path};

/// Of every file that was made by retentive.
const PAGE: usize = 4_096;
/// The roots of all tables and indexes are below.
const ROOT_PAGES: u64 = 32;
/// A file is not taken to have been more than so many times as long.
const MOST_CUT: u64 = 1_000;
/// Where a header says how many pages there are.
const PAGE_COUNT: usize = 28;

/// Tries it as it is; then with a first page as a new collection has it, whose tables begin on the same pages; then both without
/// the log.
pub(super) fn open(copy: &Path) -> Result<Connection> {
    pad(copy)?;
    let mut last = None;
    for without_log in [false, true] {
        if without_log {
            remove_log(copy)?;
        }
        match try_open(copy) {
            Ok(sql) => return Ok(sql),
            Err(error) => last = Some(error),
        }
        let first = std::fs::read(copy).map_err(|error| io(copy, &error))?;
        let first = first.get(..PAGE).map(<[u8]>::to_vec);
        let Some(first) = first else { break };
        write_first_page(copy, &new_first_page(copy)?)?;
        if let Ok(sql) = try_open(copy) {
            return Ok(sql);
        }
        write_first_page(copy, &first)?;
    }
    let why = last.map_or_else(|| "it is too short".to_owned(), |error| error.to_string());
    Err(Error::corrupt(copy, format!("not a retentive collection, or nothing of it can be read ({why})")))
}

/// SQLite refuses a file that ends before its header says, or before a table begins: what was cut off is pages of zeroes, which it
/// cannot read one by one.
fn pad(copy: &Path) -> Result<()> {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(copy).map_err(|error| io(copy, &error))?;
    let length = file.metadata().map_err(|error| io(copy, &error))?.len();
    let mut header = [0; PAGE_COUNT + 4];
    if length < PAGE as u64 {
        return Ok(()); // nothing of any table
    }
    (&file).read_exact(&mut header).map_err(|error| io(copy, &error))?;
    let present = length.div_ceil(PAGE as u64);
    let said = header.last_chunk::<4>().map_or(0, |bytes| u64::from(u32::from_be_bytes(*bytes)));
    // A count that is damaged itself must not make a file of terabytes.
    let said = if said <= present.saturating_mul(MOST_CUT) { said } else { present };
    let pages = said.max(present).max(ROOT_PAGES);
    file.set_len(pages * PAGE as u64).map_err(|error| io(copy, &error))
}

fn try_open(copy: &Path) -> Result<Connection> {
    let sql = connect(copy, Access::Write, Durability::Normal)?;
    // What is in the log stays there, for the next attempt.
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).at(copy)?;
    // A page with one bad cell still has good ones: every row is compared with its checksum.
    sql.execute_batch("PRAGMA cell_size_check=OFF").at(copy)?;
    let found = schema::definitions_in(&sql).at(copy)?;
    let expected = schema::definitions().at(copy)?;
    if expected.iter().all(|(name, text)| text.is_none() || found.contains(&(name.clone(), text.clone()))) {
        return Ok(sql);
    }
    Err(Error::corrupt(copy, "its tables are not those of a retentive collection"))
}

/// As in a new file, but for the number of pages.
fn new_first_page(copy: &Path) -> Result<Vec<u8>> {
    let length = copy.metadata().map_err(|error| io(copy, &error))?.len();
    let mut other = copy.as_os_str().to_owned();
    other.push("-first");
    let other = PathBuf::from(other);
    match std::fs::remove_file(&other) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(io(copy, &error)),
        _ => {} // of the attempt before
    }
    let sql = Connection::open(&other).at(copy)?;
    sql.execute_batch(&format!("PRAGMA page_size={PAGE}; PRAGMA journal_mode=WAL;")).at(copy)?;
    schema::create_tables(&sql).at(copy)?;
    schema::create_indexes(&sql).at(copy)?;
    drop(sql);
    let whole = std::fs::read(&other).map_err(|error| io(copy, &error))?;
    let mut page = whole.get(..PAGE).map(<[u8]>::to_vec).unwrap_or_default();
    let pages = u32::try_from(length / PAGE as u64).unwrap_or(u32::MAX);
    if let Some(field) = page.get_mut(PAGE_COUNT..PAGE_COUNT + 4) {
        field.copy_from_slice(&pages.to_be_bytes());
    }
    Ok(page)
}

fn write_first_page(copy: &Path, page: &[u8]) -> Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).open(copy).map_err(|error| io(copy, &error))?;
    file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(page)).map_err(|error| io(copy, &error))
}

fn remove_log(copy: &Path) -> Result<()> {
    match std::fs::remove_file(wal_path(copy)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io(copy, &error)),
        _ => Ok(()),
    }
}

fn io(path: &Path, error: &std::io::Error) -> Error {
    fault::io(path, errno(error, libc::EIO))
}
