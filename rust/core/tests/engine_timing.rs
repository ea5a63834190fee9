//! Measurements, run by hand: `cargo test --release -p retentive-core --test engine_timing -- --ignored --nocapture`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp, clippy::cloned_ref_to_slice_refs)]
mod engine_support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use engine_support::*;
use retentive_core::engine::{Engine, Mode, NewMemory, RecallRequest, SearchRequest};

fn median(mut run: impl FnMut(), times: usize) -> Duration {
    let mut taken: Vec<Duration> = (0..times)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    taken.sort_unstable();
    taken[times / 2]
}

fn fill(db: &Engine, session: &str, rows: usize) {
    let words = [
        "garden", "rain", "coffee", "train", "Rome", "music", "invoice", "doctor", "yellow", "window", "ticket",
        "paint",
    ];
    let text = |n: usize| {
        let word = |k: usize| words[(n * 31 + k * k * 7 + n / (k + 1)) % words.len()];
        format!(
            "I told you about the {} and the {} near the {} with {} number {}",
            word(1),
            word(2),
            word(3),
            word(4),
            n % 997
        )
    };
    for chunk in (0..rows).collect::<Vec<_>>().chunks(1000) {
        let new = chunk.iter().map(|n| NewMemory { ts: NOW - (rows - n) as i64 * MINUTE, ..said(session, &text(*n)) });
        db.remember(new.collect(), NOW, &go).unwrap();
    }
}

#[test]
#[ignore = "a measurement"]
fn timing_of_reads_and_writes() {
    for rows in [500, 10_000, 100_000] {
        let disk = on_disk();
        let db = &disk.engine;
        let start = Instant::now();
        fill(db, "a", rows);
        println!("{rows} rows: filled in {:?}", start.elapsed());
        let anew = open(Some(&disk.folder.path().join("chat.db")));
        let start = Instant::now();
        anew.recalled("coffee in Rome", "a");
        println!("  first recall {:?}", start.elapsed());
        let times = if rows > 50_000 { 20 } else { 200 };
        let request = ask("what did I say about coffee in Rome", session("a"));
        println!("  recall {:?}", median(|| drop(black_box(db.ranked(&request))), times));
        let few = RecallRequest { kinds: Vec::new(), ..request.clone() };
        println!("  recall, no candidates {:?}", median(|| drop(black_box(db.ranked(&few))), times));
        let mut two = few.clone();
        let others = ["window", "neighbours", "sitting", "sitting_words", "role", "named", "date", "cues"];
        two.settings.signals = others.map(|name| (name.to_owned(), 0.0)).to_vec();
        two.settings.signals.push(("lexical".to_owned(), 0.5));
        println!("  the same by dense and lexical alone {:?}", median(|| drop(black_box(db.ranked(&two))), times));
        let bare = RecallRequest { vectors: Vec::new(), mode: Mode::Lexical, ..request.clone() };
        println!("  recall by words {:?}", median(|| drop(black_box(db.ranked(&bare))), times));
        let search = look("coffee in Rome", session("a"));
        println!("  search {:?}", median(|| drop(black_box(db.search(&search, &go).unwrap())), times));
        let dense = SearchRequest { mode: Mode::Dense, ..search };
        println!("  search dense {:?}", median(|| drop(black_box(db.search(&dense, &go).unwrap())), times));
        let context = block("what did I say about coffee in Rome", session("a"), 6);
        println!("  context {:?}", median(|| drop(black_box(db.context(&context, &go).unwrap())), times));
        println!("  remember {:?}", median(|| drop(db.add(said("a", "one more about the garden"))), 100));
        println!(
            "  remember then recall {:?}",
            median(
                || {
                    db.add(said("a", "one more about the garden"));
                    db.ranked(&request);
                },
                50
            )
        );
        println!("  turns(6) {:?}", median(|| drop(black_box(db.turns("a", None, Some(6), NOW, &go).unwrap())), times));
    }
}

/// Each turn has half a fact: stored by themselves, or as what was consolidated from the turns.
#[test]
#[ignore = "a measurement"]
fn timing_of_facts_beside_turns() {
    for linked in [false, true] {
        let db = open(None);
        fill(&db, "a", 500);
        let turns: Vec<String> = db.turns("a", None, None, NOW, &go).unwrap().into_iter().map(|turn| turn.id).collect();
        let cited = turns.iter().step_by(2).map(|id| if linked { vec![id.clone()] } else { Vec::new() });
        let facts = cited.enumerate().map(|(n, cited)| (fact("a", &format!("coffee number {n} in Rome")), cited));
        db.commit_consolidation(&turns, facts.collect(), false, NOW, &go).unwrap().unwrap();
        let request = ask("what did I say about coffee in Rome", session("a"));
        let few = RecallRequest { kinds: Vec::new(), ..request.clone() };
        let mut two = few.clone();
        let others = ["window", "neighbours", "sitting", "sitting_words", "role", "named", "date", "cues"];
        two.settings.signals = others.map(|name| (name.to_owned(), 0.0)).to_vec();
        println!("500 turns and 250 facts{}", if linked { " that cite them" } else { "" });
        println!("  recall, no candidates {:?}", median(|| drop(black_box(db.ranked(&few))), 2000));
        println!("  the same by dense and lexical alone {:?}", median(|| drop(black_box(db.ranked(&two))), 2000));
        println!("  recall {:?}", median(|| drop(black_box(db.ranked(&request))), 1000));
    }
}
