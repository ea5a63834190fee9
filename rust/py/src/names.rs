//! Keys of the facade's dictionaries, each made once.
use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::PyString;

/// The Python string of a literal, made at its first use.
///
/// Not `PyO3`'s own `intern!`: that lets go of the interpreter while it makes one, and a child that another thread forks meanwhile waits
/// for ever for its end. Here the interpreter is held throughout, and nobody forks without it.
macro_rules! name {
    ($py:expr, $text:literal) => {{
        static NAME: std::sync::OnceLock<pyo3::Py<pyo3::types::PyString>> = std::sync::OnceLock::new();
        $crate::names::kept(&NAME, $py, $text)
    }};
}
pub(crate) use name;

pub fn kept<'py>(name: &'static OnceLock<Py<PyString>>, py: Python<'py>, text: &str) -> &'py Bound<'py, PyString> {
    name.get_or_init(|| PyString::intern(py, text).unbind()).bind(py)
}
