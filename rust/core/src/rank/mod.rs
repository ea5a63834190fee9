//! Which memories matter for this query, and why? Numbers in, numbers out: no SQL, no clock, no text of memories.
//!
//! `scene` is what a ranking sees, `signals/` the terms of the weighted sum that `relevance` adds up; `blend` orders the
//! best of it by recency and feedback too (`decay`), `refuse` says when nothing is relevant, `explain` shows the parts.
//! `late_interaction` is what it asks of the best memories' tokens. `cited` is what a fact has from the turns it came from, `witness` how
//! far they bear it out.
//! `language/` holds what a query's words say, one file per language; `search` is the plain score without a thread, `answers` that of sentences.
pub mod answers;
pub mod blend;
pub mod calibrate;
pub mod cited;
pub mod decay;
pub mod explain;
pub mod language;
pub mod late_interaction;
pub mod min_max;
pub mod mode;
pub mod query;
pub mod refuse;
pub mod relevance;
pub mod scene;
pub mod search;
pub mod signals;
pub mod term_weights;
pub mod terms;
pub mod thread;
pub mod weights;
pub mod witness;

#[cfg(test)]
mod sample;
#[cfg(test)]
mod timing;
