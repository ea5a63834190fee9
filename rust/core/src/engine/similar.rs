//! `similar`: the nearest to a stored memory among what its owner has.
use super::Engine;
use super::admit::{Admission, Reached};
use super::columns::{Asked, Columns};
use super::feedback::living;
use super::gather::Gathered;
use super::request::Ranked;
use super::search::{hit_memory, rows, sort};
use super::view::{View, best_cosine, of_slot};
use crate::error::Result;
use crate::rank::blend::{PoolSize, pool};
use crate::rank::mode::Mode;
use crate::rank::query::Query;
use crate::rank::search::search_scores;
use crate::store::{Interrupt, Micros, ReadTx, Seq};
use crate::vector::quantise::quantise_unit;

impl Engine {
    /// The nearest to a stored memory, of the same owner, by the first model's cosine; by shared words where it has no vectors.
    pub fn similar(&self, id: &str, limit: Option<usize>, now: Micros, interrupt: Interrupt) -> Result<Ranked> {
        self.snapshot(interrupt, |view| self.nearest_to(view, id, limit, now))
    }

    fn nearest_to(&self, view: &View, id: &str, limit: Option<usize>, now: Micros) -> Result<Option<Ranked>> {
        let own = living(view.tx, id, now)?;
        let whole = Reached { partition: own.partition, scope: None, is_session: false, held: 0, rev: None };
        let admission = Admission { documents: true, superseded: false, now, as_of: None };
        let Some(gathered) = view.gather_from(&[whole], &admission)? else { return Ok(None) };
        let vectors = spread(of_slot(0, view.tx.vectors(own.seq)?));
        let terms = if vectors.is_empty() { self.terms_of(view.tx, own.seq)? } else { Vec::new() };
        let columns = Columns::new(&gathered, &Asked { terms: &terms, ..Asked::default() })?;
        let scores = if vectors.is_empty() { by_words(&columns) } else { by_vectors(&gathered, &vectors)? };
        let numbered = (0_u32..).zip(gathered.entries()).zip(&scores);
        let others = numbered.filter(|((_, entry), score)| entry.seq != own.seq && **score > f32::NEG_INFINITY);
        let candidates: Vec<u32> = others.map(|((index, _), _)| index).collect();
        let size = limit.map_or(PoolSize::Budget(u64::MAX), PoolSize::Limit);
        let pooled = pool(&columns.pooling(&scores, &columns.fixed.tokens), &candidates, size);
        let mut ranked = Ranked::default();
        for (row, index) in rows(view, &gathered, &pooled)? {
            let theirs = view.tx.vectors(row.head.seq)?;
            let similarity = vectors.iter().filter_map(|vector| best_cosine(0, vector, &theirs)).reduce(f32::max);
            let score = similarity.or_else(|| scores.get(index as usize).copied()).unwrap_or_default();
            ranked.memories.push(hit_memory(row, f64::from(score), similarity));
        }
        sort(&mut ranked.memories);
        ranked.memories.truncate(limit.unwrap_or(usize::MAX));
        Ok(Some(ranked))
    }

    fn terms_of(&self, tx: &ReadTx, seq: Seq) -> Result<Vec<(u64, u32)>> {
        let row = tx.rows(&[seq])?.into_iter().next();
        Ok(row.map(|row| self.analyzer.counts(&row.text)).unwrap_or_default())
    }
}

/// A longer text is compared by so many of its parts: each is looked for among all vectors there are.
const MOST_PARTS: usize = 256;

/// At most [`MOST_PARTS`] of these, evenly spread over all.
fn spread(vectors: Vec<Vec<f32>>) -> Vec<Vec<f32>> {
    let count = vectors.len();
    let first_of_step = |at: usize| at == 0 || at * MOST_PARTS / count != (at - 1) * MOST_PARTS / count;
    vectors
        .into_iter()
        .enumerate()
        .filter(|(at, _)| count <= MOST_PARTS || first_of_step(*at))
        .map(|(_, vector)| vector)
        .collect()
}

/// The int8 cosine of the nearest pair of vectors; `NEG_INFINITY` for what has none.
fn by_vectors(gathered: &Gathered, vectors: &[Vec<f32>]) -> Result<Vec<f32>> {
    let mut nearest = vec![f32::NEG_INFINITY; gathered.len()];
    for quantised in vectors.iter().filter_map(|vector| quantise_unit(vector)) {
        for (best, score) in nearest.iter_mut().zip(gathered.dense(0, &quantised)?) {
            *best = best.max(score);
        }
    }
    Ok(nearest)
}

/// The BM25 sum; `NEG_INFINITY` for what shares no word.
fn by_words(columns: &Columns) -> Vec<f32> {
    let scores = search_scores(&columns.scene(&Query::default()), Mode::Lexical, 0.0).score;
    scores.into_iter().map(|score| if score > 0.0 { score } else { f32::NEG_INFINITY }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_parts_as_many_as_are_compared_are_taken_evenly() {
        for count in [0, 1, 255, 256, 257, 511, 512, 1_000, 100_000] {
            let got = spread((0..count).map(|at| vec![at as f32]).collect());
            let places: Vec<usize> = got.iter().flatten().map(|at| *at as usize).collect();
            assert_eq!(places.len(), count.min(MOST_PARTS));
            let widest = places.windows(2).map(|pair| pair.iter().rev().copied().reduce(|a, b| a - b)).max().flatten();
            assert!(widest.unwrap_or(1) <= count / MOST_PARTS + 1, "{widest:?} of {count}");
        }
    }
}
