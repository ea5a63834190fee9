//! Whether the write-ahead log under an open connection is still whole. SQLite never looks: it believes the index of the log, in
//! memory that the processes share, and writes behind what is no longer there.
use std::ffi::c_int;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ffi};

use super::identity::FileId;
use super::sqlite::{Access, shm_path, wal_path};
use crate::error::Result;

/// What SQLite maps at once of the index, in bytes; its file is no shorter.
const REGION: c_int = 32_768;
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;

/// The two files beside a collection, as they were when a connection had opened them. While it is open, nobody removes them.
pub(super) struct Log {
    wal: (PathBuf, FileId),
    shm: (PathBuf, FileId),
}

impl Log {
    /// `None`: this kind of access has no log that somebody else could change under it.
    pub(super) fn of(path: &Path, access: Access) -> Result<Option<Self>> {
        if !matches!(access, Access::Write | Access::Read) {
            return Ok(None);
        }
        let (wal, shm) = (wal_path(path), shm_path(path));
        let found = FileId::of(&wal, access)?.zip(FileId::of(&shm, access)?);
        Ok(found.map(|(wal_id, shm_id)| Self { wal: (wal, wal_id), shm: (shm, shm_id) }))
    }

    /// True: the log or its index was removed, replaced, or is shorter than what was written. Two folder entries are read, nothing is
    /// opened: closing a descriptor would drop SQLite's locks.
    pub(super) fn is_lost(&self, sql: &Connection) -> bool {
        // Whoever empties the log says so in the index first: one look can fall between the two.
        self.seems_lost(sql) && self.seems_lost(sql)
    }

    /// Whether the last connection to close may copy the log into the file. One that was only removed it still has; were somebody else
    /// to write since, there would be another in its place.
    pub(super) fn may_be_copied(&self, sql: &Connection) -> bool {
        let removed = matches!(Place::of(&self.wal), Place::Empty)
            && match Place::of(&self.shm) {
                Place::Empty => true,
                Place::Same(bytes) => bytes >= REGION as u64,
                Place::Other => false,
            };
        removed || !self.is_lost(sql)
    }

    fn seems_lost(&self, sql: &Connection) -> bool {
        // The index first: reading what is mapped beyond its file's end would kill the process.
        if !matches!(Place::of(&self.shm), Place::Same(bytes) if bytes >= REGION as u64) {
            return true;
        }
        let written = frames(sql).map_or(0, |(frames, page)| if frames == 0 { 0 } else { bytes_of(frames, page) });
        !matches!(Place::of(&self.wal), Place::Same(bytes) if bytes >= written)
    }
}

/// What is where a file was.
enum Place {
    /// With its length in bytes.
    Same(u64),
    /// Another file, or one that may not be looked at.
    Other,
    Empty,
}

impl Place {
    fn of((path, id): &(PathBuf, FileId)) -> Self {
        match path.metadata() {
            Ok(found) if FileId::new(&found, Access::Write) == *id => Self::Same(found.len()),
            Err(error) if error.kind() == ErrorKind::NotFound => Self::Empty,
            _ => Self::Other,
        }
    }
}

fn bytes_of(frames: u32, page: u64) -> u64 {
    LOG_HEADER + u64::from(frames) * (FRAME_HEADER + page)
}

/// How many frames of the log are committed, and the size of a page, as the index has it. `None`: there is no index yet.
#[allow(unsafe_code)]
fn frames(sql: &Connection) -> Option<(u32, u64)> {
    let mut file: *mut ffi::sqlite3_file = std::ptr::null_mut();
    let mut region: *mut std::ffi::c_void = std::ptr::null_mut();
    // SAFETY: the connection is open and used by this thread alone. SQLite answers with its own open file, whose methods live as long,
    // and with the region of the index that this connection has mapped, of `REGION` bytes; its file has that length, as the caller
    // has seen. Others write to it, hence volatile reads of whole aligned words. Nothing is kept beyond this call.
    unsafe {
        let asked = ffi::SQLITE_FCNTL_FILE_POINTER;
        let answer = ffi::sqlite3_file_control(sql.handle(), c"main".as_ptr(), asked, (&raw mut file).cast());
        let methods = file.as_ref().filter(|_| answer == ffi::SQLITE_OK)?.pMethods.as_ref()?;
        let map = methods.xShmMap.filter(|_| methods.iVersion >= 2)?;
        if map(file, 0, REGION, 0, &raw mut region) != ffi::SQLITE_OK || region.is_null() {
            return None;
        }
        // The header of the index: version, unused, change, then a byte whether it is made, one of byte order, two of the page size.
        let words = region.cast::<u32>();
        let about = words.add(3).read_volatile().to_ne_bytes();
        let frames = words.add(4).read_volatile();
        let [made, _, low, high] = about;
        let page = u64::from(u16::from_ne_bytes([low, high]));
        // 65,536 is written as 1.
        (made != 0).then_some((frames, if page == 1 { 65_536 } else { page }))
    }
}
