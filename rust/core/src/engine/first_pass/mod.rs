//! The first pass over a large scope: which of its memories are worth ranking.
//!
//! The nearest by the signs of their vectors and the best by BM25 are told apart by an estimate of their relevance; the best of
//! these are kept with what was said around them, and only what is kept is ranked. What the terms and the length of all of S say is
//! summed up before. Figures: `docs/adr/0093-a-first-pass-over-large-scopes.md`.
mod hits;
mod keep;
mod nearest;
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
use crate::vector::hamming;
use crate::vector::quantise::Quantised;
use crate::vector::scan::{Rows, signs};
use hits::Hits;
use nearest::{Largest, Nearest, Place};
use words::Words;

/// Up to so many memories all of them are ranked, which takes some tens of milliseconds at most.
pub const RANKED_WHOLE: usize = 50_000;

/// How many of the nearest by signs are compared by their int8 vectors; eight times the pool where that is more.
const NEAREST: usize = 4_000;
/// How many of the best by BM25.
const BEST_BY_WORDS: usize = 2_000;
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

/// The rows that were found, before they are compared.
struct Found {
    near: Vec<Place>,
    /// The largest distances, by model.
    far: Vec<Place>,
    /// Rows that the query's dates or names speak for, the nearest of them.
    spoken_for: Vec<Place>,
    /// The nearest of those that may not be recalled.
    rest: Vec<Place>,
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
        let found = self.nearest(gathered, &directions, &spoken)?;
        let scale = totals.doc_len as f32 / totals.memories.max(1) as f32;
        let hits = Hits::of(self, gathered, &directions, found, &words, scale, &spoken)?;
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

    /// One scan of the signs.
    fn nearest(&self, gathered: &Gathered, directions: &[Direction], spoken: &hits::SpokenFor) -> Result<Found> {
        let mut found = Found { near: Vec::new(), far: Vec::new(), spoken_for: Vec::new(), rest: Vec::new() };
        let (mut distances, mut nearer, mut farther) = (Vec::new(), Vec::new(), Vec::new());
        for direction in directions {
            let longest = direction.vector.codes.len();
            let mut near = Nearest::new(self.most(NEAREST), longest);
            let mut spoken_for = Nearest::new(self.most(NEAREST) / 2, longest);
            let mut far = Nearest::new(FARTHEST, longest);
            let mut rest = Nearest::new(BEST_OF_REST, longest);
            for (number, part) in (0_u32..).zip(gathered.parts()) {
                gathered.prefetch_rows(number as usize + 2 * SOON, direction.slot);
                let soon = gathered.parts().get(number as usize + SOON);
                soon.and_then(|soon| soon.segment.rows(direction.slot)).into_iter().for_each(Rows::prefetch_signs);
                let Some(rows) = part.segment.rows(direction.slot) else { continue };
                rows.distances_into(&direction.signs, &mut distances)?;
                let speaking = spoken.of_part(number);
                let eligible = hits::Eligible::of(part, &self.wanted);
                nearer.clear();
                let farthest = hamming::nearer(&distances, near.bound(), &mut nearer);
                for at in &nearer {
                    let found = (distances.get(*at as usize), rows.owners().get(*at as usize));
                    let (Some(distance), Some(row)) = found else { continue };
                    if *distance >= near.bound() {
                        continue;
                    }
                    if eligible.admits(*row) {
                        near.push(*distance, (number, *row));
                    } else if *distance < rest.bound() && part.holds(*row) {
                        rest.push(*distance, (number, *row));
                    }
                }
                let from_far = |distance: u32| (longest as u32).saturating_sub(distance);
                if from_far(farthest) < far.bound() {
                    farther.clear();
                    hamming::farther(&distances, (longest as u32 + 1).saturating_sub(far.bound()), &mut farther);
                    for (distance, row) in farther.iter().filter_map(|at| found_at(&distances, rows, *at)) {
                        if from_far(distance) < far.bound() && part.holds(row) {
                            far.push(from_far(distance), (number, row));
                        }
                    }
                }
                let Some(speaking) = speaking else { continue };
                for (distance, row) in distances.iter().zip(rows.owners()) {
                    let counts = *distance < spoken_for.bound() && eligible.admits(*row);
                    if counts && speaking.counts(part, *row) > 0.0 {
                        spoken_for.push(*distance, (number, *row));
                    }
                }
            }
            found.near.extend(near.places());
            found.far.extend(far.places());
            found.rest.extend(rest.places());
            found.spoken_for.extend(spoken_for.places());
        }
        if directions.is_empty() {
            found.spoken_for = self.latest_spoken_for(gathered, spoken);
        }
        Ok(found)
    }

    /// Of a read by words alone, what the query's dates or names speak for: the last of it.
    fn latest_spoken_for(&self, gathered: &Gathered, spoken: &hits::SpokenFor) -> Vec<Place> {
        let mut largest = Largest::above(0.0, self.most(NEAREST) / 2);
        for (number, part) in (0_u32..).zip(gathered.parts()) {
            let Some(speaking) = spoken.of_part(number) else { continue };
            let eligible = hits::Eligible::of(part, &self.wanted);
            for row in part.rows.iter().copied().filter(|row| eligible.admits(*row)) {
                let counts = speaking.counts(part, row);
                if counts > 0.0 && counts >= largest.least() {
                    largest.push(counts, (number, row));
                }
            }
        }
        largest.scored().into_iter().map(|(place, _)| place).collect()
    }
}

/// The distance at a place of a scan, and the memory that it is of.
fn found_at(distances: &[u32], rows: &Rows, at: u32) -> Option<(u32, u32)> {
    Some((*distances.get(at as usize)?, *rows.owners().get(at as usize)?))
}
