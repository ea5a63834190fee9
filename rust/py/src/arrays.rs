//! Numpy's own interface, found at the first array.
//!
//! What finds it lets go of the interpreter on the way, and a child that another thread forks meanwhile would wait for ever for its end.
//! So it is found inside the import of a module of ours: a fork waits for imports (`_fork.py`).
use std::sync::atomic::{AtomicBool, Ordering};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods, ToPyArray};
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

/// A copy of a float32 vector, or of the rows of an array of them, where each has a direction; none of anything else, which the facade
/// looks at more closely.
#[pyfunction]
pub fn checked_vectors<'py>(py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    ready(py)?;
    if let Ok(vector) = value.cast::<PyArray1<f32>>() {
        let Ok(vector) = vector.try_readonly() else { return Ok(None) };
        let checked = vector.as_slice().ok().filter(|values| has_direction(values));
        return Ok(checked.map(|values| values.to_pyarray(py).into_any()));
    }
    let Ok(rows) = value.cast::<PyArray2<f32>>() else { return Ok(None) };
    let Ok(rows) = rows.try_readonly() else { return Ok(None) };
    let (Ok(values), &[count, length]) = (rows.as_slice(), rows.shape()) else { return Ok(None) };
    if count == 0 || length == 0 || !values.chunks_exact(length).all(has_direction) {
        return Ok(None);
    }
    Ok(Some(rows.as_array().to_pyarray(py).into_any()))
}

/// What `_arrays.py` calls while it is imported.
#[pyfunction]
pub fn find_arrays(py: Python<'_>) {
    let _ = PyArray2::<f32>::zeros(py, [1, 1], false).readonly();
    FOUND.store(true, Ordering::Relaxed);
}
