//! Relevance: the weighted sum of the signals over S.
use super::cited::take_from_cited;
use super::scene::Scene;
use super::signals::{SIGNALS, Signal, dense};
use super::weights::Weights;
use super::witness::{lean, witnesses};
use crate::model::MOST_MODELS;

const DENSE: &str = "dense";
/// What `_vx_scoring` calls the parts of `dense`, by slot.
pub const DENSE_SHARES: [&str; MOST_MODELS] = ["dense_first", "dense_second"];

#[derive(Debug, Clone, Default)]
pub struct Relevance {
    pub total: Vec<f32>,
    /// Each signal's weighted part, in the order of the addition: their sum, in that order, is `total` to the bit.
    pub parts: Vec<(&'static str, Vec<f32>)>,
    /// Of two models the weighted part of each, which together are `dense`; else empty.
    pub shares: Vec<(&'static str, Vec<f32>)>,
}

impl Relevance {
    fn lean(&mut self, citations: &[(u32, u32)]) {
        let witnesses = witnesses(&self.total, citations);
        for (_, part) in self.parts.iter_mut().chain(&mut self.shares) {
            lean(part, &witnesses);
        }
        for (fact, _) in witnesses {
            let sum = self.parts.iter().fold(0.0, |sum, (_, part)| sum + part.get(fact).copied().unwrap_or_default());
            if let Some(total) = self.total.get_mut(fact) {
                *total = sum;
            }
        }
    }
}

/// The signals added up, facts leaning on the turns that they came from. Weights come from [`Weights::in_mode`].
pub fn relevance(scene: &Scene, weights: &Weights) -> Relevance {
    let mut relevance = summed(scene, weights);
    relevance.lean(scene.citations);
    relevance
}

/// Adds the signals up in their order; each sees the sum of those before it.
fn summed(scene: &Scene, weights: &Weights) -> Relevance {
    let mut total = vec![0.0; scene.len()];
    let mut parts = Vec::with_capacity(SIGNALS.len());
    for (signal, weight) in SIGNALS.iter().zip(weights.iter()) {
        let part = if weight > 0.0 { weighted(value(*signal, scene, &total), weight) } else { vec![0.0; scene.len()] };
        for (sum, part) in total.iter_mut().zip(&part) {
            *sum += part;
        }
        parts.push((signal.name(), part));
    }
    Relevance { total, parts, shares: dense_shares(scene, weights) }
}

fn dense_shares(scene: &Scene, weights: &Weights) -> Vec<(&'static str, Vec<f32>)> {
    let weight = weights.get(DENSE).unwrap_or_default();
    let named = |shares| DENSE_SHARES.into_iter().zip(shares).map(|(name, share)| (name, weighted(share, weight)));
    dense::shares(scene).map(|shares| named(shares).collect()).unwrap_or_default()
}

/// The signal's value for each memory of S, facts' from the turns they cite where that is more.
fn value(signal: &dyn Signal, scene: &Scene, sum: &[f32]) -> Vec<f32> {
    let mut values = signal.contribution(scene, sum);
    if signal.is_of_the_turn() {
        take_from_cited(&mut values, scene.citations);
    }
    values
}

fn weighted(mut part: Vec<f32>, weight: f32) -> Vec<f32> {
    for value in &mut part {
        *value *= weight;
    }
    part
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use proptest::prelude::*;

    use super::super::sample::Sample;
    use super::*;

    #[test]
    fn an_empty_scope_has_no_relevance() {
        let sample = Sample::default();
        assert!(relevance(&sample.view().scene(), &Weights::default()).total.is_empty());
    }

    proptest! {
        #[test]
        fn the_parts_are_the_total_to_the_bit(sample in Sample::any()) {
            let view = sample.view();
            let got = relevance(&view.scene(), &Weights::default());
            for row in 0..sample.len() {
                let sum = got.parts.iter().fold(0.0, |sum, (_, part)| sum + part[row]);
                prop_assert_eq!(sum.to_bits(), got.total[row].to_bits());
            }
        }

        #[test]
        fn the_shares_of_two_models_are_the_dense_part(sample in Sample::of_two_models()) {
            let view = sample.view();
            let got = relevance(&view.scene(), &Weights::default());
            prop_assert_eq!(got.shares.iter().map(|(name, _)| *name).collect::<Vec<_>>(), DENSE_SHARES);
            for row in 0..sample.len() {
                prop_assert!((got.shares[0].1[row] + got.shares[1].1[row] - got.parts[0].1[row]).abs() < 1e-6);
            }
        }

        #[test]
        fn a_fact_has_what_its_turns_have_of_signals_of_turns_and_of_no_other(sample in Sample::any()) {
            let view = sample.view();
            let got = summed(&view.scene(), &Weights::default());
            let mut sum = vec![0.0; sample.len()];
            for ((signal, weight), (_, part)) in SIGNALS.iter().zip(Weights::default().iter()).zip(&got.parts) {
                let own = signal.contribution(&view.scene(), &sum);
                for row in 0..sample.len() {
                    let turns: Vec<f32> = sample.citations.iter().filter(|(fact, _)| *fact == row as u32).map(|(_, turn)| own[*turn as usize]).collect();
                    let mean = turns.iter().sum::<f32>() / turns.len() as f32;
                    let expected = if signal.is_of_the_turn() && !turns.is_empty() { own[row].max(mean) } else { own[row] };
                    prop_assert!((part[row] - weight * expected).abs() < 1e-5);
                    sum[row] += part[row];
                }
            }
        }

        #[test]
        fn a_fact_that_leans_on_its_turn_does_so_in_every_part(sample in Sample::of_two_models(), fact in 0_u32..40, turn in 0_u32..40) {
            let n = sample.len() as u32;
            prop_assume!(fact < n && turn < n && fact != turn);
            let linked = Sample { citations: vec![(fact, turn)], ..sample };
            let view = linked.view();
            let (got, before) = (relevance(&view.scene(), &Weights::default()), summed(&view.scene(), &Weights::default()));
            let (fact, turn) = (fact as usize, turn as usize);
            let share = if before.total[fact] > before.total[turn] { 0.2 } else { 0.0 };
            let parts = got.parts.iter().chain(&got.shares).zip(before.parts.iter().chain(&before.shares));
            for ((_, got), (_, before)) in parts {
                let expected = before[fact] - share * (before[fact] - before[turn]);
                prop_assert!((got[fact] - expected).abs() < 1e-5);
                prop_assert!((0..n as usize).all(|row| row == fact || got[row].to_bits() == before[row].to_bits()));
            }
            let sum = got.parts.iter().fold(0.0, |sum, (_, part)| sum + part[fact]);
            prop_assert_eq!(sum.to_bits(), got.total[fact].to_bits());
        }

        #[test]
        fn a_signal_of_weight_zero_has_no_part(sample in Sample::any(), off in 0..SIGNALS.len()) {
            let mut weights = Weights::default();
            weights.set(SIGNALS[off].name(), 0.0).unwrap();
            let view = sample.view();
            let got = relevance(&view.scene(), &weights);
            prop_assert!(got.parts[off].1.iter().all(|part| *part == 0.0));
        }
    }
}
