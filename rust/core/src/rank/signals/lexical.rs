//! Likeness of words: `mm(BM25)`.
use super::{Signal, Stage};
use crate::rank::min_max::min_max;
use crate::rank::mode::Mode;
use crate::rank::scene::Scene;

#[derive(Debug)]
pub struct Lexical;

impl Signal for Lexical {
    fn name(&self) -> &'static str {
        "lexical"
    }

    fn stage(&self) -> Stage {
        Stage::Base
    }

    /// Off: `window` holds the memory's own words in full, and counting them twice costs evidence.
    fn default_weight(&self, _dense_weight: f32) -> f32 {
        0.0
    }

    fn silent_in(&self, mode: Mode) -> bool {
        mode == Mode::Dense
    }

    fn contribution(&self, scene: &Scene, _sum: &[f32]) -> Vec<f32> {
        let mut values = scene.matches.bm25(scene.doc_len, scene.avg_len);
        min_max(&mut values);
        values
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rank::sample::{Sample, close, textbook_mm};

    proptest! {
        #[test]
        fn lexical_is_its_formula(sample in Sample::any()) {
            let bm25: Vec<f64> = (0..sample.len()).map(|row| sample.textbook_bm25(row)).collect();
            let spread = bm25.iter().copied().fold(f64::MIN, f64::max) - bm25.iter().copied().fold(f64::MAX, f64::min);
            prop_assume!(spread == 0.0 || spread > 1e-3);
            let got = Lexical.contribution(&sample.view().scene(), &[]);
            prop_assert!(close(&got, &textbook_mm(&bm25)));
        }
    }
}
