"""What was left out, and why, told alike by recall, search and context."""

import pytest


def test_dropped_has_id_and_reason_everywhere(memory_db):
    ids = memory_db.remember_many([{"text": f"apple pie {i}", "session": "a"} for i in range(5)])
    for found in (
        memory_db.recall("apple", session="a", limit=2),
        memory_db.search("apple", session="a", limit=2),
        memory_db.context("apple", session="a", limit=2, recent_turns=0),
    ):
        assert {drop.id for drop in found.dropped} <= set(ids)
        assert {drop.reason for drop in found.dropped} == {"over limit"}
        assert len(found.dropped) == 3


def test_dropped_by_the_gap_comes_with_its_reason(memory_db):
    memory_db.add(["red car", "green boat"])
    hits = memory_db.search("red car", mode="dense", score_gap=0.99)
    assert [drop.reason for drop in hits.dropped] == ["below score gap"]


@pytest.mark.parametrize("token_budget", [20, 30, 40, 50, 60, 1500])
def test_a_turn_is_not_dropped_by_the_gap_where_it_stands_or_is_named_already(memory_db, token_budget):
    said = ["red car", "a long walk by the sea", "green boats in the harbour", "what shall we cook tonight"]
    memory_db.remember_many([{"text": text, "session": "a"} for text in said])
    block = memory_db.context(
        "red car", session="a", token_budget=token_budget, recent_turns=4, score_gap=0.9, min_relevance=None
    )
    dropped = [drop.id for drop in block.dropped]
    packed = [turn.id for turn in (*block.recent, *block.retrieved)]
    assert packed
    assert sorted(dropped + packed) == sorted(turn.id for turn in memory_db.turns("a"))
