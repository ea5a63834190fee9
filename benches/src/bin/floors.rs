//! The floor of a read, as bare as it can be: one scan of a partition's int8 vectors, and the returned rows from SQLite
//! by rowid.
//!
//! `floors --dir FOLDER --rows 500 --dimension 256 --returned 10 --sessions 1`, prints one JSON object (microseconds). With more
//! sessions each read is of the next one, as the calls that are compared with it read one session after the other.
//!
//! `floors --scan 1000000 --dimension 256`: in their place a bare 1-bit scan of so many vectors, in processor time.
use std::error::Error;
use std::path::Path;

use retentive_benches::{Numbers, argument, median_us, processor_us};
use retentive_core::vector::hamming;
use rusqlite::{Connection, params};

fn scan(codes: &[i8], query: &[i8], scores: &mut [i32]) -> usize {
    retentive_core::vector::kernels::dots(query, codes, scores);
    let best = scores.iter().enumerate().max_by_key(|(_, score)| **score);
    best.map_or(0, |(row, _)| row)
}

/// What is read: `sessions` times `rows` vectors, each with a row of 200 bytes.
struct Store {
    rows: usize,
    dimension: usize,
    sessions: usize,
}

fn read_floor(folder: &Path, store: &Store, returned: usize) -> Result<f64, Box<dyn Error>> {
    let &Store { rows, dimension, sessions } = store;
    let mut numbers = Numbers::new(1);
    let partition = |numbers: &mut Numbers| numbers.bytes(rows * dimension).into_iter().map(u8::cast_signed).collect();
    let partitions: Vec<Vec<i8>> = (0..sessions).map(|_| partition(&mut numbers)).collect();
    let query: Vec<i8> = numbers.bytes(dimension).into_iter().map(u8::cast_signed).collect();
    let mut connection = Connection::open(folder.join("read-floor.db"))?;
    connection.execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE row (seq INTEGER PRIMARY KEY, body BLOB);")?;
    let transaction = connection.transaction()?;
    for seq in 0..rows * sessions {
        transaction.execute("INSERT INTO row VALUES (?1, ?2)", params![seq as i64, numbers.bytes(200)])?;
    }
    transaction.commit()?;
    let mut fetch = connection.prepare("SELECT body FROM row WHERE seq = ?1")?;
    let mut seen = 0;
    let mut scores = vec![0; rows];
    let time = median_us(2000, |run| {
        let session = run % sessions;
        let Some(codes) = partitions.get(session) else { return };
        let first = scan(std::hint::black_box(codes), &query, &mut scores);
        for offset in 0..returned {
            let seq = session * rows + (first + (offset + run / sessions) * 37) % rows;
            let body: Result<Vec<u8>, _> = fetch.query_row([seq as i64], |row| row.get(0));
            seen += body.map_or(0, |body| body.len());
        }
    });
    if seen == 0 {
        return Err("the read floor read nothing".into());
    }
    Ok(time)
}

/// Mean microseconds of this thread for one 1-bit scan.
fn bit_scan(memories: usize, dimension: usize) -> f64 {
    const SCANS: usize = 200;
    let mut numbers = Numbers::new(1);
    let words = dimension.div_ceil(64);
    let rows: Vec<u64> = (0..memories * words).map(|_| numbers.next_u64()).collect();
    let query: Vec<u64> = (0..words).map(|_| numbers.next_u64()).collect();
    let mut distances = vec![0; memories];
    let mut scan = |_| {
        hamming::distances(std::hint::black_box(&query), &rows, &mut distances);
        std::hint::black_box(&distances);
    };
    (0..SCANS / 10).for_each(&mut scan);
    processor_us(SCANS, scan)
}

fn main() -> Result<(), Box<dyn Error>> {
    let scanned = argument("scan", 0);
    if scanned > 0 {
        println!("{}", serde_json::json!({"scan_processor_us": bit_scan(scanned, argument("dimension", 256))}));
        return Ok(());
    }
    let folder = std::path::PathBuf::from(argument("dir", String::from(".")));
    let (rows, dimension) = (argument("rows", 500), argument("dimension", 256));
    let store = Store { rows, dimension, sessions: argument("sessions", 1) };
    let report = serde_json::json!({
        "rows": rows,
        "dimension": dimension,
        "sessions": store.sessions,
        "read_us": read_floor(&folder, &store, argument("returned", 10))?,
    });
    println!("{report}");
    Ok(())
}
