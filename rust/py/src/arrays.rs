//! Numpy's own interface, found at the first array.
//!
//! What finds it lets go of the interpreter on the way, and a child that another thread forks meanwhile would wait for ever for its end.
//! So it is found inside the import of a module of ours: a fork waits for imports (`_fork.py`).
use std::sync::atomic::{AtomicBool, Ordering};

use numpy::{PyArray1, PyArray2, PyArrayMethods, ToPyArray};
use pyo3::prelude::*;
use retentive_core::vector::quantise::has_direction;

static FOUND: AtomicBool = AtomicBool::new(false);

/// To be called before an array is taken or made.
pub fn ready(py: Python<'_>) -> PyResult<()> {
    if !FOUND.load(Ordering::Relaxed) {
        py.import("retentive._arrays")?;
    }
    Ok(())
}

/// A copy of a float32 vector that has a direction; none of anything else, which the facade looks at more closely.
#[pyfunction]
pub fn checked_vector<'py>(py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyArray1<f32>>>> {
    ready(py)?;
    let Ok(array) = value.cast::<PyArray1<f32>>() else { return Ok(None) };
    let Ok(array) = array.try_readonly() else { return Ok(None) };
    let copied = array.as_slice().ok().filter(|values| has_direction(values));
    Ok(copied.map(|values| values.to_pyarray(py)))
}

/// What `_arrays.py` calls while it is imported.
#[pyfunction]
pub fn find_arrays(py: Python<'_>) {
    let _ = PyArray2::<f32>::zeros(py, [1, 1], false).readonly();
    FOUND.store(true, Ordering::Relaxed);
}
