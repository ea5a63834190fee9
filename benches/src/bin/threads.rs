//! Many threads that recall from one collection, beside one thread alone, in turns; and the reads of one thread beside another that writes,
//! each write with an fsync.
//!
//! `threads --file data/bench.db --sessions 20 --threads 16 --rounds 5 --milliseconds 400`, prints one JSON object: medians of the
//! rounds. On Linux also calls by second of processor time, which other programs do not take: how many cores there are to divide them
//! among, the machine decides.
use std::error::Error;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use retentive_benches::{Numbers, argument, middle_us, open, processor, recall_request, turn};
use retentive_core::engine::{Engine, RecallRequest};
use retentive_core::error::Result;
use retentive_core::store::Durability;

const NOW: i64 = 1_767_225_600_000_000;
const REQUESTS: usize = 64;

struct Bench {
    engine: Engine,
    requests: Vec<RecallRequest>,
    spell: Duration,
}

/// What threads did in a while.
#[derive(Default)]
struct Done {
    calls: usize,
    wall: Duration,
    processor: Duration,
}

impl Done {
    fn per_s(&self) -> f64 {
        self.calls as f64 / self.wall.as_secs_f64()
    }

    fn per_processor_s(&self) -> f64 {
        self.calls as f64 / self.processor.as_secs_f64().max(1e-9)
    }
}

impl Bench {
    fn recall(&self, call: usize) -> Result<()> {
        let request = self.requests.get(call % self.requests.len());
        request.map_or(Ok(()), |request| self.engine.recall(request, &|| false).map(drop))
    }

    /// Recalls in as many threads for a while.
    fn run(&self, threads: usize) -> Result<Done> {
        let all = Mutex::new(Done::default());
        let work = |thread: usize| -> Result<()> {
            let (start, mut calls) = (Instant::now(), 0);
            while start.elapsed() < self.spell {
                self.recall(thread * 7 + calls)?;
                calls += 1;
            }
            let (wall, processor) = (start.elapsed(), processor());
            if let Ok(mut all) = all.lock() {
                *all =
                    Done { calls: all.calls + calls, wall: wall.max(all.wall), processor: processor + all.processor };
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let work = &work;
            let started: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
            started.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
        })?;
        Ok(all.into_inner().unwrap_or_default())
    }

    /// Times of reads while `writing` is under way in another thread, and of its writes.
    fn beside(&self, numbers: &mut Numbers, dimension: usize) -> Result<(Vec<Duration>, Vec<Duration>)> {
        let over = AtomicBool::new(false);
        let mut write = |call: usize| {
            let new =
                turn(numbers, format!("mem_beside_{call}_{}", numbers.clone().next_u64()), "written", NOW, dimension);
            self.engine.remember(vec![new], NOW, &|| false).map(drop)
        };
        std::thread::scope(|scope| {
            let reads = scope.spawn(|| {
                let times = timed(|call| self.recall(call), |_| over.load(Ordering::Relaxed));
                over.store(true, Ordering::Relaxed);
                times
            });
            let until = Instant::now() + self.spell * 2;
            let writes = timed(&mut write, |_| Instant::now() > until || over.load(Ordering::Relaxed));
            over.store(true, Ordering::Relaxed);
            Ok((reads.join().unwrap_or_else(|_| Ok(Vec::new()))?, writes?))
        })
    }
}

fn timed(mut call: impl FnMut(usize) -> Result<()>, over: impl Fn(usize) -> bool) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    while !over(times.len()) {
        let start = Instant::now();
        call(times.len())?;
        times.push(start.elapsed());
    }
    Ok(times)
}

fn middle(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let file = PathBuf::from(argument("file", String::from("bench.db")));
    let (sessions, dimension): (usize, usize) = (argument("sessions", 1), argument("dimension", 256));
    let (threads, rounds) = (argument("threads", 16), argument("rounds", 5));
    let mut numbers = Numbers::new(11);
    let requests = (0..REQUESTS).map(|call| {
        let words: Vec<String> = (0..12).map(|_| format!("word{}", 1 + numbers.next_u64() % 5000)).collect();
        recall_request(words.join(" "), numbers.vector(dimension), format!("session-{}", call % sessions), NOW)
    });
    let requests = requests.collect();
    let spell = Duration::from_millis(argument("milliseconds", 400));
    let bench = Bench { engine: open(file, Durability::Full)?, requests, spell };
    (0..REQUESTS).try_for_each(|call| bench.recall(call))?;
    let (mut one, mut many) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        one.push(bench.run(1)?);
        many.push(bench.run(threads)?);
    }
    let until = Instant::now() + spell * 2;
    let mut alone = timed(|call| bench.recall(call), |_| Instant::now() > until)?;
    let (mut reads, mut writes) = bench.beside(&mut numbers, dimension)?;
    let ratio = |of: fn(&Done) -> f64| middle(one.iter().zip(&many).map(|(one, many)| of(many) / of(one)).collect());
    let report = serde_json::json!({
        "threads": threads,
        "one_thread_reads_per_s": middle(one.iter().map(Done::per_s).collect()),
        "times_one_thread": ratio(Done::per_s),
        "times_one_thread_by_processor_time": ratio(Done::per_processor_s),
        "read_us": { "alone": middle_us(&mut alone), "beside_writes": middle_us(&mut reads) },
        "write_us": middle_us(&mut writes),
    });
    println!("{report}");
    Ok(())
}
