//! Numpy's own interface, found at the first array.
//!
//! What finds it lets go of the interpreter on the way, and a child that another thread forks meanwhile would wait for ever for its end.
//! So it is found inside the import of a module of ours: a fork waits for imports (`_fork.py`).
use std::sync::atomic::{AtomicBool, Ordering};

use numpy::{PyArray2, PyArrayMethods};
use pyo3::prelude::*;

static FOUND: AtomicBool = AtomicBool::new(false);

/// To be called before an array is taken or made.
pub fn ready(py: Python<'_>) -> PyResult<()> {
    if !FOUND.load(Ordering::Relaxed) {
        py.import("retentive._arrays")?;
    }
    Ok(())
}

/// What `_arrays.py` calls while it is imported.
#[pyfunction]
pub fn find_arrays(py: Python<'_>) {
    let _ = PyArray2::<f32>::zeros(py, [1, 1], false).readonly();
    FOUND.store(true, Ordering::Relaxed);
}
