//! Relevance: the weighted sum of the signals over S.
use super::scene::Scene;
use super::signals::SIGNALS;
use super::weights::Weights;

#[derive(Debug, Clone, Default)]
pub struct Relevance {
    pub total: Vec<f32>,
    /// Each signal's weighted part, in the order of the addition: their sum, in that order, is `total` to the bit.
    pub parts: Vec<(&'static str, Vec<f32>)>,
}

/// Adds the signals up in their order; each sees the sum of those before it. Weights come from [`Weights::in_mode`].
pub fn relevance(scene: &Scene, weights: &Weights) -> Relevance {
    let mut total = vec![0.0; scene.len()];
    let mut parts = Vec::with_capacity(SIGNALS.len());
    for (signal, weight) in SIGNALS.iter().zip(weights.iter()) {
        let part =
            if weight > 0.0 { weighted(signal.contribution(scene, &total), weight) } else { vec![0.0; scene.len()] };
        for (sum, part) in total.iter_mut().zip(&part) {
            *sum += part;
        }
        parts.push((signal.name(), part));
    }
    Relevance { total, parts }
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
        fn a_signal_of_weight_zero_has_no_part(sample in Sample::any(), off in 0..SIGNALS.len()) {
            let mut weights = Weights::default();
            weights.set(SIGNALS[off].name(), 0.0).unwrap();
            let view = sample.view();
            let got = relevance(&view.scene(), &weights);
            prop_assert!(got.parts[off].1.iter().all(|part| *part == 0.0));
        }
    }
}
