//! A turn answers with those around it: `min(1, 80/L) (0.25 max(x of the next ones) + 0.1 max(x of the ones after) + 0.25 q x)`,
//! the last of the turn before, of which the share q asks: an answer is found by its question.
//! A fact has no thread, so it is its own: `0.55 min(1, 80/L) x`.
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
        rows.map(|(((row, kind), tokens), own)| (LENGTH / *tokens as f32).min(1.0) * lent(scene, sum, row, *kind, *own))
            .collect()
    }
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
        let x = |order: &[usize], at: i64| {
            usize::try_from(at).ok().and_then(|at| order.get(at)).map_or(0.0, |row| f64::from(sum[*row]))
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

    proptest! {
        #[test]
        fn neighbours_is_its_formula((sample, sum) in Sample::with_sum()) {
            let got = Neighbours.contribution(&sample.view().scene(), &sum);
            prop_assert!(close(&got, &textbook(&sample, &sum)));
        }
    }
}
