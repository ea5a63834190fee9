//! The query vector of an embedder whose texts are sums of their tokens: each token counts by how rare its term is in scope S.
//!
//! The stored vectors stay plain means; so only the direction that is looked for changes.
use std::ops::Range;

use crate::lexical::Term;

/// The tokens of a query: their vectors, and for each the term that it lies in.
#[derive(Debug, Clone, Default)]
pub struct QueryTokens {
    vectors: Vec<Vec<f32>>,
    terms: Vec<Option<u64>>,
}

impl QueryTokens {
    /// `spans` are the tokens' bytes in the query, `terms` the terms of its analysis. A token lies in the shortest term that covers
    /// it; a stop word, a sign and what is not analysed lie in none.
    #[must_use]
    pub fn new(vectors: Vec<Vec<f32>>, spans: &[Range<usize>], terms: &[Term]) -> Self {
        Self { terms: covering(spans, terms), vectors }
    }

    /// The sum of the tokens' vectors, each times `ln(1 + n / (1 + df))`, df of its term in a scope of `n` memories; n for those that
    /// lie in none. `None` where the tokens cancel out.
    #[must_use]
    pub fn weighted(&self, n: u32, df: impl Fn(u64) -> u32) -> Option<Vec<f32>> {
        let mut sum = vec![0.0_f32; self.vectors.first()?.len()];
        for (vector, term) in self.vectors.iter().zip(&self.terms) {
            let weight = weight(n, term.map_or(n, &df));
            for (sum, value) in sum.iter_mut().zip(vector) {
                *sum += weight * value;
            }
        }
        sum.iter().any(|value| *value != 0.0).then_some(sum)
    }
}

/// For each span the hash of the shortest term that covers it, the first of several. One pass: the terms that are open at a place are
/// few, however long the text.
fn covering(spans: &[Range<usize>], terms: &[Term]) -> Vec<Option<u64>> {
    let by_start = |starts: &[usize]| {
        let mut order: Vec<usize> = (0..starts.len()).collect();
        order.sort_by_key(|at| starts.get(*at));
        order
    };
    let coming = by_start(&terms.iter().map(|term| term.start).collect::<Vec<_>>());
    let mut coming = coming.into_iter().filter_map(|at| Some((at, terms.get(at)?))).peekable();
    let mut open: Vec<(usize, &Term)> = Vec::new();
    let mut found = vec![None; spans.len()];
    for at in by_start(&spans.iter().map(|span| span.start).collect::<Vec<_>>()) {
        let (Some(span), Some(found)) = (spans.get(at), found.get_mut(at)) else { continue };
        open.retain(|(_, term)| term.end >= span.start);
        while let Some(next) = coming.next_if(|(_, term)| term.start <= span.start) {
            if next.1.end >= span.start {
                open.push(next);
            }
        }
        let covers = open.iter().filter(|(_, term)| span.end <= term.end);
        *found = covers.min_by_key(|(at, term)| (term.end - term.start, *at)).map(|(_, term)| term.hash);
    }
    found
}

fn weight(n: u32, df: u32) -> f32 {
    (1.0 + f64::from(n) / (1.0 + f64::from(df))).ln() as f32
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn term(hash: u64, start: usize, end: usize) -> Term {
        Term { hash, start, end }
    }

    #[test]
    fn a_token_counts_by_the_shortest_term_that_covers_it() {
        let terms = [term(1, 0, 8), term(2, 0, 3), term(3, 4, 8)];
        let tokens = QueryTokens::new(vec![vec![1.0, 0.0], vec![0.0, 1.0]], &[0..2, 2..5], &terms);
        assert_eq!(tokens.terms, [Some(2), Some(1)]);
        let sum = tokens.weighted(100, |hash| if hash == 2 { 0 } else { 99 });
        assert_eq!(sum, Some(vec![101.0_f32.ln(), 2.0_f32.ln()]));
    }

    /// By the definition, each span with each term.
    fn covering_one_by_one(spans: &[Range<usize>], terms: &[Term]) -> Vec<Option<u64>> {
        let of = |span: &Range<usize>| {
            let covers = terms.iter().filter(|term| term.start <= span.start && span.end <= term.end);
            covers.min_by_key(|term| term.end - term.start).map(|term| term.hash)
        };
        spans.iter().map(of).collect()
    }

    proptest! {
        #[test]
        fn covering_is_that_of_the_definition(
            spans in prop::collection::vec((0_usize..40, 0_usize..6), 0..30), terms in prop::collection::vec((0_usize..40, 0_usize..12), 0..30)
        ) {
            let spans: Vec<_> = spans.iter().map(|(start, length)| *start..start + length).collect();
            let terms: Vec<_> = (0..).zip(&terms).map(|(hash, (start, length))| term(hash, *start, start + length)).collect();
            prop_assert_eq!(covering(&spans, &terms), covering_one_by_one(&spans, &terms));
        }
    }

    #[test]
    fn what_lies_in_no_term_is_in_every_memory() {
        let tokens = QueryTokens::new(vec![vec![1.0]], &[0..3], &[]);
        assert_eq!(tokens.weighted(9, |_| 0), Some(vec![1.9_f32.ln()]));
    }

    #[test]
    fn nothing_has_no_direction() {
        assert_eq!(QueryTokens::default().weighted(9, |_| 0), None);
        let tokens = QueryTokens::new(vec![vec![1.0], vec![-1.0]], &[0..1, 0..1], &[]);
        assert_eq!(tokens.weighted(9, |_| 0), None);
    }
}
