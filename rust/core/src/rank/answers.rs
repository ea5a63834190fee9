//! How well the sentences of a memory answer the query: the cosine with it, plus the share of its idf that they hold.
use crate::lexical::Term;

/// Of a longer text, the sentences with most of the query's words are compared by cosine: a vector takes eight microseconds
/// (docs/adr/0030-excerpts.md).
const MOST_COMPARED: usize = 64;
/// Counts as the cosine of a sentence that was not compared.
const UNLIKE: f32 = -1.0;

/// The share of the query's idf that a sentence of these terms holds, 0 to 1; 0 for a query without terms.
#[must_use]
pub fn overlap(idf: &[(u64, f32)], terms: &[Term]) -> f32 {
    let total: f32 = idf.iter().map(|(_, idf)| idf).sum();
    let held: f32 =
        idf.iter().filter(|(hash, _)| terms.iter().any(|term| term.hash == *hash)).map(|(_, idf)| idf).sum();
    if total > 0.0 { held / total } else { 0.0 }
}

/// The sentences to compare by cosine, in their order.
#[must_use]
pub fn compared(overlaps: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..overlaps.len()).collect();
    if overlaps.len() > MOST_COMPARED {
        let overlap = |index: &usize| overlaps.get(*index).copied().unwrap_or_default();
        order.sort_by(|a, b| overlap(b).total_cmp(&overlap(a)));
        order.truncate(MOST_COMPARED);
        order.sort_unstable();
    }
    order
}

/// The scores of all sentences, given the cosines of those that were [`compared`].
#[must_use]
pub fn answers(overlaps: &[f32], compared: &[usize], cosines: &[f32]) -> Vec<f32> {
    let mut scores: Vec<f32> = overlaps.iter().map(|overlap| overlap + UNLIKE).collect();
    for (index, cosine) in compared.iter().zip(cosines) {
        if let (Some(score), Some(overlap)) = (scores.get_mut(*index), overlaps.get(*index)) {
            *score = overlap + cosine;
        }
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(hashes: &[u64]) -> Vec<Term> {
        hashes.iter().map(|hash| Term { hash: *hash, start: 0, end: 0 }).collect()
    }

    #[test]
    fn overlap_is_the_share_of_idf_held() {
        let idf = [(1, 3.0), (2, 1.0)];
        for (held, share) in [(&[][..], 0.0), (&[1, 1, 9], 0.75), (&[2], 0.25), (&[2, 1], 1.0)] {
            assert!((overlap(&idf, &terms(held)) - share).abs() < 1e-6);
        }
        assert!(overlap(&[], &terms(&[1])).abs() < 1e-6);
    }

    #[test]
    fn all_sentences_of_a_usual_memory_are_compared() {
        assert_eq!(compared(&[0.0, 0.5, 0.1]), [0, 1, 2]);
    }

    #[test]
    fn of_a_long_text_those_with_the_querys_words_are_compared() {
        let mut overlaps = vec![0.0; 1000];
        overlaps.iter_mut().skip(937).for_each(|overlap| *overlap = 0.5);
        let got = compared(&overlaps);
        assert_eq!(got.len(), MOST_COMPARED);
        assert_eq!((got.first(), got.get(1), got.last()), (Some(&0), Some(&937), Some(&999)));
    }

    #[test]
    fn scores_are_sums_and_what_was_not_compared_comes_last() {
        assert_eq!(answers(&[0.5, 0.25, 1.0], &[0, 1], &[0.25, -0.5]), [0.75, -0.25, 0.0]);
        assert_eq!(answers(&[0.5, 0.25], &[], &[]), [-0.5, -0.75]);
    }
}
