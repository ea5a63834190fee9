//! The transactions of this process on one file, through whatever handle, and what emptying the write-ahead log needs of them: SQLite
//! truncates it only while nobody reads from it.
//!
//! An erasing call waits until reads that take long have ended, while short ones come and go. Then it copies the log into the file.
//! Reads that begin after that read from the file alone, and nobody waits for them; those that had begun are outlasted. The reads of
//! other processes are not known here. Only `compact()`, which exchanges the file itself, holds new reads back.
//!
//! Invariants:
//! * Who is held back has no transaction, and no lock but its own writer's. A thread that reads already is never held back.
//! * A hold is short, and both sides of it are inside the fork gate. Whatever may last is waited for in slices, outside of it.
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::identity::Standing;
use super::patience::Interrupt;
use super::sqlite::Conn;
use crate::error::{Error, Result};
use crate::gate;

/// By their files: two handles on one file share theirs.
static FILES: Mutex<BTreeMap<PathBuf, Weak<Reads>>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// Reads that this thread is in.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// A call that is no erasure, but could complete one, waits for other reads no longer and no more often.
const IN_PASSING: Duration = Duration::from_millis(10);
const BETWEEN: Duration = Duration::from_millis(50);

const SLICE: Duration = Duration::from_millis(2);

/// How long a read is expected to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// A call on the way to a reply.
    Short,
    /// All of the collection: an export, a backup, a check.
    Long,
}

#[derive(Debug, Default)]
pub(super) struct Reads {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Of the process: a child has none of its parent's threads.
    forks: u64,
    next: u64,
    running: Vec<Running>,
    /// Erasures that wait for long reads, by number.
    erasures: Vec<u64>,
    held: bool,
    /// How many wait for reads to end that had begun.
    outlasting: usize,
    /// Somebody copies or empties the log: one at a time, or SQLite turns the second one away.
    scrubbing: bool,
    passed: Option<Instant>,
    /// What the last connection was opened on.
    standing: Option<Standing>,
}

#[derive(Debug)]
struct Running {
    number: u64,
    length: Length,
    began: Instant,
}

impl State {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn begin(&mut self, length: Length) -> u64 {
        let number = self.number();
        self.running.push(Running { number, length, began: Instant::now() });
        number
    }

    fn has_begun_by(&self, last: u64) -> bool {
        self.running.iter().any(|read| read.number <= last)
    }

    fn has_longer(&self, than: Duration) -> bool {
        self.running.iter().any(|read| read.length == Length::Long || read.began.elapsed() > than)
    }
}

impl Reads {
    /// Those of a file. Called inside the fork gate.
    pub(super) fn of(path: &Path) -> Arc<Self> {
        let key = match (path.parent().and_then(|folder| folder.canonicalize().ok()), path.file_name()) {
            (Some(folder), Some(name)) => folder.join(name),
            _ => path.to_path_buf(),
        };
        let mut files = FILES.lock();
        files.retain(|_, reads| reads.strong_count() > 0);
        let known = files.get(&key).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let reads = Arc::default();
            files.insert(key, Arc::downgrade(&reads));
            reads
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        if state.forks != gate::forks() {
            *state =
                State { forks: gate::forks(), next: state.next, standing: state.standing.take(), ..State::default() };
        }
        state
    }

    /// Opens a connection, unless the file was replaced since the last one and has the old one's log beside it.
    pub(super) fn connecting(&self, open: impl FnOnce() -> Result<Conn>) -> Result<Conn> {
        let before = self.lock().standing.clone();
        let expect_own_log = || before.as_ref().map_or(Ok(()), Standing::expect_own_log);
        expect_own_log()?;
        let conn = open()?;
        if let Err(error) = expect_own_log() {
            conn.close_quietly();
            return Err(error);
        }
        self.lock().standing.clone_from(&conn.standing);
        Ok(conn)
    }

    /// Before a read begins. A long one lets the erasures go first that wait already, and no others.
    pub(super) fn enter(self: &Arc<Self>, length: Length, interrupt: Interrupt<'_>) -> Result<Run> {
        if length == Length::Long && !is_reading() {
            self.let_erasures_pass(interrupt)?;
        }
        Ok(self.enter_now(length, true))
    }

    /// Before a transaction that another thread may end.
    pub(super) fn enter_writing(self: &Arc<Self>) -> Run {
        self.enter_now(Length::Short, false)
    }

    fn enter_now(self: &Arc<Self>, length: Length, own: bool) -> Run {
        let mut state = self.lock();
        while state.held && !is_reading() {
            self.changed.wait(&mut state);
        }
        let number = state.begin(length);
        drop(state);
        if own {
            DEPTH.set(DEPTH.get() + 1);
        }
        Run { reads: Arc::clone(self), number, own }
    }

    fn let_erasures_pass(&self, interrupt: Interrupt<'_>) -> Result<()> {
        let last = self.lock().next;
        while self.lock().erasures.iter().any(|erasure| *erasure <= last) {
            pause(interrupt)?;
        }
        Ok(())
    }

    /// Until it is dropped, new long reads wait.
    pub(super) fn announce(self: &Arc<Self>) -> Erasure {
        let mut state = self.lock();
        let number = state.number();
        state.erasures.push(number);
        Erasure { reads: Arc::clone(self), number }
    }

    /// Is a read under way that will take long, or has?
    pub(super) fn has_longer(&self, than: Duration) -> bool {
        self.lock().has_longer(than)
    }

    /// `None`: another thread is at it.
    pub(super) fn begin_scrub(self: &Arc<Self>) -> Option<Scrub> {
        let mut state = self.lock();
        let free = !state.scrubbing;
        state.scrubbing = true;
        free.then(|| Scrub { reads: Arc::clone(self) })
    }

    /// A moment without reads. `None`: those that run did not end within `limit`, or one of them takes longer.
    pub(super) fn hold(self: &Arc<Self>, limit: Duration) -> Option<Hold> {
        let until = Instant::now() + limit;
        let mut state = self.lock();
        while state.held {
            if is_reading() || self.changed.wait_until(&mut state, until).timed_out() {
                return None;
            }
        }
        if state.running.is_empty() {
            state.held = true;
            return Some(Hold { reads: Arc::clone(self) });
        }
        if is_reading() || limit.is_zero() || state.has_longer(limit) {
            return None;
        }
        state.held = true;
        let hold = Hold { reads: Arc::clone(self) };
        while !state.running.is_empty() {
            if self.changed.wait_until(&mut state, until).timed_out() && !state.running.is_empty() {
                drop(state);
                drop(hold);
                return None;
            }
        }
        Some(hold)
    }

    /// Waits until the reads that run now have ended; others begin meanwhile. False: they did not within `limit`, or one of them takes
    /// longer.
    pub(super) fn outlast(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut state = self.lock();
        let last = state.next;
        if !state.has_begun_by(last) {
            return true;
        }
        if is_reading() || limit.is_zero() || state.has_longer(limit) {
            return false;
        }
        state.outlasting += 1;
        while state.has_begun_by(last) && !self.changed.wait_until(&mut state, until).timed_out() {}
        state.outlasting = state.outlasting.saturating_sub(1);
        !state.has_begun_by(last)
    }

    /// As [`outlast`](Self::outlast), for a call that has something else to do.
    pub(super) fn outlast_in_passing(&self) -> bool {
        let mut state = self.lock();
        let limit = if state.running.is_empty() {
            Duration::ZERO
        } else if state.passed.is_none_or(|at| at.elapsed() > BETWEEN) {
            state.passed = Some(Instant::now());
            IN_PASSING
        } else {
            return false;
        };
        drop(state);
        self.outlast(limit)
    }

    /// An erasing call is at it, and will see to the log.
    pub(super) fn is_announced(&self) -> bool {
        !self.lock().erasures.is_empty()
    }
}

/// This thread is in a read: whatever it waits for must not wait for that.
pub(super) fn is_reading() -> bool {
    DEPTH.get() > 0
}

/// A slice of waiting, outside the fork gate.
pub(super) fn pause(interrupt: Interrupt<'_>) -> Result<()> {
    gate::pause(|| {
        if interrupt() {
            return Err(Error::Interrupted);
        }
        std::thread::sleep(SLICE);
        Ok(())
    })
}

/// A transaction that is under way.
#[derive(Debug)]
pub(super) struct Run {
    reads: Arc<Reads>,
    number: u64,
    /// Of the thread that began it, which also ends it.
    own: bool,
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.own {
            DEPTH.set(DEPTH.get().saturating_sub(1));
        }
        let mut state = self.reads.lock();
        state.running.retain(|read| read.number != self.number);
        let waited_for = state.outlasting > 0 || (state.held && state.running.is_empty());
        drop(state);
        if waited_for {
            self.reads.changed.notify_all();
        }
    }
}

/// An erasure that waits for long reads.
#[derive(Debug)]
pub(super) struct Erasure {
    reads: Arc<Reads>,
    number: u64,
}

impl Drop for Erasure {
    fn drop(&mut self) {
        self.reads.lock().erasures.retain(|erasure| *erasure != self.number);
    }
}

/// The one that copies or empties the log.
#[derive(Debug)]
pub(super) struct Scrub {
    reads: Arc<Reads>,
}

impl Drop for Scrub {
    fn drop(&mut self) {
        self.reads.lock().scrubbing = false;
    }
}

/// The moment without reads of this process.
#[derive(Debug)]
pub(super) struct Hold {
    reads: Arc<Reads>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.reads.lock().held = false;
        self.reads.changed.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn never() -> bool {
        false
    }

    /// In a thread of its own, which is in a read until it is told to end.
    fn reading(reads: &Arc<Reads>) -> impl FnOnce() + use<> {
        let (reads, end) = (Arc::clone(reads), Arc::new((Mutex::new((false, false)), Condvar::new())));
        let told = Arc::clone(&end);
        let thread = std::thread::spawn(move || {
            let _run = reads.enter(Length::Short, &never).unwrap();
            let mut state = told.0.lock();
            state.0 = true;
            told.1.notify_all();
            while !state.1 {
                told.1.wait(&mut state);
            }
        });
        let mut state = end.0.lock();
        while !state.0 {
            end.1.wait(&mut state);
        }
        drop(state);
        move || {
            end.0.lock().1 = true;
            end.1.notify_all();
            thread.join().unwrap();
        }
    }

    #[test]
    fn reads_that_have_begun_are_outlasted_and_nobody_is_held_back() {
        let reads = Arc::<Reads>::default();
        let end = reading(&reads);
        let outlasting = std::thread::spawn({
            let reads = Arc::clone(&reads);
            move || reads.outlast(LONG)
        });
        while reads.lock().outlasting == 0 {
            std::thread::yield_now();
        }
        // Neither this read nor the thread that goes on in one is waited for.
        let end_another = reading(&reads);
        drop(reads.enter(Length::Short, &never).unwrap());
        assert!(!outlasting.is_finished());
        end();
        assert!(outlasting.join().unwrap());
        end_another();
    }

    #[test]
    fn what_takes_longer_is_not_waited_for() {
        let reads = Arc::<Reads>::default();
        let end = reading(&reads);
        while !reads.has_longer(Duration::from_millis(1)) {
            std::thread::yield_now();
        }
        assert!(!reads.outlast(Duration::from_millis(1)));
        assert!(!reads.outlast(Duration::ZERO));
        end();
        assert!(reads.outlast(Duration::ZERO));
    }

    #[test]
    fn a_thread_that_reads_does_not_wait_for_itself() {
        let reads = Arc::<Reads>::default();
        let _run = reads.enter(Length::Short, &never).unwrap();
        assert!(!reads.outlast(LONG));
    }
}
