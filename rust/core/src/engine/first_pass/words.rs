//! Where the query's terms occur, and what that is worth: BM25 over all of S, part by part.
use std::cmp::Ordering;

use super::super::gather::{Gathered, Part};
use super::hits::Eligible;
use super::nearest::{Largest, Place};
use super::{BEST_BY_WORDS, BEST_OF_REST, FirstPass, SOON};
use crate::lexical::Posting;
use crate::lexical::bm25::{B, K1, idf};
use crate::rank::signals::window::{AFTER, LEAST, NEXT};
use crate::vector::hamming::prefetch;
use crate::vector::wide::widely;

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

/// What BM25 says of rows: of each with its share of what stands beside it, as signal `window` has it.
#[derive(Default)]
pub(super) struct ByWords {
    pub best: Vec<(Place, f32)>,
    /// Of each row of S, by index.
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

    /// `avg_len` is the mean number of terms of S.
    pub fn score(&self, pass: &FirstPass, gathered: &Gathered, avg_len: f32) -> ByWords {
        let weights = self.weights(gathered.memories());
        let mut best = Largest::above(0.0, pass.most(BEST_BY_WORDS));
        let mut others = Largest::above(0.0, BEST_OF_REST);
        let mut found = ByWords { scores: vec![0.0; gathered.len()], ..ByWords::default() };
        let marks = gathered.marks();
        let mut sums = Sums::by(avg_len);
        for (number, part) in (0_u32..).zip(gathered.parts()) {
            let lists = self.of_part(number as usize);
            gathered.prefetch_postings(number as usize + SOON);
            self.of_part(number as usize + SOON).iter().for_each(|list| prefetch(list.as_ptr()));
            if lists.iter().zip(&weights).all(|(list, weight)| list.is_empty() || *weight <= 0.0) {
                continue;
            }
            let own = part.base()..part.base() + part.rows.len();
            let (Some(scores), Some(short)) = (found.scores.get_mut(own.clone()), marks.short.get(own)) else {
                continue;
            };
            sums.score(part, lists, &weights, short, scores);
            let eligible = Eligible::of(part, &pass.wanted);
            take(&mut best, &mut others, &mut found.largest, scores, number, part, &eligible);
        }
        found.best = best.scored();
        found.rest = others.scored().into_iter().map(|(place, _)| place).collect();
        found
    }
}

/// BM25 of the rows of a part.
struct Sums {
    per_term: f32,
    without: f32,
    /// By row of the segment.
    all: Vec<f32>,
    /// By index in the part, with [`BESIDE`] more at either end.
    own: Vec<f32>,
    short: Vec<f32>,
}

/// So many turns either side are in a turn's window.
const BESIDE: usize = 2;

impl Sums {
    fn by(avg_len: f32) -> Self {
        let per_term = if avg_len > 0.0 { K1 * B / avg_len } else { 0.0 };
        let without = if avg_len > 0.0 { K1 * (1.0 - B) } else { K1 };
        Self { per_term, without, all: Vec::new(), own: Vec::new(), short: Vec::new() }
    }

    /// What is said in the window of each row of a part, near enough: rows stand in the order of their turns, mostly.
    fn score(&mut self, part: &Part, lists: &[&[Posting]], weights: &[f32], short: &[u8], out: &mut [f32]) {
        let lens = part.segment.postings().lens();
        if self.all.len() < lens.len() {
            self.all.resize(lens.len(), 0.0);
        }
        let weighted = || lists.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
        let mut postings = 0;
        for (list, weight) in weighted() {
            postings += list.len();
            for posting in *list {
                let (row, tf) = (posting.row as usize, posting.tf as f32);
                if let (Some(sum), Some(len)) = (self.all.get_mut(row), lens.get(row)) {
                    *sum += weight * tf / (tf + self.without + self.per_term * *len as f32);
                }
            }
        }
        if part.is_whole() && postings * SPARSE < out.len() {
            for posting in weighted().flat_map(|(list, _)| *list) {
                let said = self.all.get_mut(posting.row as usize).map(std::mem::take).unwrap_or_default();
                if said > 0.0 {
                    lend(said, posting.row as usize, short, out);
                }
            }
            return;
        }
        self.own.clear();
        self.own.resize(BESIDE, 0.0);
        let of = |row: &u32| self.all.get(*row as usize).copied().unwrap_or_default();
        if part.is_whole() {
            self.own.extend_from_slice(self.all.get(..out.len()).unwrap_or_default());
        } else {
            self.own.extend(part.rows.iter().map(of));
        }
        self.own.resize(out.len() + 2 * BESIDE, 0.0);
        self.all.get_mut(..lens.len()).unwrap_or_default().fill(0.0);
        self.with_neighbours(short, out);
    }

    fn with_neighbours(&mut self, short: &[u8], out: &mut [f32]) {
        self.short.clear();
        self.short.resize(BESIDE, 0.0);
        self.short.extend(short.iter().map(|short| f32::from(*short) * (1.0 / 255.0)));
        self.short.resize(self.short.len() + BESIDE, 0.0);
        let len = out.len();
        let of = |from: usize| (self.own.get(from..from + len), self.short.get(from..from + len));
        let (Some(own), Some(own_short)) = of(BESIDE) else { return };
        out.copy_from_slice(own);
        for (from, most) in [(0, AFTER), (1, NEXT), (3, NEXT), (4, AFTER)] {
            let (Some(other), Some(other_short)) = of(from) else { return };
            widely(|| {
                for (((out, a), b), other) in out.iter_mut().zip(own_short).zip(other_short).zip(other) {
                    let share = most * a * b;
                    *out += if share >= LEAST { share * other } else { 0.0 };
                }
            });
        }
    }
}

/// A part is gone through row by row where it has less than so many rows for each occurrence.
const SPARSE: usize = 8;

/// Adds what a row says to its own window and to those beside it.
fn lend(said: f32, row: usize, short: &[u8], out: &mut [f32]) {
    let of = |row: usize| short.get(row).map_or(0.0, |short| f32::from(*short) * (1.0 / 255.0));
    let own = of(row);
    let before = [(row.wrapping_sub(2), AFTER), (row.wrapping_sub(1), NEXT)];
    for (other, most) in before.into_iter().chain([(row + 1, NEXT), (row + 2, AFTER)]) {
        let share = most * own * of(other);
        if share >= LEAST {
            out.get_mut(other).into_iter().for_each(|out| *out += share * said);
        }
    }
    out.get_mut(row).into_iter().for_each(|out| *out += said);
}

/// Rows of a part that are looked at together.
pub(super) const BLOCK: usize = 16;

fn take(
    best: &mut Largest<Place>,
    rest: &mut Largest<Place>,
    largest: &mut f32,
    scores: &[f32],
    number: u32,
    part: &Part,
    eligible: &Eligible,
) {
    for (block, rows) in scores.chunks(BLOCK).zip(part.rows.chunks(BLOCK)) {
        let most = block.iter().fold(0.0_f32, |most, score| if *score > most { *score } else { most });
        // What is not among the best is of use only where it is not wanted.
        let least = if eligible.admits_all() { best.least() } else { best.least().min(rest.least()) };
        *largest = largest.max(most);
        if most <= least {
            continue;
        }
        for (row, score) in rows.iter().zip(block) {
            if *score > best.least() && eligible.admits(*row) {
                best.push(*score, (number, *row));
            } else if *score > rest.least() && !eligible.admits(*row) {
                rest.push(*score, (number, *row));
            }
        }
    }
}
