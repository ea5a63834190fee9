"""Settings that were made for another collection."""

import pytest

from retentive import Collection, ConversationMemory, HashEmbedder, InvalidInputError


@pytest.fixture
def other():
    with Collection("other", embedder=HashEmbedder(64)) as collection:
        yield collection


def test_verbs_of_the_memory_always_act_on_its_collection(memory_db, other):
    kept = other.remember("x", session="a", timestamp="2026-01-01", ttl_days=1_000)
    memory_db.memory = other.memory
    memory_db.memory.remember("y", session="a")
    assert memory_db.memory.expire(now="2031-01-01") == 0
    assert memory_db.memory.forget("a") == 1
    assert [turn.id for turn in other.turns("a")] == [kept]


def test_settings_taken_over_are_a_copy(memory_db, other):
    shared = ConversationMemory(other, max_turns=3, ttl_days={"turn": 30}, signals={"role": 0.1})
    memory_db.memory = shared
    assert memory_db.memory.max_turns == 3
    assert memory_db.memory.ttl_days == {"turn": 30}
    assert memory_db.memory.signals == {"role": 0.1}
    memory_db.memory.max_turns = 5
    assert shared.max_turns == 3


def test_own_settings_are_taken_as_they_are(memory_db):
    own = ConversationMemory(memory_db, max_turns=3)
    memory_db.memory = own
    assert memory_db.memory is own


@pytest.mark.parametrize("signals", [{"rolle": 0.2}, {"role": -0.1}, {"role": 1e300}])
def test_bad_signal_is_refused_when_set_not_when_used(memory_db, signals):
    with pytest.raises(InvalidInputError, match="rol"):
        ConversationMemory(memory_db, signals=signals)
    with pytest.raises(InvalidInputError, match="rol"):
        memory_db.memory.signals = signals
    assert dict(memory_db.memory.signals) == {}


def test_wait_for_a_lock_has_a_bound_that_is_said(tmp_path):
    with pytest.raises(InvalidInputError, match=r"busy_timeout_s is 1e\+300, expected .*at most"):
        Collection("c", path=tmp_path, embedder=HashEmbedder(8), busy_timeout_s=1e300)
