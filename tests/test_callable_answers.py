"""Answers of counters and judges that are nearly right."""

import numpy as np
import pytest

from retentive import CallableEmbedder, Collection, ConfigurationError, ConversationMemory, CounterError


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


JUNK = [
    ("dense_weight", "x"),
    ("dense_weight", 1.5),
    ("noise_floor", float("nan")),
    ("refusal_floor", float("inf")),
    ("refusal_floor", True),
    ("window", "x"),
    ("window", 0),
    ("window", 12.5),
    ("part_tokens", -1),
]


@pytest.mark.parametrize(("attribute", "value"), JUNK)
def test_embedder_with_a_bad_attribute_is_refused_before_a_file_is_made(tmp_path, attribute, value):
    embedder = CallableEmbedder("m", 2, lambda texts: [[1.0, 2.0]] * len(texts), **{attribute: value})
    with pytest.raises(ConfigurationError, match=attribute) as caught:
        Collection("c", path=tmp_path, embedder=embedder)
    assert repr(value) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_embedder_may_leave_its_attributes_out(embedder):
    plain = CallableEmbedder("m", 2, lambda texts: [[1.0, 2.0]] * len(texts), window=512, dense_weight=1)
    with Collection("c", embedder=plain) as db:
        assert db.remember("apple pie")
