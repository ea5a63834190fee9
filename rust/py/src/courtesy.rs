//! Letting other threads have the interpreter in the middle of long work, here and in `_give_way.py`, and before a fork.
use std::cell::Cell;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use retentive_core::gate;

/// A thread that waits asks for the interpreter only after 5 ms, and native code does not hear it.
const LONGEST_HELD: Duration = Duration::from_micros(100);
/// Whoever takes the interpreter back at once has it before another thread has woken up.
const PAUSE: Duration = Duration::from_micros(10);

thread_local! {
    /// When this thread last took the interpreter, as far as this module knows. One clock for Python and Rust: short stretches of
    /// both, one after the other, are a long one for whoever waits.
    static TAKEN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// This thread has just taken the interpreter.
pub fn taken() {
    TAKEN.set(Some(Instant::now()));
}

/// Lets go of the interpreter for a moment when that is due and there are other threads.
#[pyfunction]
pub fn give_way(py: Python<'_>) -> PyResult<()> {
    if TAKEN.get().is_some_and(|taken| taken.elapsed() <= LONGEST_HELD) {
        return Ok(());
    }
    let threads: usize = py.import("threading")?.call_method0("active_count")?.extract()?;
    if threads > 1 {
        py.detach(|| std::thread::sleep(PAUSE));
    }
    taken();
    Ok(())
}

/// Returns when every call that is under way in other threads has ended or waits outside; they have the interpreter meanwhile.
#[pyfunction]
pub fn settle(py: Python<'_>) {
    py.detach(gate::settle);
}
