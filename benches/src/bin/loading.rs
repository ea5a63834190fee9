//! What a memory costs a process to load, and to catch up with after another handle on the same file has written it.
//!
//! `loading --dir FOLDER --rows 10000 --batch 1000 --rounds 20 --dimension 256`, prints one JSON object: microseconds a memory, the
//! median of wall time and the mean of processor time (on Linux).
use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use retentive_benches::{Numbers, argument, middle_us, open, processor, turn};
use retentive_core::engine::{BoundModel, NewMemory};
use retentive_core::store::Durability;

const START: i64 = 1_735_689_600_000_000;
const SECOND: i64 = 1_000_000;

#[derive(Default)]
struct Times {
    wall: Vec<Duration>,
    processor: Duration,
}

impl Times {
    fn take<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let (busy, start) = (processor(), Instant::now());
        let answer = call();
        self.wall.push(start.elapsed());
        self.processor += processor().saturating_sub(busy);
        answer
    }

    fn report(&mut self, memories: usize) -> serde_json::Value {
        let processor = self.processor.as_secs_f64() * 1e6 / self.wall.len().max(1) as f64;
        let a_memory = |us: f64| us / memories.max(1) as f64;
        serde_json::json!({ "wall_us": a_memory(middle_us(&mut self.wall)), "processor_us": a_memory(processor) })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = PathBuf::from(argument("dir", String::from("."))).join("loading.db");
    let (rows, batch, rounds) = (argument("rows", 10_000), argument("batch", 1_000), argument("rounds", 20));
    let dimension = argument("dimension", 256);
    let never = || false;
    let mut numbers = Numbers::new(11);
    let mut turns = |from: usize, count: usize| -> Vec<NewMemory> {
        let one =
            |row: usize| turn(&mut numbers, format!("mem_{row}"), "session", START + row as i64 * SECOND, dimension);
        (from..from + count).map(one).collect()
    };
    let writer = open(file.clone(), Durability::Normal)?;
    writer.bind_models(&[BoundModel { name: "loading".to_owned(), dimension, probe: None }], &never)?;
    for from in (0..rows).step_by(1_000) {
        writer.remember(turns(from, 1_000.min(rows - from)), START, &never)?;
    }
    let mut loads = Times::default();
    for _ in 0..rounds.min(10) {
        let reader = open(file.clone(), Durability::Normal)?;
        loads.take(|| reader.warmup(&never))?;
    }
    let reader = open(file, Durability::Normal)?;
    reader.warmup(&never)?;
    let mut caught = Times::default();
    for round in 0..rounds {
        writer.remember(turns(rows + round * batch, batch), START, &never)?;
        caught.take(|| reader.warmup(&never))?;
    }
    let report = serde_json::json!({ "load": loads.report(rows), "catch_up": caught.report(batch) });
    println!("{report}");
    Ok(())
}
