//! What is on the disk after a power cut.
use std::path::{Path, PathBuf};

/// What SQLite did to a file, or a mark of the test's.
#[derive(Debug, Clone)]
pub enum Event {
    Write { file: usize, offset: usize, bytes: Vec<u8> },
    Truncate { file: usize, size: usize },
    Sync { file: usize },
    Delete { file: usize },
    Mark(usize),
}

/// The smallest piece that a disk writes whole.
const SECTOR: usize = 512;

#[derive(Debug, Default, Clone)]
struct File {
    /// What surely is on the disk; `None`: no such file.
    durable: Option<Vec<u8>>,
    /// What was asked for since the last sync: any part of it may be there.
    pending: Vec<Event>,
}

/// A disk that has seen some events.
#[derive(Debug, Default, Clone)]
pub struct Image {
    files: Vec<File>,
}

impl Image {
    pub fn see(&mut self, event: &Event) {
        match event {
            Event::Write { file, .. } | Event::Truncate { file, .. } => {
                let file = self.file(*file);
                file.durable.get_or_insert_default();
                file.pending.push(event.clone());
            }
            Event::Sync { file } => {
                let file = self.file(*file);
                for event in std::mem::take(&mut file.pending) {
                    apply(file.durable.get_or_insert_default(), &event);
                }
            }
            Event::Delete { file } => *self.file(*file) = File::default(),
            Event::Mark(_) => {}
        }
    }

    fn file(&mut self, number: usize) -> &mut File {
        if self.files.len() <= number {
            self.files.resize(number + 1, File::default());
        }
        self.files.get_mut(number).unwrap()
    }

    /// Writes what a power cut leaves into a folder. `chance` picks, for each thing that was not synced, what became of it:
    /// 0 nothing, 1 all of it, else its first sectors. `None`: nothing of what was not synced.
    pub fn cut(&self, names: &[PathBuf], folder: &Path, chance: &mut Option<impl FnMut() -> u64>) {
        for (file, name) in self.files.iter().zip(names) {
            let Some(mut bytes) = file.durable.clone() else { continue };
            if let Some(chance) = chance {
                for event in &file.pending {
                    match chance() % 3 {
                        0 => {}
                        1 => apply(&mut bytes, event),
                        _ => apply(&mut bytes, &torn(event, chance())),
                    }
                }
            }
            std::fs::write(folder.join(name.file_name().unwrap()), bytes).unwrap();
        }
    }
}

fn torn(event: &Event, chance: u64) -> Event {
    let Event::Write { file, offset, bytes } = event else { return event.clone() };
    let sectors = bytes.len() / SECTOR;
    let whole = SECTOR * usize::try_from(chance).unwrap().checked_rem(sectors + 1).unwrap_or(0);
    Event::Write { file: *file, offset: *offset, bytes: bytes.get(..whole).unwrap().to_vec() }
}

fn apply(bytes: &mut Vec<u8>, event: &Event) {
    match event {
        Event::Write { offset, bytes: new, .. } => {
            let end = offset + new.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes.get_mut(*offset..end).unwrap().copy_from_slice(new);
        }
        Event::Truncate { size, .. } => bytes.resize(*size, 0),
        _ => {}
    }
}
