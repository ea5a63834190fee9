//! From the core's error to the Python class: one exhaustive match, no catch-all.
use std::path::Path;

use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use retentive_core::error::Error;

/// The exception of `retentive._errors` (or `OSError`, `KeyboardInterrupt`) that `error` is.
pub fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    raise(py, error).unwrap_or_else(|broken| broken)
}

fn raise(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let message = error.to_string();
    match error {
        Error::InvalidInput(_) => plain(py, "InvalidInputError", message),
        Error::Conflict(_) => plain(py, "ConflictError", message),
        Error::Closed(_) => plain(py, "ClosedError", message),
        Error::Dimension { expected, got, .. } => build(py, "DimensionError", message, |with| {
            with.set_item("expected", expected)?;
            with.set_item("got", got)
        }),
        Error::NotFound { id } => build(py, "NotFoundError", message, |with| with.set_item("id", id)),
        Error::Configuration { hint, .. } => {
            build(py, "ConfigurationError", message, |with| with.set_item("hint", hint))
        }
        Error::Busy { path, .. } => located(py, "BusyError", message, path),
        Error::Corrupt { path, .. } => located(py, "CorruptError", message, path),
        Error::Fingerprint { path, .. } => located(py, "FingerprintError", message, path),
        Error::Full { path, .. } => located(py, "FullError", message, path),
        Error::Store { path, .. } => located(py, "StoreError", message, path),
        Error::Version { path, found, supported, .. } => build(py, "VersionError", message, |with| {
            with.set_item("path", name(path))?;
            with.set_item("found", found)?;
            with.set_item("supported", supported)
        }),
        Error::Io { path, errno, message } => Ok(PyOSError::new_err((*errno, message.clone(), name(path)))),
        Error::Interrupted => Ok(PyKeyboardInterrupt::new_err(())),
    }
}

fn plain(py: Python<'_>, class: &str, message: String) -> PyResult<PyErr> {
    build(py, class, message, |_| Ok(()))
}

fn located(py: Python<'_>, class: &str, message: String, path: &Path) -> PyResult<PyErr> {
    build(py, class, message, |with| with.set_item("path", name(path)))
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

fn build(
    py: Python<'_>,
    class: &str,
    message: String,
    fill: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
) -> PyResult<PyErr> {
    let keywords = PyDict::new(py);
    fill(&keywords)?;
    let class = py.import("retentive._errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call((message,), Some(&keywords))?))
}
