//! Scopes for the tests of ranking, and the textbook twins that several of them share. Written from the formulas in f64.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]
use proptest::prelude::*;

use super::language::Language;
use super::query::Query;
use super::scene::{NO_SPEAKER, Scene, Second};
use super::signals::window::Shares;
use super::terms::TermMatches;
use super::thread::{NO_SESSION, Thread};
use crate::lexical::Posting;
use crate::model::{Kind, Period};

pub const GAP: i64 = 10;

/// A small scope S and a query, as columns.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    pub text: String,
    pub language: Option<&'static Language>,
    pub cosine: Option<Vec<f32>>,
    /// Cosines of the second model and its share.
    pub second: Option<(Vec<f32>, f32)>,
    /// Occurrences by query term, then row. A term's count in the query is its index plus one.
    pub tf: Vec<Vec<u32>>,
    /// How near each row is to a query term by related ones, by term, then row; fewer where nothing is related.
    pub near: Vec<Vec<f32>>,
    pub doc_len: Vec<u32>,
    pub tokens: Vec<u32>,
    pub kind: Vec<Kind>,
    pub session: Vec<u32>,
    pub turn: Vec<i64>,
    pub ts: Vec<i64>,
    pub user_words: Vec<bool>,
    pub question_share: Vec<f32>,
    pub names_time: Vec<bool>,
    pub names_proper: Vec<bool>,
    pub periods: Vec<(u32, Vec<Period>)>,
    pub speaker: Vec<u32>,
    pub named: Vec<bool>,
    pub citations: Vec<(u32, u32)>,
    /// Microseconds.
    pub now: i64,
}

/// What a [`Scene`] of a sample borrows.
pub struct View<'a> {
    sample: &'a Sample,
    query: Query,
    periods: Vec<(u32, &'a [Period])>,
    matches: TermMatches,
    thread: Thread,
    shares: Shares,
}

impl Sample {
    /// Turns of one sitting with these cosines, no words, ten tokens each.
    pub fn of_turns(cosine: &[f32]) -> Self {
        let n = cosine.len();
        Self {
            cosine: Some(cosine.to_vec()),
            doc_len: vec![5; n],
            tokens: vec![10; n],
            kind: vec![Kind::Turn; n],
            session: vec![0; n],
            turn: (0..n as i64).collect(),
            ts: vec![0; n],
            user_words: vec![true; n],
            question_share: vec![0.0; n],
            names_time: vec![false; n],
            names_proper: vec![false; n],
            speaker: vec![NO_SPEAKER; n],
            ..Self::default()
        }
    }

    pub fn any() -> impl Strategy<Value = Self> {
        let session = prop_oneof![4 => 0_u32..3, 1 => Just(NO_SESSION)];
        let said = (
            any::<bool>(),
            prop_oneof![Just(0.0_f32), Just(1.0), 0.0_f32..1.0],
            any::<bool>(),
            any::<bool>(),
            0_u32..3,
        );
        let row = (-1.0_f32..1.0, 0_u32..12, 1_u32..300, 0_usize..4, session, 0_i64..20, 0_i64..60, said);
        let terms = prop::collection::vec(prop::collection::vec(0_u32..3, 40), 0..4);
        let weight = prop_oneof![3 => Just(0.0_f32), 1 => 0.01_f32..0.5];
        let near = prop::collection::vec(prop::collection::vec(weight, 40), 0..4);
        let cited = prop::collection::btree_set((0_u32..40, 0_u32..40), 0..60);
        let sample = (prop::collection::vec(row, 0..40), terms, near).prop_map(|(rows, tf, near)| Self {
            cosine: Some(rows.iter().map(|row| row.0).collect()),
            near: near.into_iter().map(|mut of| of.drain(..rows.len()).collect()).collect(),
            tf: tf.into_iter().map(|mut of| of.drain(..rows.len()).collect()).collect(),
            doc_len: rows.iter().map(|row| row.1).collect(),
            tokens: rows.iter().map(|row| row.2).collect(),
            kind: rows.iter().map(|row| [Kind::Turn, Kind::Turn, Kind::Fact, Kind::Pinned][row.3]).collect(),
            session: rows.iter().map(|row| row.4).collect(),
            turn: rows.iter().map(|row| row.5).collect(),
            ts: rows.iter().map(|row| row.6).collect(),
            user_words: rows.iter().map(|row| row.7.0).collect(),
            question_share: rows.iter().map(|row| row.7.1).collect(),
            names_time: rows.iter().map(|row| row.7.2).collect(),
            names_proper: rows.iter().map(|row| row.7.3).collect(),
            speaker: rows.iter().map(|row| if row.7.4 == 2 { NO_SPEAKER } else { row.7.4 }).collect(),
            ..Self::default()
        });
        (sample, cited).prop_map(|(sample, cited)| {
            let kind = |row: u32| sample.kind.get(row as usize).copied();
            let links = |(fact, turn): &(u32, u32)| kind(*fact) == Some(Kind::Fact) && kind(*turn) == Some(Kind::Turn);
            let citations = cited.into_iter().filter(links).collect();
            Self { citations, ..sample }
        })
    }

    /// A sample of a collection with two models.
    pub fn of_two_models() -> impl Strategy<Value = Self> {
        let second = (prop::collection::vec(-1.0_f32..1.0, 40), 0.0_f32..1.0);
        (Self::any(), second).prop_map(|(sample, (mut cosine, share))| {
            cosine.truncate(sample.len());
            Self { second: Some((cosine, share)), ..sample }
        })
    }

    /// A sample and a sum of earlier signals for each of its rows.
    pub fn with_sum() -> impl Strategy<Value = (Self, Vec<f32>)> {
        Self::any().prop_flat_map(|sample| {
            let n = sample.len();
            (Just(sample), prop::collection::vec((0_u8..50).prop_map(|x| f32::from(x) / 32.0), n))
        })
    }

    pub fn len(&self) -> usize {
        self.kind.len()
    }

    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    pub fn avg_len(&self) -> f32 {
        self.doc_len.iter().sum::<u32>() as f32 / self.len().max(1) as f32
    }

    pub fn matches(&self) -> TermMatches {
        let mut matches = TermMatches::new(self.len() as u32);
        for (term, tf) in (0_u32..).zip(&self.tf) {
            let found = (0_u32..).zip(tf).filter(|(_, tf)| **tf > 0).map(|(row, tf)| Posting { row, tf: *tf });
            matches.push(u64::from(term), term + 1, found);
            let mut near: Vec<(u32, f32)> = (0..self.len() as u32)
                .map(|row| (row, self.near(term as usize, row as usize)))
                .filter(|(_, weight)| *weight > 0.0)
                .collect();
            near.sort_by(|a, b| b.1.total_cmp(&a.1));
            for (row, weight) in near {
                matches.push_near(weight, [row]);
            }
        }
        matches
    }

    /// How near a row is to a term; 0 where it is not.
    pub fn near(&self, term: usize, row: usize) -> f32 {
        self.near.get(term).map_or(0.0, |of| of[row])
    }

    pub fn view(&self) -> View<'_> {
        let thread = Thread::new(&self.session, &self.turn, &self.ts, &self.kind, GAP).with_facts(&self.citations);
        View {
            sample: self,
            query: Query::read(&self.text, self.now, self.language),
            periods: self.periods.iter().map(|(row, periods)| (*row, periods.as_slice())).collect(),
            matches: self.matches(),
            shares: Shares::of(&thread, &self.citations, &self.tokens, &self.doc_len, None),
            thread,
        }
    }

    pub fn textbook_idf(&self, term: usize) -> f64 {
        let df = self.tf[term].iter().filter(|tf| **tf > 0).count() as f64;
        (1.0 + (self.len() as f64 - df + 0.5) / (df + 0.5)).ln()
    }

    pub fn textbook_bm25(&self, row: usize) -> f64 {
        let avg = self.doc_len.iter().map(|len| f64::from(*len)).sum::<f64>() / self.len() as f64;
        let relative = if avg > 0.0 { f64::from(self.doc_len[row]) / avg } else { 1.0 };
        let term = |t: usize| {
            let tf = f64::from(self.tf[t][row]);
            (t + 1) as f64 * self.textbook_idf(t) * tf * (1.2 + 1.0) / (tf + 1.2 * (1.0 - 0.75 + 0.75 * relative))
        };
        (0..self.tf.len()).map(term).sum()
    }

    /// The rows of each sitting in their order.
    pub fn textbook_sittings(&self) -> Vec<Vec<usize>> {
        let threaded = |row: &usize| self.kind[*row] == Kind::Turn && self.session[*row] != NO_SESSION;
        let mut turns: Vec<usize> = (0..self.len()).filter(threaded).collect();
        turns.sort_by_key(|&row| (self.session[row], self.turn[row], row));
        let mut sittings: Vec<Vec<usize>> = Vec::new();
        for row in turns {
            match sittings.last_mut() {
                Some(sitting) if self.together(sitting[sitting.len() - 1], row) => sitting.push(row),
                _ => sittings.push(vec![row]),
            }
        }
        sittings.extend((0..self.len()).filter(|row| !threaded(row)).map(|row| vec![row]));
        sittings
    }

    /// The same, facts where the latest of their turns is; in no order.
    pub fn textbook_seats(&self) -> Vec<Vec<usize>> {
        let mut sittings = self.textbook_sittings();
        for fact in 0..self.len() {
            if let Some(latest) = self.textbook_cites(fact).into_iter().max() {
                sittings.retain(|sitting| *sitting != [fact]);
                let seat = sittings.iter_mut().find(|sitting| sitting.contains(&latest));
                seat.unwrap().push(fact);
            }
        }
        sittings
    }

    /// The turns that a fact cites.
    pub fn textbook_cites(&self, fact: usize) -> Vec<usize> {
        let own = self.citations.iter().filter(|(other, _)| *other as usize == fact);
        own.map(|(_, turn)| *turn as usize).collect()
    }

    fn together(&self, a: usize, b: usize) -> bool {
        self.session[a] == self.session[b] && (self.ts[a] - self.ts[b]).abs() <= GAP
    }
}

impl View<'_> {
    pub fn scene(&self) -> Scene<'_> {
        let sample = self.sample;
        Scene {
            query: &self.query,
            extent: None,
            spread: None,
            cosine: sample.cosine.as_deref(),
            second: sample.second.as_ref().map(|(cosine, share)| Second { cosine, share: *share }),
            matches: &self.matches,
            doc_len: &sample.doc_len,
            avg_len: sample.avg_len(),
            tokens: &sample.tokens,
            ts: &sample.ts,
            kind: &sample.kind,
            user_words: &sample.user_words,
            question_share: &sample.question_share,
            names_time: &sample.names_time,
            names_proper: &sample.names_proper,
            periods: &self.periods,
            speaker: &sample.speaker,
            named: &sample.named,
            thread: &self.thread,
            shares: &self.shares,
            citations: &sample.citations,
        }
    }
}

pub fn textbook_mm(values: &[f64]) -> Vec<f64> {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    values.iter().map(|value| if high > low { (value - low) / (high - low) } else { 0.0 }).collect()
}

/// Equal but for the rounding of f32.
pub fn close(got: &[f32], expected: &[f64]) -> bool {
    got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-3)
}
