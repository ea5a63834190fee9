"""What reads return."""

import copy
import json
import pickle
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from retentive import Result, Results

ALL = {"min_relevance": None}


@pytest.fixture
def hits(memory_db):
    memory_db.remember_many(
        [{"text": f"apple pie number {i} " + "x" * 60, "session": "a", "metadata": {"n": i}} for i in range(30)]
    )
    return memory_db.recall("apple pie", session="a", limit=5, token_budget=1_000, **ALL)


def test_results_are_a_sequence(hits):
    assert isinstance(hits, Sequence)
    assert isinstance(hits, Results)
    assert len(hits) == 5 == len(list(hits))
    assert hits[0] is hits.top is hits.items[0]
    assert hits[-1] is hits.items[4]
    assert hits[1:3] == hits.items[1:3]
    assert hits[2] in hits
    assert hits.index(hits[3]) == 3
    assert list(reversed(hits)) == list(hits.items)[::-1]
    with pytest.raises(IndexError):
        hits[5]


def test_empty_results_are_false(memory_db):
    hits = memory_db.recall("nothing", **ALL)
    assert not hits
    assert hits.top is None
    assert (hits.texts, hits.ids, hits.scores) == ([], [], [])


def test_columns_are_in_order(hits):
    assert hits.texts == [hit.text for hit in hits]
    assert hits.ids == [hit.id for hit in hits]
    assert hits.scores == [hit.score for hit in hits]


def test_dropped_names_ids_and_reasons(hits):
    assert len(hits.dropped) >= 15
    assert {reason for _, reason in hits.dropped} == {"over limit"}
    assert hits.cut_count == 0
    assert {stored for stored, _ in hits.dropped}.isdisjoint(hits.ids)


def test_results_and_result_are_frozen(hits):
    for thing, name in ((hits, "items"), (hits, "other"), (hits[0], "text"), (hits[0], "other")):
        with pytest.raises((AttributeError, TypeError)):
            setattr(thing, name, 1)
    with pytest.raises(AttributeError):
        del hits[0].text
    assert not hasattr(hits[0], "__dict__")


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy])
def test_results_survive_copying(hits, copied):
    again = copied(hits)
    assert again == hits
    assert again.time_ms == hits.time_ms
    assert again[0].metadata == hits[0].metadata
    assert again[0].timestamp == hits[0].timestamp
    assert hash(again[0]) == hash(hits[0])


def test_pickled_vector_survives(memory_db):
    stored = memory_db.remember("x")
    (result,) = memory_db.get([stored], vectors=True)
    assert (pickle.loads(pickle.dumps(result)).vector == result.vector).all()


def test_pickled_block_gives_the_same_messages(memory_db):
    memory_db.remember("pinned", session="a", pinned=True)
    memory_db.remember("said", session="a")
    block = memory_db.context("x", session="a")
    again = pickle.loads(pickle.dumps(block))
    assert again == block
    assert again.messages() == block.messages()


def test_metadata_is_built_once_and_stays(hits):
    assert hits[0].metadata is hits[0].metadata
    hits[0].metadata["mine"] = 1
    assert hits[0].metadata["mine"] == 1


def test_metadata_is_json(hits):
    assert json.loads(json.dumps(hits[0].metadata)) == hits[0].metadata


def test_distance_is_one_minus_similarity(hits):
    assert all(hit.distance == pytest.approx(1 - hit.similarity) for hit in hits)


def test_what_was_not_ranked_has_no_similarity(memory_db):
    memory_db.remember("x", session="a")
    (turn,) = memory_db.turns("a")
    assert (turn.similarity, turn.distance, turn.score) == (None, None, 0.0)
    assert "_vx_scoring" not in turn.metadata


def test_properties_tell_what_was_remembered(memory_db):
    stored = memory_db.remember(
        "x",
        session="a",
        user="ann",
        role="assistant",
        name="Max",
        timestamp=datetime(2026, 1, 1, tzinfo=UTC),
        ttl_days=100_000,
    )
    result = memory_db.get_one(stored)
    assert (result.id, result.text, result.kind) == (stored, "x", "turn")
    assert (result.session, result.user, result.role, result.name) == ("a", "ann", "assistant", "Max")
    assert (result.turn, result.key, result.supersedes, result.superseded_by) == (0, None, None, None)
    assert result.timestamp == datetime(2026, 1, 1, tzinfo=UTC)
    assert result.expires_at > result.timestamp
    assert result.excerpt is None


def test_equality_is_of_everything_a_result_tells(memory_db):
    stored = memory_db.remember("x", session="a")
    assert memory_db.get_one(stored) == memory_db.get_one(stored)
    before = memory_db.get_one(stored)
    memory_db.feedback(stored, "useful")
    assert memory_db.get_one(stored) != before
    assert before != "x"


def test_repr_is_short(hits):
    for thing in (hits, hits[0]):
        assert len(repr(thing)) < 200
    assert hits[0].id in repr(hits[0])
    assert "5" in repr(hits)


def test_result_is_not_changed_by_a_later_write(memory_db):
    stored = memory_db.remember("x", kind="fact")
    before = memory_db.get_one(stored)
    memory_db.feedback(stored, "corrected", correction="y")
    assert before.superseded_by is None
    assert isinstance(before, Result)
