//! The binding: one door between Python and the core.
use pyo3::prelude::*;

#[pymodule]
mod _core {}
