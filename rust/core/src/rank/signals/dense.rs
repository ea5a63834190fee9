//! Likeness of meaning: `mm(cosine)`.
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
        let mut values = scene.cosine.map_or_else(|| vec![0.0; scene.len()], <[f32]>::to_vec);
        min_max(&mut values);
        values
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rank::sample::{Sample, close, textbook_mm};

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
    }
}
