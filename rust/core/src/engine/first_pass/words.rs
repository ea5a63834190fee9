//! Where the query's terms occur, and what that is worth: BM25 over all of S, part by part.
use std::cmp::Ordering;

use super::super::gather::{Gathered, Part};
use super::hits::Eligible;
use super::nearest::{Largest, Place};
use super::{BEST_BY_WORDS, BEST_OF_REST, FirstPass, SOON};
use crate::lexical::Posting;
use crate::lexical::bm25::{B, K1, idf};
use crate::vector::hamming::prefetch;

/// The share of the query's idf that is not looked for.
const IGNORED: f32 = 0.1;

/// The lists of every term in every part.
pub(super) struct Words<'g> {
    /// By rising hash.
    terms: Vec<Term>,
    /// By part, then term.
    lists: Vec<&'g [Posting]>,
}

struct Term {
    hash: u64,
    query_count: u32,
    /// Memories of S that hold it.
    df: u32,
}

/// What BM25 says of rows.
#[derive(Default)]
pub(super) struct ByWords {
    pub best: Vec<(Place, f32)>,
    /// Of the rows that were asked about, in their order.
    pub scores: Vec<f32>,
    /// The largest of all.
    pub largest: f32,
    /// The best of those that may not be recalled.
    pub rest: Vec<Place>,
}

impl<'g> Words<'g> {
    pub fn of(gathered: &'g Gathered, terms: &[(u64, u32)]) -> Self {
        let mut terms: Vec<Term> =
            terms.iter().map(|(hash, query_count)| Term { hash: *hash, query_count: *query_count, df: 0 }).collect();
        let mut lists = Vec::with_capacity(terms.len() * gathered.parts().len());
        for (number, part) in gathered.parts().iter().enumerate() {
            gathered.prefetch_postings(number + SOON);
            for term in &mut terms {
                let list = part.segment.postings().get(term.hash);
                term.df += if part.is_whole() {
                    list.len() as u32
                } else {
                    list.iter().filter(|posting| part.holds(posting.row)).count() as u32
                };
                lists.push(list);
            }
        }
        Self { terms, lists }
    }

    /// No memory of S holds any of them.
    pub fn is_empty(&self) -> bool {
        self.terms.iter().all(|term| term.df == 0)
    }

    /// Where each term occurs in a part.
    pub fn of_part(&self, part: usize) -> &[&'g [Posting]] {
        let first = part * self.terms.len();
        self.lists.get(first..first + self.terms.len()).unwrap_or_default()
    }

    /// In how many memories of S each term occurs.
    pub fn df(&self) -> Vec<u32> {
        self.terms.iter().map(|term| term.df).collect()
    }

    pub fn df_of(&self, hash: u64) -> u32 {
        let found = self.terms.binary_search_by_key(&hash, |term| term.hash).ok();
        found.and_then(|at| self.terms.get(at)).map_or(0, |term| term.df)
    }

    /// What each term weighs; 0 for the commonest, which together hold less than a tenth of all and most of the postings.
    fn weights(&self, memories: usize) -> Vec<f32> {
        let weight = |term: &Term| idf(memories, term.df as usize) * term.query_count as f32 * (K1 + 1.0);
        let mut weights: Vec<f32> = self.terms.iter().map(weight).collect();
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by(|a, b| weights.get(*a).partial_cmp(&weights.get(*b)).unwrap_or(Ordering::Equal));
        let mut left = IGNORED * weights.iter().sum::<f32>();
        for at in order {
            let Some(weight) = weights.get_mut(at).filter(|weight| **weight < left) else { break };
            left -= std::mem::take(weight);
        }
        weights
    }

    /// The best by BM25, and the scores of the rows asked about, which rise.
    pub fn score(&self, pass: &FirstPass, gathered: &Gathered, avg_len: f32, asked: &[Place]) -> ByWords {
        let memories = gathered.memories();
        let weights = self.weights(memories);
        let mut best = Largest::above(0.0, pass.most(BEST_BY_WORDS));
        let mut found = ByWords { scores: Vec::with_capacity(asked.len()), ..ByWords::default() };
        let mut others = Largest::above(0.0, BEST_OF_REST);
        let (mut sums, mut asked) = (Vec::new(), asked);
        let per_row = if avg_len > 0.0 { K1 * B / avg_len } else { 0.0 };
        let per_row_without = if avg_len > 0.0 { K1 * (1.0 - B) } else { K1 };
        for (number, part) in (0_u32..).zip(gathered.parts()) {
            let (own, rest) = asked.split_at(asked.partition_point(|(of, _)| *of == number));
            asked = rest;
            let lists = self.of_part(number as usize);
            gathered.prefetch_postings(number as usize + SOON);
            self.of_part(number as usize + SOON).iter().for_each(|list| prefetch(list.as_ptr()));
            if lists.iter().zip(&weights).all(|(list, weight)| list.is_empty() || *weight <= 0.0) {
                found.scores.extend(own.iter().map(|_| 0.0));
                continue;
            }
            let lens = part.segment.postings().lens();
            sums.clear();
            sums.resize(lens.len(), 0.0_f32);
            for (list, weight) in lists.iter().zip(&weights).filter(|(_, weight)| **weight > 0.0) {
                for posting in *list {
                    let (row, tf) = (posting.row as usize, posting.tf as f32);
                    if let (Some(sum), Some(len)) = (sums.get_mut(row), lens.get(row)) {
                        *sum += weight * tf / (tf + per_row_without + per_row * *len as f32);
                    }
                }
            }
            found.scores.extend(own.iter().map(|(_, row)| sums.get(*row as usize).copied().unwrap_or(0.0)));
            take(&mut best, &mut others, &mut found.largest, &sums, number, part, &Eligible::of(part, &pass.wanted));
        }
        found.best = best.scored();
        found.rest = others.scored().into_iter().map(|(place, _)| place).collect();
        found
    }
}

/// Rows of a part that are looked at together.
const BLOCK: usize = 16;

fn take(
    best: &mut Largest,
    rest: &mut Largest,
    largest: &mut f32,
    sums: &[f32],
    number: u32,
    part: &Part,
    eligible: &Eligible,
) {
    for (block, first) in sums.chunks(BLOCK).zip((0_u32..).step_by(BLOCK)) {
        let most = block.iter().fold(0.0_f32, |most, sum| if *sum > most { *sum } else { most });
        // What is not among the best is of use only where it is not wanted.
        let least = if eligible.admits_all() { best.least() } else { best.least().min(rest.least()) };
        if most <= least && most <= *largest {
            continue;
        }
        for (row, sum) in (first..).zip(block) {
            if *sum > *largest && part.holds(row) {
                *largest = *sum;
            }
            if *sum > best.least() && eligible.admits(row) {
                best.push(*sum, (number, row));
            } else if *sum > rest.least() && !eligible.admits(row) && part.holds(row) {
                rest.push(*sum, (number, row));
            }
        }
    }
}
