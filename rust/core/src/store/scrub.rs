//! Emptying the write-ahead log of what was erased, and of what never was committed.
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rusqlite::Connection;

use super::fault::{self, At};
use super::group::Writer;
use super::patience::{Interrupt, Patience};
use super::reads::{Length, is_reading};
use super::shared::Shared;
use super::sqlite::wal_bytes;
use super::tail::is_uncommitted;
use crate::error::{Error, Result};

/// How long reads that have begun are waited for at once, with the writer's lock held; then twice as long each time, so that it comes to
/// an end whatever they take.
const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// How often the log is copied and emptied in one attempt.
const TRIES: u32 = 3;

/// How many more attempts an erasing call makes where somebody seems to read elsewhere: another handle of this process may have begun to
/// write in each try.
const MORE_ATTEMPTS: u32 = 5;

/// An erasing call waits so long for the reads of its own process, whatever the timeout for other processes.
const LEAST_WAIT: Duration = Duration::from_secs(1);

/// What an attempt came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Done,
    /// Reads of this process did not end, or another thread is at it.
    Held,
    /// Somebody else's did not.
    Elsewhere,
}

impl Shared {
    /// After a write that erased, or that failed. Waits for the reads of this process: for those that take long at most as long as for a
    /// file that is locked; where they take longer, the last of them does it. The caller holds no lock.
    pub(super) fn scrub(&self, interrupt: Interrupt<'_>) -> Result<()> {
        if self.usable().is_err() || !self.is_writable() || self.is_in_memory() {
            return Ok(());
        }
        self.pending.store(true, Ordering::SeqCst);
        let _announced = self.reads.announce();
        let mut patience = Patience::new(self.busy_timeout().max(LEAST_WAIT), interrupt);
        let mut longest = FIRST_WAIT;
        let mut more = MORE_ATTEMPTS;
        loop {
            if is_reading() || !self.reads.has_longer(longest) {
                let attempt = self.attempt(&mut self.lock_idle(), || self.reads.outlast(longest));
                match attempt {
                    Ok(Attempt::Held) if !is_reading() => longest = (longest * 2).min(LONGEST_WAIT),
                    Ok(Attempt::Elsewhere) if !is_reading() && more > 0 => more -= 1,
                    _ => return Ok(()),
                }
            }
            match patience.wait(&self.path) {
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(_) => return Ok(()),
                Ok(()) => {}
            }
        }
    }

    /// After a read: what could not be scrubbed before goes with the first call after the reader elsewhere has ended, or with the end of
    /// our own. Each call tries, since nobody tells of that end: where the log has been copied as far as the reader lets it, a try is
    /// 30 microseconds.
    pub(super) fn scrub_in_passing(&self) {
        if self.pending.load(Ordering::SeqCst)
            && !self.reads.is_announced()
            && (self.is_writable() || fault::may_be_written(&self.path))
            && let Some(mut writer) = self.try_lock_writer()
            && !writer.is_open()
        {
            self.scrub_on(&mut writer);
        }
    }

    /// For a call that tells whether it is done. While a long write is under way, it is not.
    pub(super) fn scrub_soon(&self) {
        if self.usable().is_ok()
            && self.is_writable()
            && let Some(mut writer) = self.wait_for_writer(FIRST_WAIT)
        {
            let _ = self.attempt(&mut writer, || self.reads.outlast(FIRST_WAIT));
        }
    }

    /// The writer's lock is held, and no transaction is open.
    pub(super) fn scrub_on(&self, writer: &mut Writer) {
        // Where an erasing call is at it, its fsyncs are its own.
        if !self.reads.is_announced() {
            // What failed is tried again by the next call.
            let _ = self.attempt(writer, || self.reads.outlast_in_passing());
        }
    }

    /// Before the handle is closed.
    pub(super) fn scrub_at_last(&self, writer: &mut Writer) {
        // What is left to do is noted in the file.
        let _ = self.attempt(writer, || self.reads.outlast(10 * FIRST_WAIT));
    }

    fn attempt(&self, writer: &mut Writer, outlast: impl Fn() -> bool) -> Result<Attempt> {
        let done = self.connect_writer(writer).and_then(|()| self.try_scrub(writer, outlast));
        self.pending.store(!matches!(done, Ok(Attempt::Done)), Ordering::SeqCst);
        done
    }

    fn try_scrub(&self, writer: &Writer, outlast: impl Fn() -> bool) -> Result<Attempt> {
        let Some(conn) = &writer.conn else { return Ok(Attempt::Elsewhere) };
        let meta = conn.meta(&self.path)?;
        if meta.erased <= self.scrubbed_up_to(meta.scrubbed) && !self.has_tail() {
            return Ok(Attempt::Done);
        }
        let Some(_scrub) = self.reads.begin_scrub() else { return Ok(Attempt::Held) };
        for _ in 0..TRIES {
            let is_whole = copy_log(&conn.sql, &self.path)?;
            // Reads that began before the last commit keep the rest from being copied. Those that begin once it is copied whole need no
            // log: only what began before is in the way.
            if !outlast() {
                return Ok(Attempt::Held);
            }
            if is_whole && empty_log(&conn.sql, &self.path)? {
                self.scrubbed.fetch_max(meta.erased, Ordering::SeqCst);
                self.tail.store(false, Ordering::SeqCst);
                return Ok(Attempt::Done);
            }
        }
        Ok(Attempt::Elsewhere)
    }

    /// A transaction was begun and is no more. What it has left in the log goes too.
    pub(super) fn look_for_tail(&self) {
        if !self.is_in_memory() && is_uncommitted(&self.path) {
            self.tail.store(true, Ordering::SeqCst);
            self.pending.store(true, Ordering::SeqCst);
        }
    }

    /// When it is opened: what a process had in the log that was killed in a transaction.
    pub(super) fn scrub_after_kills(&self) {
        if self.usable().is_ok() && self.is_writable() {
            self.look_for_tail();
            if self.tail.load(Ordering::SeqCst) {
                self.scrub_soon();
            }
        }
    }

    /// A new file has nothing of what was erased, once it is out of the log.
    pub(super) fn scrub_after_compacting(&self, writer: &mut Writer) {
        if !self.is_in_memory() {
            self.scrub_on(writer);
        }
    }

    fn has_tail(&self) -> bool {
        if wal_bytes(&self.path) == 0 {
            self.tail.store(false, Ordering::SeqCst);
        }
        self.tail.load(Ordering::SeqCst)
    }

    fn scrubbed_up_to(&self, stored: i64) -> i64 {
        stored.max(self.scrubbed.load(Ordering::SeqCst))
    }

    /// Somebody erased, or was killed before it was done: the log is to be emptied.
    pub(super) fn notice(&self, erased: i64, scrubbed: i64) {
        if erased > self.scrubbed_up_to(scrubbed) {
            self.pending.store(true, Ordering::SeqCst);
        }
    }

    pub(super) fn erasure_pending(&self) -> bool {
        if self.is_in_memory() {
            return false;
        }
        let never = || false;
        let Ok(meta) = self.read(Length::Short, &never, |tx| Ok(tx.meta)) else {
            return self.pending.load(Ordering::SeqCst);
        };
        // An empty log after the read: everything up to that read is in the main file, zeroes included.
        if wal_bytes(&self.path) == 0 {
            self.scrubbed.fetch_max(meta.erased, Ordering::SeqCst);
        }
        meta.erased > self.scrubbed_up_to(meta.scrubbed) || self.has_tail()
    }
}

/// Copies the log into the file, as far as reads let it. False: there is a rest.
fn copy_log(sql: &Connection, path: &Path) -> Result<bool> {
    let (log, copied): (i64, i64) =
        sql.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| Ok((row.get(1)?, row.get(2)?))).at(path)?;
    Ok(log <= copied)
}

/// False: somebody reads from the log, or writes.
pub(super) fn empty_log(sql: &Connection, path: &Path) -> Result<bool> {
    let blocked: i64 = sql.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).at(path)?;
    Ok(blocked == 0)
}
