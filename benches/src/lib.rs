//! What the benchmark programs share: synthetic rows, the facade's default settings, timing by medians, and the argument `--name value`.
use std::path::PathBuf;
use std::time::{Duration, Instant};

use retentive_core::engine::{Engine, Mode, NewMemory, Options, Reach, RecallRequest, Settings};
use retentive_core::error::Result;
use retentive_core::model::{Judge, Kind, Vector};
use retentive_core::store::Durability;

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

/// The ten best memories of a session by all signals, the query's vector given.
#[must_use]
pub fn recall_request(query: String, vector: Vec<f32>, session: String, now: i64) -> RecallRequest {
    RecallRequest {
        query,
        query_terms: Vec::new(),
        vectors: vec![vector],
        model_epoch: None,
        reach: Reach { session: Some(session), ..Reach::default() },
        limit: Some(10),
        token_budget: None,
        score_gap: None,
        kinds: vec![Kind::Turn, Kind::Fact, Kind::Pinned],
        include_superseded: false,
        mode: Mode::Hybrid,
        now,
        as_of: None,
        exclude_ids: Vec::new(),
        filter: None,
        min_relevance: None,
        refusal_floor: None,
        late_interaction_floor: None,
        calibrated: false,
        settings: settings(),
    }
}

/// A turn of twenty words.
pub fn turn(numbers: &mut Numbers, id: String, session: &str, ts: i64, dimension: usize) -> NewMemory {
    let words: Vec<String> = (0..20).map(|_| format!("word{}", 1 + numbers.next_u64() % 5000)).collect();
    NewMemory {
        id,
        text: words.join(" "),
        kind: Kind::Turn,
        user: None,
        session: Some(session.to_owned()),
        role: Some(String::from("user")),
        name: None,
        key: None,
        turn: None,
        ts,
        expires: None,
        metadata: None,
        vectors: vec![Vector::first(numbers.vector(dimension))],
        model_epoch: None,
        judge: Judge::None,
        supersedes: Vec::new(),
        replace: false,
    }
}

/// What this thread took of a processor so far; nothing where there is no such clock.
#[must_use]
pub fn processor() -> Duration {
    #[cfg(unix)]
    {
        let told = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(told.tv_sec.unsigned_abs(), u32::try_from(told.tv_nsec).unwrap_or_default())
    }
    #[cfg(not(unix))]
    Duration::ZERO
}

/// The mean processor time of a call in microseconds.
pub fn processor_us(calls: usize, call: impl FnMut(usize)) -> f64 {
    let before = processor();
    (0..calls).for_each(call);
    processor().saturating_sub(before).as_secs_f64() * 1e6 / calls.max(1) as f64
}

/// A collection of English texts that keeps up to a gigabyte of it in memory.
///
/// # Errors
/// As [`Engine::open`].
pub fn open(file: PathBuf, durability: Durability) -> Result<Engine> {
    let options = Options {
        path: Some(file),
        name: String::from("bench"),
        language: String::from("english"),
        durability,
        cache_mb: 1024,
        busy_timeout: Duration::from_secs(30),
        readonly: false,
        entropy: [7; 32],
    };
    Engine::open(options, &|| false)
}

/// The median, in microseconds.
pub fn middle_us(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}

/// The median time of `runs` calls in microseconds, after a tenth of them as warm-up.
pub fn median_us(runs: usize, mut call: impl FnMut(usize)) -> f64 {
    for run in 0..runs / 10 {
        call(run);
    }
    let mut times: Vec<Duration> = (0..runs)
        .map(|run| {
            let start = Instant::now();
            call(run);
            start.elapsed()
        })
        .collect();
    middle_us(&mut times)
}

/// The value that follows `--name` on the command line, parsed, or `default`.
pub fn argument<T: std::str::FromStr>(name: &str, default: T) -> T {
    let flag = format!("--{name}");
    let mut words = std::env::args().skip_while(|word| *word != flag).skip(1);
    words.next().and_then(|word| word.parse().ok()).unwrap_or(default)
}
