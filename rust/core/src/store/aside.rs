//! Long work that Ctrl-C ends: it runs in a thread of its own, while the caller listens outside the fork gate.
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::InterruptHandle;

use super::patience::Interrupt;
use crate::error::Result;
use crate::gate;

/// How long Ctrl-C may go unnoticed.
const LONGEST_SLICE: Duration = Duration::from_millis(50);

/// How the work is told to stop.
#[derive(Default)]
pub(super) struct Stop {
    wanted: AtomicBool,
    /// Of the connection whose statements are to be broken off.
    handle: Mutex<Option<InterruptHandle>>,
}

impl Stop {
    /// The caller wants to stop.
    pub(super) fn wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Statements that run on this connection are broken off too, until [`Stop::let_go`].
    pub(super) fn breaks(&self, handle: InterruptHandle) {
        *self.handle.lock() = Some(handle);
    }

    pub(super) fn let_go(&self) {
        *self.handle.lock() = None;
    }

    fn ask(&self) {
        self.wanted.store(true, Ordering::Relaxed);
        if let Some(handle) = &*self.handle.lock() {
            handle.interrupt();
        }
    }
}

/// Wakes the caller when the work has ended, also by a panic.
struct Ended<'a> {
    seen: &'a AtomicBool,
    caller: Thread,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.seen.store(true, Ordering::Release);
        self.caller.unpark();
    }
}

/// Runs `work`, and returns when it has ended. The caller holds no lock and no transaction.
pub(super) fn aside<T: Send>(interrupt: Interrupt<'_>, work: impl FnOnce(&Stop) -> Result<T> + Send) -> Result<T> {
    let stop = Stop::default();
    let ended = AtomicBool::new(false);
    let caller = thread::current();
    gate::pause(|| {
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let _ended = Ended { seen: &ended, caller };
                let _inside = gate::enter();
                work(&stop)
            });
            let mut stopping = false;
            let mut slice = Duration::from_millis(1);
            while !ended.load(Ordering::Acquire) {
                stopping = stopping || interrupt();
                if stopping {
                    stop.ask();
                }
                thread::park_timeout(slice);
                slice = (slice * 2).min(LONGEST_SLICE);
            }
            worker.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    })
}
