//! The verbs: what a collection can do, each group in a file of its own.
//!
//! Every verb enters the fork gate first, then reads or writes in one transaction of the store. Nothing here runs the caller's code
//! but the interrupt check, which the store calls while no lock is held.
mod admit;
mod admitted;
mod ahead;
mod among;
mod calibrate;
mod candidates;
mod columns;
mod consolidate;
mod context;
mod excerpt;
mod export;
mod feedback;
mod filter;
mod first_pass;
mod forget;
mod gather;
mod import;
mod import_links;
mod line;
mod maintain;
mod marks;
mod model;
mod read;
mod recall;
mod record;
mod reembed;
mod remember;
mod repair;
mod replace;
pub mod request;
mod search;
mod similar;
mod undecided;
mod view;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::Result;
use crate::gate;
use crate::lexical::Analyzer;
use crate::partition::Cache;
use crate::store::{Interrupt, OpenOptions, ReadTx, Store, WriteTx};

pub use export::{EXPORT_FORMAT, EXPORT_VERSION, ExportRequest, Progress};
pub use filter::validate_filter;
pub use first_pass::RANKED_WHOLE;
pub use import::{Extras, ImportRequest, Imported, Numbered, OnConflict, Restored, Staging};
pub use recall::validate_signals;
pub use reembed::{Ended, Move, Unembedded};
pub use repair::{RepairOptions, repair};
pub use request::*;
pub use undecided::Undecided;
pub use view::best_cosine;

/// Of text and vectors: a transaction of less stays in memory until its commit, whatever is stored with them.
const BULK: usize = 2 << 20;

/// One open collection. Shared between threads; every method may be called from any of them.
pub struct Engine {
    store: Store,
    cache: Arc<Cache>,
    floors: calibrate::KnownFloors,
    analyzer: Analyzer,
    name: String,
    closed: AtomicBool,
    ranked_whole: AtomicUsize,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens the collection, making it where there is none.
    pub fn open(options: Options, interrupt: Interrupt) -> Result<Self> {
        let _inside = gate::enter();
        let analyzer = Analyzer::new(&options.language)?;
        let store = Store::open(
            OpenOptions {
                path: options.path,
                durability: options.durability,
                language: options.language,
                busy_timeout: options.busy_timeout,
                readonly: options.readonly,
                entropy: options.entropy,
            },
            interrupt,
        )?;
        Ok(Self {
            store,
            cache: Arc::new(Cache::new(options.cache_mb << 20)),
            floors: calibrate::KnownFloors::default(),
            analyzer,
            name: options.name,
            closed: AtomicBool::new(false),
            ranked_whole: AtomicUsize::new(RANKED_WHOLE),
        })
    }

    /// Closes the store; later calls are `Error::Closed`. Closing again does nothing.
    pub fn close(&self) {
        let _inside = gate::enter();
        self.closed.store(true, Ordering::Relaxed);
        self.store.close();
        self.cache.clear();
    }

    #[must_use]
    pub fn closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Sets how many memories a recall ranks one and all, before a first pass chooses: [`RANKED_WHOLE`] as it is opened. For measuring
    /// the one against the other.
    pub fn rank_everything_up_to(&self, memories: usize) {
        self.ranked_whole.store(memories, Ordering::Relaxed);
    }

    /// One read transaction.
    fn read<T>(&self, interrupt: Interrupt, job: impl FnOnce(&ReadTx) -> Result<T>) -> Result<T> {
        let _inside = gate::enter();
        self.store.read(interrupt, job)
    }

    /// One write transaction; where it erased something, the files are scrubbed afterwards.
    fn write<T>(&self, interrupt: Interrupt, job: impl FnOnce(&WriteTx) -> Result<T>) -> Result<T> {
        let _inside = gate::enter();
        self.store.write(interrupt, job)
    }

    /// As [`write`](Self::write), where `bytes` of new text and vectors are to be stored.
    fn write_new<T>(&self, bytes: usize, interrupt: Interrupt, job: impl FnOnce(&WriteTx) -> Result<T>) -> Result<T> {
        if bytes < BULK {
            return self.write(interrupt, job);
        }
        let _inside = gate::enter();
        self.store.write_bulk(interrupt, job)
    }
}
