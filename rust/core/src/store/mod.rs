//! One SQLite file per collection: what is stored, durably and erasably, and nothing about relevance.
//!
//! The only module that knows SQL. Bytes on disk: `docs/format.md`. Interface: [`Store`] with [`ReadTx`] and [`WriteTx`].
mod aside;
mod backup;
mod calibration;
mod changed;
mod codec;
mod compact;
mod entry;
mod erase;
mod errno;
mod export;
mod fault;
mod filling;
mod group;
mod identity;
mod incoming;
mod load;
mod log;
mod models;
mod open;
mod outfile;
mod patience;
mod read;
mod reads;
mod restore;
mod rows;
mod salvage;
mod schema;
mod scopes;
mod scrub;
mod shared;
mod spool;
mod sqlite;
mod staged;
mod tail;
mod verify;
mod walk;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use calibration::{Calibration, Floors, Version};
pub use export::{Successor, Unused};
pub use filling::{Filled, Filling};
pub use load::Contents;
pub use outfile::{Outfile, Unnamed};
pub use patience::Interrupt;
pub use read::ReadTx;
use reads::Length;
pub use rows::{
    Changes, Content, Head, IndexRow, Inserted, Micros, Model, Nameless, NewMemory, NewModel, OwnerRef, Owners,
    Progress, Row, Scan, Scope, Seq, Stats,
};
pub use salvage::{SalvageOptions, salvage};
pub use schema::{ANALYSIS, ESTIMATE, SCHEMA};
pub use spool::Spool;
pub use sqlite::Durability;
pub use staged::{Staged, Superseded};
pub use verify::{Fault, Problem, Report};
pub use write::WriteTx;

use crate::error::{Error, Result};
use crate::gate;

/// How a collection is opened.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The file; `None` keeps the collection in memory. Its folder exists.
    pub path: Option<PathBuf>,
    pub durability: Durability,
    /// Of the analysis; stored when the file is made, compared after.
    pub language: String,
    pub busy_timeout: Duration,
    pub readonly: bool,
    /// Random bytes: a new file takes its hash key and its epoch from them.
    pub entropy: [u8; 32],
}

/// What is known about an open collection without a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFacts {
    /// `None`: in memory.
    pub path: Option<PathBuf>,
    pub language: String,
    /// Version of the analysis that made the stored terms.
    pub analysis: i64,
    /// Version of the estimate that made the stored token counts.
    pub estimate: i64,
    pub schema: i64,
    pub epoch: u64,
    pub durability: Durability,
    pub readonly: bool,
    pub file_bytes: u64,
    pub wal_bytes: u64,
    /// Something was erased of which the write-ahead log may still hold a copy, because another connection was reading.
    pub erasure_pending: bool,
}

/// An open collection. One per process and file is best; several are correct.
pub struct Store {
    shared: Arc<shared::Shared>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Store").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens or makes the file. While another process is making it, waits up to `busy_timeout`.
    pub fn open(options: OpenOptions, interrupt: Interrupt<'_>) -> Result<Self> {
        let _inside = gate::enter();
        let shared = Arc::new(open::open(options, interrupt)?);
        let member: Arc<dyn gate::ForkAware> = shared.clone();
        if !gate::join(Arc::downgrade(&member)) {
            return Err(fault::store(&shared.path, "the system refused to register a fork handler (out of memory?)"));
        }
        Ok(Self { shared })
    }

    /// Runs `job` on a snapshot. Never waits for a writer. The caller holds no lock: a busy file is waited for outside the gate.
    pub fn read<T>(&self, interrupt: Interrupt<'_>, job: impl FnOnce(&ReadTx<'_>) -> Result<T>) -> Result<T> {
        let _inside = gate::enter();
        self.shared.read(Length::Short, interrupt, job)
    }

    /// Runs `job` in a transaction that it may share with other threads' jobs, and returns when it is committed. When the job
    /// answers an error, nothing of it is kept. The caller holds no lock, as for `read`; the job does not call `read` or `write`.
    pub fn write<T>(&self, interrupt: Interrupt<'_>, job: impl FnOnce(&WriteTx<'_>) -> Result<T>) -> Result<T> {
        let _inside = gate::enter();
        self.shared.write(interrupt, job)
    }

    /// As [`write`](Self::write), for as much as does not fit into memory: a kill in it is known to those who come after, and what it
    /// has left in the log goes with their first call.
    pub fn write_bulk<T>(&self, interrupt: Interrupt<'_>, job: impl FnOnce(&WriteTx<'_>) -> Result<T>) -> Result<T> {
        let _inside = gate::enter();
        self.shared.write_bulk(interrupt, job)
    }

    /// As [`read`](Self::read), for long work: it runs in a thread of its own, asks whether to stop, and the caller's check is asked
    /// outside the fork gate.
    pub fn read_aside<T: Send>(
        &self,
        interrupt: Interrupt<'_>,
        job: impl FnOnce(&ReadTx<'_>, Interrupt<'_>) -> Result<T> + Send,
    ) -> Result<T> {
        let _inside = gate::enter();
        aside::aside(interrupt, |stop| {
            let stopped = || stop.wanted();
            self.shared.read(Length::Long, &stopped, |tx| job(tx, &stopped))
        })
    }

    /// As [`write_bulk`](Self::write_bulk), for long work; see [`read_aside`](Self::read_aside).
    pub fn write_aside<T: Send>(
        &self,
        interrupt: Interrupt<'_>,
        job: impl FnOnce(&WriteTx<'_>, Interrupt<'_>) -> Result<T> + Send,
    ) -> Result<T> {
        let _inside = gate::enter();
        aside::aside(interrupt, |stop| {
            let stopped = || stop.wanted();
            self.shared.write_bulk(&stopped, |tx| job(tx, &stopped))
        })
    }

    /// Copies the collection, as it is at one moment, into a new file at `target`; how many bytes it has. Others go on writing. A file
    /// that is there is replaced only if it is an older backup of this collection. The caller holds no lock.
    pub fn backup(&self, target: &Path, interrupt: Interrupt<'_>) -> Result<u64> {
        let _inside = gate::enter();
        aside::aside(interrupt, |stop| self.shared.backup(target, stop))
    }

    /// A place for what is to be stored in one transaction: without a name beside the file, or in memory as the collection is.
    pub fn spool(&self) -> Result<Spool> {
        let _inside = gate::enter();
        self.shared.writable()?;
        Spool::beside((!self.shared.is_in_memory()).then_some(self.shared.path.as_path()))
    }

    /// A file beside which others are written: refuses this collection's own.
    pub fn refuse_own(&self, path: &Path) -> Result<()> {
        self.shared.refuse_own(path)
    }

    /// Reads everything in one snapshot, and lists what is wrong. Stops at Ctrl-C. A file whose first rows cannot be read is a report
    /// that says so. The caller holds no lock.
    pub fn verify(&self, interrupt: Interrupt<'_>) -> Result<Report> {
        let _inside = gate::enter();
        let verified = aside::aside(interrupt, |stop| {
            self.shared.read(Length::Long, &|| stop.wanted(), |tx| {
                stop.breaks(tx.conn.sql.get_interrupt_handle());
                let report = tx.verify(&|| stop.wanted());
                stop.let_go();
                report
            })
        });
        match verified {
            Err(Error::Corrupt { message, .. }) => Ok(Report::unreadable(message)),
            other => other,
        }
    }

    /// Writes the file anew without what was erased from it; bytes given back. Ctrl-C, a full disk and a crash leave it as it was.
    /// Busy: somebody kept reading or writing. The caller holds no lock.
    pub fn compact(&self, interrupt: Interrupt<'_>) -> Result<u64> {
        let _inside = gate::enter();
        aside::aside(interrupt, |stop| self.shared.compact(stop))
    }

    /// What it means for a write that the system starts no thread.
    pub fn no_thread(&self, error: &std::io::Error) -> Error {
        fault::io(&self.shared.path, errno::errno(error, libc::EAGAIN))
    }

    /// After a write that erased: empties the write-ahead log, unless another process is reading from it right now. Reads of this one
    /// are waited for, at most as long as for a file that is locked; the last of those that take longer does it then. The caller
    /// holds no lock, as for `read`.
    pub fn scrub(&self, interrupt: Interrupt<'_>) -> Result<()> {
        let _inside = gate::enter();
        self.shared.scrub(interrupt)
    }

    /// Tries to [`scrub`](Self::scrub) first if that is pending.
    #[must_use]
    pub fn facts(&self) -> StoreFacts {
        let _inside = gate::enter();
        self.shared.facts()
    }

    /// Waits for a running write, then lets go of the file. Later calls answer [`crate::error::Error::Closed`]. Idempotent.
    pub fn close(&self) {
        let _inside = gate::enter();
        self.shared.close();
    }

    /// Bounds the size of the file: how tests fill a disk.
    #[doc(hidden)]
    pub fn limit_pages(&self, pages: u32) -> Result<()> {
        let _inside = gate::enter();
        self.shared.limit_pages(pages)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}
