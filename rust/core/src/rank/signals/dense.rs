//! Likeness of meaning: `mm(cosine)`; of two models `(1 - share) mm(cosine) + share mm(second)`.
use super::{Signal, Stage};
use crate::rank::min_max::min_max;
use crate::rank::mode::Mode;
use crate::rank::scene::Scene;

#[derive(Debug)]
pub struct Dense;

impl Signal for Dense {
    fn name(&self) -> &'static str {
        "dense"
    }

    fn stage(&self) -> Stage {
        Stage::Base
    }

    /// What the embedder says its cosine is worth.
    fn default_weight(&self, dense_weight: f32) -> f32 {
        dense_weight
    }

    fn silent_in(&self, mode: Mode) -> bool {
        mode == Mode::Lexical
    }

    fn contribution(&self, scene: &Scene, _sum: &[f32]) -> Vec<f32> {
        let Some([mut values, second]) = shares(scene) else {
            return scene.cosine.map_or_else(|| vec![0.0; scene.len()], |cosine| scaled(cosine, 1.0));
        };
        for (value, second) in values.iter_mut().zip(&second) {
            *value += second;
        }
        values
    }
}

/// What each of two models adds to the signal, which is the sum of both; `None` where there is one model.
pub fn shares(scene: &Scene) -> Option<[Vec<f32>; 2]> {
    let (first, second) = (scene.cosine?, scene.second?);
    Some([scaled(first, 1.0 - second.share), scaled(second.cosine, second.share)])
}

fn scaled(cosine: &[f32], weight: f32) -> Vec<f32> {
    let mut values = cosine.to_vec();
    min_max(&mut values);
    for value in &mut values {
        *value *= weight;
    }
    values
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rank::sample::{Sample, close, textbook_mm};

    #[test]
    fn a_memory_that_lacks_one_of_the_models_counts_by_the_other() {
        let second = Some((vec![0.3, f32::NEG_INFINITY, 0.1], 0.25));
        let sample = Sample { second, ..Sample::of_turns(&[f32::NEG_INFINITY, 0.5, 0.1]) };
        assert_eq!(Dense.contribution(&sample.view().scene(), &[]), [0.25, 0.75, 0.0]);
    }

    #[test]
    fn a_read_without_a_query_vector_has_no_dense_part() {
        let sample = Sample { cosine: None, ..Sample::of_turns(&[0.1, 0.2]) };
        assert_eq!(Dense.contribution(&sample.view().scene(), &[]), [0.0, 0.0]);
    }

    proptest! {
        #[test]
        fn dense_is_its_formula(sample in Sample::any()) {
            let cosine = sample.cosine.clone().unwrap_or_default();
            let got = Dense.contribution(&sample.view().scene(), &[]);
            prop_assert!(close(&got, &textbook_mm(&cosine.iter().map(|x| f64::from(*x)).collect::<Vec<_>>())));
        }

        #[test]
        fn of_two_models_it_is_their_weighted_sum(sample in Sample::of_two_models()) {
            let (second, share) = sample.second.clone().unwrap_or_default();
            let mm = |values: &[f32]| textbook_mm(&values.iter().map(|x| f64::from(*x)).collect::<Vec<_>>());
            let (first, second) = (mm(sample.cosine.as_deref().unwrap_or_default()), mm(&second));
            let share = f64::from(share);
            let expected: Vec<f64> = first.iter().zip(&second).map(|(a, b)| (1.0 - share) * a + share * b).collect();
            prop_assert!(close(&Dense.contribution(&sample.view().scene(), &[]), &expected));
        }
    }
}
