"""Facts that stand next to the turns they came from."""

import pytest

from retentive import Collection, ConversationMemory
from retentive.embedders import HashEmbedder

SIGNALS = ("dense", "window", "neighbours", "sitting", "sitting_words", "role", "named", "date", "cues")
QUERY = "which kettle leaks"
ALL = {"session": "s", "min_relevance": None, "now": "2026-03-02"}


@pytest.fixture
def noted():
    """Ten turns, of which two say what two facts say; each fact cites its turn, a third cites both."""
    said = ["Morning!", "The red kettle in the kitchen leaks since Monday", "Oh no", "Buy a new one", "A blue one then"]
    said += ["We need bread too", "And the green kettle leaks at the lid", "Really?", "It is old", "Let us see"]
    facts = [
        {"text": "red kettle leaks", "turns": [1]},
        {"text": "green kettle leaks", "turns": [6]},
        {"text": "both kettles, red and green, leak", "turns": [1, 6]},
    ]
    with Collection("facts", embedder=HashEmbedder(64)) as db:
        db.remember_many(
            {"text": text, "session": "s", "timestamp": f"2026-03-01T10:{minute:02}"}
            for minute, text in enumerate(said)
        )
        db.consolidate("s", lambda turns: facts, keep_recent=0, delete=False, now="2026-03-02")
        yield db


def cited_of(found):
    return {item.id: item.metadata.get("_vx_consolidated_from", []) for item in found}


def assert_said_once(found, *others):
    there = {item.id for item in (*found, *others)}
    assert not [fact for fact, turns in cited_of(found).items() if turns and there.issuperset(turns)]


@pytest.mark.parametrize("budget", [20, 40, 60, 90, 150, 400])
def test_no_fact_is_packed_beside_all_its_turns(noted, budget):
    block = noted.context(QUERY, token_budget=budget, recent_turns=0, limit=None, **ALL)
    assert block.retrieved
    assert block.token_estimate <= budget
    assert_said_once(block.retrieved)
    assert_said_once(noted.recall(QUERY, limit=None, token_budget=budget, **ALL))


def test_small_budget_holds_facts_and_a_large_one_their_turns(noted):
    small = noted.recall(QUERY, limit=None, token_budget=12, **ALL)
    assert "red kettle leaks" in {item.text for item in small}
    large = noted.recall(QUERY, limit=None, token_budget=1000, **ALL)
    assert {item.kind for item in large} == {"turn"}
    assert len(large) == 10


def test_fact_left_out_for_its_turns_is_named_with_the_reason(noted):
    facts = {fact.id for fact in noted.recall(QUERY, kinds=("fact",), **ALL)}
    for found in (
        noted.recall(QUERY, limit=None, token_budget=1000, **ALL),
        noted.context(QUERY, token_budget=1000, recent_turns=0, limit=None, **ALL),
    ):
        assert {(drop.id, drop.reason) for drop in found.dropped} == {(fact, "said by its turns") for fact in facts}
        assert not found.truncated
        assert found.cut_count == 0


def test_recent_turns_say_their_facts(noted):
    block = noted.context(QUERY, token_budget=1000, recent_turns=4, limit=None, **ALL)
    assert any("green kettle leaks at the lid" in turn.text for turn in block.recent)
    assert "green kettle leaks" not in {item.text for item in block.retrieved}
    assert_said_once(block.retrieved, *block.recent)


@pytest.fixture
def equal():
    """Turns that are equally relevant, so that the newer is ahead by a little; a long one has a short fact."""
    said = ["We need bread", "And some milk", "The red kettle leaks, " + "drip after drip, " * 12, "Oh no"]
    with Collection("facts", embedder=HashEmbedder(64)) as db:
        db.memory = ConversationMemory(db, signals=dict.fromkeys(SIGNALS, 0))
        db.remember_many(
            {"text": text, "session": "s", "timestamp": f"2026-03-01T10:0{minute}"} for minute, text in enumerate(said)
        )
        noted = [{"text": "red kettle leaks", "turns": [2]}]
        db.consolidate("s", lambda turns: noted, keep_recent=0, delete=False, now="2026-03-02")
        yield db


def begins(found):
    return [item.text[:8] for item in found]


@pytest.mark.parametrize(("verb", "budget"), [("recall", 96), ("context", 117)])
def test_turn_comes_later_for_what_it_costs_more_than_its_fact(equal, verb, budget):
    def found(limit):
        if verb == "recall":
            return equal.recall(QUERY, limit=limit, token_budget=budget, **ALL)
        block = equal.context(QUERY, limit=limit, token_budget=budget, recent_turns=0, excerpt=None, **ALL)
        return block.retrieved

    assert begins(found(None)) == ["Oh no", "red kett", "And some", "We need "]
    # Where a limit counts memories, by rank: no other memory would gain the place.
    assert begins(found(3)) == ["Oh no", "The red ", "And some"]


def test_turn_takes_the_place_of_its_fact_where_there_is_room(equal):
    assert begins(equal.recall(QUERY, limit=None, token_budget=1000, **ALL)) == [
        "Oh no",
        "The red ",
        "And some",
        "We need ",
    ]


def test_fact_that_nobody_said_reads_as_a_list_item(noted):
    block = noted.context(QUERY, token_budget=1000, recent_turns=0, limit=None, kinds=("fact",), **ALL)
    lines = block.text.splitlines()
    assert lines[:2] == ["## Earlier, possibly relevant", "2026-03-01"]
    assert {"- red kettle leaks", "- green kettle leaks"} <= set(lines)


def test_facts_come_where_only_they_are_asked_for(noted):
    assert len(noted.recall(QUERY, kinds=("fact",), **ALL)) == 3
    assert {hit.kind for hit in noted.search(QUERY, session="s", limit=20)} == {"turn", "fact"}


def test_fact_stays_when_one_of_its_turns_is_forgotten(noted):
    red = next(turn for turn in noted.turns("s") if turn.text.startswith("The red"))
    noted.forget(ids=[red.id])
    kept = {item.text for item in noted.recall(QUERY, limit=None, token_budget=1000, **ALL) if item.kind == "fact"}
    assert kept == {"red kettle leaks", "both kettles, red and green, leak"}


def test_fact_is_found_by_the_day_and_the_speaker_of_its_turn():
    with Collection("facts", embedder=HashEmbedder(64)) as db:
        for day, name in ((3, "Anna"), (12, "Bert"), (21, "Anna")):
            db.remember("something was mended", session="s", name=name, timestamp=f"2026-03-{day:02}")
        noted = [{"text": f"something was mended {n}", "turns": [n]} for n in range(3)]
        db.consolidate("s", lambda turns: noted, keep_recent=0, delete=False, now="2026-04-01")
        hits = db.recall("what did Bert mend on 12 March 2026", session="s", kinds=("fact",), now="2026-04-01")
        scoring = {hit.text: hit.metadata["_vx_scoring"] for hit in hits}
        assert hits.top.text == "something was mended 1"
        assert [scoring[f"something was mended {n}"]["named"] > 0 for n in range(3)] == [False, True, False]
        assert [scoring[f"something was mended {n}"]["date"] > 0 for n in range(3)] == [False, True, False]


def test_links_hold_for_another_reader_and_after_reopening(tmp_path):
    def parts(db):
        hits = db.recall("what did Bert say", session="s", kinds=("fact",), min_relevance=None, now="2026-04-01")
        return [(hit.text, hit.metadata["_vx_scoring"]["named"]) for hit in hits]

    with (
        Collection("facts", tmp_path, embedder=HashEmbedder(64)) as db,
        Collection("facts", tmp_path, embedder=HashEmbedder(64)) as reader,
    ):
        db.remember("we go", session="s", name="Bert", timestamp="2026-03-01")
        assert parts(reader) == []
        db.consolidate("s", lambda turns: ["they go"], keep_recent=0, delete=False, now="2026-04-01")
        expected = [("they go", pytest.approx(0.3))]
        assert parts(db) == parts(reader) == expected
    with Collection("facts", tmp_path, embedder=HashEmbedder(64)) as db:
        assert parts(db) == expected
        db.forget(ids=[db.turns("s")[0].id])
        assert parts(db) == [("they go", 0.0)]
