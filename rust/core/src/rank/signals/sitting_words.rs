//! A conversation that has the query's words in it, wherever: `mm` of BM25 of the sitting as one document, in full from eleven
//! sittings on.
use super::sitting::told;
use super::{Signal, Stage};
use crate::lexical::bm25;
use crate::rank::mode::Mode;
use crate::rank::scene::Scene;

#[derive(Debug)]
pub struct SittingWords;

impl Signal for SittingWords {
    fn name(&self) -> &'static str {
        "sitting_words"
    }

    fn stage(&self) -> Stage {
        Stage::Thread
    }

    fn default_weight(&self, _dense_weight: f32) -> f32 {
        0.15
    }

    fn silent_in(&self, mode: Mode) -> bool {
        mode == Mode::Dense
    }

    fn is_of_the_turn(&self) -> bool {
        true
    }

    fn contribution(&self, scene: &Scene, _sum: &[f32]) -> Vec<f32> {
        told(scene, sitting_scores(scene))
    }
}

fn sitting_scores(scene: &Scene) -> Vec<f32> {
    let sittings = scene.thread.sittings();
    let mut lengths = vec![0.0_f32; sittings];
    for (sitting, len) in scene.thread.sitting().iter().zip(scene.doc_len) {
        if let Some(length) = lengths.get_mut(*sitting as usize) {
            *length += *len as f32;
        }
    }
    let own_len = lengths.iter().sum::<f32>() / sittings.max(1) as f32;
    let (all, avg_len) = scene.spread.map_or((sittings, own_len), |spread| (spread.sittings, spread.sitting_len));
    if let Some(spread) = scene.spread.filter(|spread| spread.lens.len() == sittings) {
        lengths = spread.lens.iter().map(|len| *len as f32).collect();
    }
    let (mut scores, mut tf) = (vec![0.0_f32; sittings], vec![0.0_f32; sittings]);
    for (at, (term, postings)) in scene.matches.iter().enumerate() {
        if let Some(said) = scene.spread.and_then(|spread| spread.said.get(at)) {
            tf.iter_mut().zip(said).for_each(|(tf, said)| *tf = *said as f32);
        } else {
            for posting in postings {
                let sitting = scene.thread.sitting().get(posting.row as usize);
                if let Some(tf) = sitting.and_then(|sitting| tf.get_mut(*sitting as usize)) {
                    *tf += posting.tf as f32;
                }
            }
        }
        let known = scene.spread.and_then(|spread| spread.sittings_with.get(at));
        let df = known.map_or_else(|| tf.iter().filter(|tf| **tf > 0.0).count(), |df| *df as usize);
        let idf = bm25::idf(all, df) * term.query_count as f32;
        for ((score, tf), len) in scores.iter_mut().zip(&mut tf).zip(&lengths) {
            *score += bm25::term_weight(std::mem::take(tf), *len, avg_len, idf);
        }
    }
    scores
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rank::sample::{Sample, close, textbook_mm};

    /// A sample whose memories are the sittings.
    fn joined(sample: &Sample, sittings: &[Vec<usize>]) -> Sample {
        let sum = |of: &[u32], sitting: &[usize]| sitting.iter().map(|row| of[*row]).sum::<u32>();
        Sample {
            tf: sample.tf.iter().map(|tf| sittings.iter().map(|sitting| sum(tf, sitting)).collect()).collect(),
            doc_len: sittings.iter().map(|sitting| sum(&sample.doc_len, sitting)).collect(),
            ..Sample::of_turns(&vec![0.0; sittings.len()])
        }
    }

    proptest! {
        #[test]
        fn sitting_words_is_its_formula(sample in Sample::any()) {
            let sittings = sample.textbook_seats();
            let documents = joined(&sample, &sittings);
            let mut expected = vec![0.0; sample.len()];
            for (at, sitting) in sittings.iter().enumerate() {
                for row in sitting {
                    expected[*row] = documents.textbook_bm25(at);
                }
            }
            let spread = expected.iter().copied().fold(f64::MIN, f64::max) - expected.iter().copied().fold(f64::MAX, f64::min);
            prop_assume!(sample.is_empty() || spread == 0.0 || spread > 1e-3);
            let got = SittingWords.contribution(&sample.view().scene(), &[]);
            let share = ((sittings.len() as f64 - 1.0) / 10.0).min(1.0);
            let expected: Vec<f64> = textbook_mm(&expected).into_iter().map(|value| value * share).collect();
            prop_assert!(close(&got, &expected));
        }
    }
}
