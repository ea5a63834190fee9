//! Group commit: threads that want to write take turns in one transaction, and the last one commits for all.
//!
//! Each member runs its own job on its own thread, under the writer's lock, inside a savepoint. If another thread is waiting for its
//! turn by then, the member leaves the transaction open for it and waits for the verdict; else it commits and tells everybody.
//!
//! Invariant: while a transaction is open and the lock free, at least one thread is between [`Writer`]'s queue and its lock, inside
//! the fork gate, and will take the lock without waiting for anything else. So every open transaction gets its commit.
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use super::fault::{self, At};
use super::read::ReadTx;
use super::reads::{Reads, Run};
use super::schema::Meta;
use super::sqlite::Conn;
use super::write::{AfterCommit, Counters, WriteTx};
use crate::error::{Error, Result};

/// Bounds of a group, so that nobody waits long for members that came later.
const MOST_MEMBERS: usize = 64;
const LONGEST: Duration = Duration::from_millis(50);

/// What happened to a group, for those who wait to know.
#[derive(Default)]
pub(super) struct Verdict {
    answer: Mutex<Option<Result<()>>>,
    told: Condvar,
}

impl Verdict {
    fn tell(&self, answer: Result<()>) {
        *self.answer.lock() = Some(answer);
        self.told.notify_all();
    }

    pub(super) fn wait(&self) -> Result<()> {
        let mut answer = self.answer.lock();
        loop {
            if let Some(answer) = answer.as_ref() {
                return answer.clone();
            }
            self.told.wait(&mut answer);
        }
    }
}

struct Group {
    meta: Meta,
    counters: Counters,
    members: usize,
    began: Instant,
    verdict: Arc<Verdict>,
    /// None: in memory.
    _run: Option<Run>,
    /// What the members do when all of it is committed, in their order.
    after: AfterCommit,
}

/// The writer's connection (none before first use, and after a fork) and the transaction that is open on it.
#[derive(Default)]
pub(super) struct Writer {
    pub conn: Option<Conn>,
    group: Option<Group>,
}

/// That a large write is under way: a process that is killed in it leaves it behind, and who finds it empties the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub rev: i64,
    /// What was erased last before.
    pub before: i64,
}

/// A job's answer, or the panic it ended in.
pub(super) type Ran<T> = std::thread::Result<Result<T>>;

impl Writer {
    /// Joins the open transaction, or begins one: what is erased in the file, and what of that is scrubbed. Busy: another process is
    /// writing.
    pub(super) fn begin(&mut self, path: &Path, reads: Option<&Arc<Reads>>) -> Result<Option<(i64, i64)>> {
        if self.group.is_some() {
            return Ok(None);
        }
        let Some(conn) = &self.conn else { return Err(fault::store(path, "no connection to write on")) };
        let reading = reads.map(Reads::enter_writing);
        run(&conn.sql, "BEGIN IMMEDIATE").at(path)?;
        let meta = conn.meta(path).and_then(|meta| meta.allows_writing(path).map(|()| meta));
        match meta {
            Ok(meta) => {
                let counters = Counters::new(&meta);
                self.group = Some(Group {
                    meta,
                    counters,
                    members: 0,
                    began: Instant::now(),
                    verdict: Arc::default(),
                    after: AfterCommit::default(),
                    _run: reading,
                });
                Ok(Some((meta.erased, meta.scrubbed)))
            }
            Err(error) => {
                self.abandon();
                if matches!(error, Error::Busy { .. }) {
                    self.conn = None;
                }
                Err(error)
            }
        }
    }

    /// Runs one member's job in the open transaction, and takes back what it did if it fails.
    pub(super) fn member<T>(&mut self, path: &Path, job: impl FnOnce(&WriteTx<'_>) -> Result<T>) -> Ran<T> {
        let (Some(conn), Some(group)) = (&self.conn, &mut self.group) else {
            return Ok(Err(fault::store(path, "no transaction to write in")));
        };
        // The first member needs no savepoint: if it fails, there is nothing else in the transaction.
        let alone = group.members == 0;
        if !alone && let Err(error) = run(&conn.sql, "SAVEPOINT member").at(path) {
            return Ok(Err(self.lose(error)));
        }
        // Scopes are numbered without gaps: a member that fails gives its numbers back. The other counters may skip.
        let next_scope = group.counters.next_scope.get();
        let earlier = group.after.borrow().len();
        let read = ReadTx::new(conn, path, group.meta, false);
        let tx = WriteTx::new(read, &group.counters, &group.after);
        let answer = match catch_unwind(AssertUnwindSafe(|| job(&tx))) {
            Ok(Ok(_)) if tx.is_broken() => {
                Ok(Err(fault::store(path, "a step of this write failed; nothing of it was kept")))
            }
            answer => answer.map(|answer| answer.map_err(fault::nothing_stored)),
        };
        if matches!(answer, Ok(Ok(_))) {
            group.members += 1;
            if !alone && let Err(error) = run(&conn.sql, "RELEASE member").at(path) {
                return Ok(Err(self.lose(error)));
            }
        } else {
            group.counters.next_scope.set(next_scope);
            group.after.borrow_mut().truncate(earlier);
            self.take_back(path, alone, &answer);
        }
        answer
    }

    fn take_back<T>(&mut self, path: &Path, alone: bool, answer: &Ran<T>) {
        let Some(conn) = &self.conn else { return };
        if conn.sql.is_autocommit() {
            // Some errors (disk full, I/O) make SQLite roll the whole transaction back: the members before are lost with this one.
            let error = match answer {
                Ok(Err(error)) => error.clone(),
                _ => fault::store(path, "the shared transaction was rolled back; nothing of this write was kept"),
            };
            self.lose(error);
        } else if alone {
            self.abandon();
        } else if let Err(error) =
            run(&conn.sql, "ROLLBACK TO member").and_then(|()| run(&conn.sql, "RELEASE member")).at(path)
        {
            self.lose(error);
        }
    }

    /// Notes in the open transaction that the log may hold what no memory has, until it is emptied or the note is taken back.
    pub(super) fn mark(&self) -> Option<Mark> {
        let counters = &self.group.as_ref()?.counters;
        let (before, rev) = (counters.erased.get(), counters.rev.get().checked_add(1)?);
        counters.rev.set(rev);
        counters.erased.set(rev);
        Some(Mark { rev, before })
    }

    pub(super) fn is_open(&self) -> bool {
        self.group.is_some()
    }

    /// The group is open and has room: the next in line may join it.
    pub(super) fn takes_more(&self) -> Option<Arc<Verdict>> {
        let group = self.group.as_ref()?;
        let room = group.members < MOST_MEMBERS && group.began.elapsed() < LONGEST;
        room.then(|| group.verdict.clone())
    }

    /// Commits what is open, if anything, and tells the members. `scrubbed`: see [`Meta::scrubbed`].
    pub(super) fn commit(&mut self, path: &Path, scrubbed: i64) -> Result<()> {
        let (Some(conn), Some(group)) = (&self.conn, self.group.take()) else { return Ok(()) };
        let mut meta = group.counters.apply(&group.meta);
        if meta != group.meta {
            meta.scrubbed = meta.scrubbed.max(scrubbed);
        }
        let stored = if meta == group.meta { Ok(()) } else { meta.store(&conn.sql).at(path) };
        let done = stored
            .map_err(fault::nothing_stored)
            .and_then(|()| run(&conn.sql, "COMMIT").map_err(|error| failed_commit(path, &error)));
        if done.is_ok() {
            group.after.into_inner().into_iter().for_each(|job| job());
        } else {
            self.abandon();
        }
        group.verdict.tell(done.clone());
        if let Some(conn) = self.conn.as_ref().filter(|_| done.is_ok()) {
            conn.checkpoint_if_due();
        }
        done
    }

    /// Rolls back and tells the members so.
    fn lose(&mut self, error: Error) -> Error {
        if let Some(group) = self.group.take() {
            group.verdict.tell(Err(error.clone()));
        }
        self.abandon();
        error
    }

    /// Rolls back whatever is open. A connection that cannot do even that is closed, which does.
    fn abandon(&mut self) {
        self.group = None;
        let clean =
            self.conn.as_ref().is_some_and(|conn| conn.sql.is_autocommit() || run(&conn.sql, "ROLLBACK").is_ok());
        if !clean {
            self.conn = None;
        }
    }
}

pub(super) fn run(sql: &Connection, statement: &str) -> rusqlite::Result<()> {
    sql.prepare_cached(statement)?.raw_execute()?;
    Ok(())
}

/// A commit that fails may have reached the disk all the same.
fn failed_commit(path: &Path, error: &rusqlite::Error) -> Error {
    if !fault::may_be_committed(error) {
        return fault::nothing_stored(fault::from_sqlite(path, error));
    }
    let note = |message: String| format!("the commit failed, whether this write was stored is unknown: {message}");
    match fault::from_sqlite(path, error) {
        Error::Full { path, message } => Error::Full { path, message: note(message) },
        Error::Corrupt { path, message } => Error::Corrupt { path, message: note(message) },
        Error::Io { path, errno, message } => Error::Io { path, errno, message: note(message) },
        // Not busy: the caller must not simply try again.
        Error::Busy { path, message } | Error::Store { path, message } => Error::Store { path, message: note(message) },
        other => other,
    }
}
