//! What each part of a read costs by itself: `cargo bench --package retentive-benches`.
//!
//! One question a group: how fast are vectors scanned (beside a plain loop), words matched, scores handed to neighbours, a block
//! packed? A ranking of 500 memories in one session, or of 10,000.
use std::convert::Infallible;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use retentive_benches::Numbers;
use retentive_core::lexical::Posting;
use retentive_core::model::Kind;
use retentive_core::pack::{AdditiveCount, Excerpting, Line, Wanted, pack_context_additive};
use retentive_core::rank::query::Query;
use retentive_core::rank::relevance::relevance;
use retentive_core::rank::scene::{NO_SPEAKER, Scene};
use retentive_core::rank::signals::SIGNALS;
use retentive_core::rank::signals::window::Shares;
use retentive_core::rank::terms::TermMatches;
use retentive_core::rank::thread::Thread;
use retentive_core::rank::weights::Weights;
use retentive_core::vector::kernels;

const SIZES: [usize; 2] = [500, 10_000];
const DIMENSION: usize = 256;
/// Terms of the query; every tenth memory holds each.
const TERMS: u64 = 8;
/// Microseconds between turns; a sitting has 25.
const MINUTE: i64 = 60_000_000;
/// A longer pause begins a sitting.
const GAP: i64 = 60 * MINUTE;

/// One session as ranking sees it.
struct Conversation {
    query: Query,
    cosine: Vec<f32>,
    matches: TermMatches,
    doc_len: Vec<u32>,
    tokens: Vec<u32>,
    session: Vec<u32>,
    turn: Vec<i64>,
    ts: Vec<i64>,
    kind: Vec<Kind>,
    flags: Vec<bool>,
    question_share: Vec<f32>,
    speaker: Vec<u32>,
    thread: Thread,
    shares: Shares,
    sum: Vec<f32>,
}

impl Conversation {
    fn of(rows: usize) -> Self {
        let mut numbers = Numbers::new(5);
        let mut matches = TermMatches::new(rows as u32);
        for term in 0..TERMS {
            let found: Vec<Posting> = (0..rows as u32)
                .filter(|_| numbers.next_u64().is_multiple_of(10))
                .map(|row| Posting { row, tf: 1 })
                .collect();
            matches.push(term, 1, found);
        }
        let (doc_len, tokens, kind) = (vec![12; rows], vec![20; rows], vec![Kind::Turn; rows]);
        let (session, turn) = (vec![0; rows], (0..rows as i64).collect::<Vec<_>>());
        let ts: Vec<i64> = turn.iter().map(|turn| (turn + turn / 25 * 1440) * MINUTE).collect();
        let thread = Thread::new(&session, &turn, &ts, &kind, GAP);
        Self {
            query: Query::read("What did we say about the harbour last week?", 0, None),
            cosine: numbers.vector(rows),
            shares: Shares::of(&thread, &[], &tokens, &doc_len, None),
            sum: numbers.vector(rows),
            matches,
            session,
            doc_len,
            tokens,
            ts,
            kind,
            flags: turn.iter().map(|turn| turn % 2 == 0).collect(),
            question_share: turn.iter().map(|turn| if turn % 5 == 0 { 1.0 } else { 0.0 }).collect(),
            speaker: vec![NO_SPEAKER; rows],
            thread,
            turn,
        }
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            query: &self.query,
            cosine: Some(&self.cosine),
            second: None,
            matches: &self.matches,
            doc_len: &self.doc_len,
            avg_len: 12.0,
            extent: None,
            spread: None,
            tokens: &self.tokens,
            ts: &self.ts,
            kind: &self.kind,
            user_words: &self.flags,
            question_share: &self.question_share,
            names_time: &self.flags,
            names_proper: &self.flags,
            periods: &[],
            speaker: &self.speaker,
            named: &[],
            thread: &self.thread,
            shares: &self.shares,
            citations: &[],
        }
    }
}

fn scans(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scan of int8 vectors");
    for rows in SIZES {
        let mut numbers = Numbers::new(1);
        let codes: Vec<i8> = numbers.bytes(rows * DIMENSION).into_iter().map(u8::cast_signed).collect();
        let query: Vec<i8> = numbers.bytes(DIMENSION).into_iter().map(u8::cast_signed).collect();
        let mut out = vec![0; rows];
        group.bench_function(BenchmarkId::new("kernel", rows), |bench| {
            bench.iter(|| kernels::dots(black_box(&query), &codes, &mut out));
        });
        let mut wide = vec![0_i64; rows];
        group.bench_function(BenchmarkId::new("plain loop", rows), |bench| {
            bench.iter(|| {
                for (row, out) in codes.chunks(DIMENSION).zip(&mut wide) {
                    *out = kernels::wide_dot(black_box(&query), row);
                }
            });
        });
    }
}

fn signals(criterion: &mut Criterion) {
    for rows in SIZES {
        let said = Conversation::of(rows);
        let scene = said.scene();
        let mut group = criterion.benchmark_group(format!("signals over {rows} memories"));
        for signal in SIGNALS {
            group.bench_function(signal.name(), |bench| bench.iter(|| signal.contribution(&scene, &said.sum)));
        }
        let weights = Weights::default();
        group.bench_function("all, weighted and added up", |bench| bench.iter(|| relevance(&scene, &weights)));
        group.bench_function("thread and shares, once for each change", |bench| {
            bench.iter(|| {
                let thread = Thread::new(&said.session, &said.turn, &said.ts, &said.kind, GAP);
                Shares::of(&thread, &[], &said.tokens, &said.doc_len, None)
            });
        });
    }
}

fn packing(criterion: &mut Criterion) {
    let text = "We meet at the harbour on Friday at nine, by the blue boat that belongs to the school of Anna.";
    let line = |turn: i64| Line { text, role: "user", name: None, ts: turn * MINUTE, turn: Some(turn) };
    let (recent, retrieved): (Vec<Line>, Vec<Line>) = ((90..96).map(line).collect(), (0..80).map(line).collect());
    let wanted = Wanted { pinned: &[], recent: &recent, retrieved: &retrieved, ..Wanted::default() };
    let count = AdditiveCount::built_in();
    criterion.bench_function("packing 80 memories into 1,500 tokens", |bench| {
        bench.iter(|| pack_context_additive(black_box(&wanted), 1500, &count, None::<&mut Excerpting<Infallible>>));
    });
}

criterion_group!(parts, scans, signals, packing);
criterion_main!(parts);
