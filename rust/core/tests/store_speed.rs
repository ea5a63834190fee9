//! Figures, not assertions: `cargo test --release --test store_speed -- --ignored --nocapture`.
#![allow(unsafe_code, reason = "the processor clock has no safe form")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::unit_arg, clippy::redundant_closure_for_method_calls)]
mod store_support;

use std::path::Path;
use std::time::{Duration, Instant};

use retentive_core::model::{Marks, Vector};
use retentive_core::store::{Durability, NewMemory, OpenOptions, Seq, Store};
use store_support::*;

fn memory(number: usize) -> NewMemory {
    NewMemory {
        vectors: vec![Vector::first((0..256).map(|at| ((number * 31 + at) % 97) as f32 / 97.0).collect())],
        terms: (0..18).map(|term| ((number as u64 * 18 + term).wrapping_mul(0x9E37_79B9_7F4A_7C15), 1)).collect(),
        marks: Marks::default(),
        ..turn(
            &format!("mem_{number:026}"),
            &"a sentence of ordinary length that somebody said to somebody. ".repeat(2),
        )
    }
}

/// Processor time of this thread: steady where the machine is shared.
fn busy() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one `timespec` that we own.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Medians of wall and processor time.
fn both(rounds: usize, mut run: impl FnMut(usize)) -> String {
    let mut spent = Vec::with_capacity(rounds);
    let wall = each(rounds, |round| {
        let began = busy();
        run(round);
        spent.push(busy().saturating_sub(began));
    });
    spent.sort_unstable();
    format!("{wall:?}, processor {:?}", spent[rounds / 2])
}

fn each(rounds: usize, mut run: impl FnMut(usize)) -> Duration {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|round| {
            let began = Instant::now();
            run(round);
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[rounds / 2]
}

/// One row with the same bytes in one transaction.
fn floor(path: &Path, synchronous: &str) -> Duration {
    let sql = rusqlite::Connection::open(path).unwrap();
    sql.execute_batch(&format!(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous={synchronous}; CREATE TABLE t(id INTEGER PRIMARY KEY, data BLOB)"
    ))
    .unwrap();
    let bytes = vec![7_u8; 1_024 + 124 + 18 * 9 + 60];
    each(500, |_| {
        sql.prepare_cached("INSERT INTO t(data) VALUES (?1)").unwrap().execute([&bytes]).unwrap();
    })
}

#[test]
#[ignore = "measures"]
fn figures() {
    let places = [std::env::temp_dir(), "/dev/shm".into()];
    for place in places.iter().filter(|place| place.exists()) {
        for (durability, synchronous) in [(Durability::Full, "FULL"), (Durability::Normal, "NORMAL")] {
            let folder = tempfile::tempdir_in(place).unwrap();
            let bare = floor(&folder.path().join("floor.db"), synchronous);
            let file = folder.path().join("chat.db");
            let store = Store::open(OpenOptions { durability, ..options(&file) }, &never).unwrap();
            let ours = each(500, |round| {
                let _ = put(&store, &format!("s{}", round % 10), &memory(round));
            });
            let ratio = ours.as_secs_f64() / bare.as_secs_f64();
            println!("{} {synchronous}: one insert {ours:?}, floor {bare:?}, ratio {ratio:.2}", place.display());
        }
    }
}

#[test]
#[ignore = "measures"]
fn bulk_and_load() {
    let folder = Folder::new();
    let total = std::env::var("STORE_ROWS").map_or(200_000, |rows| rows.parse().unwrap());
    let sessions = total / 500;
    let store = open(&folder.file());
    bulk_scattered(&store, total, sessions);
    bulk_in_one_session(&store, total);
    drop(store);
    let store = open(&folder.file());
    let seqs = load_sessions(&store, sessions);
    look_up(&store, &seqs);
    erase(&store, &seqs);
}

fn per_second(what: &str, rows: usize, began: Duration) {
    let took = busy().saturating_sub(began).as_secs_f64();
    println!("{what}: {:.0} rows a second of processor time", rows as f64 / took);
}

fn bulk_scattered(store: &Store, total: usize, sessions: usize) {
    let began = busy();
    for batch in 0..total / 1_000 {
        let write = store.write(&never, |tx| {
            for number in batch * 1_000..(batch + 1) * 1_000 {
                let scope = tx.ensure_scope(None, Some(&format!("session {}", number % sessions)))?;
                tx.insert(&scope, &memory(number))?;
            }
            Ok(())
        });
        write.unwrap();
    }
    per_second("bulk, scattered", total, began);
}

fn bulk_in_one_session(store: &Store, first: usize) {
    let news: Vec<NewMemory> = (first..first + 20_000).map(memory).collect();
    let began = busy();
    for batch in news.chunks(1_000) {
        let write = store.write(&never, |tx| {
            let scope = tx.ensure_scope(None, Some("bulk"))?;
            batch.iter().try_for_each(|new| tx.insert(&scope, new).map(drop))
        });
        write.unwrap();
    }
    per_second("bulk, one session", news.len(), began);
}

/// Loads sessions from the file, and one of them again and again; the rows of that one.
fn load_sessions(store: &Store, sessions: usize) -> Vec<Seq> {
    let load = |name: &str| {
        let mut seqs = Vec::new();
        read(store, |tx| {
            let scope = tx.scope(None, Some(name))?.unwrap();
            tx.changes(scope.partition, 0, &mut |row| Ok(seqs.push(row.head.seq)))
        });
        seqs
    };
    let rounds = std::env::var("STORE_LOADS").map_or(50, |rounds| rounds.parse().unwrap());
    let first = both(rounds, |round| drop(load(&format!("session {}", round * 7 % sessions))));
    println!("load of 500 scattered rows: {first}");
    println!("the same partition again: {}", both(50, |_| drop(load("session 1"))));
    load("session 1")
}

fn look_up(store: &Store, seqs: &[Seq]) {
    let ten: Vec<_> = seqs.iter().step_by(50).copied().collect();
    println!("ten rows: {:?}", each(2_000, |_| drop(read(store, |tx| tx.rows(&ten)))));
    println!("empty read: {:?}", each(2_000, |_| read(store, |_| Ok(()))));
    let partition = read(store, |tx| tx.owner(None, Some("session 1"))).unwrap();
    let rev = read(store, |tx| tx.partition_rev(partition));
    let nothing_new = each(2_000, |_| drop(read(store, |tx| tx.changes(partition, rev, &mut |_| Ok(())))));
    println!("nothing new: {nothing_new:?}");
    let find = each(2_000, |round| assert!(read(store, |tx| tx.find(&format!("mem_{:026}", round * 37))).is_some()));
    println!("find: {find:?}");
}

fn erase(store: &Store, seqs: &[Seq]) {
    let erase = Instant::now();
    store.write(&never, |tx| tx.erase(seqs)).unwrap();
    println!("erasing 500: {:?}", erase.elapsed());
    let scrub = Instant::now();
    store.scrub(&never).unwrap();
    println!("scrub: {:?}; {:?}", scrub.elapsed(), read(store, |tx| tx.stats()));
}
