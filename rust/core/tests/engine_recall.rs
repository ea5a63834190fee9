//! Ranking: kinds, policy, pool, refusal, least relevance, explanation.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp, clippy::cloned_ref_to_slice_refs)]
mod engine_support;

use engine_support::*;
use retentive_core::engine::{Mode, NewMemory, RecallRequest, SearchRequest};
use retentive_core::model::{Kind, Vector};

#[test]
fn the_answer_comes_first_and_explains_itself() {
    let disk = on_disk();
    let db = &disk.engine;
    db.add(said("a", "I would like the report as a PDF"));
    db.add(said("a", "The weather is nice today"));
    db.add(fact("a", "Customer is on the annual plan"));
    let found = db.ranked(&ask("should the report be a PDF", session("a"))).memories;
    assert_eq!(found[0].text, "I would like the report as a PDF");
    let scoring = found[0].scoring.clone().unwrap();
    for name in
        ["relevance", "relevance_norm", "recency", "feedback", "dense", "lexical", "neighbours", "sitting", "role"]
    {
        assert!(scoring.iter().any(|(known, _)| *known == name), "{name}");
    }
    assert_eq!(scoring[0].1, found[0].similarity.unwrap());
    assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score));
}

#[test]
fn similarity_is_the_exact_cosine_of_the_best_part() {
    let db = open(None);
    let parts = vec![embed("nothing of the kind"), embed("blue whale")];
    let id = db.add(NewMemory {
        vectors: parts.into_iter().map(Vector::first).collect(),
        ..said("a", "a long text about a blue whale")
    });
    let found = db.ranked(&ask("blue whale", session("a"))).memories;
    assert_eq!(found[0].id, id);
    assert!((found[0].similarity.unwrap() - 1.0).abs() < 1e-6);
}

#[test]
fn kinds_exclusions_and_policy_choose_the_candidates() {
    let disk = on_disk();
    let db = &disk.engine;
    let turn = db.add(said("a", "tea with lemon please"));
    let short = db.add(said("a", "tea"));
    let told = db.add(NewMemory { role: Some("assistant".to_owned()), ..said("a", "tea with lemon it is") });
    let known = db.add(NewMemory { role: Some("assistant".to_owned()), ..fact("a", "Likes tea") });
    let seen = |change: &dyn Fn(&mut RecallRequest)| {
        let mut request = ask("tea with lemon", session("a"));
        change(&mut request);
        let mut found = ids(&db.ranked(&request).memories);
        found.sort();
        found
    };
    assert_eq!(seen(&|_| {}), [turn.clone(), short.clone(), told.clone(), known.clone()]);
    assert_eq!(seen(&|request| request.kinds = vec![Kind::Fact]), [known.clone()]);
    assert_eq!(seen(&|request| request.exclude_ids = vec![turn.clone(), known.clone()]), [short.clone(), told.clone()]);
    assert_eq!(
        seen(&|request| request.settings.recall_roles = Some(vec!["user".to_owned()])),
        [turn.clone(), short.clone(), known.clone()]
    );
    assert_eq!(seen(&|request| request.settings.recall_min_words = 2), [turn, told, known]);
}

#[test]
fn the_pool_follows_the_limit_or_the_budget() {
    let disk = on_disk();
    let db = &disk.engine;
    let many = (0..200).map(|n| said("a", &format!("note number {n} about the garden and the trees"))).collect();
    db.remember(many, NOW, &go).unwrap();
    let pooled = |limit: Option<usize>, token_budget: Option<usize>| {
        let request = RecallRequest { limit, token_budget, ..ask("garden notes", session("a")) };
        db.ranked(&request).memories
    };
    assert_eq!(pooled(Some(1), Some(1)).len(), 20);
    assert_eq!(pooled(Some(30), Some(1)).len(), 60);
    assert_eq!(pooled(None, Some(10)).len(), 20);
    let half = pooled(None, Some(700));
    let tokens: u32 = half.iter().map(|memory| memory.tokens).sum();
    assert!(half.len() > 20 && half.len() < 200 && tokens >= 1050);
    assert_eq!(pooled(None, None).len(), 200);
}

#[test]
fn of_what_a_limit_alone_leaves_out_the_ids_are_told() {
    let disk = on_disk();
    let db = &disk.engine;
    db.remember((0..60).map(|n| said("a", &format!("note {n} about the garden"))).collect(), NOW, &go).unwrap();
    db.remember((0..3).map(|n| fact("a", &format!("fact {n} about the garden"))).collect(), NOW, &go).unwrap();
    let request = |token_budget| RecallRequest { token_budget, ..ask("garden fact", session("a")) };
    let whole = ids(&db.ranked(&request(Some(usize::MAX / 2))).memories);
    let found = db.ranked(&request(None));
    let facts = found.memories.iter().filter(|memory| memory.kind == Kind::Fact).count();
    assert_eq!((found.memories.len(), facts), (13, 3), "ten, and one more for each fact that may give way");
    assert_eq!([ids(&found.memories), found.over_limit.clone()].concat(), whole);
    let gapped = db.ranked(&RecallRequest { score_gap: Some(1.0), ..request(None) });
    let told = [ids(&gapped.memories), gapped.over_limit, gapped.below_gap].concat();
    assert_eq!((told, gapped.memories.len()), (whole, 1));
}

#[test]
fn nothing_relevant_is_an_answer() {
    let db = open(None);
    db.add(said("a", "the cat sat on the mat"));
    db.remember((1..10).map(|n| said("a", &format!("{n} mice"))).collect(), NOW, &go).unwrap();
    let asked =
        |query: &str, floor: f64| db.ranked(&RecallRequest { refusal_floor: Some(floor), ..ask(query, session("a")) });
    assert!(asked("quarterly revenue forecast", 0.9).refused);
    assert!(asked("quarterly revenue forecast", 0.9).memories.is_empty());
    assert!(!asked("the cat sat on the mat", 0.9).refused);
    assert!(!asked("what did I say yesterday", 5.0).refused);
    assert!(!db.ranked(&RecallRequest { refusal_floor: Some(5.0), ..ask("cat", session("empty")) }).refused);
}

#[test]
fn late_interaction_is_asked_of_the_texts_that_come_nearest_and_decides() {
    let db = open(None);
    db.add(said("a", "the cat sat on the mat"));
    db.remember((1..20).map(|n| said("a", &format!("{n} mice"))).collect(), NOW, &go).unwrap();
    let asked = |floor: f64, limit: usize| {
        let floors =
            RecallRequest { refusal_floor: Some(0.0), late_interaction_floor: Some(floor), ..ask("cat", session("a")) };
        db.ranked(&RecallRequest { limit: Some(limit), ..floors })
    };
    for limit in [1, 10] {
        let undecided = asked(2.0, limit).undecided.unwrap();
        assert_eq!(undecided.texts.len(), 5);
        assert_eq!(undecided.texts[0], "the cat sat on the mat\n1 mice", "with what was said next");
        assert!(undecided.nothing_relevant(&[0.0; 5]).unwrap());
        assert!(!undecided.nothing_relevant(&[1.0, 0.0, 0.0, 0.0, 0.0]).unwrap());
        assert!(undecided.nothing_relevant(&[1.0]).is_err());
    }
    let known = asked(0.0, 10);
    assert!(known.undecided.is_none() && !known.refused);
    assert!(asked(9.0, 10).refused);
}

#[test]
fn a_least_relevance_keeps_exactly_what_reaches_it_however_the_pool_is_cut() {
    let disk = on_disk();
    let db = &disk.engine;
    let words = ["red", "green", "blue", "black", "white", "pink", "grey", "gold"];
    let texts: Vec<String> =
        (0..300).map(|n| format!("{} {} {}", words[n % 8], words[n / 8 % 8], words[n / 64 % 8])).collect();
    db.remember(texts.iter().map(|text| said("a", text)).collect(), NOW, &go).unwrap();
    let query = "red gold";
    let all = db.ranked(&RecallRequest { limit: None, ..ask(query, session("a")) }).memories;
    for least in [0.2, 0.5, 0.8] {
        let expected = all.iter().filter(|memory| memory.similarity.unwrap() >= least).count();
        let request = RecallRequest { limit: None, min_relevance: Some(least), ..ask(query, session("a")) };
        let kept = db.ranked(&request).memories;
        assert_eq!(kept.len(), expected);
        let small = RecallRequest { limit: Some(3), ..request };
        let small = db.ranked(&small);
        assert_eq!(small.memories.len() + small.over_limit.len(), expected.min(20));
        let near = SearchRequest {
            limit: None,
            max_distance: Some(1.0 - least),
            mode: Mode::Dense,
            ..look(query, session("a"))
        };
        assert_eq!(db.search(&near, &go).unwrap().memories.len(), expected);
    }
}

#[test]
fn the_score_gap_names_what_it_leaves_out() {
    let db = open(None);
    db.add(said("a", "the red bicycle"));
    let far = db.add(said("b", "unrelated"));
    let far = [far, db.add(said("a", "a completely different matter"))];
    let request = RecallRequest { score_gap: Some(0.99), ..ask("the red bicycle", session("a")) };
    let ranked = db.ranked(&request);
    assert_eq!(texts(&ranked.memories), ["the red bicycle"]);
    assert_eq!(ranked.below_gap, far[1..]);
}

#[test]
fn search_scores_are_what_each_mode_says() {
    let disk = on_disk();
    let db = &disk.engine;
    db.add(document("d1", "the export button saves a file"));
    db.add(said("a", "where is the export button"));
    db.add(document("d2", "bananas are yellow"));
    let hits = |mode: Mode, explain: bool| {
        let request = SearchRequest { mode, explain, ..look("export button", anybody()) };
        db.search(&request, &go).unwrap().memories
    };
    let dense = hits(Mode::Dense, false);
    assert_eq!(dense.len(), 3);
    assert!(dense.iter().all(|memory| memory.score == memory.similarity.unwrap() && memory.scoring.is_none()));
    let lexical = hits(Mode::Lexical, false);
    assert_eq!(lexical.len(), 2);
    let hybrid = hits(Mode::Hybrid, true);
    assert!(hybrid.iter().all(|memory| (0.0..=1.0).contains(&memory.score)));
    for memory in &hybrid {
        let parts = memory.scoring.clone().unwrap();
        let sum: f64 = parts.iter().filter(|(name, _)| *name != "relevance").map(|(_, part)| part).sum();
        assert!((sum - memory.score).abs() < 1e-9);
    }
    let by_vector = SearchRequest { query: None, mode: Mode::Dense, ..look("bananas are yellow", anybody()) };
    assert_eq!(db.search(&by_vector, &go).unwrap().memories[0].id, "d2");
}

#[test]
fn search_without_a_query_is_the_filter_newest_first() {
    let db = open(None);
    for day in 1..5 {
        db.add(NewMemory { ts: NOW - day * DAY, ..said("a", &format!("day {day}")) });
    }
    let request = SearchRequest {
        query: None,
        vectors: Vec::new(),
        filter: Some("{\"_vx_turn\": {\"$lt\": 3}}".to_owned()),
        ..look("", session("a"))
    };
    assert_eq!(texts(&db.search(&request, &go).unwrap().memories), ["day 1", "day 2", "day 3"]);
}

#[test]
fn similar_stays_with_the_owner_and_leaves_itself_out() {
    let disk = on_disk();
    let db = &disk.engine;
    let id = db.add(document("d1", "green tea leaves"));
    db.add(document("d2", "green tea cups"));
    db.add(document("d3", "railway timetable"));
    db.add(said("a", "green tea leaves"));
    let near = db.similar(&id, Some(2), NOW, &go).unwrap().memories;
    assert_eq!(ids(&near), ["d2", "d3"]);
    let bare = db.add(NewMemory { vectors: Vec::new(), ..document("d4", "tea time") });
    let by_words = db.similar(&bare, None, NOW, &go).unwrap().memories;
    assert_eq!(by_words.len(), 2);
}

#[test]
fn a_year_old_exact_answer_beats_fresh_noise() {
    let disk = on_disk();
    let db = &disk.engine;
    db.add(NewMemory { ts: NOW - 365 * DAY, ..said("a", "my passport number is AB1234") });
    let noise =
        (0..1000).map(|n| NewMemory { ts: NOW - MINUTE, ..said("a", &format!("chatter about lunch {n}")) }).collect();
    db.remember(noise, NOW, &go).unwrap();
    assert_eq!(db.recalled("what is my passport number", "a")[0], "my passport number is AB1234");
}

#[test]
fn text_is_never_syntax() {
    let db = open(None);
    db.add(said("a", "I write C++ in src/a.rs"));
    for query in ["say \"hi", "(python", "a:b", "foo AND", "rm -rf", "C++", "don't", "src/a.rs", "*", "the of and", ""]
    {
        let request = RecallRequest { vectors: Vec::new(), ..ask(query, session("a")) };
        db.ranked(&request);
    }
    let by_words = RecallRequest { vectors: Vec::new(), mode: Mode::Lexical, ..ask("C++", session("a")) };
    let found = db.ranked(&by_words).memories;
    assert!(found[0].scoring.clone().unwrap().iter().any(|(name, part)| *name == "neighbours" || *part > 0.0));
}
