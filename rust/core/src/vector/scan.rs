//! A flat matrix of int8 rows and its exact scan.
use super::quantise::{Quantised, append_unit};
use super::{hamming, kernels};
use crate::error::{Error, Result};

/// Rows scored between two looks at the scales: their dot products stay on the stack.
const BLOCK: usize = 256;

/// Words of signs that are asked for before a scan; then it asks for more itself.
const PREFETCHED: usize = 2048 / 8;

/// The vectors of a partition, row after row. A memory may own several (its parts), or none.
#[derive(Debug, Clone, Default)]
#[cfg_attr(test, derive(PartialEq))]
pub struct Rows {
    dimension: usize,
    codes: Vec<i8>,
    scales: Vec<f32>,
    owner: Vec<u32>,
    /// A bit for each component that is negative, whole words a row.
    signs: Vec<u64>,
    /// A row is not of the memory with its number: some memory has several, or none.
    shared: bool,
}

impl Rows {
    #[must_use]
    pub fn new(dimension: usize) -> Self {
        Self { dimension, ..Self::default() }
    }

    /// As [`Self::new`], with room for so many.
    #[must_use]
    pub fn with_room(dimension: usize, rows: usize) -> Self {
        Self {
            dimension,
            codes: Vec::with_capacity(rows * dimension),
            scales: Vec::with_capacity(rows),
            owner: Vec::with_capacity(rows),
            signs: Vec::with_capacity(rows * dimension.div_ceil(64)),
            shared: false,
        }
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
        self.codes.capacity() + 4 * (self.scales.capacity() + self.owner.capacity()) + 8 * self.signs.capacity()
    }

    /// Gives back what was taken for rows to come.
    pub fn shrink(&mut self) {
        self.codes.shrink_to_fit();
        self.scales.shrink_to_fit();
        self.owner.shrink_to_fit();
        self.signs.shrink_to_fit();
    }

    /// Appends the direction of a vector of the memory `owner`; a vector without one is left out.
    pub fn push(&mut self, owner: u32, vector: &[f32]) -> Result<()> {
        if vector.len() != self.dimension {
            return Err(self.unfit(vector.len(), "every vector of a collection comes from one model"));
        }
        let before = self.codes.len();
        let Some(scale) = append_unit(vector, &mut self.codes) else { return Ok(()) };
        self.signs.extend(signs(self.codes.get(before..).unwrap_or_default()));
        self.scales.push(scale);
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

    /// As [`Self::best_per_owner`], for these memories alone.
    pub fn best_of(&self, query: &Quantised, owners: &[u32]) -> Result<Vec<f32>> {
        self.check(query, "embed the query with the collection's own model")?;
        Ok(owners.iter().map(|owner| self.best_of_one(query, *owner)).collect())
    }

    fn best_of_one(&self, query: &Quantised, owner: u32) -> f32 {
        let first = if self.shared { self.owner.partition_point(|other| *other < owner) } else { owner as usize };
        let own = self.owner.iter().enumerate().skip(first).take_while(|(_, other)| **other == owner);
        own.map(|(row, _)| self.score(query, row)).fold(f32::NEG_INFINITY, f32::max)
    }

    fn score(&self, query: &Quantised, row: usize) -> f32 {
        let codes = self.codes.get(row * self.dimension..(row + 1) * self.dimension).unwrap_or_default();
        let scale = self.scales.get(row).copied().unwrap_or_default();
        let dot = if codes.is_empty() || codes.len() > kernels::LONGEST {
            kernels::wide_dot(&query.codes, codes) as f32
        } else {
            let mut dot = [0];
            kernels::dots(&query.codes, codes, &mut dot);
            dot[0] as f32
        };
        dot * (scale * query.scale)
    }

    /// Row r is memory r's, and no memory has two.
    #[must_use]
    pub fn is_one_each(&self) -> bool {
        !self.shared
    }

    /// In how many signs each row differs from those of a query (see [`signs`]), in row order; `out` is cleared first.
    pub fn distances_into(&self, query: &[u64], out: &mut Vec<u32>) -> Result<()> {
        if query.len() != self.dimension.div_ceil(64) || query.is_empty() {
            let hint = "embed the query with the collection's own model".to_owned();
            return Err(Error::Dimension { expected: self.dimension, got: 64 * query.len(), hint });
        }
        out.clear();
        out.resize(self.len(), 0);
        hamming::distances(query, &self.signs, out);
        Ok(())
    }

    /// Asks for what [`Self::best_of`] reads of a memory that has one vector.
    pub fn prefetch_codes(&self, owner: u32) {
        let first = owner as usize * self.dimension;
        let own = self.codes.get(first..first + self.dimension).unwrap_or_default();
        own.chunks(64).for_each(|line| hamming::prefetch(line.as_ptr()));
        self.scales.get(owner as usize).into_iter().for_each(|own| hamming::prefetch(own));
        self.owner.get(owner as usize).into_iter().for_each(|own| hamming::prefetch(own));
    }

    /// Asks for the first of what [`Self::distances_into`] reads.
    pub fn prefetch_signs(&self) {
        for line in (0..PREFETCHED).step_by(8) {
            hamming::prefetch(self.signs.as_ptr().wrapping_add(line));
        }
    }

    /// The memory of each row, rising.
    #[must_use]
    pub fn owners(&self) -> &[u32] {
        &self.owner
    }

    fn score_wide(&self, query: &Quantised, out: &mut Vec<f32>) {
        let rows = self.codes.chunks(self.dimension.max(1)).zip(&self.scales);
        out.extend(rows.map(|(codes, scale)| kernels::wide_dot(&query.codes, codes) as f32 * (scale * query.scale)));
    }

    fn check(&self, vector: &Quantised, hint: &str) -> Result<()> {
        if vector.codes.len() == self.dimension {
            return Ok(());
        }
        Err(self.unfit(vector.codes.len(), hint))
    }

    fn unfit(&self, got: usize, hint: &str) -> Error {
        Error::Dimension { expected: self.dimension, got, hint: hint.to_owned() }
    }
}

/// The signs of a direction: a bit for each component, set where it is negative, in whole words.
pub fn signs(codes: &[i8]) -> impl Iterator<Item = u64> {
    codes.chunks(64).map(|codes| {
        let (eights, rest) = codes.as_chunks::<8>();
        let bytes = eights.iter().enumerate().fold(0, |word, (at, codes)| word | (sign_byte(*codes) << (8 * at)));
        let first = 8 * eights.len();
        (first..).zip(rest).fold(bytes, |word, (at, code)| word | (u64::from(code.is_negative()) << at))
    })
}

/// The signs of eight components as eight bits: multiplied, each byte's sign comes to lie at its place in the highest byte.
fn sign_byte(codes: [i8; 8]) -> u64 {
    let word = u64::from_le_bytes(codes.map(|code| code as u8));
    ((word >> 7) & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56
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
            rows.push(*owner, vector).unwrap();
        }
        rows
    }

    #[test]
    fn a_vector_of_another_dimension_is_refused() {
        let mut rows = Rows::new(3);
        let other = quantise_unit(&[1.0, 0.0]).unwrap();
        assert!(matches!(rows.push(0, &[1.0, 0.0]), Err(Error::Dimension { expected: 3, got: 2, .. })));
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
        fn signs_are_those_of_the_components(codes in prop::collection::vec(any::<i8>(), 0..300)) {
            let words: Vec<u64> = signs(&codes).collect();
            prop_assert_eq!(words.len(), codes.len().div_ceil(64));
            for at in 0..words.len() * 64 {
                let negative = codes.get(at).is_some_and(|code| *code < 0);
                prop_assert_eq!(words[at / 64] >> (at % 64) & 1 == 1, negative);
            }
        }

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
