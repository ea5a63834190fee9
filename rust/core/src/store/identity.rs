//! Which file a path leads to: a restored backup takes the place of the one that is open, and its connections would not notice.
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use xxhash_rust::xxh3::xxh3_64;

use super::errno::errno;
use super::fault;
use super::sqlite::{Access, shm_path, wal_path};
use crate::error::Result;

/// A file, told from any other that has had its path. Folder entries only: nothing is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
    /// Inode numbers are given out again.
    made: Option<SystemTime>,
    /// Length and time of change, where the connection takes for granted that there is none.
    content: Option<(u64, SystemTime)>,
}

impl FileId {
    /// `None`: there is nothing, or the collection is in memory.
    pub(super) fn of(path: &Path, access: Access) -> Result<Option<Self>> {
        if access == Access::Memory {
            return Ok(None);
        }
        match path.metadata() {
            Ok(found) => Ok(Some(Self::new(&found, access))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(fault::io(path, errno(&error, libc::EIO))),
        }
    }

    pub(super) fn new(found: &Metadata, access: Access) -> Self {
        let (device, inode) = numbers(found);
        let content =
            if access == Access::Immutable { found.modified().ok().map(|at| (found.len(), at)) } else { None };
        Self { device, inode, made: found.created().ok(), content }
    }

    /// Whether it is what this path leads to; one that may not be looked at is another.
    fn is_at(&self, path: &Path) -> bool {
        path.metadata().is_ok_and(|found| Self::new(&found, Access::Read) == *self)
    }

    /// A number that differs where the files do.
    pub(super) fn hash(&self) -> u64 {
        xxh3_64(format!("{self:?}").as_bytes())
    }
}

/// A collection's file with the log and the index of the log that belong to it.
///
/// Another file that takes its place while they stay is taken by SQLite for the one that the log goes with: what is read is a mixture
/// of both, and the first checkpoint makes it one for good.
#[derive(Debug, Clone)]
pub(super) struct Standing {
    path: PathBuf,
    file: FileId,
    /// The log and its index.
    log: Vec<(PathBuf, FileId)>,
}

impl Standing {
    /// As a connection has it that was opened on what stood at the path before. `None`: in memory.
    pub(super) fn of(path: &Path, access: Access, file: Option<&FileId>) -> Result<Option<Self>> {
        let Some(file) = file.filter(|_| access != Access::Memory) else { return Ok(None) };
        let mut log = Vec::with_capacity(2);
        for path in [wal_path(path), shm_path(path)] {
            log.extend(FileId::of(&path, Access::Read)?.map(|id| (path, id)));
        }
        Ok(Some(Self { path: path.to_path_buf(), file: FileId { content: None, ..*file }, log }))
    }

    /// Another file has this one's place, and this one's log is beside it. Folder entries only: nothing is opened.
    pub(super) fn left_its_log(&self) -> bool {
        let is_replaced = self.path.metadata().is_ok_and(|found| FileId::new(&found, Access::Read) != self.file);
        is_replaced && self.has_log()
    }

    /// As above, or nothing has its place.
    pub(super) fn is_away_from_its_log(&self) -> bool {
        let is_missing = self.path.metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
        self.left_its_log() || (is_missing && self.has_log())
    }

    fn has_log(&self) -> bool {
        self.log.iter().any(|(path, id)| id.is_at(path))
    }

    pub(super) fn expect_own_log(&self) -> Result<()> {
        if self.left_its_log() { Err(fault::replaced(&self.path)) } else { Ok(()) }
    }

    /// Where the log was emptied into the file that it belongs to. What cannot be removed goes on being refused.
    pub(super) fn remove_log(&self) {
        for (path, _) in self.log.iter().filter(|(path, id)| id.is_at(path)) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Of a device, and of a file on it.
pub(super) type FileNumbers = (u64, u64);

/// Those of what a path leads to. `None`: there is nothing, or the system has no such numbers.
pub(super) fn file_numbers(path: &Path) -> Option<FileNumbers> {
    path.metadata().ok().map(|found| numbers(&found)).filter(|_| cfg!(unix))
}

#[cfg(unix)]
fn numbers(found: &Metadata) -> FileNumbers {
    use std::os::unix::fs::MetadataExt;
    (found.dev(), found.ino())
}

/// How many folder entries lead to it; 1 where the system does not say.
#[cfg(unix)]
pub(super) fn names(found: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(found)
}

#[cfg(not(unix))]
pub(super) fn names(_found: &Metadata) -> u64 {
    1
}

#[cfg(not(unix))]
fn numbers(_found: &Metadata) -> FileNumbers {
    (0, 0)
}
