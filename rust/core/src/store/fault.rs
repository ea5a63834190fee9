//! The one place where SQLite's errors become ours.
use std::io::ErrorKind;
use std::path::Path;

use rusqlite::ErrorCode;
use rusqlite::ffi;

use super::errno::{self, described, errno};
use crate::error::{Error, Result};

/// More than any row: a text, its metadata and its marks.
const LARGEST_ROW: usize = 1 << 26;

/// How the message of every error begins that says that nothing may be written here.
pub(super) const READ_ONLY: &str = "the collection is read-only";

/// Does this say that the file, or its folder, must not be written?
pub(super) fn means_unwritable(error: &Error) -> bool {
    match error {
        Error::Io { errno, .. } => matches!(*errno, libc::EACCES | libc::EPERM | libc::EROFS),
        Error::Store { message, .. } => message.starts_with(READ_ONLY),
        _ => false,
    }
}

/// Does this say that there is no room, be it for what SQLite makes beside a file to read it?
pub(super) fn means_no_room(error: &Error) -> bool {
    matches!(error, Error::Full { .. })
}

/// `sql_call().at(path)?`
pub(super) trait At<T> {
    fn at(self, path: &Path) -> Result<T>;
}

impl<T> At<T> for rusqlite::Result<T> {
    fn at(self, path: &Path) -> Result<T> {
        self.map_err(|error| from_sqlite(path, &error))
    }
}

pub(super) fn store(path: &Path, message: impl Into<String>) -> Error {
    Error::Store { path: path.to_path_buf(), message: message.into() }
}

pub(super) fn busy(path: &Path) -> Error {
    Error::Busy {
        path: path.to_path_buf(),
        message: format!("{}: the file is locked by another connection", path.display()),
    }
}

/// Of a file that was opened as one that cannot change.
pub(super) fn changed_underneath(path: &Path) -> Error {
    let message = format!("{}: the file was changed while it was read; read again", path.display());
    Error::Busy { path: path.to_path_buf(), message }
}

/// Of a file whose log is no longer what its connections wrote.
pub(super) fn lost_log(path: &Path) -> Error {
    store(
        path,
        "its write-ahead log (the -wal or -shm file) was cut, replaced or removed by another program while it is open; nothing was \
         stored. Close the collection in every process and open it again: the last of what was stored before may be lost",
    )
}

/// Of a file that another one has taken the place of, while the log of the first stayed.
pub(super) fn replaced(path: &Path) -> Error {
    store(
        path,
        "another file was put in its place while it is open, and the log of the earlier one (the -wal and -shm files) is still beside \
         it: together they would be read as a mixture of both. Nothing was read or stored. Close the collection in every process, \
         delete what is left of -wal and -shm then, and open it again: it is as the new file has it",
    )
}

pub(super) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Error {
    use rusqlite::Error as Sql;
    match error {
        Sql::SqliteFailure(failure, Some(message)) if failure.code == ErrorCode::Unknown && other_tables(message) => {
            Error::corrupt(path, format!("its tables are not those of a retentive collection ({message})"))
        }
        Sql::SqliteFailure(failure, message) => from_code(path, *failure, message.as_deref().unwrap_or("")),
        // Our statements are fixed: one that does not compile, a missing row or a value of another type means another schema or damage.
        Sql::SqlInputError { error, msg, .. } if error.code == ErrorCode::Unknown => {
            Error::corrupt(path, format!("its tables are not those of a retentive collection ({msg})"))
        }
        Sql::SqlInputError { error, msg, .. } => from_code(path, *error, msg),
        Sql::InvalidColumnType(..)
        | Sql::FromSqlConversionFailure(..)
        | Sql::IntegralValueOutOfRange(..)
        | Sql::Utf8Error(..)
        | Sql::QueryReturnedNoRows => Error::corrupt(path, format!("a stored row cannot be read ({error})")),
        other => store(path, other.to_string()),
    }
}

/// SQLite has one code for all that is wrong with a statement.
fn other_tables(message: &str) -> bool {
    ["no such table", "no such column", "no such index", "table ", "unsupported file format"]
        .iter()
        .any(|start| message.starts_with(start))
}

fn from_code(path: &Path, failure: ffi::Error, message: &str) -> Error {
    match failure.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => busy(path),
        ErrorCode::DiskFull => full(path),
        ErrorCode::SystemIoFailure if is_full(failure.extended_code) => full(path),
        ErrorCode::DatabaseCorrupt => Error::corrupt(path, format!("the file is damaged ({message})")),
        ErrorCode::NotADatabase => {
            Error::corrupt(path, "not a retentive collection, or its header is damaged (SQLite: not a database)")
        }
        ErrorCode::ReadOnly => store(path, format!("{READ_ONLY} ({message})")),
        ErrorCode::CannotOpen => cannot_open(path),
        ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => io(path, libc::EACCES),
        _ if is_absurd(failure) => {
            Error::corrupt(path, format!("the file is damaged (a row of impossible length or kind: {message})"))
        }
        ErrorCode::OperationInterrupted => Error::Interrupted,
        ErrorCode::SystemIoFailure => store(
            path,
            format!("reading or writing the file failed ({message}; SQLite code {})", failure.extended_code),
        ),
        ErrorCode::ConstraintViolation => {
            Error::corrupt(path, format!("a row is there that should not be ({message})"))
        }
        _ => store(path, format!("{message} (SQLite code {})", failure.extended_code)),
    }
}

/// SQLite cannot hold what it read of a row. No row that was stored comes near its limit of 1 GB, or of what there is in memory while
/// that has room for the largest: its length in the file is wrong, or its number.
pub(super) fn is_absurd(failure: ffi::Error) -> bool {
    match failure.code {
        ErrorCode::TooBig | ErrorCode::TypeMismatch => true,
        ErrorCode::OutOfMemory => Vec::<u8>::new().try_reserve_exact(LARGEST_ROW).is_ok(),
        _ => false,
    }
}

pub(super) fn io(path: &Path, errno: i32) -> Error {
    Error::Io { path: path.to_path_buf(), errno, message: described(errno) }
}

pub(super) fn full(path: &Path) -> Error {
    let message = "the disk is full: free some space and try again; what was stored before is there".into();
    Error::Full { path: path.to_path_buf(), message }
}

/// Of a write of which nothing is stored.
pub(super) fn nothing_stored(error: Error) -> Error {
    match error {
        Error::Full { path, .. } => Error::Full {
            path,
            message: "a write was tried, and the disk is full: nothing of that write is stored. Free some space and try again; what was \
                      stored before is there and can be read"
                .into(),
        },
        other => other,
    }
}

/// Whether a commit that failed with this may be found done by the next process that opens the file. Not where a write into the log
/// had no room: the frame that ends the transaction is the last one, and it is not whole.
pub(super) fn may_be_committed(error: &rusqlite::Error) -> bool {
    let rusqlite::Error::SqliteFailure(failure, _) = error else { return true };
    let is_full = failure.extended_code == ffi::SQLITE_FULL
        || (failure.extended_code == ffi::SQLITE_IOERR_WRITE && is_full(failure.extended_code));
    !is_full
}

/// SQLite knows one way of being full. No room for the `-shm` file is another, and so are a quota and a limit on a file's size.
fn is_full(extended_code: i32) -> bool {
    let last = std::io::Error::last_os_error();
    match extended_code {
        ffi::SQLITE_IOERR_SHMSIZE => true,
        ffi::SQLITE_IOERR_SHMOPEN | ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_TRUNCATE | ffi::SQLITE_IOERR_FSYNC => {
            errno::is_full(&last)
        }
        _ => false,
    }
}

/// SQLite opens no longer path, in bytes: its own limit of 512 with what it writes behind the name of a log.
#[cfg(unix)]
const LONGEST_PATH: usize = 504;

/// SQLite says only that it cannot open a file. Looks for the reason without opening it: closing a descriptor drops SQLite's locks.
fn cannot_open(path: &Path) -> Error {
    #[cfg(unix)]
    if path.as_os_str().len() > LONGEST_PATH {
        return io(path, libc::ENAMETOOLONG);
    }
    // This closes a descriptor of another file, which no lock of ours hangs on.
    if let Err(error) = std::fs::File::open("/dev/null")
        && let Some(errno @ (libc::EMFILE | libc::ENFILE)) = error.raw_os_error()
    {
        return io(path, errno);
    }
    let folder = path.parent().unwrap_or(path);
    match folder.metadata() {
        Err(error) => return io(folder, errno(&error, libc::ENOENT)),
        Ok(found) if !found.is_dir() => return io(folder, libc::ENOTDIR),
        Ok(_) => {}
    }
    match path.metadata() {
        Ok(found) if found.is_dir() => io(path, libc::EISDIR),
        Ok(_) if may_write(folder) && may_write(path) && may_write_log(path) => {
            if takes_no_file(folder) {
                return no_file(path);
            }
            store(path, "the file could not be opened, although its permissions allow it (SQLite code 14); try again")
        }
        Ok(_) => io(path, libc::EACCES),
        Err(error) if error.kind() == ErrorKind::NotFound && takes_no_file(folder) => no_file(path),
        Err(error) => io(path, errno(&error, libc::ENOENT)),
    }
}

/// Whether there is no room for another file, be it that its file system has no entry left. SQLite does not tell that: it is tried.
fn takes_no_file(folder: &Path) -> bool {
    let tried = folder.join(format!(".retentive-{}", std::process::id()));
    match std::fs::File::create_new(&tried) {
        // A descriptor of a file that is new: no lock hangs on it.
        Ok(_) => {
            let _ = std::fs::remove_file(&tried);
            false
        }
        Err(error) => errno::is_full(&error),
    }
}

fn no_file(path: &Path) -> Error {
    let message = "the disk has no room for another file (space, or entries for files: inodes), which SQLite keeps beside this one: \
                   remove some files and try again; what was stored before is there";
    Error::Full { path: path.to_path_buf(), message: message.into() }
}

/// A log that is not there can be made, if the folder can be written.
fn may_write_log(path: &Path) -> bool {
    ["-wal", "-shm"].iter().all(|end| {
        let mut log = path.as_os_str().to_owned();
        log.push(end);
        let log = Path::new(&log);
        !log.exists() || may_write(log)
    })
}

/// Whether the permissions allow to write a collection: its file, what is beside it, and into its folder. Nothing is opened.
pub(super) fn may_be_written(path: &Path) -> bool {
    path.parent().is_some_and(may_write) && may_write(path) && may_write_log(path)
}

/// By its permissions, without opening it.
#[cfg(unix)]
#[allow(unsafe_code)]
pub(super) fn may_write(path: &Path) -> bool {
    let Ok(name) = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()) else { return false };
    // SAFETY: the name ends in a zero byte and lives until the call has returned; nothing is kept or changed.
    unsafe { libc::faccessat(libc::AT_FDCWD, name.as_ptr(), libc::R_OK | libc::W_OK, libc::AT_EACCESS) == 0 }
}

#[cfg(not(unix))]
pub(super) fn may_write(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.permissions().readonly())
}
