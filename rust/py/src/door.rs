//! The one door from Python into the core: detach, run, attach, map the error, honour Ctrl-C.
use std::sync::Mutex;

use pyo3::prelude::*;
use retentive_core::error::Result;
use retentive_core::store::Interrupt;

use crate::{courtesy, errors};

/// Runs `job` without the interpreter. The core calls the interrupt check while it waits for a busy file, with no lock
/// held and outside the fork gate, so a signal handler may use the same collection or fork.
pub fn call<T: Send>(py: Python<'_>, job: impl FnOnce(Interrupt<'_>) -> Result<T> + Send) -> PyResult<T> {
    call_telling(py, |_| Ok(()), job)
}

/// As [`call`], for long work in a thread of its own: each time this one looks whether to stop, it also runs `tell`. What that raises
/// ends the work.
pub fn call_telling<T: Send>(
    py: Python<'_>,
    tell: impl Fn(Python<'_>) -> PyResult<()> + Sync,
    job: impl FnOnce(Interrupt<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let raised: Mutex<Option<PyErr>> = Mutex::new(None);
    let interrupt = || {
        Python::attach(|py| match py.check_signals().and_then(|()| tell(py)) {
            Ok(()) => false,
            Err(error) => {
                if let Ok(mut slot) = raised.lock() {
                    *slot = Some(error);
                }
                true
            }
        })
    };
    let outcome = py.detach(|| job(&interrupt));
    courtesy::taken();
    // Also where the work was done by then: who raised it waits for it.
    match raised.into_inner().ok().flatten() {
        Some(raised) => Err(raised),
        None => outcome.map_err(|error| errors::to_python(py, &error)),
    }
}
