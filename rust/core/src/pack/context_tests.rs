#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use proptest::prelude::*;

use super::*;
use crate::tokens;

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
    pack_context::<()>(wanted, budget, &mut |text| Ok(count(text)), None).unwrap()
}

fn sum(wanted: &Wanted, budget: u64, count: &AdditiveCount) -> Packed {
    pack_context_additive::<()>(wanted, budget, count, None).unwrap()
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
    let counted = |from: usize, kept: &[usize]| count(&written(wanted, from, kept));
    let is_turn = |index: &usize, turn: usize| wanted.recent_of.get(*index) == Some(&Some(turn));
    let start = counted(from, &kept);
    if wanted.pinned.is_empty() || start <= budget {
        let room = budget.saturating_sub(start);
        let others = !wanted.retrieved.is_empty() && wanted.limit != Some(0);
        let share = if others { budget - (room - room / 2) } else { budget };
        if from > 0 && counted(from - 1, &kept) <= budget {
            from -= 1;
        }
        while from > 0 && counted(from - 1, &kept) <= share {
            from -= 1;
        }
        for index in wanted.offered() {
            kept.push(index);
            let shown = (from..wanted.recent.len()).any(|turn| is_turn(&index, turn));
            if shown || kept.len() > wanted.limit.unwrap_or(usize::MAX) || counted(from, &kept) > budget {
                kept.pop();
            }
        }
        while from > 0 && !kept.iter().any(|index| is_turn(index, from - 1)) && counted(from - 1, &kept) <= budget {
            from -= 1;
        }
    }
    kept.sort_unstable();
    (written(wanted, from, &kept), from, kept)
}

#[test]
fn sections_stand_in_their_order() {
    let (pinned, recent, retrieved) = ([line("a fact")], [line("one"), line("two")], [line("old")]);
    let wanted = Wanted { pinned: &pinned, recent: &recent, retrieved: &retrieved, limit: None, ..Wanted::default() };
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
    let wanted = Wanted { pinned: &pinned, recent: &other, retrieved: &other, limit: None, ..Wanted::default() };
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

/// Turns whose lines are 50 bytes, and memories of 20.
fn long_turns_and_memories() -> (Vec<String>, Vec<String>) {
    let turn = |i: usize| format!("{i}{}", "x".repeat(43));
    ((0..6).map(turn).collect(), (0..6).map(|i| format!("memory {i} {}", "y".repeat(4))).collect())
}

#[test]
fn recent_turns_leave_half_of_the_room_to_what_is_retrieved() {
    let (turns, memories) = long_turns_and_memories();
    let (recent, retrieved) = (lines(&turns), lines(&memories));
    let wanted = Wanted { recent: &recent, retrieved: &retrieved, ..Wanted::default() };
    let got = pack(&wanted, 320, &bytes);
    assert_eq!((got.recent_from, got.retrieved.len()), (4, 6));
    let alone = pack(&Wanted { retrieved: &[], ..wanted }, 320, &bytes);
    assert_eq!(alone.recent_from, 1);
    let none_wanted = pack(&Wanted { limit: Some(0), ..wanted }, 320, &bytes);
    assert_eq!((none_wanted.recent_from, none_wanted.retrieved.len()), (1, 0));
}

#[test]
fn the_newest_turn_is_shown_though_it_is_longer_than_the_share() {
    let (turns, memories) = long_turns_and_memories();
    let (recent, retrieved) = (lines(&turns), lines(&memories));
    let got = pack(&Wanted { recent: &recent, retrieved: &retrieved, ..Wanted::default() }, 80, &bytes);
    assert_eq!((got.recent_from, got.retrieved.len()), (5, 0));
}

#[test]
fn recent_turns_fill_what_retrieved_memories_leave() {
    let (turns, memories) = long_turns_and_memories();
    let (recent, retrieved) = (lines(&turns), lines(&memories));
    let wanted = Wanted { recent: &recent, retrieved: &retrieved[..1], ..Wanted::default() };
    assert_eq!(pack(&wanted, 320, &bytes).recent_from, 2);
}

#[test]
fn a_recent_turn_that_is_retrieved_stands_in_the_block_once() {
    let (turns, _) = long_turns_and_memories();
    let recent = lines(&turns);
    let retrieved = [recent[5], recent[0]];
    let wanted = Wanted { recent: &recent, retrieved: &retrieved, recent_of: &[Some(5), Some(0)], ..Wanted::default() };
    let got = pack(&wanted, 290, &bytes);
    assert_eq!((got.recent_from, got.retrieved), (3, vec![1]));
    assert!(turns.iter().all(|turn| got.text.matches(turn.as_str()).count() <= 1));
    assert_eq!(got.dropped, [1, 2].map(|turn| (Section::Recent, turn, DropReason::OverBudget)));
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
    let got = pack_context(&Wanted { recent: &recent, ..Wanted::default() }, 60, count, None).unwrap();
    assert_eq!(got.recent_from, 49_998);
    assert!(calls < 5, "{calls}");
}

#[test]
fn a_counter_that_fails_fails_the_packing() {
    let recent = [line("hello")];
    let got = pack_context(&Wanted { recent: &recent, ..Wanted::default() }, 9, &mut |_| Err("no"), None);
    assert_eq!(got, Err("no"));
}

/// Excerpts by how often a sentence says `x`.
#[allow(clippy::unnecessary_wraps)] // as excerpting asks
fn by_x(sentences: &[&str]) -> Result<Vec<f32>, ()> {
    Ok(sentences.iter().map(|sentence| sentence.matches('x').count() as f32).collect())
}

fn excerpt(wanted: &Wanted, budget: u64, count: Counter, length: Length) -> Packed {
    let mut excerpting = Excerpting { length, answers: &mut by_x };
    pack_context(wanted, budget, &mut |text| Ok(count(text)), Some(&mut excerpting)).unwrap()
}

#[test]
fn a_memory_that_fits_only_as_an_excerpt_is_packed_as_one() {
    let long = format!("{}There is an x. {}", "Nothing here. ".repeat(20), "Nor here. ".repeat(20));
    let retrieved = [line("short"), line(&long)];
    let wanted = Wanted { retrieved: &retrieved, ..Wanted::default() };
    let got = excerpt(&wanted, 200, &bytes, Length::Auto);
    assert_eq!(got.retrieved, [0, 1]);
    assert_eq!(got.excerpts.first(), Some(&None));
    let shown = got.excerpts.last().cloned().flatten().unwrap();
    assert!(shown.contains("There is an x.") && shown.len() < 60 && got.text.ends_with(&shown), "{shown}");
    assert_eq!((got.dropped.len(), got.truncated), (0, false));
}

#[test]
fn what_fits_whole_is_packed_whole_unless_a_length_is_asked_for() {
    let long = "A sentence. ".repeat(10);
    let retrieved = [line(&long)];
    let wanted = Wanted { retrieved: &retrieved, ..Wanted::default() };
    assert_eq!(excerpt(&wanted, 200, &bytes, Length::Auto), pack(&wanted, 200, &bytes));
    assert_eq!(excerpt(&wanted, 200, &bytes, Length::Tokens(20)).excerpts, [Some("A sentence. …".to_owned())]);
}

#[test]
fn excerpts_are_widened_where_room_remains_and_more_is_packed_than_whole() {
    let (long, longer) = ("One word. ".repeat(12), "Two words. ".repeat(60));
    let retrieved = [line(&long), line(&longer)];
    let wanted = Wanted { retrieved: &retrieved, ..Wanted::default() };
    let got = excerpt(&wanted, 300, &bytes, Length::Auto);
    assert_eq!((got.retrieved.as_slice(), got.excerpts.first()), (&[0, 1][..], Some(&None)));
    assert!(got.excerpts.last().is_some_and(Option::is_some) && got.text.contains(long.trim_end()));
}

#[test]
fn pinned_facts_and_recent_turns_are_never_excerpted() {
    let long = "A sentence. ".repeat(10);
    let (same, retrieved) = ([line(&long)], [line("x")]);
    let wanted = Wanted { pinned: &same, recent: &same, retrieved: &retrieved, limit: None, ..Wanted::default() };
    let got = excerpt(&wanted, 320, &bytes, Length::Tokens(5));
    assert_eq!(got.text.matches(long.trim_end()).count(), 2);
}

/// A memory for each place, recent turns first; of the retrieved ones `cited` are facts, with the places that they came from.
fn sources_of(places: usize, cited: &[(usize, usize)]) -> Sources {
    let turns_of =
        |place: usize| cited.iter().filter(|(fact, _)| *fact == place).map(|(_, turn)| turn.to_string()).collect();
    let all: Vec<(String, Vec<String>)> = (0..places).map(|place| (place.to_string(), turns_of(place))).collect();
    Sources::new(all.iter().map(|(id, cited)| (id.as_str(), cited.as_slice())))
}

#[test]
fn a_turn_takes_the_place_of_its_fact_and_a_recent_one_says_it() {
    let (recent, retrieved) =
        ([line("we go by train")], [line("go by train"), line("Rome"), line("we are in Rome now")]);
    // Places: 0 recent; 1 a fact of it; 2 a fact of 3.
    let sources = sources_of(4, &[(1, 0), (2, 3)]);
    let wanted =
        Wanted { recent: &recent, retrieved: &retrieved, limit: None, sources: Some(&sources), ..Wanted::default() };
    let got = pack(&wanted, 1000, &bytes);
    assert_eq!(got.retrieved, [2]);
    assert_eq!(got.text, written(&wanted, 0, &[2]));
    let said = |index| (Section::Retrieved, index, DropReason::SaidByItsTurns);
    assert_eq!((got.dropped, got.truncated), (vec![said(0), said(1)], false));
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

fn long_texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("([a-z]{1,9} [a-z]{1,9}[.!?] ?){1,40}[a-z]", 0..9)
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-z]{1,40}", 0..9)
}

proptest! {
    #[test]
    fn packing_is_its_definition_with_any_counter(
        pinned in prop::collection::vec("[a-z]{1,20}", 0..3), recent in texts(), retrieved in texts(),
        turns in prop::collection::vec(prop::option::of(0_usize..9), 9), limit in prop::option::of(0_usize..6),
        budget in 0_u64..500, kind in 0_u8..7, shuffled in Just((0_usize..9).collect::<Vec<_>>()).prop_shuffle()
    ) {
        let order: Vec<usize> = shuffled.into_iter().filter(|index| *index < retrieved.len()).collect();
        let (pinned, recent, retrieved) = (lines(&pinned), lines(&recent), lines(&retrieved));
        let first = |(index, turn): (usize, &Option<usize>)| turn.filter(|turn| *turn < recent.len() && !turns[..index].contains(&Some(*turn)));
        let recent_of: Vec<_> = turns.iter().enumerate().map(first).take(retrieved.len()).collect();
        let wanted = Wanted { pinned: &pinned, recent: &recent, retrieved: &retrieved, order: &order, recent_of: &recent_of, limit, sources: None };
        let count = |text: &str| counted(kind, text);
        let got = pack(&wanted, budget, &count);
        let (text, from, kept) = naive(&wanted, budget, &count);
        prop_assert_eq!(&got.text, &text);
        prop_assert_eq!((got.recent_from, &got.retrieved), (from, &kept));
        prop_assert_eq!(got.tokens, count(&text));
        prop_assert_eq!(got.truncated, got.tokens > budget || got.cut_count > 0);
        prop_assert!(got.tokens <= budget || got.recent_from == recent.len() && got.retrieved.is_empty());
        let is_kept = |turn: usize| kept.iter().any(|index| recent_of[*index] == Some(turn));
        let others = (0..retrieved.len()).filter(|index| !kept.contains(index) && recent_of[*index].is_none());
        prop_assert_eq!(got.dropped.len(), (0..from).filter(|turn| !is_kept(*turn)).count() + others.count());
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
        let wanted = Wanted { pinned: &pinned, recent: &recent, retrieved: &retrieved, limit, ..Wanted::default() };
        let summed = sum(&wanted, budget, &AdditiveCount { units: &units, newline, tokens: &tokens });
        prop_assert_eq!(summed, pack(&wanted, budget, &|text| tokens(units(text))));
    }

    #[test]
    fn blocks_with_excerpts_are_exact_with_any_counter(
        pinned in prop::collection::vec("[a-z]{1,20}", 0..3), recent in texts(), retrieved in long_texts(),
        limit in prop::option::of(0_usize..6), budget in 0_u64..900, kind in 0_u8..7, tokens in prop::option::of(1_u64..90)
    ) {
        let (pinned, recent, retrieved) = (lines(&pinned), lines(&recent), lines(&retrieved));
        let wanted = Wanted { pinned: &pinned, recent: &recent, retrieved: &retrieved, limit, ..Wanted::default() };
        let count = |text: &str| counted(kind, text);
        let length = tokens.map_or(Length::Auto, Length::Tokens);
        let got = excerpt(&wanted, budget, &count, length);
        prop_assert_eq!(got.tokens, count(&got.text));
        prop_assert!(got.tokens <= budget || got.recent_from == recent.len() && got.retrieved.is_empty());
        prop_assert_eq!(got.retrieved.len(), got.excerpts.len());
        prop_assert_eq!(got.dropped.len(), got.recent_from + retrieved.len() - got.retrieved.len());
        let shown: Vec<Line> = retrieved.iter().enumerate().map(|(index, line)| {
            let place = got.retrieved.iter().position(|kept| *kept == index);
            Line { text: place.and_then(|place| got.excerpts[place].as_deref()).unwrap_or(line.text), ..*line }
        }).collect();
        let wanted = Wanted { retrieved: &shown, ..wanted };
        prop_assert_eq!(&got.text, &written(&wanted, got.recent_from, &got.retrieved));
        prop_assert_eq!(&got, &excerpt(&Wanted { retrieved: &retrieved, ..wanted }, budget, &count, length));
    }

    #[test]
    fn sums_excerpt_what_counting_the_block_excerpts(
        retrieved in long_texts(), limit in prop::option::of(0_usize..6), budget in 0_u64..400,
        tokens in prop::option::of(1_u64..90)
    ) {
        let retrieved = lines(&retrieved);
        let wanted = Wanted { retrieved: &retrieved, limit, ..Wanted::default() };
        let length = tokens.map_or(Length::Auto, Length::Tokens);
        let mut excerpting = Excerpting { length, answers: &mut by_x };
        let summed = pack_context_additive(&wanted, budget, &AdditiveCount::built_in(), Some(&mut excerpting)).unwrap();
        prop_assert_eq!(summed, excerpt(&wanted, budget, &|text| u64::from(tokens::estimate(text)), length));
    }

    #[test]
    fn blocks_hold_no_fact_beside_all_its_turns(
        recent in texts(), retrieved in long_texts(), limit in prop::option::of(0_usize..6), budget in 0_u64..900,
        pairs in prop::collection::btree_set((0_usize..9, 0_usize..18), 0..20), tokens in prop::option::of(1_u64..90),
        shuffled in Just((0_usize..9).collect::<Vec<_>>()).prop_shuffle()
    ) {
        let order: Vec<usize> = shuffled.into_iter().filter(|index| *index < retrieved.len()).collect();
        let (recent, retrieved) = (lines(&recent), lines(&retrieved));
        let first = recent.len();
        // Every other retrieved memory is a fact.
        let is_fact = |place: usize| place >= first && (place - first).is_multiple_of(2);
        let pairs: Vec<(usize, usize)> = pairs.into_iter().map(|(fact, turn)| (first + fact, turn))
            .filter(|(fact, turn)| is_fact(*fact) && !is_fact(*turn)).collect();
        let sources = sources_of(first + retrieved.len(), &pairs);
        let wanted =
            Wanted { recent: &recent, retrieved: &retrieved, order: &order, limit, sources: Some(&sources), ..Wanted::default() };
        let length = tokens.map_or(Length::Auto, Length::Tokens);
        let count = |text: &str| u64::from(tokens::estimate(text));
        let got = excerpt(&wanted, budget, &count, length);
        let mut excerpting = Excerpting { length, answers: &mut by_x };
        let summed = pack_context_additive(&wanted, budget, &AdditiveCount::built_in(), Some(&mut excerpting)).unwrap();
        prop_assert_eq!(&got, &summed);
        prop_assert_eq!(got.tokens, count(&got.text));
        prop_assert!(got.tokens <= budget);
        prop_assert!(got.retrieved.is_sorted());
        let stands = |place: usize| place.checked_sub(first).map_or(place >= got.recent_from, |index| got.retrieved.contains(&index));
        for index in 0..retrieved.len() {
            let mut turns = pairs.iter().filter(|(fact, _)| *fact == first + index).map(|(_, turn)| *turn).peekable();
            let repeats = turns.peek().is_some() && turns.all(stands);
            prop_assert!(!repeats || !got.retrieved.contains(&index));
            let dropped = got.dropped.iter().find(|(section, other, _)| *section == Section::Retrieved && *other == index);
            prop_assert_eq!(repeats, dropped.is_some_and(|(_, _, reason)| *reason == DropReason::SaidByItsTurns));
            prop_assert!(got.retrieved.contains(&index) != dropped.is_some());
        }
    }

    #[test]
    fn the_built_in_estimate_packs_what_counting_the_block_packs(
        pinned in prop::collection::vec("\\PC{1,40}", 0..3), recent in prop::collection::vec("\\PC{1,60}", 0..9),
        retrieved in prop::collection::vec("[a-zA-Z0-9 .\n]{1,80}", 0..9), budget in 0_u64..200
    ) {
        let (pinned, recent, retrieved) = (lines(&pinned), lines(&recent), lines(&retrieved));
        let wanted = Wanted { pinned: &pinned, recent: &recent, retrieved: &retrieved, limit: None, ..Wanted::default() };
        let summed = sum(&wanted, budget, &AdditiveCount::built_in());
        prop_assert_eq!(summed, pack(&wanted, budget, &|text| u64::from(tokens::estimate(text))));
    }
}
