//! Relevance blended with recency and feedback, over the best of the candidates.
use super::decay::recency;
use crate::vector::topk::top_k;

/// The smallest pool: fewer would let recency alone decide.
const LEAST: usize = 20;
/// The most that feedback counts, either way: no number of outcomes lifts what is off the topic over the topic.
const FEEDBACK_LIMIT: f64 = 2.0;

/// How many candidates are blended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolSize {
    /// The best `max(2 * limit, 20)`.
    Limit(usize),
    /// The best whose tokens make 1.5 times this budget, at least 20.
    Budget(u64),
}

impl PoolSize {
    /// How many memories that is about, where one has so many tokens.
    #[must_use]
    pub fn about(self, tokens: f64) -> usize {
        match self {
            Self::Limit(limit) => limit.saturating_mul(2).max(LEAST),
            Self::Budget(budget) => ((budget as f64 * 1.5 / tokens.max(1.0)) as usize).max(LEAST),
        }
    }
}

/// The columns of S that pooling and blending read.
#[derive(Debug, Clone, Copy)]
pub struct Columns<'a> {
    pub relevance: &'a [f32],
    /// Microseconds UTC.
    pub ts: &'a [i64],
    pub tokens: &'a [u32],
}

#[derive(Debug, Clone, Copy)]
pub struct Blend {
    pub recency_weight: f64,
    pub half_life_days: f64,
    pub feedback_weight: f64,
}

/// A candidate of the pool; the score's parts are kept for the explanation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pooled {
    pub row: u32,
    pub relevance_norm: f64,
    pub recency: f64,
    /// As given, before the limit.
    pub feedback: f64,
    pub score: f64,
}

/// The best candidates by relevance, best first; ties to the newer, then to the later inserted.
#[must_use]
pub fn pool(columns: &Columns, candidates: &[u32], size: PoolSize) -> Vec<u32> {
    match size {
        PoolSize::Limit(limit) => best(columns, candidates, limit.saturating_mul(2).max(LEAST)),
        PoolSize::Budget(budget) => {
            let enough = budget.saturating_add(budget / 2);
            let mut size = LEAST.max(64);
            loop {
                let mut pool = best(columns, candidates, size);
                if let Some(filled) = filled_at(columns, &pool, enough) {
                    pool.truncate(filled.max(LEAST));
                    return pool;
                }
                if pool.len() == candidates.len() {
                    return pool;
                }
                size = size.saturating_mul(4);
            }
        }
    }
}

fn best(columns: &Columns, candidates: &[u32], size: usize) -> Vec<u32> {
    let relevance = |row: u32| columns.relevance.get(row as usize).copied().unwrap_or(f32::NEG_INFINITY);
    top_k(candidates.iter().copied(), size, relevance, |row| columns.ts.get(row as usize).copied())
}

/// How many of the pool it takes until their tokens reach `enough`; `None` when they never do.
fn filled_at(columns: &Columns, pool: &[u32], enough: u64) -> Option<usize> {
    let mut sum = 0_u64;
    let reached = pool.iter().position(|row| {
        sum += columns.tokens.get(*row as usize).map_or(0, |tokens| u64::from(*tokens));
        sum >= enough
    });
    reached.map(|last| last + 1)
}

/// Scores the pool, best first: `relevance_norm + recency_weight * recency + feedback_weight * clip(feedback, -2, 2)`.
/// Ties go to the newer, then to the later inserted. `feedback` is a row's [`super::decay::feedback_score`].
pub fn blend(
    columns: &Columns,
    pool: &[u32],
    now: i64,
    settings: &Blend,
    feedback: impl Fn(u32) -> f64,
) -> Vec<Pooled> {
    let norms = pool_norms(columns, pool);
    let mut blended: Vec<Pooled> = pool
        .iter()
        .zip(norms)
        .map(|(&row, relevance_norm)| {
            let ts = columns.ts.get(row as usize).copied().unwrap_or(i64::MIN);
            let recency = recency(now.saturating_sub(ts), settings.half_life_days);
            let feedback = feedback(row);
            let score = relevance_norm
                + settings.recency_weight * recency
                + settings.feedback_weight * feedback.clamp(-FEEDBACK_LIMIT, FEEDBACK_LIMIT);
            Pooled { row, relevance_norm, recency, feedback, score }
        })
        .collect();
    let ts = |row: u32| columns.ts.get(row as usize).copied();
    blended.sort_unstable_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| ts(b.row).cmp(&ts(a.row))).then_with(|| b.row.cmp(&a.row))
    });
    blended
}

/// Relevance scaled to 0..1 over the pool; 1 where all are equal, since all are then the best.
fn pool_norms(columns: &Columns, pool: &[u32]) -> Vec<f64> {
    let of = |row: &u32| columns.relevance.get(*row as usize).map_or(0.0, |relevance| f64::from(*relevance));
    let low = pool.iter().map(of).fold(f64::INFINITY, f64::min);
    let high = pool.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let norm = |row| if high > low { (of(row) - low) / (high - low) } else { 1.0 };
    pool.iter().map(norm).collect()
}

/// How many of these scores (best first) reach `gap` times the top; all of them when the top is not positive.
#[must_use]
pub fn within_gap(scores: &[f64], gap: f64) -> usize {
    match scores.first() {
        Some(top) if *top > 0.0 => scores.partition_point(|score| *score >= top * gap),
        _ => scores.len(),
    }
}

#[cfg(test)]
#[path = "blend_tests.rs"]
mod tests;
