//! A file that is whole or not there: written beside its place, and renamed when it is complete.
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::errno::{errno, is_full};
use super::fault;
use super::open_files;
use crate::error::{Error, Result};

/// Tells the files that one process writes at a time.
static NUMBER: AtomicU64 = AtomicU64::new(0);

const MOST_TRIES: usize = 1_000;

pub(super) const BUFFER: usize = 1 << 18;

/// A new file that only its owner may read, in the folder of `target`. Locked while it is open, which tells it from one that a kill
/// left behind; those are removed first.
pub(super) fn create_beside(target: &Path, ending: &str) -> Result<(PathBuf, File)> {
    remove_dead(target, ending);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    for _ in 0..MOST_TRIES {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut name = target.as_os_str().to_owned();
        name.push(format!(".{}-{number}.{ending}", std::process::id()));
        let name = PathBuf::from(name);
        match options.open(&name) {
            Ok(file) if is_held(&file, &name) => return Ok((name, file)),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(os_error(target, &error)),
        }
    }
    Err(fault::io(target, libc::EEXIST))
}

/// Locks a new file. Not where another call looked for dead ones before it was locked, took it for one and removed it, or is about to.
fn is_held(file: &File, name: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => is_at(file, name),
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => true, // a file system without locks, where nothing is removed
    }
}

#[cfg(unix)]
fn is_at(file: &File, name: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let numbers = |found: io::Result<std::fs::Metadata>| found.ok().map(|found| (found.dev(), found.ino()));
    numbers(file.metadata()).is_some_and(|own| numbers(name.symlink_metadata()) == Some(own))
}

#[cfg(not(unix))]
fn is_at(_file: &File, name: &Path) -> bool {
    name.exists()
}

/// A new file without a name, in the folder of `target`: nobody else can open it, and it is gone with the process.
pub(super) fn create_unnamed(target: &Path, ending: &str) -> Result<File> {
    let (name, file) = create_beside(target, ending)?;
    std::fs::remove_file(&name).map_err(|error| os_error(&name, &error))?;
    Ok(file)
}

/// Written, then read from its start; it has no name.
#[derive(Debug)]
pub struct Unnamed {
    target: PathBuf,
    file: BufWriter<File>,
}

impl Unnamed {
    pub fn beside(target: &Path) -> Result<Self> {
        let file = BufWriter::with_capacity(BUFFER, create_unnamed(target, "part")?);
        Ok(Self { target: target.to_path_buf(), file })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| os_error(&self.target, &error))
    }

    /// The whole of it, to be read.
    pub fn rewound(self) -> Result<File> {
        let Self { target, file } = self;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error).and_then(|mut file| {
            file.rewind()?;
            Ok(file)
        });
        file.map_err(|error| os_error(&target, &error))
    }
}

/// Removes what killed processes left of this target: nobody holds its lock. What cannot be looked at or removed stays.
fn remove_dead(target: &Path, ending: &str) {
    let Some((folder, name)) = target.parent().zip(target.file_name()) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let prefix = format!("{}.", name.to_string_lossy());
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let found = entry.file_name();
        let numbers =
            found.to_str().and_then(|found| found.strip_prefix(&prefix)?.strip_suffix(ending)?.strip_suffix('.'));
        let ours = numbers.and_then(|numbers| numbers.split_once('-')).is_some_and(|(process, number)| {
            [process, number].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        });
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // Whatever it is called: closing an open collection's file here would drop SQLite's locks on it.
        if open_files::is_open(&entry.path()) {
            continue;
        }
        let Ok(file) = File::open(entry.path()) else { continue };
        if file.try_lock().is_ok() {
            let _ = std::fs::remove_file(entry.path());
            drop(file); // only now: whoever has just made it finds it held, or gone
        }
    }
}

/// Its part is deleted where it is dropped before [`keep`](Self::keep). Only its owner may read it.
#[derive(Debug)]
pub struct Outfile {
    part: PathBuf,
    target: PathBuf,
    file: Option<BufWriter<File>>,
    /// Holds the lock while somebody else writes.
    held: Option<File>,
    kept: bool,
}

impl Outfile {
    pub fn beside(target: &Path) -> Result<Self> {
        if target.is_dir() {
            return Err(fault::io(target, libc::EISDIR));
        }
        let (part, file) = create_beside(target, "part")?;
        let file = Some(BufWriter::with_capacity(BUFFER, file));
        Ok(Self { part, target: target.to_path_buf(), file, held: None, kept: false })
    }

    /// Where it is until it is kept.
    #[must_use]
    pub fn part(&self) -> &Path {
        &self.part
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes));
        written.map_err(|error| os_error(&self.target, &error))
    }

    /// Lets go of the file, for somebody else to write it.
    pub(super) fn let_go(&mut self) {
        self.held = self.file.take().and_then(|file| file.into_inner().ok());
    }

    /// Puts it in its place, with its bytes on the disk.
    pub fn keep(mut self) -> Result<()> {
        // Locked until it has its name: another call that writes this target takes what nobody holds for what a kill left.
        let done = self.flushed().and_then(|held| {
            std::fs::rename(&self.part, &self.target)?;
            Ok(held)
        });
        let held = done.map_err(|error| os_error(&self.target, &error))?;
        self.kept = true;
        drop(held);
        sync_folder(&self.target);
        Ok(())
    }

    /// With its bytes on the disk, still open.
    fn flushed(&mut self) -> io::Result<File> {
        let file = match self.file.take() {
            Some(file) => file.into_inner().map_err(io::IntoInnerError::into_error)?,
            None => OpenOptions::new().write(true).open(&self.part)?,
        };
        file.sync_all()?;
        Ok(file)
    }
}

impl Drop for Outfile {
    fn drop(&mut self) {
        if !self.kept {
            self.file = None;
            // It may never have been there; what cannot be deleted has a name that says what it is.
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

/// Makes the new name last. Some file systems cannot, and the file is whole whether or not they do.
fn sync_folder(path: &Path) {
    if cfg!(unix)
        && let Some(folder) = path.parent()
        && let Ok(folder) = File::open(folder)
    {
        let _ = folder.sync_all();
    }
}

/// An error of the operating system about this path; a full disk is one of the store's.
pub(super) fn os_error(path: &Path, error: &io::Error) -> Error {
    match error.raw_os_error() {
        Some(_) if is_full(error) => fault::full(path),
        Some(_) => fault::io(path, errno(error, libc::EIO)),
        None => fault::store(path, error.to_string()),
    }
}
