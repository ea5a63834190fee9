//! Opening a collection: made, found, read-only or in memory.
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::MAIN_DB;

use super::OpenOptions;
use super::errno::errno;
use super::fault::{self, At};
use super::identity::{FileId, names};
use super::open_files::OpenFile;
use super::patience::{Interrupt, Patience};
use super::reads::{Length, Reads};
use super::schema::{self, Identity, Meta, Origin};
use super::shared::Shared;
use super::sqlite::{Access, Conn, connect, shm_path, wal_bytes, wal_path};
use crate::error::{Error, Result};

/// What messages call a collection without a file.
const IN_MEMORY: &str = ":memory:";

/// No SQLite database but an empty file is smaller.
const SMALLEST_PAGE: u64 = 512;

/// Links to links are followed so far, as Linux does. A ring of them is the operating system's error.
const MOST_LINKS: usize = 40;

const SEVERAL_NAMES: &str = "the file has other names (hard links). SQLite keeps a log beside each name that it is opened by, so what is \
     written by one would be lost by the other: remove the other names, or open a copy";

pub(super) fn open(options: OpenOptions, interrupt: Interrupt<'_>) -> Result<Shared> {
    let path = match &options.path {
        // Absolute: a connection that is opened later, after a fork or a change of directory, must find the same file.
        Some(path) => behind_links(std::path::absolute(path).map_err(|error| os_error(path, &error))?),
        None => PathBuf::from(IN_MEMORY),
    };
    let reads = Reads::of(&path);
    let noted = options.path.as_ref().map(|_| OpenFile::note(&path));
    let conn = if options.path.is_none() {
        open_writable(&path, &options, Access::Memory)?
    } else {
        refuse_impossible(&path)?;
        // Racing openers of a new file get BUSY whatever the timeout, so the whole of it is tried again.
        Patience::new(options.busy_timeout, interrupt).retry(&path, || {
            let _run = reads.enter(Length::Short, interrupt)?;
            reads.connecting(|| open_file(&path, &options))
        })?
    };
    expect_language(&conn, &path, &options.language)?;
    let reads = if options.path.is_some() { reads } else { Arc::default() };
    if let Some(file) = &noted {
        file.opened();
    }
    let shared = Shared::new(path, options, conn, reads, noted);
    shared.scrub_after_kills();
    Ok(shared)
}

/// The file that a link stands for: SQLite keeps the log beside that one.
fn behind_links(path: PathBuf) -> PathBuf {
    let mut target = path;
    for _ in 0..MOST_LINKS {
        let Ok(next) = target.read_link() else { break };
        target = target.parent().unwrap_or(&target).join(next);
    }
    target
}

pub(super) fn expect_language(conn: &Conn, path: &Path, language: &str) -> Result<()> {
    let found = &conn.origin.language;
    if found == language {
        return Ok(());
    }
    let message = format!(
        "{}: this collection was made with language={found:?}, not {language:?}: its stored terms would not match",
        path.display(),
    );
    Err(Error::Configuration { message, hint: format!("open it with language={found:?}") })
}

fn os_error(path: &Path, error: &std::io::Error) -> Error {
    match error.raw_os_error() {
        Some(_) => fault::io(path, errno(error, libc::EIO)),
        None => Error::invalid(format!("{:?} is not a path: {error}", path.display())),
    }
}

/// What no waiting would change, said by folder entries alone.
fn refuse_impossible(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    match folder.metadata() {
        Err(error) => return Err(os_error(folder, &error)),
        Ok(found) if !found.is_dir() => return Err(fault::io(folder, libc::ENOTDIR)),
        Ok(_) => {}
    }
    match path.metadata() {
        Ok(found) if found.is_dir() => Err(fault::io(path, libc::EISDIR)),
        // SQLite would take it for an empty file and begin a new collection in it.
        Ok(found) if (1..SMALLEST_PAGE).contains(&found.len()) => {
            Err(Error::corrupt(path, format!("not a retentive collection, or one cut off after {} bytes", found.len())))
        }
        Ok(found) if found.is_file() && names(&found) > 1 => Err(fault::store(path, SEVERAL_NAMES)),
        Ok(found) if found.is_file() && found.len() == 0 => refuse_cut_off(path),
        Err(error) if error.kind() == ErrorKind::NotFound => refuse_moved_away(path),
        _ => Ok(()),
    }
}

/// An empty file is a collection that was never begun, unless it has a log: SQLite would throw that away and begin one.
fn refuse_cut_off(path: &Path) -> Result<()> {
    let log = wal_bytes(path);
    if log == 0 {
        return Ok(());
    }
    // The log first: a file that is being made has bytes before its log has.
    if path.metadata().is_ok_and(|found| found.len() > 0) {
        return Ok(());
    }
    let message = format!(
        "the file is empty, but its log {} has {log} bytes: it was cut off. Restore a backup; to begin anew, delete both",
        wal_path(path).display()
    );
    Err(Error::corrupt(path, message))
}

/// SQLite would throw a log away that has no file beside it, and begin a new collection.
fn refuse_moved_away(path: &Path) -> Result<()> {
    let log = wal_bytes(path);
    if log == 0 || path.exists() {
        return Ok(());
    }
    let message = format!(
        "there is no such file, but its log {} has {log} bytes: the file was moved or deleted, and what the log has may be missing \
         from it. Put the file back beside its log, or restore a backup; to begin anew, delete the log",
        wal_path(path).display()
    );
    Err(Error::corrupt(path, message))
}

fn open_file(path: &Path, options: &OpenOptions) -> Result<Conn> {
    // Also to be read by a connection that may write, SQLite would make a log beside it: see `read_only_access`.
    if options.readonly || (path.exists() && !fault::may_write(path)) {
        return open_readonly(path, options);
    }
    match open_writable(path, options, Access::Create) {
        Err(error) if fault::means_unwritable(&error) && path.exists() => open_readonly(path, options),
        // A collection that was begun is read; a file that could not be begun says why.
        Err(error) if fault::means_no_room(&error) && path.exists() => open_readonly(path, options).map_err(|_| error),
        opened => opened,
    }
}

fn open_writable(path: &Path, options: &OpenOptions, access: Access) -> Result<Conn> {
    release_log(path);
    let before = FileId::of(path, access)?;
    let sql = connect(path, access, options.durability)?;
    // One that was just made had none before.
    let file = before.or(FileId::of(path, access)?);
    if sql.is_readonly(MAIN_DB).at(path)? {
        return Err(fault::store(path, fault::READ_ONLY));
    }
    // Whose file it is comes before anything that writes.
    if let Identity::Ours = schema::identify(&sql, path)? {
        Origin::load(&sql, path)?;
        Meta::load(&sql, path)?.allows_writing(path)?;
    }
    if access != Access::Memory {
        schema::ensure_wal(&sql, path)?;
    }
    schema::ensure(&sql, path, &options.entropy, &options.language)?;
    let access = if access == Access::Create { Access::Write } else { access };
    let conn = Conn::adopt(sql, path, access, file)?;
    conn.meta(path)?.allows_writing(path)?;
    Ok(conn)
}

/// Beside writers where the folder lets us share memory with them, and has the room; else as a file that cannot change.
fn open_readonly(path: &Path, options: &OpenOptions) -> Result<Conn> {
    if let Err(error) = path.metadata() {
        return Err(os_error(path, &error));
    }
    connect_readonly(path, read_only_access(path), |access| Conn::open(path, access, options.durability))
}

/// How one reads now that may not write. What SQLite makes beside a file has the file's own mode: beside one that nobody may write it
/// would stay, and keep out whoever writes once that has changed. So such a file is read as one that cannot change, unless somebody has
/// it open.
pub(super) fn read_only_access(path: &Path) -> Access {
    let in_use = shm_path(path).exists() || wal_bytes(path) > 0;
    if in_use || fault::may_be_written(path) { Access::ReadOnly } else { Access::Immutable }
}

pub(super) fn connect_readonly(path: &Path, access: Access, connect: impl Fn(Access) -> Result<Conn>) -> Result<Conn> {
    if access == Access::Immutable {
        refuse_unseen_commits(path)?;
    }
    match connect(access) {
        Err(error) if access == Access::ReadOnly && fault::means_unwritable(&error) => {
            refuse_unseen_commits(path)?;
            connect(Access::Immutable)
        }
        Err(error) if access == Access::ReadOnly && fault::means_no_room(&error) => {
            refuse_unseen_commits(path).and_then(|()| connect(Access::Immutable)).map_err(|_| error)
        }
        opened => opened,
    }
}

/// What was made beside a file while it could not be written has the mode of then, also when the file has another one by now; SQLite
/// does not change it. What cannot be changed shows in the next step: the collection is read-only.
#[cfg(unix)]
pub(super) fn release_log(path: &Path) {
    let Ok(found) = path.metadata() else { return };
    if !fault::may_write(path) {
        return;
    }
    for beside in [wal_path(path), shm_path(path)] {
        if beside.exists() && !fault::may_write(&beside) {
            let _ = std::fs::set_permissions(&beside, found.permissions());
        }
    }
}

#[cfg(not(unix))]
pub(super) fn release_log(_path: &Path) {}

/// A file opened as one that cannot change is read without its write-ahead log.
pub(super) fn refuse_unseen_commits(path: &Path) -> Result<()> {
    if wal_bytes(path) == 0 {
        return Ok(());
    }
    let message = format!(
        "the folder cannot be written, and {} holds commits that could not be seen without writing there; open the collection \
         once with write access (closing it empties that file), or copy both files to a folder that can be written",
        wal_path(path).display()
    );
    Err(fault::store(path, message))
}
