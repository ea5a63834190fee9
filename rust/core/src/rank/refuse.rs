//! "Nothing relevant" is an answer.
use super::scene::Scene;

/// What words add to the similarity when they cover the whole query.
const COVERAGE_WEIGHT: f32 = 0.5;

/// How well S answers the query at best: the largest `similarity + 0.5 * coverage`. A memory without vectors has
/// similarity 0. Negative infinity for an empty scope.
pub fn best_evidence(scene: &Scene) -> f32 {
    let coverage = scene.matches.coverage(scene.len());
    let similarity = |row: usize| scene.cosine.and_then(|cosine| cosine.get(row)).copied().filter(|x| x.is_finite());
    let evidence =
        coverage.iter().enumerate().map(|(row, held)| similarity(row).unwrap_or(0.0) + COVERAGE_WEIGHT * held);
    evidence.fold(f32::NEG_INFINITY, f32::max)
}

/// Whether S has no answer: its best evidence is below the embedder's floor, and the query names neither a date nor
/// earlier talk, which are found by other means than similarity.
#[must_use]
pub fn nothing_relevant(scene: &Scene, floor: f32) -> bool {
    let query = scene.query;
    best_evidence(scene) < floor && !query.names_date && !query.names_earlier_talk
}

#[cfg(test)]
mod tests {
    use super::super::language::ENGLISH;
    use super::super::sample::Sample;
    use super::*;

    fn refuses(cosine: f32, text: &str) -> bool {
        let sample = Sample { text: text.to_owned(), language: Some(&ENGLISH), ..Sample::of_turns(&[cosine, 0.1]) };
        let view = sample.view();
        nothing_relevant(&view.scene(), 0.4)
    }

    #[test]
    fn a_query_is_refused_below_the_floor_alone() {
        assert!(refuses(0.3, "who painted the ceiling"));
        assert!(!refuses(0.5, "who painted the ceiling"));
    }

    #[test]
    fn dates_and_earlier_talk_are_never_refused() {
        assert!(!refuses(0.3, "what happened on 2023-05-08"));
        assert!(!refuses(0.3, "what happened last week"));
        assert!(!refuses(0.3, "what did you recommend"));
    }

    #[test]
    fn words_count_half_of_what_they_cover() {
        let mut sample = Sample::of_turns(&[0.1, 0.3]);
        sample.tf = vec![vec![1, 0]];
        assert!((best_evidence(&sample.view().scene()) - 0.6).abs() < 1e-6);
    }

    #[test]
    fn a_memory_without_vectors_answers_by_its_words() {
        let mut sample = Sample::of_turns(&[f32::NEG_INFINITY]);
        assert!(best_evidence(&sample.view().scene()).abs() < 1e-6);
        sample.tf = vec![vec![1]];
        assert!((best_evidence(&sample.view().scene()) - 0.5).abs() < 1e-6);
    }
}
