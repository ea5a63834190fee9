//! Bulk writes in Rust, 1,000 a transaction, beside the floor: rows of the same bytes in transactions of as many, in turns.
//!
//! `bulk --dir /tmp/x --rows 50000 --dimension 256`, prints one JSON object (rows a second, and their ratio).
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use retentive_benches::{Numbers, argument, open, turn};
use retentive_core::engine::{BoundModel, Engine};
use retentive_core::store::Durability;
use rusqlite::Connection;

const TRANSACTION: usize = 1_000;
/// What a memory of these rows takes on disk.
const ROW_BYTES: usize = 1_900;
const PER_SESSION: usize = 500;
/// 2025-01-01, in microseconds UTC.
const START: i64 = 1_735_689_600_000_000;
const MINUTE: i64 = 60_000_000;

fn collection(folder: &Path, dimension: usize) -> retentive_core::error::Result<Engine> {
    let engine = open(folder.join("bulk.db"), Durability::Full)?;
    engine.bind_models(&[BoundModel { name: String::from("bench"), dimension, probe: None }], &|| false)?;
    Ok(engine)
}

fn floor(folder: &Path) -> rusqlite::Result<Connection> {
    let base = Connection::open(folder.join("floor.db"))?;
    base.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE row (seq INTEGER PRIMARY KEY, body BLOB);",
    )?;
    Ok(base)
}

fn insert(base: &Connection, rows: usize) -> rusqlite::Result<()> {
    let body = vec![7_u8; ROW_BYTES];
    base.execute_batch("BEGIN")?;
    for _ in 0..rows {
        base.prepare_cached("INSERT INTO row (body) VALUES (?1)")?.execute([&body])?;
    }
    base.execute_batch("COMMIT")
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder: PathBuf = argument("dir", String::from(".")).into();
    let (rows, dimension) = (argument("rows", 50_000), argument("dimension", 256));
    let (engine, base) = (collection(&folder, dimension)?, floor(&folder)?);
    let mut numbers = Numbers::new(7);
    let (mut own, mut beside) = (Duration::ZERO, Duration::ZERO);
    for first in (0..rows).step_by(TRANSACTION) {
        let turns: Vec<_> = (first..rows.min(first + TRANSACTION))
            .map(|row| {
                let (id, session) = (format!("mem_bench_{row:016}"), format!("session-{}", row / PER_SESSION));
                turn(&mut numbers, id, &session, START + row as i64 * MINUTE, dimension)
            })
            .collect();
        let count = turns.len();
        let start = Instant::now();
        engine.remember(turns, START, &|| false)?;
        own += start.elapsed();
        let start = Instant::now();
        insert(&base, count)?;
        beside += start.elapsed();
    }
    let rate = |took: Duration| rows as f64 / took.as_secs_f64();
    let figures = serde_json::json!({
        "rows_per_s": rate(own), "floor_rows_per_s": rate(beside), "ratio": own.as_secs_f64() / beside.as_secs_f64(),
    });
    println!("{figures}");
    Ok(())
}
