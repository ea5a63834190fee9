#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use proptest::prelude::*;

use super::*;

type Counter<'a> = &'a dyn Fn(&str) -> u64;

fn line(text: &str) -> Line<'_> {
    Line { text, role: "user", name: None, ts: 0, turn: None }
}

/// Lines of four days, in no order of time.
fn lines(texts: &[String]) -> Vec<Line<'_>> {
    let day = |text: &str| text.len() as i64 % 4 * 86_400_000_000;
    texts.iter().map(|text| Line { ts: day(text), ..line(text) }).collect()
}

fn bytes(text: &str) -> u64 {
    text.len() as u64
}

fn pack(wanted: &Wanted, budget: u64, count: Counter) -> Packed {
    pack_context::<()>(wanted, budget, &mut |text| Ok(count(text))).unwrap()
}

/// The block of these indices, from the format's description.
fn written(wanted: &Wanted, recent_from: usize, retrieved: &[usize]) -> String {
    let list = |lines: &[String]| lines.join("\n");
    let pinned: Vec<String> = wanted.pinned.iter().map(|line| format!("- {}", line.text)).collect();
    let recent: Vec<String> = wanted.recent[recent_from..].iter().map(|line| format!("user: {}", line.text)).collect();
    let retrieved: Vec<String> = (0..4).flat_map(|day| of_day(wanted, retrieved, day)).collect();
    let mut sections = vec![
        ("## Known facts\n", list(&pinned)),
        ("## Recent conversation\n", list(&recent)),
        ("## Earlier, possibly relevant\n", list(&retrieved)),
    ];
    sections.retain(|(_, lines)| !lines.is_empty());
    let headed: Vec<String> = sections.iter().map(|(heading, lines)| format!("{heading}{lines}")).collect();
    headed.join("\n\n")
}

fn of_day(wanted: &Wanted, retrieved: &[usize], day: i64) -> Vec<String> {
    let mut kept: Vec<usize> = retrieved.to_vec();
    kept.sort_unstable();
    let of_day = kept.iter().map(|i| &wanted.retrieved[*i]).filter(|line| line.ts == day * 86_400_000_000);
    let lines: Vec<String> = of_day.map(|line| format!("user: {}", line.text)).collect();
    let date = (!lines.is_empty()).then(|| format!("1970-01-0{}", day + 1));
    date.into_iter().chain(lines).collect()
}

/// The definition: the whole block is written and counted for each candidate in order of priority.
fn naive(wanted: &Wanted, budget: u64, count: Counter) -> (String, usize, Vec<usize>) {
    let (mut from, mut kept) = (wanted.recent.len(), Vec::new());
    let fits = |from: usize, kept: &[usize]| count(&written(wanted, from, kept)) <= budget;
    if wanted.pinned.is_empty() || fits(from, &kept) {
        while from > 0 && fits(from - 1, &kept) {
            from -= 1;
        }
        for index in 0..wanted.retrieved.len() {
            kept.push(index);
            if kept.len() > wanted.limit.unwrap_or(usize::MAX) || !fits(from, &kept) {
                kept.pop();
            }
        }
    }
    (written(wanted, from, &kept), from, kept)
}

#[test]
fn sections_stand_in_their_order() {
    let (pinned, recent, retrieved) = ([line("a fact")], [line("one"), line("two")], [line("old")]);
    let wanted = Wanted { pinned: &pinned, recent: &recent, retrieved: &retrieved, limit: None };
    let got = pack(&wanted, 1000, &bytes);
    let expected = "## Known facts\n- a fact\n\n## Recent conversation\nuser: one\nuser: two\n\n\
                    ## Earlier, possibly relevant\n1970-01-01\nuser: old";
    assert_eq!(got.text, expected);
    assert_eq!((got.tokens, got.truncated, got.cut_count), (expected.len() as u64, false, 0));
}

#[test]
fn pinned_facts_are_never_cut() {
    let pinned: Vec<String> = (0..50).map(|i| format!("fact number {i}")).collect();
    let (pinned, other) = (lines(&pinned), [line("x")]);
    let wanted = Wanted { pinned: &pinned, recent: &other, retrieved: &other, limit: None };
    let got = pack(&wanted, 100, &bytes);
    assert!(got.truncated && got.tokens > 100 && got.text.ends_with("fact number 49"));
    assert!(got.retrieved.is_empty());
    assert_eq!(
        got.dropped.iter().map(|(section, ..)| *section).collect::<Vec<_>>(),
        [Section::Recent, Section::Retrieved]
    );
}

#[test]
fn recent_turns_are_cut_oldest_first_without_a_hole() {
    let recent = [line("a"), line("a very long turn that fits no more"), line("b")];
    let got = pack(&Wanted { recent: &recent, ..Wanted::default() }, 40, &bytes);
    assert_eq!((got.recent_from, got.cut_count), (2, 2));
}

#[test]
fn a_long_memory_is_skipped_and_the_short_ones_behind_it_packed() {
    let long = "x".repeat(300);
    let retrieved = [line(&long), line("short"), line(&long), line("brief"), line("more")];
    let got = pack(&Wanted { retrieved: &retrieved, limit: Some(2), ..Wanted::default() }, 120, &bytes);
    assert_eq!(got.retrieved, [1, 3]);
    let reasons: Vec<(usize, &str)> = got.dropped.iter().map(|(_, index, reason)| (*index, reason.as_str())).collect();
    assert_eq!(reasons, [(0, "over budget"), (2, "over budget"), (4, "over limit")]);
}

#[test]
fn a_budget_smaller_than_any_turn_gives_an_empty_block() {
    let recent = [line("hello")];
    let got = pack(&Wanted { recent: &recent, ..Wanted::default() }, 0, &bytes);
    assert_eq!((got.text.as_str(), got.tokens, got.truncated, got.cut_count), ("", 0, true, 1));
}

#[test]
fn the_recent_part_does_not_look_at_turns_before_the_first_that_is_cut() {
    let texts: Vec<String> = (0..50_000).map(|i| format!("turn {i}")).collect();
    let (recent, mut calls) = (lines(&texts), 0);
    let count = &mut |text: &str| {
        calls += 1;
        Ok::<u64, ()>(bytes(text))
    };
    let got = pack_context(&Wanted { recent: &recent, ..Wanted::default() }, 60, count).unwrap();
    assert_eq!(got.recent_from, 49_998);
    assert!(calls < 5, "{calls}");
}

#[test]
fn a_counter_that_fails_fails_the_packing() {
    let recent = [line("hello")];
    let got = pack_context(&Wanted { recent: &recent, ..Wanted::default() }, 9, &mut |_| Err("no"));
    assert_eq!(got, Err("no"));
}

/// Counters: zero, huge, bytes, words, and three that are a hash of the text and so neither rise nor add up.
fn counted(kind: u8, text: &str) -> u64 {
    let hash = text.bytes().fold(u64::from(kind), |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
    match kind {
        0 => 0,
        1 => u64::MAX,
        2 => bytes(text),
        3 => text.split_whitespace().count() as u64,
        4 => hash % 400,
        5 => 300_u64.saturating_sub(bytes(text)),
        _ => bytes(text) / 2 + hash % 60,
    }
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-z]{1,40}", 0..9)
}

proptest! {
    #[test]
    fn packing_is_its_definition_with_any_counter(
        pinned in prop::collection::vec("[a-z]{1,20}", 0..3), recent in texts(), retrieved in texts(),
        limit in prop::option::of(0_usize..6), budget in 0_u64..500, kind in 0_u8..7
    ) {
        let (pinned, recent, retrieved) = (lines(&pinned), lines(&recent), lines(&retrieved));
        let wanted = Wanted { pinned: &pinned, recent: &recent, retrieved: &retrieved, limit };
        let count = |text: &str| counted(kind, text);
        let got = pack(&wanted, budget, &count);
        let (text, from, kept) = naive(&wanted, budget, &count);
        prop_assert_eq!(&got.text, &text);
        prop_assert_eq!((got.recent_from, &got.retrieved), (from, &kept));
        prop_assert_eq!(got.tokens, count(&text));
        prop_assert_eq!(got.truncated, got.tokens > budget || got.cut_count > 0);
        prop_assert!(got.tokens <= budget || got.recent_from == recent.len() && got.retrieved.is_empty());
        prop_assert_eq!(got.dropped.len(), from + retrieved.len() - kept.len());
    }

    #[test]
    fn sums_pack_what_counting_the_block_packs(
        pinned in prop::collection::vec("[a-z\n]{1,20}", 0..3), recent in texts(), retrieved in texts(),
        limit in prop::option::of(0_usize..6), budget in 0_u64..300, newline in 0_u64..4, scale in 1_u64..5
    ) {
        let units = |text: &str| {
            text.split('\n').map(|line| line.len() as u64).sum::<u64>() + newline * text.matches('\n').count() as u64
        };
        let tokens = |units: u64| units.div_ceil(scale);
        let (pinned, recent, retrieved) = (lines(&pinned), lines(&recent), lines(&retrieved));
        let wanted = Wanted { pinned: &pinned, recent: &recent, retrieved: &retrieved, limit };
        let summed = pack_context_additive(&wanted, budget, &AdditiveCount { units: &units, newline, tokens: &tokens });
        prop_assert_eq!(summed, pack(&wanted, budget, &|text| tokens(units(text))));
    }

    #[test]
    fn the_built_in_estimate_packs_what_counting_the_block_packs(
        pinned in prop::collection::vec("\\PC{1,40}", 0..3), recent in prop::collection::vec("\\PC{1,60}", 0..9),
        retrieved in prop::collection::vec("[a-zA-Z0-9 .\n]{1,80}", 0..9), budget in 0_u64..200
    ) {
        let (pinned, recent, retrieved) = (lines(&pinned), lines(&recent), lines(&retrieved));
        let wanted = Wanted { pinned: &pinned, recent: &recent, retrieved: &retrieved, limit: None };
        let summed = pack_context_additive(&wanted, budget, &AdditiveCount::built_in());
        prop_assert_eq!(summed, pack(&wanted, budget, &|text| u64::from(tokens::estimate(text))));
    }
}
