//! Why a memory stands where it stands: the parts of `_vx_scoring`.
use super::blend::Pooled;
use super::relevance::Relevance;
use super::scene::Scene;

#[derive(Debug, Clone, PartialEq)]
pub struct Scoring {
    /// The cosine with the query; `None` for a memory without vectors or a read without a query vector.
    pub relevance: Option<f64>,
    /// Relevance scaled over the pool.
    pub relevance_norm: f64,
    pub recency: f64,
    pub feedback: f64,
    /// Each signal's weighted part, in the order in which they were added. Behind them, where the collection has two models, what
    /// each gives to `dense`.
    pub signals: Vec<(&'static str, f64)>,
}

#[must_use]
pub fn explain(scene: &Scene, relevance: &Relevance, pooled: &Pooled) -> Scoring {
    let row = pooled.row as usize;
    let cosine = scene.cosine.and_then(|cosine| cosine.get(row)).filter(|cosine| cosine.is_finite());
    let part = |part: &[f32]| part.get(row).map_or(0.0, |value| f64::from(*value));
    Scoring {
        relevance: cosine.map(|cosine| f64::from(*cosine)),
        relevance_norm: pooled.relevance_norm,
        recency: pooled.recency,
        feedback: pooled.feedback,
        signals: relevance.parts.iter().chain(&relevance.shares).map(|(name, values)| (*name, part(values))).collect(),
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::super::relevance::relevance;
    use super::super::sample::Sample;
    use super::super::signals::SIGNALS;
    use super::super::weights::Weights;
    use super::*;

    #[test]
    fn an_explanation_names_every_signal_and_the_cosine_where_there_is_one() {
        let sample = Sample::of_turns(&[0.5, f32::NEG_INFINITY]);
        let view = sample.view();
        let scene = view.scene();
        let got = relevance(&scene, &Weights::default());
        let pooled = |row| Pooled { row, relevance_norm: 0.25, recency: 0.5, feedback: -1.0, score: 0.0 };
        let scoring = explain(&scene, &got, &pooled(0));
        assert_eq!((scoring.relevance, scoring.relevance_norm, scoring.feedback), (Some(0.5), 0.25, -1.0));
        let sum: f64 = scoring.signals.iter().map(|(_, part)| part).sum();
        assert!((sum - f64::from(got.total[0])).abs() < 1e-6);
        let names: Vec<&str> = scoring.signals.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, SIGNALS.iter().map(|signal| signal.name()).collect::<Vec<_>>());
        assert_eq!(explain(&scene, &got, &pooled(1)).relevance, None);
    }
}
