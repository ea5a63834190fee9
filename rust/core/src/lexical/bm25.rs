//! BM25 as numbers in, numbers out.
//!
//! Source: S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, equation 3.15, with
//! the idf of Lucene's `BM25Similarity`: one is added inside the logarithm, so that a term in more than half of the memories
//! counts little instead of counting against.

/// How soon repeating a term stops to add.
pub const K1: f32 = 1.2;
/// How much a long text is held against it: 0 not at all, 1 in proportion.
pub const B: f32 = 0.75;

/// Rarity of a term that `df` of `n` memories have: `ln(1 + (n - df + 0.5) / (df + 0.5))`, never negative.
#[must_use]
pub fn idf(n: usize, df: usize) -> f32 {
    let (n, df) = (n.max(df) as f64, df as f64);
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln() as f32
}

/// What one term adds to a memory's score: `idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len / avg_len))`.
/// `tf` may be a fraction: neighbours' terms count in part. 0 where `tf` is.
#[must_use]
pub fn term_weight(tf: f32, len: f32, avg_len: f32, idf: f32) -> f32 {
    idf * saturation(tf, length_norm(len, avg_len))
}

/// `1 - b + b * len / avg_len`; 1 for a scope without terms.
#[must_use]
pub fn length_norm(len: f32, avg_len: f32) -> f32 {
    if avg_len > 0.0 { 1.0 - B + B * len / avg_len } else { 1.0 }
}

/// Between 0 and `k1 + 1`, rising with `tf`.
#[must_use]
pub fn saturation(tf: f32, length_norm: f32) -> f32 {
    if tf > 0.0 { tf * (K1 + 1.0) / (tf + K1 * length_norm) } else { 0.0 }
}

/// The parts of one term's weight; `weight` is what [`term_weight`] gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Explanation {
    pub tf: f32,
    pub len: f32,
    pub avg_len: f32,
    pub idf: f32,
    pub length_norm: f32,
    pub saturation: f32,
    pub weight: f32,
}

/// [`term_weight`], showing its work.
#[must_use]
pub fn explain(tf: f32, len: f32, avg_len: f32, idf: f32) -> Explanation {
    let length_norm = length_norm(len, avg_len);
    let saturation = saturation(tf, length_norm);
    Explanation { tf, len, avg_len, idf, length_norm, saturation, weight: idf * saturation }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As the textbook has it, in f64.
    fn textbook(tf: f64, len: f64, avg_len: f64, n: f64, df: f64) -> f64 {
        let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
        idf * (tf * (1.2 + 1.0)) / (tf + 1.2 * (1.0 - 0.75 + 0.75 * len / avg_len))
    }

    #[test]
    fn nothing_is_worth_nothing() {
        assert!(term_weight(0.0, 10.0, 10.0, 2.0).abs() < f32::EPSILON);
        assert!(term_weight(1.0, 0.0, 0.0, 2.0).is_finite());
        assert!(idf(0, 0).is_finite() && idf(3, 5) >= 0.0);
    }

    #[test]
    fn rare_terms_and_short_texts_weigh_more() {
        assert!(idf(100, 1) > idf(100, 50) && idf(100, 100) > 0.0);
        assert!(term_weight(1.0, 5.0, 10.0, 1.0) > term_weight(1.0, 50.0, 10.0, 1.0));
        assert!(term_weight(1e9, 5.0, 10.0, 1.0) <= K1 + 1.0);
    }

    proptest! {
        #[test]
        fn agrees_with_the_textbook(
            tf in 1u32..500, len in 1u32..5000, avg_len in 0.5f32..3000.0, n in 1usize..2_000_000, part in 0.0f64..1.0,
        ) {
            let df = (n as f64 * part) as usize;
            let expected = textbook(tf.into(), len.into(), avg_len.into(), n as f64, df as f64);
            let got = f64::from(term_weight(tf as f32, len as f32, avg_len, idf(n, df)));
            prop_assert!((got - expected).abs() <= 1e-4 * expected.abs().max(1e-3), "{got} {expected}");
        }

        #[test]
        fn explain_agrees(tf in 0.0f32..50.0, len in 0.0f32..500.0, avg_len in 0.0f32..300.0, idf in 0.0f32..15.0) {
            prop_assert_eq!(explain(tf, len, avg_len, idf).weight.to_bits(), term_weight(tf, len, avg_len, idf).to_bits());
        }

        #[test]
        fn more_occurrences_never_weigh_less(tf in 0.0f32..50.0, more in 0.0f32..5.0, len in 1.0f32..500.0) {
            prop_assert!(term_weight(tf + more, len, 20.0, 3.0) >= term_weight(tf, len, 20.0, 3.0) - 1e-5);
        }
    }
}
