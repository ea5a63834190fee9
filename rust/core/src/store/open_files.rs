//! The files of collections that this process has open. Nothing but SQLite may open them here: closing any other descriptor of one
//! drops the locks that SQLite holds on it. So whoever is about to open a file by a name that somebody else chose asks here first.
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::identity::{FileNumbers, file_numbers};

/// What SQLite keeps beside a file that somebody has open, or left without closing it.
pub(super) const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

struct Entry {
    number: u64,
    path: PathBuf,
    /// What was there when it was opened: another file may have taken its name since.
    file: Option<FileNumbers>,
}

struct Entries {
    all: Vec<Entry>,
    last: u64,
}

static OPEN: Mutex<Entries> = Mutex::new(Entries { all: Vec::new(), last: 0 });

/// Notes that a collection has its file open, as long as it lives.
#[derive(Debug)]
pub(super) struct OpenFile(u64);

impl OpenFile {
    /// Before it is opened: nobody else may be about to close it then.
    pub(super) fn note(path: &Path) -> Self {
        let mut entries = OPEN.lock();
        entries.last += 1;
        let number = entries.last;
        entries.all.push(Entry { number, path: path.to_path_buf(), file: None });
        Self(number)
    }

    /// It is there now.
    pub(super) fn opened(&self) {
        if let Some(entry) = OPEN.lock().all.iter_mut().find(|entry| entry.number == self.0) {
            entry.file = file_numbers(&entry.path);
        }
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        OPEN.lock().all.retain(|entry| entry.number != self.0);
    }
}

/// Whether this leads, by whatever name, to a collection's file that is open here, or to what SQLite keeps beside one. Nothing is
/// opened for that.
pub(super) fn is_open(path: &Path) -> bool {
    let Some(numbers) = file_numbers(path) else { return false };
    OPEN.lock().all.iter().any(|entry| {
        let beside = COMPANIONS.iter().map(|suffix| with_suffix(&entry.path, suffix));
        entry.file == Some(numbers)
            || file_numbers(&entry.path) == Some(numbers)
            || beside.into_iter().any(|path| file_numbers(&path) == Some(numbers))
    })
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
