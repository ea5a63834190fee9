//! What the benchmark programs share: synthetic rows, the facade's default settings, timing by medians, and the argument `--name value`.
use std::time::Instant;

use retentive_core::engine::Settings;

/// A small deterministic generator (`SplitMix64`), so that every run measures the same rows.
#[derive(Debug, Clone)]
pub struct Numbers(u64);

impl Numbers {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in -1 to 1.
    pub fn next_f32(&mut self) -> f32 {
        (self.next_u64() >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    }

    pub fn vector(&mut self, dimension: usize) -> Vec<f32> {
        (0..dimension).map(|_| self.next_f32()).collect()
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next_u64() as u8).collect()
    }
}

/// `ConversationMemory`'s defaults, with the static model's weight.
#[must_use]
pub fn settings() -> Settings {
    Settings {
        half_life_days: 7.0,
        recency_weight: 0.5,
        feedback_weight: 0.25,
        feedback_half_life_days: 30.0,
        sitting_gap_us: 3_600_000_000,
        recall_roles: None,
        recall_min_words: 1,
        max_turns: None,
        signals: Vec::new(),
        dense_weights: vec![0.5],
    }
}

/// The median time of `runs` calls in microseconds, after a tenth of them as warm-up.
pub fn median_us(runs: usize, mut call: impl FnMut(usize)) -> f64 {
    for run in 0..runs / 10 {
        call(run);
    }
    let mut times: Vec<f64> = (0..runs)
        .map(|run| {
            let start = Instant::now();
            call(run);
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times.get(runs / 2).copied().unwrap_or_default()
}

/// The value that follows `--name` on the command line, parsed, or `default`.
pub fn argument<T: std::str::FromStr>(name: &str, default: T) -> T {
    let flag = format!("--{name}");
    let mut words = std::env::args().skip_while(|word| *word != flag).skip(1);
    words.next().and_then(|word| word.parse().ok()).unwrap_or(default)
}
