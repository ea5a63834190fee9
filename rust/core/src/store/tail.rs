//! What stands in the write-ahead log behind its last commit: pages of a large transaction that was rolled back, or of a process that
//! was killed in one. SQLite passes over them, and leaves them until it has written as much again.
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::sqlite::wal_path;

/// As SQLite's "WAL-mode File Format" has it.
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;
const SALTS: usize = 8;

/// The last frame since the log was begun anew is of a transaction that was not committed, or not yet. No lock hangs on the
/// descriptor that is closed here: SQLite's own are on the other two files.
pub(super) fn is_uncommitted(path: &Path) -> bool {
    last_commits(path) == Some(false)
}

/// Does the last frame end a transaction? `None`: there is none.
fn last_commits(path: &Path) -> Option<bool> {
    let mut log = File::open(wal_path(path)).ok()?;
    let header: [u8; LOG_HEADER as usize] = at(&mut log, 0)?;
    let page = u64::from(u32::from_be_bytes(*header.get(8..)?.first_chunk()?));
    let salts: [u8; SALTS] = *header.get(16..)?.first_chunk()?;
    let frame = FRAME_HEADER + page;
    let frames = log.metadata().ok()?.len().checked_sub(LOG_HEADER)? / frame;
    let header_of =
        |log: &mut File, number: u64| -> Option<[u8; FRAME_HEADER as usize]> { at(log, LOG_HEADER + number * frame) };
    // Frames with the header's salts come first; what is behind them is of an earlier round.
    let (mut current, mut older) = (0, frames);
    while current < older {
        let middle = current + (older - current) / 2;
        if header_of(&mut log, middle)?.get(8..8 + SALTS)? == salts {
            current = middle + 1;
        } else {
            older = middle;
        }
    }
    let last = header_of(&mut log, current.checked_sub(1)?)?;
    Some(u32::from_be_bytes(*last.get(4..)?.first_chunk()?) != 0)
}

fn at<const N: usize>(file: &mut File, offset: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    file.seek(SeekFrom::Start(offset)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}
