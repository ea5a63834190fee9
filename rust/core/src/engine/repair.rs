//! `repair`: what is left of a damaged collection, in a new one. Needs no open collection.
use crate::error::Result;
use crate::lexical::Analyzer;
use crate::store::{self, Interrupt, Report};

pub use crate::store::SalvageOptions as RepairOptions;

/// Saves what can be read. The report's counts are rows saved, its problems are what was lost.
pub fn repair(options: &RepairOptions, interrupt: Interrupt) -> Result<Report> {
    Analyzer::new(&options.language)?;
    store::salvage(options, interrupt)
}
