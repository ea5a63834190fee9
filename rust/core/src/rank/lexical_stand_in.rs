//! Stand-in for `crate::lexical::{Posting, bm25}`, deleted when that is merged: only the paths change.

/// A memory that holds a term, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    pub row: u32,
    pub tf: u32,
}

pub mod bm25 {
    pub fn idf(n: usize, df: usize) -> f32 {
        let (n, df) = (n.max(df) as f64, df as f64);
        (1.0 + (n - df + 0.5) / (df + 0.5)).ln() as f32
    }

    pub fn term_weight(tf: f32, len: f32, avg_len: f32, idf: f32) -> f32 {
        let norm = if avg_len > 0.0 { 0.25 + 0.75 * len / avg_len } else { 1.0 };
        if tf > 0.0 { idf * tf * 2.2 / (tf + 1.2 * norm) } else { 0.0 }
    }
}
