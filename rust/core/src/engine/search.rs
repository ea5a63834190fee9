//! `search`: the plain score over documents and live memories alike; no thread, no recency, no feedback.
use super::Engine;
use super::admit::Admission;
use super::columns::{Asked, AskedVector, Columns, distinct, second_share};
use super::filter::{self, MetadataFilter};
use super::gather::Gathered;
use super::model::expect_models;
use super::record;
use super::request::{Memory, Ranked, SearchRequest};
use super::view::{View, best_cosine};
use crate::error::Result;
use crate::model::Vector;
use crate::rank::blend::{PoolSize, pool, within_gap};
use crate::rank::mode::Mode;
use crate::rank::query::Query;
use crate::rank::relevance::DENSE_SHARES;
use crate::rank::search::search_scores;
use crate::store::{Interrupt, Row, Seq};

impl Engine {
    /// The best hits by score; without a query and a vector what the filter admits, newest first.
    pub fn search(&self, request: &SearchRequest, interrupt: Interrupt) -> Result<Ranked> {
        let search = Search {
            request,
            filter: filter::parse(request.filter.as_deref())?,
            terms: request
                .query
                .as_deref()
                .map(|query| distinct(&self.analyzer.query_terms(query)))
                .unwrap_or_default(),
            vectors: request.vectors.iter().map(|values| AskedVector::plain(values)).collect(),
            dense_weight: request.dense_weights.iter().sum(),
            second_share: second_share(&request.dense_weights),
        };
        self.snapshot(interrupt, |view| search.rank(view))
    }
}

struct Search<'a> {
    request: &'a SearchRequest,
    filter: Option<MetadataFilter>,
    terms: Vec<(u64, u32)>,
    vectors: Vec<AskedVector>,
    dense_weight: f64,
    second_share: f32,
}

impl Search<'_> {
    fn rank(&self, view: &View) -> Result<Option<Ranked>> {
        let request = self.request;
        expect_models(view.tx, [request.model_epoch])?;
        let admission = Admission { documents: true, superseded: false, now: request.now, as_of: None };
        let Some(gathered) = view.gather(&request.reach, &admission, self.filter.as_ref())? else { return Ok(None) };
        let asked =
            Asked { terms: &self.terms, vectors: &self.vectors, second_share: self.second_share, ..Asked::default() };
        let columns = Columns::new(&gathered, &asked)?;
        if request.query.is_none() && request.vectors.is_empty() {
            return self.newest(view, &gathered, &columns).map(Some);
        }
        let scores = search_scores(&columns.scene(&Query::default()), request.mode, self.dense_weight as f32);
        let candidates = self.candidates(view, &gathered, &columns, &scores.score)?;
        let pooled = pool(&columns.pooling(&scores.score, &columns.fixed.tokens), &candidates, self.size());
        let ranges: Vec<Range> = columns.cosines.iter().map(|cosines| Range::of(cosines)).collect();
        let mut ranked = Ranked::default();
        for Hit { memory, similarities, index } in self.hits(view, &gathered, &pooled)? {
            let similarity = similarities.first().copied().flatten();
            let part = |name: &str| {
                let values = scores.parts.iter().find(|(part, _)| *part == name).map(|(_, values)| values);
                values.and_then(|values| values.get(index as usize)).map_or(0.0, |value| f64::from(*value))
            };
            let dense = self.dense_parts(&ranges, &similarities);
            let parts = self.parts(similarity, &dense, part("lexical"));
            let score = parts.iter().map(|(_, part)| part).sum();
            let scoring = request.explain.then(|| explained(&parts, &dense, similarity));
            ranked.memories.push(Memory { scoring, ..scored(memory, score, similarity) });
        }
        sort(&mut ranked.memories);
        self.cut_gap(&mut ranked);
        Ok(Some(ranked))
    }

    /// The score's parts with the exact cosine in place of the scan's.
    fn parts(&self, similarity: Option<f32>, dense: &[f64], lexical: f64) -> Vec<(&'static str, f64)> {
        match self.request.mode {
            Mode::Dense => vec![("dense", f64::from(similarity.unwrap_or(f32::NEG_INFINITY)))],
            Mode::Lexical => vec![("lexical", lexical)],
            Mode::Hybrid => vec![("dense", dense.iter().sum()), ("lexical", lexical)],
        }
    }

    /// What each model gives to `dense` of hybrid.
    fn dense_parts(&self, ranges: &[Range], similarities: &[Option<f32>]) -> Vec<f64> {
        let weights = &self.request.dense_weights;
        let parts = ranges.iter().zip(similarities).zip(weights);
        parts.map(|((range, cosine), weight)| cosine.map_or(0.0, |cosine| weight * range.scale(cosine))).collect()
    }

    /// The rows of the pool.
    fn hits(&self, view: &View, gathered: &Gathered, pooled: &[u32]) -> Result<Vec<Hit>> {
        let with_vectors = !self.request.vectors.is_empty();
        let memories = view.memories(gathered, pooled.iter().copied(), with_vectors)?.into_iter().zip(pooled);
        let exact = |vectors: &[Vector]| {
            let queries = self.request.vectors.iter().enumerate();
            queries.map(|(slot, query)| best_cosine(slot, query, vectors)).collect()
        };
        let hits =
            memories.map(|((memory, vectors), index)| Hit { memory, similarities: exact(&vectors), index: *index });
        Ok(hits.collect())
    }

    /// What can be a hit at all: in `dense` what has vectors, in `lexical` (and without a vector) what shares a word.
    fn candidates(&self, view: &View, gathered: &Gathered, columns: &Columns, scores: &[f32]) -> Result<Vec<u32>> {
        let by_words = self.request.mode == Mode::Lexical || self.vectors.iter().all(|vector| vector.plain.is_none());
        let numbered = (0_u32..).zip(scores);
        let hits = numbered.filter(|(_, score)| if by_words { **score > 0.0 } else { score.is_finite() });
        let hits: Vec<u32> = hits.map(|(index, _)| index).collect();
        match (self.least_similarity(view)?, self.request.vectors.first(), columns.cosines.first()) {
            (Some(least), Some(query), Some(int8)) => view.at_least(gathered, int8, query, least as f32, hits),
            _ => Ok(hits),
        }
    }

    fn least_similarity(&self, view: &View) -> Result<Option<f64>> {
        let measured = if self.request.calibrated { view.floors()?.noise } else { None };
        Ok(measured.or(self.request.max_distance.map(|most| 1.0 - most)))
    }

    fn newest(&self, view: &View, gathered: &Gathered, columns: &Columns) -> Result<Ranked> {
        let level = vec![0.0; gathered.len()];
        let all: Vec<u32> = (0..gathered.len() as u32).collect();
        let pooled = pool(&columns.pooling(&level, &columns.fixed.tokens), &all, self.size());
        let memories = rows(view, gathered, &pooled)?.map(|(row, _)| hit_memory(row, 0.0, None)).collect();
        Ok(Ranked { memories, ..Ranked::default() })
    }

    fn size(&self) -> PoolSize {
        match (self.request.limit, self.request.token_budget) {
            (Some(limit), _) => PoolSize::Limit(limit),
            (None, budget) => PoolSize::Budget(budget.map_or(u64::MAX, |budget| budget as u64)),
        }
    }

    fn cut_gap(&self, ranked: &mut Ranked) {
        let Some(gap) = self.request.score_gap else { return };
        let scores: Vec<f64> = ranked.memories.iter().map(|memory| memory.score).collect();
        let below = ranked.memories.split_off(within_gap(&scores, gap));
        ranked.below_gap = below.into_iter().map(|memory| memory.id).collect();
    }
}

/// A memory of the pool.
struct Hit {
    memory: Memory,
    /// The exact cosine by each model; `None` where the memory has no vector of it.
    similarities: Vec<Option<f32>>,
    /// Its index in S.
    index: u32,
}

/// Least and largest cosine of S.
struct Range {
    low: f32,
    high: f32,
}

impl Range {
    fn of(cosines: &[f32]) -> Self {
        let finite = cosines.iter().filter(|cosine| cosine.is_finite());
        let start = (f32::INFINITY, f32::NEG_INFINITY);
        let (low, high) = finite.fold(start, |(low, high), cosine| (low.min(*cosine), high.max(*cosine)));
        Self { low, high }
    }

    /// 0 to 1, and 0 where all are equal.
    fn scale(&self, cosine: f32) -> f64 {
        if self.high > self.low {
            f64::from(((cosine - self.low) / (self.high - self.low)).clamp(0.0, 1.0))
        } else {
            0.0
        }
    }
}

/// The rows of the pool, each with its index in S.
pub(super) fn rows<'a>(
    view: &View,
    gathered: &Gathered,
    pooled: &'a [u32],
) -> Result<impl Iterator<Item = (Row, u32)> + use<'a>> {
    let seqs: Vec<Seq> = pooled.iter().filter_map(|index| gathered.seq(*index as usize)).collect();
    Ok(view.tx.all_rows(&seqs)?.into_iter().zip(pooled.iter().copied()))
}

pub(super) fn hit_memory(row: Row, score: f64, similarity: Option<f32>) -> Memory {
    scored(record::memory(row), score, similarity)
}

fn scored(memory: Memory, score: f64, similarity: Option<f32>) -> Memory {
    Memory { score, similarity: similarity.map(f64::from), ..memory }
}

fn explained(parts: &[(&'static str, f64)], dense: &[f64], similarity: Option<f32>) -> Vec<(&'static str, f64)> {
    let relevance = similarity.map(|cosine| ("relevance", f64::from(cosine)));
    let of_two = parts.len() > 1 && dense.len() > 1;
    let shares = DENSE_SHARES.into_iter().zip(dense.iter().copied()).filter(|_| of_two);
    relevance.into_iter().chain(parts.iter().copied()).chain(shares).collect()
}

/// By score; ties keep the pool's order: the newer, then the later inserted.
pub(super) fn sort(memories: &mut [Memory]) {
    memories.sort_by(|a, b| b.score.total_cmp(&a.score));
}
