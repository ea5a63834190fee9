//! A conversation that has the query's words in it, wherever: `mm` of BM25 of the sitting as one document.
use super::{Signal, Stage};
use crate::lexical::bm25;
use crate::rank::min_max::min_max;
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

    fn contribution(&self, scene: &Scene, _sum: &[f32]) -> Vec<f32> {
        let scores = sitting_scores(scene);
        let of = |sitting: &u32| scores.get(*sitting as usize).copied().unwrap_or(0.0);
        let mut values: Vec<f32> = scene.thread.sitting().iter().map(of).collect();
        min_max(&mut values);
        values
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
    let avg_len = lengths.iter().sum::<f32>() / sittings.max(1) as f32;
    let (mut scores, mut tf) = (vec![0.0_f32; sittings], vec![0.0_f32; sittings]);
    for (term, postings) in scene.matches.iter() {
        for posting in postings {
            let sitting = scene.thread.sitting().get(posting.row as usize);
            if let Some(tf) = sitting.and_then(|sitting| tf.get_mut(*sitting as usize)) {
                *tf += posting.tf as f32;
            }
        }
        let df = tf.iter().filter(|tf| **tf > 0.0).count();
        let idf = bm25::idf(sittings, df) * term.query_count as f32;
        for ((score, tf), len) in scores.iter_mut().zip(&mut tf).zip(&lengths) {
            *score += bm25::term_weight(std::mem::take(tf), *len, avg_len, idf);
        }
    }
    scores
}
