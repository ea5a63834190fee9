//! What the handles and the fork gate share: one writer, a pool of readers, and how both are let go.
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rusqlite::MAIN_DB;

use super::fault::{self, At};
use super::group::{Mark, Ran, Writer, run};
use super::open::{connect_readonly, expect_language, read_only_access, release_log};
use super::open_files::OpenFile;
use super::patience::{Interrupt, Patience};
use super::read::ReadTx;
use super::reads::{Length, Reads, Run};
use super::schema::{Meta, Origin, SCHEMA};
use super::sqlite::{Access, Conn, wal_bytes};
use super::write::WriteTx;
use super::{OpenOptions, StoreFacts};
use crate::error::{Error, Result};
use crate::gate::ForkAware;

/// Idle connections kept for readers.
const MOST_IDLE: usize = 16;

pub(super) struct Shared {
    pub path: PathBuf,
    options: OpenOptions,
    origin: Origin,
    epoch: i64,
    /// How connections read, as it was opened: `Memory` has one connection for everything.
    opened_for: Access,
    /// It could not be written when it was opened, and can be since.
    writable_since: AtomicBool,
    writer: Mutex<Writer>,
    /// Threads on their way to the writer's lock that will run a job under it.
    waiting: AtomicUsize,
    readers: Mutex<Vec<Conn>>,
    closed: AtomicBool,
    /// `None`: in memory, or closed.
    open_file: Mutex<Option<OpenFile>>,
    /// An in-memory collection lives in the process that made it.
    process: u32,
    /// Up to this rev, what was erased has left the write-ahead log.
    pub(super) scrubbed: AtomicI64,
    /// The log may hold what was erased, or never was committed.
    pub(super) pending: AtomicBool,
    /// It holds something behind its last commit.
    pub(super) tail: AtomicBool,
    /// A transaction of which a part was taken back is open.
    took_back: AtomicBool,
    pub(super) reads: Arc<Reads>,
}

impl Shared {
    pub(super) fn new(
        path: PathBuf,
        options: OpenOptions,
        conn: Conn,
        reads: Arc<Reads>,
        open_file: Option<OpenFile>,
    ) -> Self {
        let (origin, epoch) = (conn.origin.clone(), conn.epoch);
        let reading = if conn.access == Access::Write { Access::Read } else { conn.access };
        let (mut writer, mut readers) = (Writer::default(), Vec::new());
        if matches!(conn.access, Access::Write | Access::Memory) {
            writer.conn = Some(conn);
        } else {
            readers.push(conn);
        }
        Self {
            path,
            options,
            origin,
            epoch,
            opened_for: reading,
            writable_since: AtomicBool::new(false),
            writer: Mutex::new(writer),
            waiting: AtomicUsize::new(0),
            readers: Mutex::new(readers),
            closed: AtomicBool::new(false),
            open_file: Mutex::new(open_file),
            process: std::process::id(),
            scrubbed: AtomicI64::new(0),
            pending: AtomicBool::new(true),
            tail: AtomicBool::new(false),
            took_back: AtomicBool::new(false),
            reads,
        }
    }

    pub(super) fn usable(&self) -> Result<()> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(Error::Closed(format!("the collection {} is closed; open it again", self.path.display())));
        }
        if self.is_in_memory() && self.process != std::process::id() {
            let message =
                "an in-memory collection cannot be used in a forked child: it would be another copy; give it a path";
            return Err(fault::store(&self.path, message));
        }
        Ok(())
    }

    /// Whether this handle may write, as far as is known.
    pub(super) fn is_writable(&self) -> bool {
        self.writable_since.load(Ordering::SeqCst) || !matches!(self.opened_for, Access::ReadOnly | Access::Immutable)
    }

    /// The caller does not hold the writer's lock.
    pub(super) fn writable(&self) -> Result<()> {
        self.usable()?;
        if self.is_writable() || self.became_writable()? {
            return Ok(());
        }
        let reason =
            if self.options.readonly { "opened with readonly=True" } else { "its file or folder cannot be written" };
        Err(fault::store(&self.path, format!("{} ({reason}); nothing was stored", fault::READ_ONLY)))
    }

    /// Looks again at a file that could not be written when it was opened, and writes it from now on if it can be.
    fn became_writable(&self) -> Result<bool> {
        if self.options.readonly {
            return Ok(false);
        }
        release_log(&self.path);
        if !fault::may_be_written(&self.path) {
            return Ok(false);
        }
        let mut writer = self.writer.lock();
        self.readers.lock().clear(); // theirs is a log that may only be read
        if !self.writable_since.load(Ordering::SeqCst) {
            let conn = match self.connect(Access::Write) {
                Err(error) if fault::means_unwritable(&error) => return Ok(false),
                opened => opened?,
            };
            // Permissions do not tell all: the log may still be open here as one that may only be read.
            match run(&conn.sql, "BEGIN IMMEDIATE").and_then(|()| run(&conn.sql, "ROLLBACK")).at(&self.path) {
                Err(error) if fault::means_unwritable(&error) => return Ok(false),
                Err(Error::Busy { .. }) | Ok(()) => {}
                failed => failed?,
            }
            // Nor does the lock: a header that says a newer SQLite wrote it makes a file to read.
            if conn.sql.is_readonly(MAIN_DB).at(&self.path)? {
                return Ok(false);
            }
            writer.conn = Some(conn);
            self.writable_since.store(true, Ordering::SeqCst);
        }
        Ok(true)
    }

    /// How connections read.
    fn reading(&self) -> Access {
        match self.opened_for {
            _ if self.writable_since.load(Ordering::SeqCst) => Access::Read,
            Access::ReadOnly | Access::Immutable => read_only_access(&self.path),
            opened_for => opened_for,
        }
    }

    pub(super) fn is_in_memory(&self) -> bool {
        self.opened_for == Access::Memory
    }

    pub(super) fn busy_timeout(&self) -> Duration {
        self.options.busy_timeout
    }

    // ---- reading

    pub(super) fn read<T>(
        &self,
        length: Length,
        interrupt: Interrupt<'_>,
        job: impl FnOnce(&ReadTx<'_>) -> Result<T>,
    ) -> Result<T> {
        self.usable()?;
        if self.is_in_memory() {
            return self.read_in_memory(job);
        }
        let mut patience = Patience::new(self.options.busy_timeout, interrupt);
        let (lease, meta) = patience.retry(&self.path, || self.begin_read(length, interrupt))?;
        self.notice(meta.erased, meta.scrubbed);
        let Some(conn) = &lease.conn else { return Err(fault::store(&self.path, "no connection to read on")) };
        let answer = job(&ReadTx::new(conn, &self.path, meta, true));
        if conn.access == Access::Immutable {
            // Nobody was to change it; if somebody did, pages of two versions were read.
            conn.expect_in_place(&self.path).map_err(|_| fault::changed_underneath(&self.path))?;
        }
        drop(lease);
        self.scrub_in_passing();
        answer
    }

    fn read_in_memory<T>(&self, job: impl FnOnce(&ReadTx<'_>) -> Result<T>) -> Result<T> {
        let writer = self.lock_idle();
        self.usable()?;
        let Some(conn) = &writer.conn else { return Err(fault::store(&self.path, "no connection to read on")) };
        let meta = conn.meta(&self.path)?;
        job(&ReadTx::new(conn, &self.path, meta, true))
    }

    /// A connection in a read transaction whose snapshot is fixed.
    fn begin_read(&self, length: Length, interrupt: Interrupt<'_>) -> Result<(Lease<'_>, Meta)> {
        let under_way = self.reads.enter(length, interrupt)?;
        let reading = self.reading();
        let idle = {
            let mut readers = self.readers.lock();
            readers.retain(|conn| conn.access == reading);
            readers.pop()
        };
        let conn = match idle {
            Some(conn) => conn,
            None => connect_readonly(&self.path, reading, |access| self.connect(access))?,
        };
        run(&conn.sql, "BEGIN").at(&self.path)?;
        let meta = conn.meta(&self.path).inspect_err(|_| self.leave_file())?;
        Ok((Lease { shared: self, conn: Some(conn), _run: under_way }, meta))
    }

    pub(super) fn connect(&self, access: Access) -> Result<Conn> {
        let open = || Conn::open(&self.path, access, self.options.durability);
        let conn = self.reads.connecting(open)?;
        expect_language(&conn, &self.path, &self.origin.language)?;
        Ok(conn)
    }

    /// The file may have been replaced: what is known of it, and the connections to it, are of no use.
    fn leave_file(&self) {
        self.readers.lock().drain(..).for_each(Conn::close_quietly);
        self.scrubbed.store(0, Ordering::SeqCst);
        self.pending.store(true, Ordering::SeqCst);
    }

    // ---- writing

    pub(super) fn write<T>(&self, interrupt: Interrupt<'_>, job: impl FnOnce(&WriteTx<'_>) -> Result<T>) -> Result<T> {
        self.writable()?;
        let mut patience = Patience::new(self.options.busy_timeout, interrupt);
        loop {
            let mut writer = self.take_turn();
            match self.begin(&mut writer) {
                Ok(()) => return self.cleaned(self.run_member(writer, job), interrupt),
                Err(Error::Busy { .. }) => drop(writer),
                Err(error) => return Err(error),
            }
            patience.wait(&self.path)?;
        }
    }

    /// As [`write`](Self::write), for more than SQLite keeps in memory: it writes pages into the log before the commit, and what has
    /// been written stays there when the process is killed. So a commit of its own says first that the log is to be emptied.
    pub(super) fn write_bulk<T>(
        &self,
        interrupt: Interrupt<'_>,
        job: impl FnOnce(&WriteTx<'_>) -> Result<T>,
    ) -> Result<T> {
        if self.is_in_memory() {
            return self.write(interrupt, job);
        }
        self.writable()?;
        let mut patience = Patience::new(self.options.busy_timeout, interrupt);
        let mut mark = None;
        loop {
            let mut writer = self.take_turn();
            match self.begin_marked(&mut writer, &mut mark) {
                Ok(mark) => {
                    let answer = self.run_member(writer, |tx| {
                        let answer = job(tx)?;
                        tx.unmark(mark);
                        Ok(answer)
                    });
                    if answer.is_err() {
                        self.scrub(interrupt)?;
                    }
                    return answer;
                }
                Err(Error::Busy { .. }) => drop(writer),
                Err(error) => return Err(error),
            }
            patience.wait(&self.path)?;
        }
    }

    fn begin_marked(&self, writer: &mut Writer, mark: &mut Option<Mark>) -> Result<Mark> {
        // Somebody may have emptied the log while another process was writing.
        mark.take_if(|mark| mark.rev <= self.scrubbed.load(Ordering::SeqCst));
        let mark = if let Some(mark) = *mark {
            mark
        } else {
            let _ = self.end_group(writer);
            self.begin(writer)?;
            let made = writer.mark().ok_or_else(|| fault::store(&self.path, "the file has run out of numbers"));
            let ended = self.end_group(writer);
            let made = made?;
            ended?;
            *mark.insert(made)
        };
        self.begin(writer)?;
        Ok(mark)
    }

    /// What failed leaves nothing in the log.
    fn cleaned<T>(&self, answer: Result<T>, interrupt: Interrupt<'_>) -> Result<T> {
        if answer.is_err() && !self.is_in_memory() {
            drop(self.lock_idle());
            if self.tail.load(Ordering::SeqCst) {
                self.scrub(interrupt)?;
            }
        }
        answer
    }

    fn take_turn(&self) -> MutexGuard<'_, Writer> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let writer = self.writer.lock();
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        writer
    }

    fn begin(&self, writer: &mut Writer) -> Result<()> {
        if let Err(closed) = self.usable() {
            let _ = self.end_group(writer);
            return Err(closed);
        }
        self.connect_writer(writer).map_err(fault::nothing_stored)?;
        let reads = (!self.is_in_memory()).then_some(&self.reads);
        let begun = writer.begin(&self.path, reads).inspect_err(|_| {
            if writer.conn.is_none() {
                self.leave_file();
            }
        });
        if let Some((erased, scrubbed)) = begun.map_err(fault::nothing_stored)? {
            self.notice(erased, scrubbed);
        }
        Ok(())
    }

    pub(super) fn connect_writer(&self, writer: &mut Writer) -> Result<()> {
        if writer.conn.is_none() {
            if self.is_in_memory() {
                return Err(fault::store(&self.path, "the in-memory collection was lost after a failed rollback"));
            }
            writer.conn = Some(self.connect(Access::Write)?);
        }
        Ok(())
    }

    fn run_member<T>(
        &self,
        mut writer: MutexGuard<'_, Writer>,
        job: impl FnOnce(&WriteTx<'_>) -> Result<T>,
    ) -> Result<T> {
        let answer = writer.member(&self.path, job);
        let kept = matches!(answer, Ok(Ok(_)));
        self.took_back.fetch_or(!kept, Ordering::SeqCst);
        let next_in_line = if self.waiting.load(Ordering::SeqCst) > 0 { writer.takes_more() } else { None };
        let verdict = if let Some(verdict) = next_in_line {
            drop(writer);
            if kept { verdict.wait() } else { Ok(()) }
        } else {
            let verdict = self.commit(&mut writer);
            drop(writer);
            verdict
        };
        unwind_or_answer(answer).and_then(|value| verdict.map(|()| value))
    }

    fn commit(&self, writer: &mut Writer) -> Result<()> {
        let verdict = self.end_group(writer);
        if self.pending.load(Ordering::SeqCst) {
            self.scrub_on(writer);
        }
        verdict
    }

    /// The writer's lock, with no transaction open.
    pub(super) fn lock_idle(&self) -> MutexGuard<'_, Writer> {
        let mut writer = self.writer.lock();
        // The members are told themselves; whoever was next in line begins a new transaction.
        let _ = self.end_group(&mut writer);
        writer
    }

    fn end_group(&self, writer: &mut Writer) -> Result<()> {
        let verdict = writer.commit(&self.path, self.scrubbed.load(Ordering::SeqCst));
        if self.took_back.swap(false, Ordering::SeqCst) || verdict.is_err() {
            self.look_for_tail();
        }
        verdict
    }

    /// As [`lock_idle`](Self::lock_idle), unless it is held for longer.
    pub(super) fn wait_for_writer(&self, limit: Duration) -> Option<MutexGuard<'_, Writer>> {
        let mut writer = self.writer.try_lock_for(limit)?;
        let _ = self.end_group(&mut writer);
        Some(writer)
    }

    pub(super) fn try_lock_writer(&self) -> Option<MutexGuard<'_, Writer>> {
        self.writer.try_lock()
    }

    // ---- the rest

    pub(super) fn facts(&self) -> StoreFacts {
        let mut erasure_pending = self.erasure_pending();
        if erasure_pending {
            self.scrub_soon();
            erasure_pending = self.erasure_pending();
        }
        let in_memory = self.is_in_memory();
        StoreFacts {
            path: (!in_memory).then(|| self.path.clone()),
            language: self.origin.language.clone(),
            analysis: self.origin.analysis,
            estimate: self.origin.estimate,
            schema: SCHEMA,
            epoch: self.epoch as u64,
            durability: self.options.durability,
            readonly: !self.is_writable(),
            file_bytes: if in_memory { 0 } else { self.path.metadata().map_or(0, |found| found.len()) },
            wal_bytes: if in_memory { 0 } else { wal_bytes(&self.path) },
            erasure_pending,
        }
    }

    pub(super) fn close(&self) {
        if self.closed.swap(true, Ordering::SeqCst) {
            return;
        }
        let mut writer = self.lock_idle();
        if self.reading() == Access::Read && self.pending.load(Ordering::SeqCst) {
            // Others may keep the file open, and the log with it.
            self.scrub_at_last(&mut writer);
        }
        // The writer goes last: the last connection to close empties the write-ahead log, and it may write.
        self.readers.lock().clear();
        writer.conn = None;
        *self.open_file.lock() = None;
    }

    pub(super) fn limit_pages(&self, pages: u32) -> Result<()> {
        self.writable()?;
        let mut writer = self.lock_idle();
        self.connect_writer(&mut writer)?;
        let Some(conn) = &writer.conn else { return Ok(()) };
        conn.sql.query_row(&format!("PRAGMA max_page_count={pages}"), [], |_| Ok(())).at(&self.path)
    }
}

impl ForkAware for Shared {
    /// A child inherits neither locks nor descriptors of an open connection: both sides open new ones.
    fn before_fork(&self) {
        if self.is_in_memory() {
            return;
        }
        // No other thread is inside. If this very thread holds a lock, it forks out of a job: that job's connection is not safe to close.
        if let Some(mut writer) = self.writer.try_lock()
            && let Some(conn) = writer.conn.take()
        {
            conn.close_quietly();
        }
        if let Some(mut readers) = self.readers.try_lock() {
            readers.drain(..).for_each(Conn::close_quietly);
        }
    }
}

/// A reader's connection: goes back into the pool, also when the job panics.
struct Lease<'a> {
    shared: &'a Shared,
    conn: Option<Conn>,
    /// Ends after the transaction.
    _run: Run,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let Some(conn) = self.conn.take() else { return };
        if run(&conn.sql, "COMMIT").is_err() {
            return;
        }
        let mut readers = self.shared.readers.lock();
        if readers.len() < MOST_IDLE && !self.shared.closed.load(Ordering::SeqCst) {
            readers.push(conn);
        }
    }
}

fn unwind_or_answer<T>(answer: Ran<T>) -> Result<T> {
    match answer {
        Ok(answer) => answer,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
