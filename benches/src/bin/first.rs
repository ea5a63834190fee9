//! The first recall of each of some sessions after opening, in Rust, and the next ones of the same session.
//!
//! `first --file data/scale.db --sessions 2000 --reads 300 --dimension 256`, prints one JSON object: milliseconds, the median of wall time
//! and, on Linux, the mean of processor time. The first session of all is read beforehand.
//! `--limit 0` returns no memory, so that the next ones are ranking alone, but for the look-up of the session.
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use retentive_benches::{Numbers, argument, middle_us, open, processor, recall_request};
use retentive_core::engine::RecallRequest;
use retentive_core::store::Durability;

const NOW: i64 = 1_767_225_600_000_000;
/// Reads of a session once it is in memory.
const AGAIN: usize = 3;

#[derive(Default)]
struct Times {
    wall: Vec<Duration>,
    processor: Vec<Duration>,
}

impl Times {
    fn take<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let (busy, start) = (processor(), Instant::now());
        let answer = call();
        self.wall.push(start.elapsed());
        self.processor.push(processor().saturating_sub(busy));
        answer
    }

    fn report(&mut self) -> serde_json::Value {
        // The system counts the processor's time at its ticks: right in the sum, not for each call.
        let processor =
            self.processor.iter().sum::<Duration>().as_secs_f64() * 1e3 / self.processor.len().max(1) as f64;
        serde_json::json!({ "wall_ms": middle_us(&mut self.wall) / 1e3, "mean_processor_ms": processor })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = PathBuf::from(argument("file", String::from("bench.db")));
    let (sessions, reads): (u64, usize) = (argument("sessions", 1), argument("reads", 300));
    let dimension = argument("dimension", 256);
    let mut numbers = Numbers::new(argument("seed", 5));
    let engine = open(file, Durability::Normal)?;
    let mut request = |session: u64| {
        let query = String::from("word1 word2 word3");
        let limit = Some(argument("limit", 10));
        RecallRequest { limit, ..recall_request(query, numbers.vector(dimension), format!("session-{session}"), NOW) }
    };
    let never = || false;
    if sessions > 1 {
        engine.recall(&request(0), &never)?;
    }
    let (mut first, mut next) = (Times::default(), Times::default());
    let mut order = Numbers::new(argument("seed", 5));
    let mut seen = std::collections::HashSet::from([0]);
    for _ in 0..reads {
        let session = order.next_u64() % sessions;
        if sessions > 1 && !seen.insert(session) {
            continue;
        }
        let asked = request(session);
        first.take(|| engine.recall(&asked, &never))?;
        for _ in 0..AGAIN {
            let asked = request(session);
            next.take(|| engine.recall(&asked, &never))?;
        }
    }
    let report = serde_json::json!({ "sessions": first.wall.len(), "first": first.report(), "next": next.report() });
    println!("{report}");
    Ok(())
}
