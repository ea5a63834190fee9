//! The binding: one door between Python and the core. A file a concern: `core` the collection, `request` what comes in,
//! `memory` what goes out, `packing` the budget functions, `calibrate` samples and what they say, `excerpt` what of long memories to pack,
//! `late_interaction` word by word, `ids` where memories' ids come from, `report` what a verification found, `moving` what goes in and out as a file, `repair` a new file from a damaged one,
//! `names` the keys of dictionaries, `arrays` numpy's interface, `door` the way through, `courtesy` to other threads, `errors` the way back.
#![allow(clippy::needless_pass_by_value)] // what PyO3 extracts is owned

mod arrays;
mod calibrate;
mod core;
mod courtesy;
mod door;
mod errors;
mod excerpt;
mod ids;
mod late_interaction;
mod memory;
mod moving;
mod names;
mod packing;
mod repair;
mod report;
mod request;

use pyo3::prelude::*;

// Without the interpreter lock it is not shown on a build that PyO3 supports: see docs/operations.md.
#[pymodule(gil_used = true)]
mod _core {
    #[pymodule_export]
    use crate::arrays::{checked_vectors, find_arrays};
    #[pymodule_export]
    use crate::calibrate::{cosines, measure};
    #[pymodule_export]
    use crate::core::Core;
    #[pymodule_export]
    use crate::courtesy::{give_way, settle};
    #[pymodule_export]
    use crate::ids::Ulids;
    #[pymodule_export]
    use crate::late_interaction::late_interaction;
    #[pymodule_export]
    use crate::memory::{ContextParts, Memory, Ranked};
    #[pymodule_export]
    use crate::moving::{Exported, Staging, is_open_file};
    #[pymodule_export]
    use crate::packing::{Packed, estimate_tokens, feedback_score, select, validate_filter, validate_signals};
    #[pymodule_export]
    use crate::repair::repair;
    #[pymodule_export]
    #[allow(non_upper_case_globals)] // the name Python has for it
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// An argument of a wrong type is refused here once, while a fork waits for this import: `PyO3` keeps a name for that (see `names`).
    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyAnyMethods;
        let refused = module.getattr("estimate_tokens")?.call1((module.py().None(),));
        debug_assert!(refused.is_err(), "a text is asked for");
        Ok(())
    }
}
