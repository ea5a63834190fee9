"""Deleting for good."""

from datetime import UTC, datetime

import pytest

from retentive import ANY, KINDS, Collection, InvalidInputError

ALL = {"min_relevance": None}


@pytest.fixture
def two(memory_db):
    for session in ("a", "b"):
        memory_db.remember(f"old turn of {session}", session=session, timestamp="2026-01-01")
        memory_db.remember(f"new turn of {session}", session=session, timestamp="2026-03-01")
        memory_db.remember(f"fact of {session}", session=session, kind="fact", timestamp="2026-01-01")
        memory_db.remember(f"pin of {session}", session=session, pinned=True, timestamp="2026-01-01")
    return memory_db


def test_forget_a_session_takes_its_turns_only(two):
    assert two.forget(session="a") == 2
    assert two.turns("a") == []
    assert two.count(session="a") == 2
    assert two.count(session="b") == 4


@pytest.mark.parametrize("arguments", [{}, {"session": None}, {"kinds": KINDS}, {"user": ANY}, {"kinds": ()}])
def test_forget_without_a_selection_refuses(two, arguments):
    with pytest.raises(InvalidInputError, match="all=True"):
        two.forget(**arguments)
    assert two.count() == 8


def test_forget_of_an_empty_session_name_refuses(two):
    for session in ("", b"a", 1):
        with pytest.raises(InvalidInputError, match="session"):
            two.forget(session)
    assert two.count() == 8


def test_forget_all_takes_a_kind_everywhere(two):
    assert two.forget(all=True) == 4
    assert two.forget(kinds=KINDS, all=True) == 4
    assert two.count() == 0


def test_forget_all_without_user_leaves_what_users_own(memory_db):
    memory_db.remember("x", session="a")
    memory_db.remember("y", session="a", user="ann")
    assert memory_db.forget(all=True) == 1
    assert memory_db.count() == 1
    assert memory_db.forget(user=ANY, all=True) == 1


def test_forget_a_session_without_user_leaves_a_users_session_of_that_name(memory_db):
    memory_db.remember("x", session="a")
    memory_db.remember("y", session="a", user="ann")
    assert memory_db.forget(session="a") == 1
    assert memory_db.forget(session="a", user="ann") == 1


def test_forget_a_user_takes_every_session(memory_db):
    for session in ("a", "b", None):
        memory_db.remember("x", session=session, user="ann", kind="fact")
    memory_db.remember("y", session="a", user="ben", kind="fact")
    assert memory_db.forget(user="ann", kinds=KINDS) == 3
    assert memory_db.users() == ["ben"]


@pytest.mark.parametrize("older_than", [30, 30.5, datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 1), "2026-02-01"])  # noqa: DTZ001 - naive is UTC
def test_older_than_is_days_or_an_instant(two, older_than):
    assert two.forget(session="a", older_than=older_than, now="2026-03-05") == 1
    assert [turn.text for turn in two.turns("a")] == ["new turn of a"]


@pytest.mark.parametrize("days", [1e10, 1e300])
def test_older_than_any_number_of_days_is_an_instant(two, days):
    assert two.forget(session="a", older_than=days) == 0


def test_older_than_alone_selects(two):
    assert two.forget(older_than=30, now="2026-03-05") == 2


def test_older_than_is_exact_at_the_boundary(memory_db):
    memory_db.remember("x", session="a", timestamp="2026-01-01T00:00:00")
    assert memory_db.forget(session="a", older_than="2026-01-01T00:00:00") == 0
    assert memory_db.forget(session="a", older_than="2026-01-01T00:00:00.000001") == 1


@pytest.mark.parametrize("older_than", [-1, float("nan"), float("inf"), True, [1], "last week"])
def test_bad_older_than_is_refused(two, older_than):
    with pytest.raises(InvalidInputError, match="older_than"):
        two.forget(session="a", older_than=older_than)
    assert two.count() == 8


def test_ids_are_taken_whatever_their_kind_and_owner(memory_db):
    ids = [
        memory_db.remember("x", session="a"),
        memory_db.remember("y", kind="fact"),
        memory_db.remember("z", pinned=True),
        memory_db.remember("w", session="a", user="ann"),
    ]
    assert memory_db.forget(ids=ids) == 4
    assert memory_db.count() == 0


def test_ids_within_a_session_are_only_those_in_it(two):
    ids = [turn.id for session in ("a", "b") for turn in two.turns(session)]
    assert two.forget(session="a", ids=ids) == 2
    assert len(two.turns("b")) == 2


def test_no_ids_and_unknown_ids_delete_nothing(two):
    assert two.forget(ids=[]) == 0
    assert two.forget(ids=["mem_nothing"]) == 0
    assert two.count() == 8


def test_superseded_takes_only_what_was_superseded(memory_db):
    old = memory_db.remember("The office is in Lyon", session="a", kind="fact")
    new = memory_db.feedback(old, "corrected", correction="The office is in Paris")
    memory_db.remember("other", session="a", kind="fact")
    assert memory_db.forget(session="a", kinds=("fact",), superseded=True) == 1
    assert memory_db.get_one(old) is None
    assert memory_db.get_one(new).text == "The office is in Paris"
    assert [r.id for r in memory_db.history(new)] == [new]


def test_what_was_superseded_stays_so_when_its_successor_is_forgotten(memory_db):
    old = memory_db.remember("The office is in Lyon", kind="fact")
    new = memory_db.feedback(old, "corrected", correction="The office is in Paris")
    memory_db.forget(ids=[new])
    assert memory_db.get_one(old).superseded_by == "forgotten"
    assert memory_db.recall("office", **ALL).ids == []


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_what_is_gone_takes_up_no_place(memory_db, mode):
    best = memory_db.remember("apple pie recipe with butter", session="a")
    other = memory_db.remember("apple pie", session="a")
    memory_db.forget(ids=[best])
    query = "apple pie recipe with butter"
    assert memory_db.recall(query, session="a", limit=1, mode=mode, **ALL).ids == [other]
    assert memory_db.search(query, limit=1, mode=mode).ids == [other]


def test_forgotten_is_gone_from_every_read(two):
    ids = [turn.id for turn in two.turns("a")]
    two.forget(session="a")
    assert two.get(ids) == []
    assert set(two.recall("turn of a", **ALL).ids).isdisjoint(ids)
    assert set(two.search("turn of a").ids).isdisjoint(ids)


def test_five_thousand_are_forgotten_and_stay_so(tmp_path, embedder):
    with Collection("c", path=tmp_path, embedder=embedder) as db:
        db.remember_many([{"text": f"text {i}", "session": "a"} for i in range(5_000)])
        assert db.forget(session="a", kinds=KINDS) == 5_000
        assert (db.count(), db.turns("a"), len(db.search("text"))) == (0, [], 0)
    with Collection("c", path=tmp_path, embedder=embedder) as db:
        assert (db.count(), db.turns("a"), len(db.search("text")), db.sessions()) == (0, [], 0, [])


def test_delete_takes_ids(two):
    ids = [turn.id for turn in two.turns("a")]
    assert two.delete(ids) == 2
    assert two.delete(ids) == 0
    assert two.delete([]) == 0


def test_clear_takes_everything(two):
    two.add("a document")
    assert two.clear() == 9
    assert (two.count(), two.sessions(), two.users()) == (0, [], [])
    two.remember("again", session="a")
    assert len(two.turns("a")) == 1


@pytest.mark.parametrize("method", ["forget", "delete", "get"])
@pytest.mark.parametrize("ids", ["mem_1", b"mem_1", 1, [1], [""], [None], {"a": 1}])
def test_bad_ids_are_refused(two, method, ids):
    with pytest.raises(InvalidInputError, match="ids"):
        two.forget(ids=ids) if method == "forget" else getattr(two, method)(ids)
    assert two.count() == 8
