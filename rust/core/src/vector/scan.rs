//! A flat matrix of int8 rows and its exact scan.
use super::kernels;
use super::quantise::Quantised;
use crate::error::{Error, Result};

/// Rows scored between two looks at the scales: their dot products stay on the stack.
const BLOCK: usize = 256;

/// The vectors of a partition, row after row. A memory may own several (its parts), or none.
#[derive(Debug, Clone, Default)]
#[cfg_attr(test, derive(PartialEq))]
pub struct Rows {
    dimension: usize,
    codes: Vec<i8>,
    scales: Vec<f32>,
    owner: Vec<u32>,
    /// A row is not of the memory with its number: some memory has several, or none.
    shared: bool,
}

impl Rows {
    #[must_use]
    pub fn new(dimension: usize) -> Self {
        Self { dimension, ..Self::default() }
    }

    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// What the rows take in memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.codes.capacity() + 4 * (self.scales.capacity() + self.owner.capacity())
    }

    /// Appends a vector of the memory `owner`.
    pub fn push(&mut self, owner: u32, vector: &Quantised) -> Result<()> {
        self.check(vector, "every vector of a collection comes from one model")?;
        self.codes.extend_from_slice(&vector.codes);
        self.scales.push(vector.scale);
        self.shared |= owner as usize != self.owner.len();
        self.owner.push(owner);
        Ok(())
    }

    /// The cosine of the query with each row, in row order; `out` is cleared first.
    pub fn score_into(&self, query: &Quantised, out: &mut Vec<f32>) -> Result<()> {
        self.check(query, "embed the query with the collection's own model")?;
        out.clear();
        out.reserve(self.len());
        if self.dimension > kernels::LONGEST {
            self.score_wide(query, out);
            return Ok(());
        }
        let mut dots = [0_i32; BLOCK];
        let blocks = self.codes.chunks((self.dimension * BLOCK).max(1));
        for (codes, scales) in blocks.zip(self.scales.chunks(BLOCK)) {
            let (dots, _) = dots.split_at_mut(scales.len());
            kernels::dots(&query.codes, codes, dots);
            out.extend(dots.iter().zip(scales).map(|(dot, scale)| *dot as f32 * (scale * query.scale)));
        }
        Ok(())
    }

    /// The best cosine of each of `owners` memories; negative infinity where a memory has no vector.
    pub fn best_per_owner(&self, query: &Quantised, owners: usize) -> Result<Vec<f32>> {
        let mut scores = Vec::with_capacity(owners);
        self.score_into(query, &mut scores)?;
        if !self.shared {
            scores.resize(owners, f32::NEG_INFINITY);
            return Ok(scores);
        }
        let mut best = vec![f32::NEG_INFINITY; owners];
        for (score, owner) in scores.iter().zip(&self.owner) {
            if let Some(slot) = best.get_mut(*owner as usize) {
                *slot = slot.max(*score);
            }
        }
        Ok(best)
    }

    fn score_wide(&self, query: &Quantised, out: &mut Vec<f32>) {
        let rows = self.codes.chunks(self.dimension.max(1)).zip(&self.scales);
        out.extend(rows.map(|(codes, scale)| kernels::wide_dot(&query.codes, codes) as f32 * (scale * query.scale)));
    }

    fn check(&self, vector: &Quantised, hint: &str) -> Result<()> {
        if vector.codes.len() == self.dimension {
            return Ok(());
        }
        Err(Error::Dimension { expected: self.dimension, got: vector.codes.len(), hint: hint.to_owned() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use proptest::prelude::*;

    use super::super::quantise::{cosine, quantise_unit};
    use super::*;

    fn rows_of(vectors: &[(u32, Vec<f32>)], dimension: usize) -> Rows {
        let mut rows = Rows::new(dimension);
        for (owner, vector) in vectors {
            rows.push(*owner, &quantise_unit(vector).unwrap()).unwrap();
        }
        rows
    }

    #[test]
    fn a_vector_of_another_dimension_is_refused() {
        let mut rows = Rows::new(3);
        let other = quantise_unit(&[1.0, 0.0]).unwrap();
        assert!(matches!(rows.push(0, &other), Err(Error::Dimension { expected: 3, got: 2, .. })));
        assert!(rows.score_into(&other, &mut Vec::new()).is_err());
        assert!(rows.is_empty());
    }

    #[test]
    fn a_memory_scores_as_its_best_vector_and_one_without_vectors_as_none() {
        let rows = rows_of(&[(0, vec![1.0, 0.0]), (2, vec![0.0, 1.0]), (0, vec![0.0, -1.0])], 2);
        let best = rows.best_per_owner(&quantise_unit(&[0.0, 1.0]).unwrap(), 3).unwrap();
        assert!(best[0].abs() < 1e-6 && (best[2] - 1.0).abs() < 1e-6);
        assert!(best[1].is_infinite() && best[1] < 0.0);
    }

    #[test]
    fn rows_beyond_the_kernels_length_are_scored_too() {
        let long = vec![1.0; kernels::LONGEST + 9];
        let rows = rows_of(&[(0, long.clone())], long.len());
        let mut out = Vec::new();
        rows.score_into(&quantise_unit(&long).unwrap(), &mut out).unwrap();
        assert!((out[0] - 1.0).abs() < 1e-4);
    }

    proptest! {
        #[test]
        fn a_scan_is_near_the_exact_cosines(
            vectors in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 33), 2..600)
        ) {
            prop_assume!(vectors.iter().all(|v| v.iter().any(|x| x.abs() > 0.1)));
            let owned: Vec<(u32, Vec<f32>)> = (0..).zip(vectors.clone()).collect();
            let mut out = vec![9.0];
            rows_of(&owned, 33).score_into(&quantise_unit(&vectors[0]).unwrap(), &mut out).unwrap();
            prop_assert_eq!(out.len(), vectors.len());
            for (score, vector) in out.iter().zip(&vectors) {
                prop_assert!((score - cosine(&vectors[0], vector)).abs() < 0.02);
            }
        }
    }
}
