//! How well the sentences of a memory answer the query: the cosine with it plus the share of its idf that they hold, a little of the
//! same of their neighbours, and a little for what it asks for. Figures: `docs/adr/0063-sentences-beside-the-querys-words.md`.
use crate::lexical::Term;

/// Of a longer text, the sentences with most of the query's words are compared by cosine: a vector takes eight microseconds
/// (docs/adr/0030-excerpts.md).
const MOST_COMPARED: usize = 64;
/// What of the better neighbour's likeness counts: the answer often stands beside the sentence with the question's words.
const NEIGHBOUR: f32 = 0.15;
/// A sentence has a time, a name or a number, and the query asks for one.
const CUE: f32 = 0.15;
/// Counts as the cosine of a sentence that was not compared.
const UNLIKE: f32 = -1.0;

/// The share of the query's idf that a sentence of these terms holds, 0 to 1; 0 for a query without terms. `total` is the sum of `idf`,
/// which is by rising hash.
#[must_use]
pub fn overlap(idf: &[(u64, f32)], total: f32, terms: &[Term]) -> f32 {
    let place = |term: &Term| idf.binary_search_by_key(&term.hash, |(hash, _)| *hash).ok();
    let mut found: Vec<usize> = terms.iter().filter_map(place).collect();
    found.sort_unstable();
    found.dedup();
    let held: f32 = found.iter().filter_map(|at| idf.get(*at)).map(|(_, idf)| idf).sum();
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

/// The scores of all sentences, given the cosines of those that were [`compared`] (none in lexical mode), and which of these hold what
/// the query asks for.
#[must_use]
pub fn answers(overlaps: &[f32], compared: &[usize], cosines: &[f32], held: &[bool]) -> Vec<f32> {
    let unlike = if cosines.is_empty() { 0.0 } else { UNLIKE };
    let mut likeness: Vec<f32> = overlaps.iter().map(|overlap| overlap + unlike).collect();
    for (index, cosine) in compared.iter().zip(cosines) {
        if let Some(likeness) = likeness.get_mut(*index) {
            *likeness += cosine - unlike;
        }
    }
    let of = |index: usize| likeness.get(index).copied().unwrap_or_default().max(0.0);
    let beside = |index: usize| index.checked_sub(1).map_or(0.0, of).max(of(index + 1));
    let mut scores: Vec<f32> =
        likeness.iter().enumerate().map(|(index, own)| own + NEIGHBOUR * beside(index)).collect();
    for (index, _) in compared.iter().zip(held).filter(|(_, held)| **held) {
        if let Some(score) = scores.get_mut(*index) {
            *score += CUE;
        }
    }
    scores
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn terms(hashes: &[u64]) -> Vec<Term> {
        hashes.iter().map(|hash| Term { hash: *hash, start: 0, end: 0 }).collect()
    }

    #[test]
    fn overlap_is_the_share_of_idf_held() {
        let idf = [(1, 3.0), (2, 1.0)];
        for (held, share) in [(&[][..], 0.0), (&[1, 1, 9], 0.75), (&[2], 0.25), (&[2, 1], 1.0)] {
            assert!((overlap(&idf, 4.0, &terms(held)) - share).abs() < 1e-6);
        }
        assert!(overlap(&[], 0.0, &terms(&[1])).abs() < 1e-6);
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
    fn a_neighbour_counts_a_little_and_so_does_what_is_asked_for() {
        let close = |got: &[f32], expected: &[f32]| {
            assert!(
                got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-6),
                "{got:?} {expected:?}"
            );
        };
        let cosines = [0.5, 0.0, 0.0, 0.0];
        close(&answers(&[0.5, 0.0, 0.0, 0.0], &[0, 1, 2, 3], &cosines, &[]), &[1.0, 0.15, 0.0, 0.0]);
        close(&answers(&[0.5, 0.0, 0.0], &[0, 1, 2], &[], &[false, false, true]), &[0.5, 0.075, 0.15]);
        close(&answers(&[0.0, 0.5, 0.0], &[0], &[0.5], &[]), &[0.5, -0.425, -1.0]);
    }

    /// From the formula, in f64.
    fn textbook(likeness: &[f64], index: usize, held: bool) -> f64 {
        let before = if index > 0 { likeness[index - 1] } else { 0.0 };
        let after = likeness.get(index + 1).copied().unwrap_or(0.0);
        likeness[index] + 0.15 * before.max(after).max(0.0) + if held { 0.15 } else { 0.0 }
    }

    proptest! {
        #[test]
        fn a_score_is_that_of_the_formula(
            rows in prop::collection::vec((0.0_f32..1.0, -1.0_f32..1.0, any::<bool>()), 0..100), lexical: bool
        ) {
            let overlaps: Vec<f32> = rows.iter().map(|row| row.0).collect();
            let compared = compared(&overlaps);
            let cosines: Vec<f32> = compared.iter().map(|index| rows[*index].1).filter(|_| !lexical).collect();
            let held: Vec<bool> = compared.iter().map(|index| rows[*index].2).collect();
            let likeness: Vec<f64> = (0..rows.len()).map(|index| {
                let cosine = if compared.contains(&index) { f64::from(rows[index].1) } else { -1.0 };
                f64::from(overlaps[index]) + if lexical || rows.is_empty() { 0.0 } else { cosine }
            }).collect();
            for (index, got) in answers(&overlaps, &compared, &cosines, &held).iter().enumerate() {
                let expected = textbook(&likeness, index, compared.contains(&index) && rows[index].2);
                prop_assert!((f64::from(*got) - expected).abs() < 1e-5, "{index}: {got} {expected}");
            }
        }
    }
}
