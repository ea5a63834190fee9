//! What fits the budget, and how does it read? Pure: lines and a counter in, the block and what was left out, and why.
//!
//! `render` makes a memory a line that can pose as nothing else, `timeline` orders what was retrieved, `context` fills a block (a `draft`),
//! `select` a list of results; of a fact and the turns it came from (`sources`) neither packs both, and which of them is offered first tells the `order`. A long memory is shortened to an `excerpt` of its `sentences`.
mod context;
mod draft;
mod excerpt;
mod order;
mod render;
mod select;
mod sentences;
mod sources;
mod timeline;

pub use context::{Packed, Wanted, pack_context, pack_context_additive, recent_share};
pub use draft::AdditiveCount;
pub use excerpt::{Excerpting, Length};
pub use order::{Offered, order};
pub use render::{Line, Section};
pub use select::{Selection, select};
pub use sources::Sources;

/// Why something of the pool was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    OverBudget,
    OverLimit,
    BelowScoreGap,
    BelowMinRelevance,
    /// It stands in the block already, in another section.
    AlreadyInContext,
    /// A fact all of whose turns are there themselves.
    SaidByItsTurns,
}

impl DropReason {
    /// As users see it; stable.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OverBudget => "over budget",
            Self::OverLimit => "over limit",
            Self::BelowScoreGap => "below score gap",
            Self::BelowMinRelevance => "below min relevance",
            Self::AlreadyInContext => "already in context",
            Self::SaidByItsTurns => "said by its turns",
        }
    }
}
