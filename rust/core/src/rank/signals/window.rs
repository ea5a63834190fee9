//! What is talked about around a turn: BM25 of its terms together with its neighbours', `mm`.
//!
//! Of the terms of the turns beside it half counts, of the ones after those a quarter, each times `min(1, 40/L_i) min(1, 40/L_j)`:
//! long texts stand for themselves. What would count under a tenth is left out.
//!
//! A fact stands beside the turns that it cites: of each of k turns it takes half, of those next to it a quarter, both by k, and they
//! as much of it.
//!
//! A turn without a term of the query but with one related to it counts as much of it as they are near: less than half of one
//! occurrence. How rare the term is, only occurrences say.
use super::{Signal, Stage};
use crate::lexical::bm25::{idf, length_norm, saturation};
use crate::rank::min_max::min_max;
use crate::rank::mode::Mode;
use crate::rank::scene::Scene;
use crate::rank::thread::Thread;

pub const NEXT: f32 = 0.5;
pub const AFTER: f32 = 0.25;
pub const LENGTH: f32 = 40.0;
pub const LEAST: f32 = 0.1;

#[derive(Debug)]
pub struct Window;

impl Signal for Window {
    fn name(&self) -> &'static str {
        "window"
    }

    fn stage(&self) -> Stage {
        Stage::Base
    }

    fn default_weight(&self, _dense_weight: f32) -> f32 {
        0.4
    }

    fn silent_in(&self, mode: Mode) -> bool {
        mode == Mode::Dense
    }

    fn is_of_the_turn(&self) -> bool {
        true
    }

    fn contribution(&self, scene: &Scene, _sum: &[f32]) -> Vec<f32> {
        if scene.matches.is_empty() {
            return vec![0.0; scene.len()];
        }
        let shares = scene.shares;
        let (mut sums, mut said) = (vec![0.0_f32; scene.len()], Said::of(scene.len()));
        for (at, ((term, postings), near)) in scene.matches.iter().zip(scene.matches.near()).enumerate() {
            said.add(shares, postings.iter().map(|posting| (posting.row, posting.tf as f32)));
            let known = scene.spread.and_then(|spread| spread.windows.get(at));
            let df = known.map_or(said.rows.len(), |df| *df as usize);
            let idf = idf(scene.memories(), df) * term.query_count as f32;
            said.add(shares, near.iter().map(|near| (near.row, near.weight)));
            said.drain(|row, tf| {
                if let (Some(sum), Some(norm)) = (sums.get_mut(row), shares.norms.get(row)) {
                    *sum += idf * saturation(tf, *norm);
                }
            });
        }
        min_max(&mut sums);
        sums
    }
}

/// How often a term is said in each window, and in which.
struct Said {
    tf: Vec<f32>,
    rows: Vec<u32>,
}

impl Said {
    fn of(rows: usize) -> Self {
        Self { tf: vec![0.0; rows], rows: Vec::with_capacity(rows) }
    }

    /// Adds what is said in rows, and how often, to the windows in which they stand.
    fn add(&mut self, shares: &Shares, said: impl Iterator<Item = (u32, f32)>) {
        let Self { tf, rows } = self;
        for (row, count) in said {
            shares.around(row, |row, share| {
                if let Some(tf) = tf.get_mut(row as usize) {
                    if *tf == 0.0 {
                        rows.push(row);
                    }
                    *tf += share * count;
                }
            });
        }
    }

    fn drain(&mut self, mut visit: impl FnMut(usize, f32)) {
        for row in self.rows.drain(..) {
            if let Some(tf) = self.tf.get_mut(row as usize) {
                visit(row as usize, std::mem::take(tf));
            }
        }
    }
}

/// How much of each other's terms turns take; the same in both directions. No query changes it.
#[derive(Debug, Clone, Default)]
pub struct Shares {
    /// The rows in whose windows each row stands beside its own, with the share of it that they take: those before it and behind
    /// it. 0: none.
    near: Vec<[(u32, f32); 4]>,
    /// The same between facts and turns, by row.
    cited: Cited,
    /// BM25's measure of each row's window by the mean.
    norms: Vec<f32>,
    /// Indexed terms of all windows.
    len: f32,
}

impl Shares {
    /// By the thread of a scope, its facts with the turns that they cite, its memories' tokens and their indexed terms; `mean` is that of
    /// its windows, where not all of them are here.
    #[must_use]
    pub fn of(thread: &Thread, citations: &[(u32, u32)], tokens: &[u32], doc_len: &[u32], mean: Option<f32>) -> Self {
        let short: Vec<f32> = tokens.iter().map(|tokens| (LENGTH / *tokens as f32).min(1.0)).collect();
        let mut lengths: Vec<f32> = doc_len.iter().map(|len| *len as f32).collect();
        let (mut to_next, mut to_after) = (vec![0.0; short.len()], vec![0.0; short.len()]);
        for (row, own) in short.iter().enumerate() {
            let Some(next) = thread.next(row) else { continue };
            let share = NEXT * own * short.get(next).copied().unwrap_or(0.0);
            if share >= LEAST {
                set(&mut to_next, row, share);
                lengthen(&mut lengths, doc_len, row, next, share);
            }
            let Some(after) = thread.next(next) else { continue };
            let share = AFTER * own * short.get(after).copied().unwrap_or(0.0);
            if share >= LEAST {
                set(&mut to_after, row, share);
                lengthen(&mut lengths, doc_len, row, after, share);
            }
        }
        let of = |shares: &[f32], row: u32| shares.get(row as usize).copied().unwrap_or(0.0);
        let near = (0..short.len() as u32).map(|row| {
            let (left, right) = (thread.before(row), thread.behind(row));
            let left_after = thread.before(left);
            [
                (left, of(&to_next, left)),
                (left_after, of(&to_after, left_after)),
                (right, of(&to_next, row)),
                (thread.behind(right), of(&to_after, row)),
            ]
        });
        let near = near.collect();
        let pairs = beside_turns(thread, citations, &short);
        for (fact, turn, share) in &pairs {
            lengthen(&mut lengths, doc_len, *fact as usize, *turn as usize, *share);
        }
        let len = lengths.iter().sum::<f32>();
        let avg_len = mean.unwrap_or(len / lengths.len().max(1) as f32);
        let norms = lengths.into_iter().map(|len| length_norm(len, avg_len)).collect();
        Self { near, cited: Cited::of(&pairs), norms, len }
    }

    /// Indexed terms of all windows.
    #[must_use]
    pub fn total_len(&self) -> f32 {
        self.len
    }

    /// Visits the rows in whose windows this one stands, each with the share of it that it takes.
    pub fn around(&self, row: u32, mut visit: impl FnMut(u32, f32)) {
        visit(row, 1.0);
        for (other, share) in self.near.get(row as usize).into_iter().flatten() {
            if *share > 0.0 {
                visit(*other, *share);
            }
        }
        for (_, other, share) in self.cited.of_row(row) {
            visit(*other, *share);
        }
    }
}

/// Shares between facts and turns, in both directions.
#[derive(Debug, Clone, Default)]
struct Cited {
    /// A row, one in whose window it stands, and the share, by rising row.
    shares: Vec<(u32, u32, f32)>,
    /// Of each row where its shares begin; empty without facts that cite turns.
    starts: Vec<u32>,
}

impl Cited {
    fn of(pairs: &[(u32, u32, f32)]) -> Self {
        let mut shares: Vec<_> = pairs.iter().flat_map(|(a, b, share)| [(*a, *b, *share), (*b, *a, *share)]).collect();
        shares.sort_unstable_by_key(|(row, other, _)| (*row, *other));
        let rows = shares.last().map_or(0, |(row, ..)| row + 2);
        let starts = (0..rows).map(|row| shares.partition_point(|(other, ..)| *other < row) as u32).collect();
        Self { shares, starts }
    }

    fn of_row(&self, row: u32) -> &[(u32, u32, f32)] {
        let start = |row: usize| self.starts.get(row).map(|start| *start as usize);
        let found = start(row as usize).zip(start(row as usize + 1));
        found.and_then(|(start, end)| self.shares.get(start..end)).unwrap_or_default()
    }
}

/// Each fact with the turns that it takes terms of, and the share of them.
fn beside_turns(thread: &Thread, citations: &[(u32, u32)], short: &[f32]) -> Vec<(u32, u32, f32)> {
    let short = |row: u32| short.get(row as usize).copied().unwrap_or(0.0);
    let mut pairs = Vec::new();
    for of_fact in citations.chunk_by(|a, b| a.0 == b.0) {
        let turns = of_fact.len() as f32;
        let mut own: Vec<(u32, u32, f32)> = Vec::with_capacity(of_fact.len() * 3);
        for (fact, turn) in of_fact {
            let beside = [(*turn, NEXT), (thread.before(*turn), AFTER), (thread.behind(*turn), AFTER)];
            own.extend(beside.map(|(turn, share)| (*fact, turn, share / turns * short(*fact) * short(turn))));
        }
        // A turn may be cited, and stand next to one that is: the larger share counts.
        own.sort_unstable_by(|a, b| a.1.cmp(&b.1).then(b.2.total_cmp(&a.2)));
        own.dedup_by_key(|(_, turn, _)| *turn);
        pairs.extend(own.into_iter().filter(|(.., share)| *share >= LEAST));
    }
    pairs
}

fn set(shares: &mut [f32], row: usize, share: f32) {
    if let Some(slot) = shares.get_mut(row) {
        *slot = share;
    }
}

/// Both windows grow by their share of the other turn.
fn lengthen(lengths: &mut [f32], doc_len: &[u32], a: usize, b: usize, share: f32) {
    for (row, other) in [(a, b), (b, a)] {
        if let (Some(length), Some(len)) = (lengths.get_mut(row), doc_len.get(other)) {
            *length += share * *len as f32;
        }
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Kind;
    use crate::rank::sample::{Sample, close, textbook_mm};
    use crate::rank::thread::NO_SESSION;

    /// How much of row j's terms stands in row i's window, before the least is left out.
    fn share(sample: &Sample, i: usize, j: usize) -> f64 {
        let sittings = sample.textbook_sittings();
        let sitting = sittings.iter().find(|sitting| sitting.contains(&i)).cloned().unwrap_or_default();
        let place = |row: usize| sitting.iter().position(|other| *other == row);
        let (Some(at), Some(other)) = (place(i), place(j)) else { return 0.0 };
        share_at(at.abs_diff(other)) * if at == other { 1.0 } else { short(sample, i) * short(sample, j) }
    }

    fn share_at(steps: usize) -> f64 {
        [1.0, 0.5, 0.25].get(steps).copied().unwrap_or(0.0)
    }

    fn short(sample: &Sample, row: usize) -> f64 {
        (40.0 / f64::from(sample.tokens[row])).min(1.0)
    }

    /// How much of a fact's terms stands in a turn's window, and of a turn's in a fact's.
    fn share_of_cited(sample: &Sample, fact: usize, turn: usize) -> f64 {
        let cites = sample.textbook_cites(fact);
        let sittings = sample.textbook_sittings();
        let steps = |cited: &usize| {
            let sitting = sittings.iter().find(|sitting| sitting.contains(cited))?;
            let place = |row: usize| sitting.iter().position(|other| *other == row);
            Some(place(*cited)?.abs_diff(place(turn)?) + 1)
        };
        let nearest = cites.iter().filter_map(steps).min();
        nearest.map_or(0.0, |steps| share_at(steps) / cites.len() as f64 * short(sample, fact) * short(sample, turn))
    }

    fn shares(sample: &Sample) -> Vec<Vec<f64>> {
        let n = sample.len();
        let of = |i, j| share(sample, i, j) + share_of_cited(sample, i, j) + share_of_cited(sample, j, i);
        (0..n).map(|i| (0..n).map(|j| of(i, j)).collect()).collect()
    }

    fn textbook(sample: &Sample) -> Vec<f64> {
        let n = sample.len();
        let mut shares = shares(sample);
        shares.iter_mut().flatten().filter(|share| **share < 0.1).for_each(|share| *share = 0.0);
        let sum = |of: &[u32], i: usize| (0..n).map(|j| shares[i][j] * f64::from(of[j])).sum::<f64>();
        let lengths: Vec<f64> = (0..n).map(|i| sum(&sample.doc_len, i)).collect();
        let avg = lengths.iter().sum::<f64>() / n as f64;
        let mut scores = vec![0.0; n];
        for (term, tf) in sample.tf.iter().enumerate() {
            let said: Vec<f64> = (0..n).map(|i| sum(tf, i)).collect();
            let df = said.iter().filter(|tf| **tf > 0.0).count() as f64;
            let counts = |j: usize| if tf[j] > 0 { f64::from(tf[j]) } else { f64::from(sample.near(term, j)) };
            let tf: Vec<f64> = (0..n).map(|i| (0..n).map(|j| shares[i][j] * counts(j)).sum()).collect();
            let idf = (term + 1) as f64 * (1.0 + (n as f64 - df + 0.5) / (df + 0.5)).ln();
            for i in 0..n {
                let relative = if avg > 0.0 { lengths[i] / avg } else { 1.0 };
                scores[i] += idf * tf[i] * 2.2 / (tf[i] + 1.2 * (0.25 + 0.75 * relative));
            }
        }
        textbook_mm(&scores)
    }

    #[test]
    fn a_turn_is_found_by_what_was_said_beside_it() {
        let sample = Sample { tf: vec![vec![0, 0, 0, 1]], ..Sample::of_turns(&[0.0; 4]) };
        let got = Window.contribution(&sample.view().scene(), &[]);
        assert!(got[3] > got[2] && got[2] > got[1] && got[1] > got[0], "{got:?}");
    }

    #[test]
    fn a_related_word_counts_less_than_the_word_and_as_much_as_it_is_near() {
        let sample = Sample {
            tf: vec![vec![1, 0, 0, 0]],
            near: vec![vec![0.5, 0.4, 0.1, 0.0]],
            session: vec![NO_SESSION; 4],
            ..Sample::of_turns(&[0.0; 4])
        };
        let got = Window.contribution(&sample.view().scene(), &[]);
        assert!(got[0] > got[1] && got[1] > got[2] && got[2] > got[3], "{got:?}");
    }

    #[test]
    fn a_turn_is_found_by_the_words_of_its_fact_and_the_fact_by_those_of_its_turn() {
        let kind = vec![Kind::Turn, Kind::Turn, Kind::Turn, Kind::Fact];
        let said = |tf: Vec<u32>| Sample {
            tf: vec![tf],
            kind: kind.clone(),
            citations: vec![(3, 0)],
            ..Sample::of_turns(&[0.0; 4])
        };
        let (by_fact, by_turn) = (said(vec![0, 0, 0, 1]), said(vec![1, 0, 0, 0]));
        let got = Window.contribution(&by_fact.view().scene(), &[]);
        assert!(got[3] > got[0] && got[0] > got[1] && got[1] > got[2], "{got:?}");
        let got = Window.contribution(&by_turn.view().scene(), &[]);
        assert!(got[0] > got[3] && got[3] > got[2], "{got:?}");
    }

    proptest! {
        #[test]
        fn window_is_its_formula(sample in Sample::any()) {
            // A share at the very edge may fall on either side in f32.
            prop_assume!(shares(&sample).iter().flatten().all(|share| (share - 0.1).abs() > 1e-5));
            let got = Window.contribution(&sample.view().scene(), &[]);
            prop_assert!(close(&got, &textbook(&sample)));
        }
    }
}
