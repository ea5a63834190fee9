//! Waiting for a file that another connection holds: in short slices, outside the fork gate, listening for Ctrl-C.
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::gate;

/// True = stop (Ctrl-C). Called only while no lock is held, no transaction is open, and outside the fork gate.
pub type Interrupt<'a> = &'a (dyn Fn() -> bool + Sync);

const LONGEST_SLICE: Duration = Duration::from_millis(50);

pub(super) struct Patience<'a> {
    interrupt: Interrupt<'a>,
    began: Instant,
    limit: Duration,
    slice: Duration,
}

impl<'a> Patience<'a> {
    pub(super) fn new(limit: Duration, interrupt: Interrupt<'a>) -> Self {
        Self { interrupt, began: Instant::now(), limit, slice: Duration::from_millis(1) }
    }

    /// Calls `attempt` until it answers anything but busy. It holds nothing when it returns.
    pub(super) fn retry<T>(&mut self, path: &Path, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
        loop {
            match attempt() {
                Err(Error::Busy { .. }) => self.wait(path)?,
                other => return other,
            }
        }
    }

    /// Sleeps one slice, or says that the time is up or that the caller wants to stop.
    pub(super) fn wait(&mut self, path: &Path) -> Result<()> {
        let left = self.limit.saturating_sub(self.began.elapsed());
        if left.is_zero() {
            return Err(self.gave_up(path));
        }
        let slice = self.slice.min(left);
        self.slice = (self.slice * 2).min(LONGEST_SLICE);
        gate::pause(|| {
            if (self.interrupt)() {
                return Err(Error::Interrupted);
            }
            std::thread::sleep(slice);
            Ok(())
        })
    }

    fn gave_up(&self, path: &Path) -> Error {
        let message = format!(
            "{}: still locked after {:.1} s. Another process is writing to it, has a transaction open (a database browser, \
             a backup), or was stopped in the middle of one. Nothing was stored. Try again, raise busy_timeout_s, or end the other process",
            path.display(),
            self.limit.as_secs_f64()
        );
        Error::Busy { path: path.to_path_buf(), message }
    }
}
