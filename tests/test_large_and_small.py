"""Budgets that nothing fits, memories that fit no budget, histories of tens of thousands of turns."""

import time

import numpy as np
import pytest

from retentive import Collection
from retentive.tokens import estimate_tokens

ALL = {"min_relevance": None}
LONG = "apple pie recipe " + "with butter and sugar " * 30


@pytest.fixture
def kitchen(memory_db):
    """Three memories of about 150 tokens that answer best, and six of about 20 behind them."""
    long = [{"text": f"{LONG} {i}", "kind": "fact"} for i in range(3)]
    short = [{"text": f"an apple and pie, of the recipe number {i}, from my aunt", "kind": "fact"} for i in range(6)]
    memory_db.remember_many(long + short)
    return memory_db


def test_recall_packs_the_short_ones_behind_long_ones_that_do_not_fit_and_names_those(kitchen):
    found = kitchen.recall("apple pie recipe with butter and sugar", token_budget=80, limit=9, **ALL)
    top, *rest = found.items
    assert estimate_tokens(top.text) > 80  # the best always ships
    assert (found.truncated, rest) == (True, [])
    narrow = kitchen.recall(
        "apple pie recipe with butter and sugar", token_budget=80, exclude_ids=[top.id], limit=9, **ALL
    )
    assert narrow.dropped
    assert {reason for _, reason in narrow.dropped} <= {"over budget", "over limit"}
    kitchen.remember("apple pie recipe with butter and sugar", kind="fact", id="best")
    packed = kitchen.recall("apple pie recipe with butter and sugar", token_budget=80, limit=9, **ALL)
    assert (packed.top.id, packed.truncated) == ("best", True)
    assert len(packed) > 2
    assert packed.token_estimate <= 80
    assert all(len(result.text) < 100 for result in packed)
    assert {(top.id, "over budget")} <= set(packed.dropped)
    kitchen.forget(ids=["best"])
    block = kitchen.context("apple pie recipe with butter and sugar", token_budget=80, excerpt=None, **ALL)
    assert block.retrieved
    assert all(len(result.text) < 100 for result in block.retrieved)
    named = {dropped for dropped, reason in block.dropped if reason == "over budget"}
    assert {result.id for result in kitchen.search("butter and sugar", limit=3, mode="lexical")} <= named


def test_one_memory_of_100_000_characters_keeps_a_block_within_its_budget(memory_db):
    text = "The invoice goes to Lyon. " * 4_000
    memory_db.remember(text[:100_000], session="s")
    found = memory_db.recall("where does the invoice go", session="s", token_budget=200, **ALL)
    assert (len(found), found.truncated) == (1, True)
    for excerpt in ("auto", None):
        block = memory_db.context("where does the invoice go", session="s", token_budget=200, excerpt=excerpt, **ALL)
        assert block.token_estimate <= 200
        assert estimate_tokens(block.text) <= 200


@pytest.mark.parametrize("budget", [0, 1, 3])
def test_budget_smaller_than_any_turn_is_no_error(kitchen, budget):
    kitchen.remember("a turn of several words", session="s")
    assert kitchen.context("apple", session="s", token_budget=budget, **ALL).text == ""
    assert len(kitchen.recall("apple", token_budget=budget, **ALL)) == 1
    assert len(kitchen.search("apple", token_budget=budget)) == 1


def test_last_turns_of_50_000_cost_what_those_of_500_do(tmp_path, embedder):
    """The part that reads from the file, the last turns, is as fast as in a session of 500."""
    vectors = np.random.default_rng(1).normal(size=(64, 64)).astype(np.float32)
    with Collection("c", tmp_path, embedder=embedder) as db:
        for session, count in (("short", 500), ("long", 50_000)):
            db.remember_many(
                {"text": f"turn number {i}", "session": session, "vector": vectors[i % 64]} for i in range(count)
            )

        def fastest(session):
            times = []
            for _ in range(30):
                start = time.thread_time()
                db.turns(session, limit=6)
                times.append(time.thread_time() - start)
            return min(times)

        assert [turn.turn for turn in db.turns("long", limit=2)] == [49_998, 49_999]
        assert fastest("long") < 4 * fastest("short")
        block = db.context("turn number 7", session="long", token_budget=100, **ALL)
        assert block.token_estimate <= 100
        assert block.recent[-1].turn == 49_999
