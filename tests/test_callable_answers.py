"""Answers of counters and judges that are nearly right."""

import numpy as np
import pytest

from retentive import Collection, ConversationMemory, CounterError


@pytest.mark.parametrize("number", [2**63, 2**70])
def test_counter_beyond_all_bounds_is_named(embedder, number):
    def endless(text):
        return number

    with Collection("c", embedder=embedder, token_counter=endless) as db:
        db.remember("apple pie", session="a")
        for call in (db.recall, db.context):
            with pytest.raises(CounterError, match="endless"):
                call("apple", session="a", token_budget=10)


def test_counter_may_return_numpys_integers(embedder):
    with Collection("c", embedder=embedder, token_counter=lambda text: np.int64(len(text))) as db:
        db.remember("apple pie", session="a")
        block = db.context("apple", session="a")
        assert block.token_estimate == len(block.text)
        assert type(block.token_estimate) is int


def test_judge_that_returns_a_set_failed_since_a_set_has_no_order(memory_db):
    memory_db.memory = ConversationMemory(memory_db, judge=lambda text, candidates: {True, False})
    old = [memory_db.remember(text, kind="fact", check=False) for text in ("I love tea", "I love coffee")]
    new = memory_db.remember("I hate tea", kind="fact")
    assert memory_db.get_one(new).metadata["_vx_judge"] == "failed"
    assert [result.superseded_by for result in memory_db.get(old)] == [None, None]
