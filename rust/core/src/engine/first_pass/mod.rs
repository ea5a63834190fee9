//! The first pass over a large scope: which of its memories are worth ranking.
//!
//! The nearest by the signs of their vectors and the best by BM25 are told apart by an estimate of their relevance; the best of
//! these are kept with what was said around them, and only what is kept is ranked. What the terms and the length of all of S say is
//! summed up before. Figures: `docs/adr/0093-a-first-pass-over-large-scopes.md`.
mod estimate;
mod hits;
mod keep;
mod nearest;
mod scan;
mod spread;
mod threads;
mod words;

use std::borrow::Cow;
use std::collections::HashSet;

use super::columns::Asked;
use super::gather::{Chosen, Gathered};
use crate::error::Result;
use crate::model::{Kind, Slot};
use crate::partition::Entry;
use crate::rank::query::Query;
use crate::rank::weights::Weights;
use crate::store::Seq;
use crate::vector::quantise::Quantised;
use crate::vector::scan::signs;
use estimate::{Adding, Line};
use hits::Hits;
use nearest::Place;
use scan::Scan;
use words::{ByWords, Words};

/// Up to so many memories all of them are ranked, which takes some tens of milliseconds at most.
pub const RANKED_WHOLE: usize = 50_000;

/// How many rows are compared by their int8 vectors since an estimate is in favour of them; eight times the pool where that is more.
const PROMISING: usize = 2_000;
/// How many of the nearest by signs alone, and of the best by words alone.
const NEAREST: usize = 300;
const BEST_BY_WORDS: usize = 300;
/// So many of the latter tell how near the nearest are.
const BEST_COMPARED: usize = 64;
/// The rows with the largest distance of all, among which that of the least cosine is looked for.
const FARTHEST: usize = 6_000;
/// So many of them are kept, of the least cosine.
const LEAST: usize = 4;
/// Where not all of S may be recalled, so many of the best of the rest are kept: how much a score is worth is told by the best of S.
const BEST_OF_REST: usize = 200;

/// What a first pass goes by.
pub(super) struct FirstPass<'a> {
    pub asked: &'a Asked<'a>,
    pub query: &'a Query,
    pub weights: &'a Weights,
    pub wanted: Wanted<'a>,
    /// How many memories the ranking pools at least.
    pub pool: usize,
    pub sitting_gap_us: i64,
}

/// Which memories of S may be recalled.
pub(super) struct Wanted<'a> {
    pub kinds: &'a [Kind],
    pub least_words: u32,
    pub roles: Option<&'a [String]>,
    pub left_out: HashSet<Seq>,
}

impl Wanted<'_> {
    /// `roles` are the codes of those that are recalled in the memory's partition.
    fn wants(&self, entry: &Entry, roles: Option<&[u32]>) -> bool {
        let is_turn = entry.kind == Kind::Turn;
        self.kinds.contains(&entry.kind)
            && (!is_turn || (entry.words >= self.least_words && roles.is_none_or(|roles| roles.contains(&entry.role))))
            && !self.left_out.contains(&entry.seq)
    }
}

/// A query's direction by one model.
struct Direction<'a> {
    slot: Slot,
    vector: Cow<'a, Quantised>,
    signs: Vec<u64>,
}

/// So many parts ahead memory is asked for.
const SOON: usize = 3;

impl FirstPass<'_> {
    /// What is kept of a scope; `None` where nothing tells its memories apart, or too much of it would be kept.
    pub fn choose(&self, gathered: &Gathered) -> Result<Option<Gathered>> {
        if self.pool.saturating_mul(16) > gathered.len() {
            return Ok(None);
        }
        let totals = gathered.totals();
        let words = Words::of(gathered, self.asked.terms);
        let directions = self.directions(totals.memories, &words);
        if directions.is_empty() && words.is_empty() {
            return Ok(None);
        }
        let spoken = hits::SpokenFor::of(gathered, self.query);
        let mean = totals.doc_len as f32 / totals.memories.max(1) as f32;
        let by_words = words.score(self, gathered, mean);
        let adding = Adding::of(self, &spoken);
        let lines = self.lines(gathered, &directions, &by_words, adding.dense)?;
        let scan =
            Scan { pass: self, gathered, directions: &directions, lines: &lines, by_words: &by_words, adding: &adding };
        let mut found = scan.run()?;
        if directions.is_empty() {
            found.near = scan::latest_spoken_for(self, gathered, &spoken);
        }
        let hits = Hits::of(self, gathered, &directions, found, by_words, &adding)?;
        let keep::Rows { by_part, runs, sittings, spread } = keep::kept(self, gathered, &hits, &words, totals);
        let chosen = Chosen { totals, df: words.df(), spread, names_several: spoken.names_several, runs, sittings };
        Ok(Some(gathered.keep(by_part, chosen)))
    }

    fn most(&self, usual: usize) -> usize {
        usual.max(self.pool.saturating_mul(8))
    }

    fn directions(&self, memories: usize, words: &Words) -> Vec<Direction<'_>> {
        let directions = self.asked.vectors.iter().enumerate().filter_map(|(slot, asked)| {
            let vector = asked.direction(memories, |term| words.df_of(term))?;
            Some(Direction { slot, signs: signs(&vector.codes).collect(), vector })
        });
        directions.collect()
    }

    /// What the distances in each direction are worth.
    fn lines(&self, gathered: &Gathered, directions: &[Direction], words: &ByWords, dense: f32) -> Result<Vec<Line>> {
        let second = if self.asked.vectors.len() > 1 { self.asked.second_share } else { 0.0 };
        let mut best = words.best.clone();
        best.sort_by(|a, b| b.1.total_cmp(&a.1));
        let best: Vec<Place> = best.into_iter().take(BEST_COMPARED).map(|(place, _)| place).collect();
        let share = |slot: Slot| dense * if slot == 0 { 1.0 - second } else { second };
        directions.iter().map(|direction| Line::of(gathered, direction, &best, share(direction.slot))).collect()
    }
}
