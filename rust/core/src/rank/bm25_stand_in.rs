//! Stand-in for `crate::lexical::bm25`, deleted when that is merged.

pub fn idf(n: u32, df: u32) -> f32 {
    ((f64::from(n) - f64::from(df) + 0.5) / (f64::from(df) + 0.5)).ln_1p() as f32
}

pub fn term_weight(tf: u32, len: u32, avg_len: f32, idf: f32) -> f32 {
    let tf = tf as f32;
    let relative_len = if avg_len > 0.0 { len as f32 / avg_len } else { 1.0 };
    idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * relative_len))
}
