//! `remember`, `recall` and `context` in Rust on a collection that the facade's benchmark made: what the engine costs
//! without Python. Vectors are given.
//!
//! `core --file chat/bench.db --sessions 200 --dimension 256`, prints one JSON object (microseconds). `--reads 20000` only reads so
//! often, for a profiler.
use std::cell::Cell;
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use retentive_benches::{Numbers, argument, median_us, middle_us, open, recall_request, turn};
use retentive_core::engine::{ContextRequest, Engine, NewMemory, RecallRequest};
use retentive_core::store::Durability;
use rusqlite::Connection;

/// A day after the synthetic conversations of `benches/python/rows.py`, in microseconds UTC.
const NOW: i64 = 1_767_225_600_000_000;
const QUERIES: usize = 200;

struct Bench {
    engine: Engine,
    sessions: usize,
    numbers: Numbers,
    dimension: usize,
}

impl Bench {
    fn text(&mut self) -> String {
        let words = (0..20).map(|_| format!("word{}", 1 + self.numbers.next_u64() % 5000));
        words.collect::<Vec<_>>().join(" ")
    }

    fn recall(&mut self, call: usize) -> RecallRequest {
        let (query, vector) = (self.text(), self.numbers.vector(self.dimension));
        recall_request(query, vector, format!("session-{}", call % self.sessions), NOW)
    }

    fn turn(&mut self, call: usize) -> NewMemory {
        let id = format!("mem_bench_{call}_{}", self.numbers.next_u64());
        turn(&mut self.numbers, id, &format!("session-{}", call % self.sessions), NOW, self.dimension)
    }
}

/// The median of `call` over requests made beforehand; the first error ends the program.
fn measured<R>(
    requests: &[R],
    mut call: impl FnMut(&R) -> retentive_core::error::Result<()>,
) -> Result<f64, Box<dyn Error>> {
    let failed = Cell::new(None);
    let time = median_us(requests.len(), |run| {
        if let Some(Err(error)) = requests.get(run).map(&mut call) {
            failed.set(Some(error));
        }
    });
    failed.take().map_or(Ok(time), |error| Err(error.into()))
}

/// What a memory of these rows takes on disk.
const ROW_BYTES: usize = 1_900;

/// Medians of a memory written and of its floor, a row with the same bytes in a durable transaction, in turns: what an
/// fsync costs changes with what the disk is busy with.
fn writes(bench: &Bench, turns: &[NewMemory]) -> Result<(f64, f64), Box<dyn Error>> {
    let beside = PathBuf::from(argument("file", String::from("bench.db"))).with_extension("floor");
    let base = Connection::open(beside)?;
    base.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE row (seq INTEGER PRIMARY KEY, body BLOB);",
    )?;
    let body = vec![7_u8; ROW_BYTES];
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for turn in turns {
        let turn = turn.clone();
        let start = Instant::now();
        base.prepare_cached("INSERT INTO row (body) VALUES (?1)")?.execute([&body])?;
        floor.push(start.elapsed());
        let start = Instant::now();
        bench.engine.remember(vec![turn], NOW, &|| false)?;
        ours.push(start.elapsed());
    }
    Ok((middle_us(&mut ours), middle_us(&mut floor)))
}

fn main() -> Result<(), Box<dyn Error>> {
    let never = || false;
    let file = PathBuf::from(argument("file", String::from("bench.db")));
    let mut bench = Bench {
        engine: open(file, Durability::Full)?,
        sessions: argument("sessions", 1),
        numbers: Numbers::new(3),
        dimension: argument("dimension", 256),
    };
    let recalls: Vec<RecallRequest> = (0..QUERIES).map(|call| bench.recall(call)).collect();
    for recall in &recalls {
        bench.engine.recall(recall, &never)?;
    }
    let contexts: Vec<ContextRequest> = recalls
        .iter()
        .map(|recall| ContextRequest {
            recent_session: recall.reach.session.clone(),
            recall: recall.clone(),
            recent_turns: 6,
        })
        .collect();
    let turns: Vec<NewMemory> = (0..QUERIES).map(|call| bench.turn(call)).collect();
    for call in 0..argument("reads", 0) {
        let Some(recall) = recalls.get(call % QUERIES) else { return Ok(()) };
        bench.engine.recall(recall, &never)?;
    }
    let recall = measured(&recalls, |recall| bench.engine.recall(recall, &never).map(drop))?;
    let context = measured(&contexts, |context| bench.engine.context(context, &never).map(drop))?;
    let (remember, floor) = writes(&bench, &turns)?;
    let report = serde_json::json!({
        "recall": recall, "context": context, "remember": remember, "write_floor": floor
    });
    println!("{report}");
    Ok(())
}
