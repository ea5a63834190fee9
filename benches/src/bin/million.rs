//! A recall over everything that a collection holds, beside a bare 1-bit scan of as many vectors and beside ranking everything, in
//! turns; and how many of the ten that ranking everything finds the recall finds too.
//!
//! `million --file scale/scale.db --sessions 2000 --queries 60 --compared 20`, prints one JSON object (microseconds). The questions are
//! six words of a stored memory and a vector near to its own.
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use retentive_benches::{Numbers, argument, processor_us, recall_request};
use retentive_core::engine::{Engine, Options, Ranked, Reach, RecallRequest};
use retentive_core::store::Durability;
use retentive_core::vector::hamming;

/// A day after the synthetic conversations of `benches/python/rows.py`, in microseconds UTC.
const NOW: i64 = 1_767_225_600_000_000;
const WORDS: usize = 6;
const FOUND: usize = 10;

fn opened() -> Result<Engine, Box<dyn Error>> {
    let options = Options {
        path: Some(PathBuf::from(argument("file", String::from("scale.db")))),
        name: argument("name", String::from("scale")),
        language: "english".to_owned(),
        durability: Durability::Full,
        cache_mb: argument("cache-mb", 1024),
        busy_timeout: Duration::from_secs(30),
        readonly: false,
        entropy: [7; 32],
    };
    Ok(Engine::open(options, &|| false)?)
}

/// A question about a memory of the session: some of its words, and its vector with noise.
fn question(engine: &Engine, session: &str, numbers: &mut Numbers) -> Result<RecallRequest, Box<dyn Error>> {
    let turns = engine.turns(session, None, None, NOW, &|| false)?;
    let turn = turns.get(numbers.next_u64() as usize % turns.len().max(1)).ok_or("the session is empty")?;
    let words: Vec<&str> = turn.text.split_whitespace().collect();
    let first = numbers.next_u64() as usize % words.len().saturating_sub(WORDS).max(1);
    let stored = engine.vectors(std::slice::from_ref(&turn.id), &|| false)?;
    let vector = stored.into_iter().flatten().flatten().next().ok_or("the memory has no vector")?;
    let spread = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    let vector = vector.iter().map(|value| value + 0.3 * spread * numbers.next_f32()).collect();
    Ok(asked(words.iter().skip(first).take(WORDS).copied().collect::<Vec<_>>().join(" "), vector))
}

fn asked(query: String, vector: Vec<f32>) -> RecallRequest {
    RecallRequest { reach: Reach::default(), limit: Some(FOUND), ..recall_request(query, vector, String::new(), NOW) }
}

fn drawn(engine: &Engine, numbers: &mut Numbers, queries: usize) -> Result<Vec<RecallRequest>, Box<dyn Error>> {
    let sessions: usize = argument("sessions", 2000);
    let any = (0..queries).map(|_| {
        let session = format!("session-{}", numbers.next_u64() as usize % sessions);
        question(engine, &session, numbers)
    });
    any.collect()
}

/// Questions from a file: on each line a JSON list of the text and the vector.
fn read(file: &str) -> Result<Vec<RecallRequest>, Box<dyn Error>> {
    let lines = std::fs::read_to_string(file)?;
    let one = |line: &str| {
        let (query, vector): (String, Vec<f32>) = serde_json::from_str(line)?;
        Ok(asked(query, vector))
    };
    lines.lines().map(one).collect()
}

fn timed<T>(times: &mut Vec<f64>, call: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let answer = call();
    times.push(start.elapsed().as_secs_f64() * 1e6);
    answer
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// How many of the exact ranking's best the other one has.
fn shared(exact: &Ranked, other: &Ranked) -> usize {
    let has = |id: &str| other.memories.iter().take(FOUND).any(|memory| memory.id == id);
    exact.memories.iter().take(FOUND).filter(|memory| has(&memory.id)).count()
}

fn main() -> Result<(), Box<dyn Error>> {
    let never = || false;
    let engine = opened()?;
    let (queries, compared): (usize, usize) = (argument("queries", 60), argument("compared", 20));
    let mut numbers = Numbers::new(argument("seed", 3));
    let given: String = argument("questions", String::new());
    let requests: Vec<RecallRequest> =
        if given.is_empty() { drawn(&engine, &mut numbers, queries)? } else { read(&given)? };
    let queries = requests.len();
    let whole = argument("whole", retentive_core::engine::RANKED_WHOLE);
    engine.rank_everything_up_to(whole);
    let memories: usize = argument("memories", 1_000_000);
    let words = argument("dimension", 256) / 64;
    let rows: Vec<u64> = (0..memories * words).map(|_| numbers.next_u64()).collect();
    let query: Vec<u64> = (0..words).map(|_| numbers.next_u64()).collect();
    let mut distances = vec![0; memories];
    let (mut floor, mut ours, mut exact, mut cold) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut found, mut asked) = (0, 0);
    if let Some(request) = requests.first() {
        timed(&mut cold, || engine.recall(request, &never))?;
        engine.recall(request, &never)?;
    }
    for (at, request) in requests.iter().enumerate() {
        timed(&mut floor, || hamming::distances(std::hint::black_box(&query), &rows, &mut distances));
        std::hint::black_box(&distances);
        let got = timed(&mut ours, || engine.recall(request, &never))?;
        if at < compared {
            engine.rank_everything_up_to(usize::MAX);
            let expected = timed(&mut exact, || engine.recall(request, &never))?;
            engine.rank_everything_up_to(whole);
            asked += expected.memories.len().min(FOUND);
            found += shared(&expected, &got);
        }
    }
    let scan_processor = processor_us(10 * queries, |_| {
        hamming::distances(std::hint::black_box(&query), &rows, &mut distances);
        std::hint::black_box(&distances);
    });
    let mut failed = None;
    let recall_processor = processor_us(queries, |at| {
        let asked = requests.get(at).map(|request| engine.recall(request, &never));
        failed = asked.and_then(Result::err).or(failed.take());
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    let (floor, exact) = (median(&mut floor), median(&mut exact));
    let recall = median(&mut ours);
    let report = serde_json::json!({
        "memories": memories, "queries": queries, "cold_us": median(&mut cold),
        "scan_us": floor, "recall_us": recall, "slowest_us": ours.last(), "everything_us": exact,
        "ratio": recall / floor, "ratio_everything": exact / floor,
        "scan_processor_us": scan_processor, "recall_processor_us": recall_processor,
        "ratio_processor": recall_processor / scan_processor,
        "compared": compared, "recall_at_10": f64::from(u32::try_from(found)?) / f64::from(u32::try_from(asked.max(1))?),
    });
    println!("{report}");
    Ok(())
}
