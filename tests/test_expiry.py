"""Time to live."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from retentive import ConversationMemory, InvalidInputError, NotFoundError

ALL = {"min_relevance": None}
LONG_AGO = "2020-01-01T00:00:00"


def expires(db, **fields):
    return db.get_one(db.remember("x", **fields)).expires_at


def test_ttl_counts_from_the_timestamp(memory_db):
    at = datetime(2100, 1, 1, tzinfo=UTC)
    assert expires(memory_db, timestamp=at, ttl_days=1) == at + timedelta(days=1)
    assert expires(memory_db, timestamp=at, ttl_days=0.5) == at + timedelta(hours=12)


def test_ttl_per_kind(memory_db):
    memory_db.memory = ConversationMemory(memory_db, ttl_days={"turn": 30})
    at = datetime(2100, 1, 1, tzinfo=UTC)
    assert expires(memory_db, timestamp=at) == at + timedelta(days=30)
    assert expires(memory_db, timestamp=at, kind="fact") is None
    assert expires(memory_db, timestamp=at, pinned=True) is None


def test_ttl_as_a_number_is_for_all_kinds(memory_db):
    memory_db.memory.ttl_days = 2
    at = datetime(2100, 1, 1, tzinfo=UTC)
    for fields in ({}, {"kind": "fact"}, {"pinned": True}):
        assert expires(memory_db, timestamp=at, **fields) == at + timedelta(days=2)


def test_own_ttl_overrides_that_of_the_kind(memory_db):
    memory_db.memory.ttl_days = {"turn": 30}
    at = datetime(2100, 1, 1, tzinfo=UTC)
    assert expires(memory_db, timestamp=at, ttl_days=1) == at + timedelta(days=1)
    assert expires(memory_db, timestamp=at, ttl_days=math.inf) is None


@pytest.mark.parametrize("days", [1e9, 1e18, 1e300, math.inf])
def test_ttl_beyond_the_calendar_is_for_ever(memory_db, days):
    assert expires(memory_db, ttl_days=days) is None


def test_ttl_is_stamped_at_write(memory_db):
    at = datetime(2100, 1, 1, tzinfo=UTC)
    stored = memory_db.remember("x", timestamp=at, ttl_days=1)
    memory_db.memory.ttl_days = 99
    assert memory_db.get_one(stored).expires_at == at + timedelta(days=1)


@pytest.mark.parametrize("days", [0, -1, -math.inf, math.nan, True, "1", [1]])
def test_bad_ttl_is_refused(memory_db, days):
    with pytest.raises(InvalidInputError, match="ttl_days"):
        memory_db.remember("x", ttl_days=days)
    with pytest.raises(InvalidInputError, match="ttl_days"):
        memory_db.memory.ttl_days = {"turn": days}
    assert memory_db.count() == 0


def test_unknown_kind_of_ttl_is_refused(memory_db):
    with pytest.raises(InvalidInputError, match="turns"):
        ConversationMemory(memory_db, ttl_days={"turns": 30})


@pytest.fixture
def expired(memory_db):
    """One expired memory of each kind, and a live one."""
    for fields in ({}, {"kind": "fact", "key": "colour"}, {"pinned": True}):
        memory_db.remember("my colour is blue", session="a", timestamp=LONG_AGO, ttl_days=1, **fields)
    memory_db.remember("a live turn about colour", session="a", timestamp=LONG_AGO)
    return memory_db


def test_reads_never_show_what_expired(expired):
    assert expired.recall("colour", session="a", **ALL).texts == ["a live turn about colour"]
    assert expired.search("colour").texts == ["a live turn about colour"]
    block = expired.context("colour", session="a", **ALL)
    assert "blue" not in block.text
    assert [turn.text for turn in expired.turns("a")] == ["a live turn about colour"]
    assert expired.count() == expired.count(session="a") == 1
    assert expired.fact("colour", session="a") is None
    assert expired.facts(session="a") == []


def test_chain_shows_only_what_has_not_expired(memory_db):
    old = memory_db.remember("old", kind="fact", ttl_days=math.inf)
    memory_db.memory.ttl_days = {"fact": 1}
    expired = memory_db.feedback(old, "corrected", correction="new", timestamp=LONG_AGO)
    assert [result.text for result in memory_db.history(expired)] == ["old"]
    alone = memory_db.remember("x", timestamp=LONG_AGO, ttl_days=1)
    calls = [memory_db.history, memory_db.similar, lambda stored: memory_db.feedback(stored, "useful")]
    calls.append(lambda stored: memory_db.feedback(stored, "corrected", correction="too late"))
    for call in calls:
        with pytest.raises(NotFoundError):
            call(alone)
    assert memory_db.get([alone]) == []


def test_expired_facts_are_no_judges_candidates(expired):
    shown = []
    expired.memory.judge = lambda new, candidates: shown.append(candidates) or [False] * len(candidates)
    expired.remember("my colour is red", session="a", kind="fact")
    assert shown == []


def test_expired_keyed_fact_gives_way_to_a_new_one(expired):
    new = expired.remember("my colour is blue", session="a", kind="fact", key="colour")
    assert expired.fact("colour", session="a").id == new


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_what_expired_takes_up_no_place(memory_db, mode):
    memory_db.remember("apple pie recipe with butter", session="a", timestamp=LONG_AGO, ttl_days=1)
    live = memory_db.remember("apple pie", session="a")
    query = "apple pie recipe with butter"
    assert memory_db.recall(query, session="a", limit=1, mode=mode, **ALL).ids == [live]
    assert memory_db.search(query, limit=1, mode=mode).ids == [live]


def test_expire_deletes_what_is_past_its_time(expired):
    assert expired.expire() == 3
    assert expired.expire() == 0
    assert expired.memory.expire() == 0
    assert expired.count() == 1


def test_expire_is_exact_at_the_boundary(memory_db):
    memory_db.remember("x", session="a", timestamp="2100-01-01", ttl_days=1)
    assert memory_db.expire(now="2100-01-01T23:59:59.999999") == 0
    assert memory_db.recall("x", session="a", now="2100-01-01T23:59:59.999999", **ALL)
    assert not memory_db.recall("x", session="a", now="2100-01-02T00:00:00", **ALL)
    assert memory_db.expire(now="2100-01-02T00:00:00") == 1


def test_correction_gets_the_time_to_live_of_its_kind(memory_db):
    memory_db.memory.ttl_days = {"fact": 10}
    old = memory_db.remember("Lyon", kind="fact", ttl_days=math.inf)
    at = datetime(2100, 1, 1, tzinfo=UTC)
    new = memory_db.feedback(old, "corrected", correction="Paris", timestamp=at)
    assert memory_db.get_one(new).expires_at == at + timedelta(days=10)
