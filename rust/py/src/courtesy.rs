//! Letting other threads have the interpreter in the middle of a long conversion, as `_give_way.py` does in Python.
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// A thread that waits asks for the interpreter only after 5 ms, and native code does not hear it.
const LONGEST_HELD: Duration = Duration::from_micros(100);
/// Whoever takes the interpreter back at once has it before another thread has woken up.
const PAUSE: Duration = Duration::from_micros(10);

/// Since when this thread has held the interpreter.
#[derive(Debug)]
pub struct Courtesy(Instant);

impl Courtesy {
    pub fn new() -> Self {
        Self(Instant::now())
    }

    /// Lets go of the interpreter when that is due and there are other threads.
    pub fn give_way(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.0.elapsed() <= LONGEST_HELD {
            return Ok(());
        }
        let threads: usize = py.import("threading")?.call_method0("active_count")?.extract()?;
        if threads > 1 {
            py.detach(|| std::thread::sleep(PAUSE));
        }
        self.0 = Instant::now();
        Ok(())
    }
}
