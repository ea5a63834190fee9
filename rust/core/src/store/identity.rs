//! Which file a path leads to: a restored backup takes the place of the one that is open, and its connections would not notice.
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::Path;
use std::time::SystemTime;

use xxhash_rust::xxh3::xxh3_64;

use super::errno::errno;
use super::fault;
use super::sqlite::Access;
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

    /// A number that differs where the files do.
    pub(super) fn hash(&self) -> u64 {
        xxh3_64(format!("{self:?}").as_bytes())
    }
}

#[cfg(unix)]
fn numbers(found: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (found.dev(), found.ino())
}

#[cfg(not(unix))]
fn numbers(_found: &Metadata) -> (u64, u64) {
    (0, 0)
}
