//! Timings by hand: `cargo test --release -p retentive-core timing -- --ignored --nocapture`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]
use std::hint::black_box;
use std::time::Instant;

use super::blend::{Blend, Columns, PoolSize, blend, pool};
use super::language::marks::marks;
use super::query::Query;
use super::relevance::relevance;
use super::sample::Sample;
use super::signals::SIGNALS;
use super::weights::Weights;
use crate::vector::quantise::quantise_unit;
use crate::vector::scan::Rows;

/// Numbers that look random and are the same each time.
fn noise(seed: u32) -> impl Iterator<Item = f32> {
    let step = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    std::iter::successors(Some(seed), step).map(|state| (state >> 8) as f32 / 8_388_608.0 - 1.0)
}

fn best_of_many<T>(name: &str, mut run: impl FnMut() -> T) {
    let times = (0..300).map(|_| {
        let start = Instant::now();
        black_box(run());
        start.elapsed()
    });
    println!("{name}: {:?}", times.min().unwrap());
}

fn rows(n: usize, dimension: usize) -> Rows {
    let mut rows = Rows::new(dimension);
    for row in 0..n as u32 {
        let vector: Vec<f32> = noise(row).skip(3).take(dimension).collect();
        rows.push(row, &vector).unwrap();
    }
    rows
}

#[test]
#[ignore = "a measurement"]
fn timing_of_scans() {
    let query = quantise_unit(&noise(9).take(256).collect::<Vec<_>>()).unwrap();
    for n in [500, 10_000, 100_000] {
        let (rows, mut out) = (rows(n, 256), Vec::new());
        best_of_many(&format!("scan of {n} x 256"), || rows.score_into(&query, &mut out));
    }
}

#[test]
#[ignore = "a measurement"]
fn timing_of_marks() {
    let turn =
        "Yes! We went to the lake near Salzburg last weekend and I finally tried the kayak, remember? It was great.";
    let language = super::language::Language::of("english");
    best_of_many("marks of a turn of 20 words", || marks(turn, 0, language));
    let long = turn.repeat(1000);
    best_of_many("marks of a thousand of them", || marks(&long, 0, language));
}

#[test]
#[ignore = "a measurement"]
fn timing_of_a_ranking() {
    let n = 500;
    let cosine: Vec<f32> = noise(1).take(n).collect();
    let mut sample = Sample::of_turns(&cosine);
    "what did I say about the camera I bought last week".clone_into(&mut sample.text);
    sample.language = super::language::Language::of("english");
    sample.tf = (0..6).map(|t| noise(t).skip(2).take(n).map(|x| u32::from(x > 0.9)).collect()).collect();
    sample.ts = (0..n as i64).map(|i| i + (i / 20) * 100).collect();
    let view = sample.view();
    let scene = view.scene();
    let weights = Weights::default();
    let settings = Blend { recency_weight: 0.5, half_life_days: 7.0, feedback_weight: 0.25 };
    let candidates: Vec<u32> = (0..n as u32).collect();
    best_of_many("threads of 500", || sample.view());
    best_of_many("relevance of 500", || relevance(&scene, &weights));
    let mut plain = Weights::default();
    SIGNALS.iter().filter(|signal| !matches!(signal.name(), "dense" | "lexical")).for_each(|signal| {
        plain.set(signal.name(), 0.0).unwrap();
    });
    plain.set("lexical", 0.5).unwrap();
    best_of_many("relevance of 500 by dense and lexical alone", || relevance(&scene, &plain));
    best_of_many("reading the query", || Query::read(&sample.text, 0, sample.language));
    let found = relevance(&scene, &weights);
    let columns = Columns { relevance: &found.total, ts: &sample.ts, tokens: &sample.tokens };
    best_of_many("pool and blend of 500", || {
        let pool = pool(&columns, &candidates, PoolSize::Limit(10));
        blend(&columns, &pool, 0, &settings, |_| 0.0)
    });
    best_of_many("refusal of 500", || super::refuse::nothing_relevant(&scene, 0.4));
    for signal in SIGNALS {
        best_of_many(signal.name(), || signal.contribution(&scene, &found.total));
    }
}
