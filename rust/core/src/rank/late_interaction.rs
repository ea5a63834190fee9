//! Late interaction (Khattab and Zaharia 2020): how well the words of a text answer those of a query one by one, where the cosine of two
//! mean vectors lets a name that both hold stand for all the rest. In whole numbers but for the last step: the same on every machine.
use crate::vector::kernels::dots;

/// The tokens of one text: int8 vectors of equal length, at most `kernels::LONGEST`, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Tokens<'a> {
    pub codes: &'a [i8],
    /// At least 1.
    pub dimension: usize,
}

impl<'a> Tokens<'a> {
    fn rows(self) -> impl Iterator<Item = &'a [i8]> {
        self.codes.chunks_exact(self.dimension)
    }

    fn lengths(self) -> Vec<f64> {
        self.rows().map(length).collect()
    }
}

/// In `i32`, which the products of `kernels::LONGEST` codes fit.
fn length(codes: &[i8]) -> f64 {
    let squares: i32 = codes.iter().map(|code| i32::from(*code) * i32::from(*code)).sum();
    f64::from(squares).sqrt()
}

/// The mean over the query's tokens of the cosine with the nearest token of each text, from -1 to 1; a token counts by the square of its
/// vector's length, which is its codes' times its scale. 0 for a text without tokens, and for a query without.
#[must_use]
pub fn late_interaction(query: Tokens, scales: &[f32], texts: &[Tokens]) -> Vec<f32> {
    let lengths = query.lengths();
    let weights: Vec<f64> =
        lengths.iter().zip(scales).map(|(length, scale)| (length * f64::from(*scale)).powi(2)).collect();
    let total: f64 = weights.iter().sum();
    let of_text = |text: &Tokens| {
        let mut products = vec![0; text.rows().count()];
        let text_lengths = text.lengths();
        let mut sum = 0.0;
        for ((token, length), weight) in query.rows().zip(&lengths).zip(&weights) {
            dots(token, text.codes, &mut products);
            let cosines = products.iter().zip(&text_lengths).map(|(product, other)| cosine(*product, length * other));
            sum += weight * cosines.reduce(f64::max).unwrap_or(0.0);
        }
        if total > 0.0 { (sum / total).clamp(-1.0, 1.0) as f32 } else { 0.0 }
    };
    texts.iter().map(of_text).collect()
}

fn cosine(product: i32, lengths: f64) -> f64 {
    if lengths > 0.0 { f64::from(product) / lengths } else { 0.0 }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIMENSION: usize = 5;

    fn tokens(codes: &[i8]) -> Tokens<'_> {
        Tokens { codes, dimension: DIMENSION }
    }

    fn text() -> impl Strategy<Value = Vec<i8>> {
        (0_usize..6).prop_flat_map(|count| prop::collection::vec(any::<i8>(), count * DIMENSION))
    }

    #[test]
    fn a_text_with_every_word_of_the_query_answers_wholly() {
        let query = [1, 2, 3, 4, 5, -9, 0, 9, 0, 9];
        let text = [0, 0, 7, 0, 0, -9, 0, 9, 0, 9, 2, 4, 6, 8, 10];
        let found = late_interaction(tokens(&query), &[0.5, 2.0], &[tokens(&text)]);
        assert!((found[0] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_long_vector_counts_by_its_square() {
        let query = [3, 0, 0, 0, 0, 0, 1, 0, 0, 0];
        let first_alone = [9, 0, 0, 0, 0];
        let found = late_interaction(tokens(&query), &[1.0, 1.0], &[tokens(&first_alone)]);
        assert!((found[0] - 0.9).abs() < 1e-6);
    }

    #[test]
    fn what_has_no_token_and_no_direction_answers_nothing() {
        let query = [1, 0, 0, 0, 0];
        assert_eq!(late_interaction(tokens(&query), &[1.0], &[tokens(&[]), tokens(&[0; DIMENSION])]), [0.0, 0.0]);
        assert_eq!(late_interaction(tokens(&[]), &[], &[tokens(&query)]), [0.0]);
    }

    /// From the formula, in f64.
    fn textbook(query: &[i8], scales: &[f32], text: &[i8]) -> f64 {
        let vector = |codes: &[i8], scale: f32| -> Vec<f64> {
            codes.iter().map(|code| f64::from(*code) * f64::from(scale)).collect()
        };
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(x, y)| x * y).sum() };
        let (mut sum, mut total) = (0.0, 0.0);
        for (index, scale) in scales.iter().enumerate() {
            let token = vector(&query[index * DIMENSION..(index + 1) * DIMENSION], *scale);
            let mut best: Option<f64> = None;
            for other in text.chunks(DIMENSION).map(|codes| vector(codes, 1.0)) {
                let lengths = (dot(&token, &token) * dot(&other, &other)).sqrt();
                let cosine = if lengths > 0.0 { dot(&token, &other) / lengths } else { 0.0 };
                best = Some(best.map_or(cosine, |best| best.max(cosine)));
            }
            sum += dot(&token, &token) * best.unwrap_or(0.0);
            total += dot(&token, &token);
        }
        if total > 0.0 { sum / total } else { 0.0 }
    }

    proptest! {
        #[test]
        fn late_interaction_is_its_formula(query in text(), texts in prop::collection::vec(text(), 0..4), scale in 0.001_f32..1.0) {
            let scales: Vec<f32> = (0..query.len() / DIMENSION).map(|index| scale * (index + 1) as f32).collect();
            let each: Vec<Tokens> = texts.iter().map(|text| tokens(text)).collect();
            let found = late_interaction(tokens(&query), &scales, &each);
            prop_assert_eq!(found.len(), texts.len());
            for (got, text) in found.iter().zip(&texts) {
                let expected = textbook(&query, &scales, text);
                prop_assert!((f64::from(*got) - expected).abs() < 1e-5, "{} {}", got, expected);
            }
        }
    }
}
