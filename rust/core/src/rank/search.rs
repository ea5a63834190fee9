//! The plain score of `search`: no thread, no recency, no feedback.
use super::min_max::min_max;
use super::mode::Mode;
use super::scene::Scene;
use super::signals::{Signal, dense};

/// The score of each memory of S, and the parts it is made of.
#[derive(Debug, Clone, Default)]
pub struct SearchScores {
    /// `dense`: the cosine, of two models the first one's; `lexical`: the BM25 sum; `hybrid`: `w dense + (1 - w) mm(BM25)`, 0 to 1,
    /// where dense is the signal: `mm(cosine)`, of two models their weighted sum.
    pub score: Vec<f32>,
    /// Weighted, for `explain`; one part outside `hybrid`.
    pub parts: Vec<(&'static str, Vec<f32>)>,
}

/// In `dense`, a memory without vectors scores negative infinity: it is no hit. In `lexical`, one that shares no word
/// with the query scores 0.
#[must_use]
pub fn search_scores(scene: &Scene, mode: Mode, dense_weight: f32) -> SearchScores {
    let cosine = || scene.cosine.map_or_else(|| vec![f32::NEG_INFINITY; scene.len()], <[f32]>::to_vec);
    let bm25 = || scene.matches.bm25(scene.doc_len, scene.avg_len);
    match mode {
        Mode::Dense => alone("dense", cosine()),
        Mode::Lexical => alone("lexical", bm25()),
        Mode::Hybrid => {
            let dense = weighted(dense::Dense.contribution(scene, &[]), dense_weight);
            let mut lexical = bm25();
            min_max(&mut lexical);
            let lexical = weighted(lexical, 1.0 - dense_weight);
            let score = dense.iter().zip(&lexical).map(|(dense, lexical)| dense + lexical).collect();
            SearchScores { score, parts: vec![("dense", dense), ("lexical", lexical)] }
        }
    }
}

fn alone(name: &'static str, score: Vec<f32>) -> SearchScores {
    SearchScores { parts: vec![(name, score.clone())], score }
}

fn weighted(mut values: Vec<f32>, weight: f32) -> Vec<f32> {
    for value in &mut values {
        *value *= weight;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::super::sample::Sample;
    use super::*;

    fn sample() -> Sample {
        Sample { tf: vec![vec![0, 2, 0]], ..Sample::of_turns(&[0.2, 0.4, f32::NEG_INFINITY]) }
    }

    #[test]
    fn dense_is_the_cosine() {
        let sample = sample();
        let got = search_scores(&sample.view().scene(), Mode::Dense, 0.5).score;
        assert_eq!(got, [0.2, 0.4, f32::NEG_INFINITY]);
    }

    #[test]
    fn lexical_is_the_bm25_sum() {
        let sample = sample();
        let got = search_scores(&sample.view().scene(), Mode::Lexical, 0.5).score;
        assert_eq!(got, sample.matches().bm25(&sample.doc_len, sample.avg_len()));
    }

    #[test]
    fn hybrid_is_from_zero_to_one_and_the_sum_of_its_parts() {
        let sample = sample();
        let got = search_scores(&sample.view().scene(), Mode::Hybrid, 0.7);
        assert_eq!(got.score, [0.0, 1.0, 0.0]);
        let parts: f32 = got.parts.iter().flat_map(|(_, part)| part).sum();
        assert!((parts - 1.0).abs() < 1e-6);
    }
}
