//! Ids made where no Python code can come between: a signal handler, a `__del__` or a garbage collection may make one too.
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use retentive_core::ulid;

/// A source of ids, each above the one before.
#[pyclass(frozen, module = "retentive._core")]
#[derive(Debug, Default)]
pub struct Ulids(Mutex<ulid::Ulids>);

#[pymethods]
impl Ulids {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The next one, of milliseconds since 1970 and ten random bytes.
    fn next(&self, milliseconds: i64, random: &[u8]) -> String {
        let random = random.iter().fold(0, |number, byte| number << 8 | u128::from(*byte));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next(milliseconds, random)
    }
}
