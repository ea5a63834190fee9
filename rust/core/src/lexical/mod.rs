//! Which words a memory and a query share, and what that is worth.
//!
//! `analyze` turns text into terms, `postings` finds the rows that have a term, `bm25` weighs them. No ranking here.
mod analyze;
pub mod bm25;
mod fold;
mod postings;
mod script;
mod split;
mod stopwords;
#[cfg(test)]
mod tests;

pub use analyze::{Analyzer, Term, term_hash};
pub use postings::{Posting, Postings};
pub use split::word_count;

/// Version of what is stored of a text's analysis: the terms that [`Analyzer`] gives, and the marks of `rank::language::marks`.
pub const ANALYSIS_VERSION: i64 = 1;
