//! Large scopes: what the first pass keeps, against ranking everything.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp, clippy::print_stdout)]
mod engine_support;

use engine_support::*;
use retentive_core::engine::{Engine, Mode, NewMemory, Ranked, Reach, RecallRequest};
use retentive_core::model::{Kind, Vector};

const SESSIONS: usize = 60;
const TURNS: usize = 50;

/// A small generator of numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    /// Few words often and many seldom.
    fn word(&mut self) -> String {
        let of = 1 + self.next(500);
        format!("term{}", self.next(of))
    }

    fn text(&mut self, words: usize) -> String {
        (0..words).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

/// Sessions that are partitions of their own, in two sittings each; a fact in every tenth place.
fn filled() -> Engine {
    let db = open(None);
    let mut numbers = Numbers(5);
    for session in 0..SESSIONS {
        let new = (0..TURNS).map(|turn| {
            let text = numbers.text(8);
            let pause = if turn < TURNS / 2 { 0 } else { 300 };
            let ts = NOW - (1 + session as i64) * 2 * DAY + (turn as i64 + pause) * MINUTE;
            let role = if turn % 2 == 0 { "user" } else { "assistant" };
            let kind = if turn % 10 == 9 { Kind::Fact } else { Kind::Turn };
            NewMemory { ts, kind, role: Some(role.to_owned()), ..said(&format!("s{session}"), &text) }
        });
        db.remember(new.collect(), NOW, &go).unwrap();
    }
    db
}

fn everything() -> Reach {
    Reach::default()
}

/// After a first pass, and by ranking everything.
fn both(db: &Engine, request: &RecallRequest) -> (Ranked, Ranked) {
    db.rank_everything_up_to(0);
    let passed = db.ranked(request);
    db.rank_everything_up_to(usize::MAX);
    (passed, db.ranked(request))
}

#[test]
fn the_best_ten_are_those_of_ranking_everything() {
    let db = filled();
    let mut numbers = Numbers(9);
    for mode in [Mode::Hybrid, Mode::Dense, Mode::Lexical] {
        let (mut found, mut asked) = (0, 0);
        for _ in 0..60 {
            let (passed, exact) = both(&db, &RecallRequest { mode, ..ask(&numbers.text(4), everything()) });
            let passed = ids(&passed.memories);
            asked += exact.memories.len().min(10);
            found += ids(&exact.memories).iter().take(10).filter(|id| passed.contains(id)).count();
        }
        let share = found as f64 / asked as f64;
        println!("recall@10 against ranking everything, {}: {share:.4}", mode.as_str());
        assert!(share >= 0.99, "{}: {share}", mode.as_str());
    }
}

#[test]
fn terms_are_counted_over_all_partitions_first() {
    let db = filled();
    let (passed, exact) = both(&db, &ask("term3 term77 term140 never", everything()));
    assert_eq!(passed.terms, exact.terms);
    assert_eq!(passed.terms.memories as usize, SESSIONS * TURNS);
}

#[test]
fn the_parts_of_a_score_are_still_told() {
    let db = filled();
    let (passed, exact) = both(&db, &ask("term3 term77", everything()));
    let names = |ranked: &Ranked| -> Vec<&str> {
        ranked.memories[0].scoring.as_ref().unwrap().iter().map(|(name, _)| *name).collect()
    };
    assert_eq!(names(&passed), names(&exact));
    let of = |name: &str| passed.memories[0].scoring.as_ref().unwrap().iter().find(|part| part.0 == name).unwrap().1;
    assert_eq!(of("relevance"), passed.memories[0].similarity.unwrap());
    assert!((of("relevance_norm") + 0.5 * of("recency") - passed.memories[0].score).abs() < 1e-9);
}

#[test]
fn what_one_row_matches_is_found_whatever_else_is_nearer() {
    let db = filled();
    let fact =
        db.add(NewMemory { metadata: Some(r#"{"colour":"teal"}"#.to_owned()), ..said("s7", "entirely different") });
    let pinned = db.add(NewMemory { kind: Kind::Pinned, ..said("s8", "another thing altogether") });
    let whispered = db.add(NewMemory { role: Some("whisper".to_owned()), ..said("s9", "nothing of the kind") });
    db.rank_everything_up_to(0);
    let only = |change: &dyn Fn(&mut RecallRequest)| {
        let mut request = ask("term3 term77", everything());
        change(&mut request);
        ids(&db.ranked(&request).memories)
    };
    assert_eq!(only(&|request| request.filter = Some(r#"{"colour":"teal"}"#.to_owned())), [fact]);
    assert_eq!(only(&|request| request.kinds = vec![Kind::Pinned]), [pinned]);
    let roles = only(&|request| {
        request.kinds = vec![Kind::Turn];
        request.settings.recall_roles = Some(vec!["whisper".to_owned()]);
    });
    assert_eq!(roles, [whispered]);
}

#[test]
fn what_is_left_out_makes_room_for_the_next() {
    let db = filled();
    let request = RecallRequest { limit: Some(40), ..ask("term3 term77", everything()) };
    let (first, _) = both(&db, &request);
    let (passed, exact) = both(&db, &RecallRequest { exclude_ids: ids(&first.memories), ..request });
    assert!(ids(&passed.memories).iter().all(|id| !ids(&first.memories).contains(id)));
    let kept = ids(&passed.memories);
    let shared = ids(&exact.memories).iter().take(40).filter(|id| kept.contains(id)).count();
    assert!(shared >= 38, "{shared}");
}

#[test]
fn superseded_and_expired_memories_stay_away_and_another_time_has_its_own_answer() {
    let db = filled();
    let old = db.add(NewMemory { ts: NOW - 3 * DAY, ..keyed("s3", "plan", "unusual zebra plan") });
    let brief = db.add(NewMemory { expires: Some(NOW - MINUTE), ..said("s4", "unusual zebra once") });
    let new = db.add(NewMemory { ts: NOW - DAY, ..keyed("s3", "plan", "unusual zebra idea") });
    db.rank_everything_up_to(0);
    let found = |change: &dyn Fn(&mut RecallRequest)| {
        let mut request = ask("unusual zebra", everything());
        change(&mut request);
        ids(&db.ranked(&request).memories)
    };
    let now = found(&|_| {});
    assert!(now.contains(&new) && !now.contains(&old) && !now.contains(&brief));
    assert!(found(&|request| request.include_superseded = true).contains(&old));
    let then = found(&|request| request.as_of = Some(NOW - 2 * DAY));
    assert!(then.contains(&old) && !then.contains(&new));
}

#[test]
fn a_question_about_a_day_finds_what_was_said_on_it() {
    let db = filled();
    let mut days = Numbers(3);
    let (mut found, mut asked) = (0, 0);
    for _ in 0..10 {
        let session = days.next(SESSIONS) as i64;
        let day = retentive_core::calendar::iso(NOW - (1 + session) * 2 * DAY);
        let (passed, exact) = both(&db, &ask(&format!("what about term{} on {}", session, &day[..10]), everything()));
        asked += exact.memories.len().min(10);
        found += ids(&exact.memories).iter().take(10).filter(|id| ids(&passed.memories).contains(id)).count();
    }
    assert!(found as f64 >= 0.99 * asked as f64, "{found} of {asked}");
}

#[test]
fn one_named_speaker_is_found_and_two_are_nobody() {
    let db = filled();
    let by = |name: &str, session: &str, text: &str| NewMemory { name: Some(name.to_owned()), ..said(session, text) };
    for turn in 0..15 {
        db.add(by("Ottilie", "s5", &format!("plain words {turn}")));
        db.add(by("Quentin", "s6", &format!("plain words {turn}")));
    }
    let named = |query: &str| {
        let (passed, exact) = both(&db, &ask(query, everything()));
        let of = |ranked: &Ranked| {
            let named = ranked.memories.iter().filter(|memory| {
                let scoring = memory.scoring.as_ref().unwrap();
                scoring.iter().any(|(name, part)| *name == "named" && *part > 0.0)
            });
            named.count()
        };
        (of(&passed), of(&exact))
    };
    let (passed, exact) = named("what did Ottilie say about term3");
    assert!(exact > 0 && passed == exact, "{passed} {exact}");
    assert_eq!(named("what did Ottilie tell Quentin about term3"), (0, 0));
}

#[test]
fn an_unanswerable_question_is_refused_as_before() {
    let db = filled();
    let request = |query: &str| RecallRequest { refusal_floor: Some(0.4), ..ask(query, everything()) };
    for query in ["completely unheard matters", "term3 term77 term12", "zebra"] {
        let (passed, exact) = both(&db, &request(query));
        assert_eq!(passed.refused, exact.refused, "{query}");
    }
    assert!(both(&db, &request("completely unheard matters")).0.refused);
}

#[test]
fn a_limit_or_a_budget_is_filled_however_large() {
    let db = filled();
    let request = ask("term3 term77", everything());
    for (limit, token_budget) in
        [(Some(0), None), (Some(150), None), (Some(5_000), None), (None, Some(4_000)), (None, Some(200_000))]
    {
        let (passed, exact) = both(&db, &RecallRequest { limit, token_budget, ..request.clone() });
        assert_eq!(passed.memories.len(), exact.memories.len(), "{limit:?} {token_budget:?}");
    }
}

#[test]
fn a_long_sitting_counts_by_what_was_said_beside_a_hit() {
    let db = open(None);
    let mut numbers = Numbers(11);
    let new = (0..3_000).map(|turn| NewMemory { ts: NOW - DAY + turn * MINUTE / 10, ..said("a", &numbers.text(8)) });
    db.remember(new.collect(), NOW, &go).unwrap();
    let (mut found, mut asked) = (0, 0);
    for _ in 0..40 {
        let (passed, exact) = both(&db, &ask(&numbers.text(4), session("a")));
        asked += exact.memories.len().min(10);
        found += ids(&exact.memories).iter().take(10).filter(|id| ids(&passed.memories).contains(id)).count();
    }
    assert!(found as f64 >= 0.99 * asked as f64, "{found} of {asked}");
}

#[test]
fn a_fact_comes_with_the_turns_that_it_cites_and_parts_of_a_text_count_as_one() {
    let db = filled();
    let parts = vec![embed("nothing of the kind"), embed("blue whale")];
    let whole =
        db.add(NewMemory { vectors: parts.into_iter().map(Vector::first).collect(), ..said("s2", "a long text") });
    let bare = db.add(NewMemory { vectors: Vec::new(), ..said("s2", "a whale without a vector") });
    let (passed, exact) = both(&db, &ask("blue whale", everything()));
    assert_eq!(ids(&passed.memories)[..2], ids(&exact.memories)[..2]);
    assert!(ids(&passed.memories).contains(&whole) && ids(&passed.memories).contains(&bare));
}
