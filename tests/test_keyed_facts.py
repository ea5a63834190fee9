"""Facts under a key: the newest value counts."""

import pytest

from retentive import InvalidInputError

ALL = {"min_relevance": None}


def test_new_value_supersedes_the_old(memory_db):
    old = memory_db.remember("lives in Lyon", session="a", kind="fact", key="city")
    new = memory_db.remember("lives in Paris", session="a", kind="fact", key="city")
    assert memory_db.fact("city", session="a").id == new
    assert memory_db.recall("lives in", session="a", **ALL).ids == [new]
    assert [r.id for r in memory_db.history(new)] == [old, new]


def test_same_value_again_changes_nothing(memory_db):
    first = memory_db.remember("lives in Lyon", session="a", kind="fact", key="city")
    assert memory_db.remember("lives in Lyon", session="a", kind="fact", key="city") == first
    assert memory_db.count() == 1


def test_value_that_comes_back_is_the_current_one(memory_db):
    for text in ("Lyon", "Paris", "Lyon"):
        last = memory_db.remember(text, kind="fact", key="city")
    assert memory_db.fact("city").id == last
    assert [r.text for r in memory_db.history(last)] == ["Lyon", "Paris", "Lyon"]


def test_key_is_trimmed_and_case_folded(memory_db):
    memory_db.remember("Lyon", kind="fact", key="  Straße ")
    assert memory_db.fact("STRASSE").key == "strasse"
    assert memory_db.fact("strasse").metadata["_vx_key"] == "strasse"


def test_keys_belong_to_their_owner(memory_db):
    memory_db.remember("of the collection", kind="fact", key="city")
    memory_db.remember("of a", session="a", kind="fact", key="city")
    memory_db.remember("of b", session="b", kind="fact", key="city")
    memory_db.remember("of ann", session="a", user="ann", kind="fact", key="city")
    assert memory_db.fact("city").text == "of the collection"
    assert memory_db.fact("city", session="a").text == "of a"
    assert memory_db.fact("city", session="b").text == "of b"
    assert memory_db.fact("city", user="ann").text == "of ann"
    assert memory_db.fact("city", user="ben") is None


def test_users_key_is_one_across_sessions(memory_db):
    memory_db.remember("Lyon", session="a", user="ann", kind="fact", key="city")
    new = memory_db.remember("Paris", session="b", user="ann", kind="fact", key="city")
    assert [r.id for r in memory_db.facts(user="ann")] == [new]


def test_pinned_facts_may_be_keyed(memory_db):
    memory_db.remember("Lyon", session="a", pinned=True, key="city")
    new = memory_db.remember("Paris", session="a", pinned=True, key="city")
    assert [r.id for r in memory_db.context("x", session="a").pinned] == [new]


def test_facts_are_by_key_and_only_keyed_ones(memory_db):
    for key in ("name", "city", "age"):
        memory_db.remember(f"the {key}", kind="fact", key=key)
    memory_db.remember("no key", kind="fact")
    assert [r.key for r in memory_db.facts()] == ["age", "city", "name"]


def test_unknown_key_is_none(memory_db):
    assert memory_db.fact("nothing") is None
    assert memory_db.facts(session="a") == []


def test_forgotten_fact_frees_its_key(memory_db):
    stored = memory_db.remember("Lyon", kind="fact", key="city")
    memory_db.forget(ids=[stored])
    assert memory_db.fact("city") is None
    assert memory_db.remember("Lyon", kind="fact", key="city") != stored


def test_key_of_a_turn_is_refused(memory_db):
    with pytest.raises(InvalidInputError, match="fact"):
        memory_db.remember("Lyon", session="a", key="city")
    assert memory_db.count() == 0


@pytest.mark.parametrize("key", ["", "  ", 1, b"city", "\ud800", "x" * 5_000])
def test_bad_key_is_refused(memory_db, key):
    with pytest.raises(InvalidInputError, match="key"):
        memory_db.remember("Lyon", kind="fact", key=key)
    with pytest.raises(InvalidInputError, match="key"):
        memory_db.fact(key)
