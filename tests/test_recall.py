"""What matters now, for a query."""

import logging

import pytest

from retentive import CallableEmbedder, Collection, InvalidInputError

ALL = {"min_relevance": None}


@pytest.fixture
def talk(memory_db):
    memory_db.remember("I'd like the report as a PDF", session="a", timestamp="2026-01-01")
    memory_db.remember("The weather is nice today", session="a", role="assistant", timestamp="2026-01-01T00:01")
    memory_db.remember("The report format is fixed", session="a", kind="fact", timestamp="2026-01-02")
    memory_db.remember("Always be polite about the report", session="a", pinned=True, timestamp="2026-01-03")
    memory_db.remember("My report should be in Word", session="b", timestamp="2026-01-01")
    return memory_db


def test_recall_finds_by_words_and_meaning(talk):
    hits = talk.recall("report as PDF", session="a", now="2026-01-02")
    assert hits.top.text == "I'd like the report as a PDF"
    assert hits.query == "report as PDF"
    assert hits.mode == "hybrid"
    assert hits.time_ms > 0


def test_recall_without_session_covers_every_session(talk):
    texts = talk.recall("report", now="2026-01-04", **ALL).texts
    assert "My report should be in Word" in texts
    assert "I'd like the report as a PDF" in texts


def test_recall_with_session_stays_in_it(talk):
    assert "My report should be in Word" not in talk.recall("report in Word", session="a", **ALL).texts


def test_recall_is_best_first_and_scores_fall(talk):
    scores = talk.recall("report", session="a", **ALL).scores
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("kinds", [("turn",), ("fact",), ("pinned",), ("fact", "pinned"), ["turn"], ()])
def test_kinds_choose_the_candidates(talk, kinds):
    hits = talk.recall("report", session="a", kinds=kinds, **ALL)
    assert {hit.kind for hit in hits} == set(kinds)


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_limit_is_how_many_at_most(talk, limit):
    assert len(talk.recall("report", session="a", limit=limit, **ALL)) == limit


def test_limit_none_fills_the_budget(memory_db):
    memory_db.remember_many([{"text": f"apple pie number {i}", "session": "a"} for i in range(60)])
    hits = memory_db.recall("apple pie", session="a", limit=None, token_budget=10_000)
    assert len(hits) > 10
    assert hits.token_estimate <= 10_000


def test_limit_none_without_budget_is_refused(talk):
    with pytest.raises(InvalidInputError, match="token_budget"):
        talk.recall("report", limit=None)


def test_budget_holds(memory_db):
    memory_db.remember_many([{"text": f"apple pie number {i}", "session": "a"} for i in range(30)])
    hits = memory_db.recall("apple pie", session="a", token_budget=30)
    assert 1 <= len(hits) < 10
    assert hits.token_estimate <= 30 == hits.token_budget
    assert hits.truncated
    assert hits.cut_count > 0
    assert {stored for stored, _ in hits.dropped}.isdisjoint(hits.ids)


def test_top_ships_when_it_alone_is_over_the_budget(memory_db):
    memory_db.remember("apple " * 500, session="a")
    hits = memory_db.recall("apple", session="a", token_budget=20)
    assert len(hits) == 1
    assert hits.truncated
    assert hits.token_estimate > 20


def test_no_budget_truncates_nothing(talk):
    hits = talk.recall("report", session="a", **ALL)
    assert (hits.truncated, hits.cut_count, hits.token_budget) == (False, 0, None)
    assert hits.token_estimate > 0


def test_score_gap_keeps_what_is_near_the_best(talk):
    every = talk.recall("report as PDF", session="a", **ALL)
    few = talk.recall("report as PDF", session="a", score_gap=1, **ALL)
    assert few.ids == every.ids[:1] != every.ids
    assert {stored for stored, _ in few.dropped} >= set(every.ids) - set(few.ids)


def test_exclude_ids_leaves_out(talk):
    top = talk.recall("report as PDF", session="a", **ALL).top
    assert top.id not in talk.recall("report as PDF", session="a", exclude_ids=[top.id], **ALL).ids


def test_superseded_is_left_out_unless_asked_for(memory_db):
    old = memory_db.remember("The office is in Lyon", kind="fact")
    new = memory_db.feedback(old, "corrected", correction="The office is in Paris")
    assert memory_db.recall("office", **ALL).ids == [new]
    assert set(memory_db.recall("office", include_superseded=True, **ALL).ids) == {old, new}


def test_modes_rank_by_their_own_signal(talk):
    dense = talk.recall("report as PDF", session="a", mode="dense", kinds=("turn",), **ALL)
    lexical = talk.recall("report as PDF", session="a", mode="lexical", kinds=("turn",), **ALL)
    assert (dense.mode, lexical.mode) == ("dense", "lexical")
    assert dense.top.text == lexical.top.text == "I'd like the report as a PDF"


def test_lexical_mode_never_calls_the_embedder(tmp_path, embedder):
    with Collection("c", path=tmp_path, embedder=embedder) as db:
        db.remember("apple pie", session="a")

    def fn(texts):
        raise AssertionError("called")

    with Collection("c", path=tmp_path, embedder=CallableEmbedder(embedder.name, 64, fn)) as db:
        assert db.recall("apple", session="a", mode="lexical", **ALL).texts == ["apple pie"]
        assert db.search("apple", mode="lexical", session="a").texts == ["apple pie"]
        assert db.search("apple", mode="sparse", session="a").texts == ["apple pie"]
        assert len(db.turns("a")) == 1


def test_as_of_answers_from_what_was_said_by_then(talk):
    texts = talk.recall("report", session="a", as_of="2026-01-01T12:00", **ALL).texts
    assert "I'd like the report as a PDF" in texts
    assert "The report format is fixed" not in texts


def test_scoring_shows_the_parts(talk):
    parts = talk.recall("report as PDF", session="a", **ALL).top.metadata["_vx_scoring"]
    assert {"relevance", "relevance_norm", "recency", "feedback", "dense", "lexical"} <= parts.keys()
    assert all(isinstance(value, float) for value in parts.values())


def test_newer_of_two_equal_texts_comes_first(memory_db):
    old = memory_db.remember("the plan is annual", kind="fact", timestamp="2026-01-01")
    new = memory_db.remember("the plan is annual", kind="fact", timestamp="2026-03-01")
    assert memory_db.recall("annual plan", now="2026-03-02", **ALL).ids == [new, old]


def test_min_relevance_as_a_number_is_the_least_similarity(talk):
    hits = talk.recall("report as PDF", session="a", min_relevance=0.5)
    assert all(hit.similarity >= 0.5 for hit in hits)
    assert len(talk.recall("report as PDF", session="a", min_relevance=1.1)) == 0


def test_recall_of_an_empty_collection_is_empty_and_writes_nothing(memory_db):
    hits = memory_db.recall("anything")
    assert (list(hits), hits.top, hits.truncated) == ([], None, False)
    assert memory_db.count() == 0


def test_same_recall_gives_the_same_result(talk):
    again = [talk.recall("report", session="a", now="2026-01-05", **ALL) for _ in range(2)]
    assert again[0] == again[1]


@pytest.mark.parametrize(
    "query", ['say "hi', "(python", "a:b", "foo AND", "rm -rf", "C++", "don't", "src/a.rs", "*", "the of and", "% _ '"]
)
def test_query_is_text_never_syntax(talk, query):
    for mode in ("hybrid", "dense", "lexical"):
        talk.recall(query, session="a", mode=mode)
        talk.search(query, mode=mode)


def test_symbols_are_findable(memory_db):
    stored = memory_db.remember("we moved the build from C++ to src/a.rs", session="a")
    memory_db.remember("lunch was good", session="a")
    for query in ("C++", "src/a.rs"):
        assert memory_db.recall(query, session="a", mode="lexical", limit=1, **ALL).ids == [stored]


def test_debug_log_has_ids_and_no_text(talk, caplog):
    with caplog.at_level(logging.DEBUG, logger="retentive"):
        hits = talk.recall("report as PDF", session="a", token_budget=300, **ALL)
    lines = [record.getMessage() for record in caplog.records if record.name == "retentive"]
    assert len(lines) == 1
    assert hits.top.id in lines[0]
    assert "300" in lines[0]
    assert not any(
        word in lines[0] for text in ("report as PDF", hits.top.text) for word in text.split() if len(word) > 3
    )
    assert "as PDF" not in lines[0]


def test_each_read_logs_one_line(talk, caplog):
    stored = talk.turns("a")[0].id
    with caplog.at_level(logging.DEBUG, logger="retentive"):
        talk.recall("report")
        talk.search("report")
        talk.context("report", session="a")
        talk.similar(stored)
    assert len(caplog.records) == 4
    assert not any("PDF" in record.getMessage() for record in caplog.records)


def test_turns_of_other_roles_are_not_recalled_but_stay(talk):
    talk.memory.recall_roles = ["user"]
    assert "The weather is nice today" not in talk.recall("weather", session="a", **ALL).texts
    assert "The weather is nice today" in [turn.text for turn in talk.turns("a")]
    assert "The weather is nice today" in [turn.text for turn in talk.context("weather", session="a").recent]


def test_turns_of_few_words_are_not_recalled_but_stay(memory_db):
    memory_db.memory.recall_min_words = 3
    memory_db.remember("ok fine", session="a")
    memory_db.remember("ok that is fine", session="a")
    assert memory_db.recall("ok fine", session="a", **ALL).texts == ["ok that is fine"]
    assert len(memory_db.turns("a")) == 2
