//! What a ranking sees: scope S as columns. Row i of each column is memory i of S, in insertion order.
use super::query::Query;
use super::refuse::Extent;
use super::signals::window::Shares;
use super::terms::TermMatches;
use super::thread::Thread;
use crate::model::{Kind, Period};

/// A memory that nobody with a name said.
pub const NO_SPEAKER: u32 = u32::MAX;

/// The cosines of the second model, as `Scene::cosine` those of the first, and its share of the dense signal.
#[derive(Debug, Clone, Copy)]
pub struct Second<'a> {
    pub cosine: &'a [f32],
    /// 0 to 1.
    pub share: f32,
}

/// How the terms of a query are spread over what stands together in S. Where S is looked at as a whole the signals count it themselves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spread {
    /// How many windows of S hold each term, in the query's order.
    pub windows: Vec<u32>,
    /// Indexed terms of a window, their mean.
    pub window_len: f32,
    pub sittings: usize,
    /// How many sittings hold each term.
    pub sittings_with: Vec<u32>,
    /// Indexed terms of a sitting, their mean.
    pub sitting_len: f32,
    /// Of each sitting of the columns, by number: its indexed terms, those included that are not in the columns.
    pub lens: Vec<u32>,
    /// And how often it holds each term, likewise; empty for a term that nearly all sittings hold.
    pub said: Vec<Vec<u32>>,
}

/// Scope S of one read. A new signal adds the column it needs here.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    pub query: &'a Query,
    /// How much S is, where a first pass kept only some of it; the columns then hold what was kept.
    pub extent: Option<Extent>,
    /// And how the query's terms are spread over S.
    pub spread: Option<&'a Spread>,
    /// The best cosine of the memory's vectors with the query vector (where the embedder has it the one that the scope's statistics
    /// weight), negative infinity for a memory without one; `None` when the read has no query vector.
    pub cosine: Option<&'a [f32]>,
    /// Of the second model, where the collection has two; `cosine` is the first one's.
    pub second: Option<Second<'a>>,
    pub matches: &'a TermMatches,
    /// Indexed terms of the memory, and their mean over S.
    pub doc_len: &'a [u32],
    pub avg_len: f32,
    /// Tokens by the built-in estimate, whatever the caller's counter.
    pub tokens: &'a [u32],
    /// Microseconds UTC.
    pub ts: &'a [i64],
    pub kind: &'a [Kind],
    /// The user said it, or it is a fact.
    pub user_words: &'a [bool],
    /// Share of the memory's characters in sentences that end in a question mark.
    pub question_share: &'a [f32],
    /// The memory's own words say when something is; name somebody or something.
    pub names_time: &'a [bool],
    pub names_proper: &'a [bool],
    /// The days that memories' own words mean, by rising row; rows without any are left out.
    pub periods: &'a [(u32, &'a [Period])],
    /// Who said it, as an index into `speakers`; [`NO_SPEAKER`].
    pub speaker: &'a [u32],
    /// Whether each speaker of S is named in the query.
    pub named: &'a [bool],
    pub thread: &'a Thread,
    /// How much of each other's terms turns of the thread take, and facts and the turns that they cite.
    pub shares: &'a Shares,
    /// Facts with the turns they came from, as pairs of rows, by rising fact.
    pub citations: &'a [(u32, u32)],
}

impl Scene<'_> {
    /// Memories in S, of which there are [`Self::len`] in the columns.
    #[must_use]
    pub fn memories(&self) -> usize {
        self.extent.map_or(self.len(), |extent| extent.memories)
    }

    /// Rows of the columns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }
}
