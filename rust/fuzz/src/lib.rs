//! What is fuzzed: each target is one function of any bytes that panics when something is wrong.
//!
//! `fuzz_targets/` gives them to libFuzzer; `tests/corpus.rs` runs them over the kept corpus and over made-up bytes with the
//! stable compiler.
pub mod analysis;
pub mod filters;
pub mod operations;
pub mod packing;
