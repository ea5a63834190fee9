//! A turn answers with those around it: `min(1, 80/L) (0.25 max(x of the next ones) + 0.1 max(x of the ones after) + 0.25 q x)`,
//! the last of the turn before, of which the share q asks: an answer is found by its question.
//! A turn counts for those around it by a fact that cites it where that is more, by x/k of one that cites k turns.
//! A fact has no thread, so it is its own: `0.55 min(1, 80/L) x`.
use std::borrow::Cow;

use super::{Signal, Stage};
use crate::model::Kind;
use crate::rank::scene::Scene;

pub const NEXT: f32 = 0.25;
pub const AFTER: f32 = 0.1;
pub const QUESTION: f32 = 0.25;
pub const ITSELF: f32 = 0.55;
/// A longer text says more itself and owes its neighbours less.
const LENGTH: f32 = 80.0;

#[derive(Debug)]
pub struct Neighbours;

impl Signal for Neighbours {
    fn name(&self) -> &'static str {
        "neighbours"
    }

    fn stage(&self) -> Stage {
        Stage::Thread
    }

    fn default_weight(&self, _dense_weight: f32) -> f32 {
        1.0
    }

    fn is_of_the_turn(&self) -> bool {
        true
    }

    fn contribution(&self, scene: &Scene, sum: &[f32]) -> Vec<f32> {
        let rows = (0_u32..).zip(scene.kind).zip(scene.tokens).zip(sum);
        let heard = heard(sum, scene.citations);
        rows.map(|(((row, kind), tokens), own)| {
            (LENGTH / *tokens as f32).min(1.0) * lent(scene, &heard, row, *kind, *own)
        })
        .collect()
    }
}

/// What each memory counts for those around it.
fn heard<'s>(sum: &'s [f32], citations: &[(u32, u32)]) -> Cow<'s, [f32]> {
    let mut heard = Cow::Borrowed(sum);
    for of_fact in citations.chunk_by(|a, b| a.0 == b.0) {
        for (fact, turn) in of_fact {
            let said = value(sum, *fact) / of_fact.len() as f32;
            if said > value(&heard, *turn)
                && let Some(slot) = heard.to_mut().get_mut(*turn as usize)
            {
                *slot = said;
            }
        }
    }
    heard
}

/// Who is missing counts 0.
fn lent(scene: &Scene, sum: &[f32], row: u32, kind: Kind, own: f32) -> f32 {
    match kind {
        Kind::Fact | Kind::Pinned => ITSELF * own,
        Kind::Document => 0.0,
        Kind::Turn => {
            let (left, right) = (scene.thread.before(row), scene.thread.behind(row));
            let (left_after, right_after) = (scene.thread.before(left), scene.thread.behind(right));
            let asked = value(scene.question_share, left) * value(sum, left);
            NEXT * value(sum, left).max(value(sum, right))
                + AFTER * value(sum, left_after).max(value(sum, right_after))
                + QUESTION * asked
        }
    }
}

fn value(column: &[f32], row: u32) -> f32 {
    column.get(row as usize).copied().unwrap_or(0.0)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rank::sample::{Sample, close};

    fn textbook(sample: &Sample, sum: &[f32]) -> Vec<f64> {
        let by = |fact: usize, turn: usize| {
            let cites = sample.textbook_cites(fact);
            if cites.contains(&turn) { f64::from(sum[fact]) / cites.len() as f64 } else { 0.0 }
        };
        let heard = |turn: usize| (0..sample.len()).map(|fact| by(fact, turn)).fold(f64::from(sum[turn]), f64::max);
        let x = |order: &[usize], at: i64| {
            usize::try_from(at).ok().and_then(|at| order.get(at)).map_or(0.0, |row| heard(*row))
        };
        let sittings = sample.textbook_sittings();
        let value = |row: usize| {
            let short = (80.0 / f64::from(sample.tokens[row])).min(1.0);
            if matches!(sample.kind[row], Kind::Fact | Kind::Pinned) {
                return 0.55 * short * f64::from(sum[row]);
            }
            let order = sittings.iter().find(|sitting| sitting.contains(&row)).map_or(&[][..], Vec::as_slice);
            let at = order.iter().position(|other| *other == row).unwrap_or(0) as i64;
            let question = usize::try_from(at - 1).map_or(0.0, |at| f64::from(sample.question_share[order[at]]));
            let thread = 0.25 * x(order, at - 1).max(x(order, at + 1)) + 0.1 * x(order, at - 2).max(x(order, at + 2));
            short * (thread + 0.25 * question * x(order, at - 1))
        };
        (0..sample.len()).map(value).collect()
    }

    #[test]
    fn a_turn_without_tokens_borrows_in_full() {
        let sample = Sample { tokens: vec![0, 160], ..Sample::of_turns(&[0.0; 2]) };
        let got = Neighbours.contribution(&sample.view().scene(), &[1.0, 1.0]);
        assert!(close(&got, &[0.25, 0.125]));
    }

    #[test]
    fn a_turn_counts_for_the_next_by_what_its_fact_says() {
        let kind = vec![Kind::Turn, Kind::Turn, Kind::Fact];
        let sample = Sample { kind, citations: vec![(2, 0)], ..Sample::of_turns(&[0.0; 3]) };
        let got = Neighbours.contribution(&sample.view().scene(), &[0.5, 0.0, 1.0]);
        assert!(close(&got, &[0.0, 0.25, 0.55]));
    }

    proptest! {
        #[test]
        fn neighbours_is_its_formula((sample, sum) in Sample::with_sum()) {
            let got = Neighbours.contribution(&sample.view().scene(), &sum);
            prop_assert!(close(&got, &textbook(&sample, &sum)));
        }
    }
}
