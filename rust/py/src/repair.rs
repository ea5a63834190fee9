//! `repair`: a damaged file's rows into a new one.
use std::path::PathBuf;

use pyo3::prelude::*;
use retentive_core::engine;

use crate::core::entropy;
use crate::door::call;
use crate::report::{Found, found};

/// `copy` is a copy of the damaged file, which may be changed.
#[pyfunction]
pub fn repair(py: Python<'_>, copy: PathBuf, into: PathBuf, language: String, entropy: &[u8]) -> PyResult<Found> {
    call(py, |interrupt| {
        let options = engine::RepairOptions { copy, into, language, entropy: self::entropy(entropy)? };
        engine::repair(&options, interrupt)
    })
    .map(found)
}
