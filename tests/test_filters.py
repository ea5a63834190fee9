"""Filters decide what is ranked."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from retentive import InvalidInputError

ALL = {"min_relevance": None}


@pytest.fixture
def shelf(memory_db):
    rows = [
        ("one", {"n": 1, "tags": ["red", "blue"], "deep": {"a": [1, 2]}, "flag": True}),
        ("two", {"n": 2, "tags": ["red"], "name": "Anna"}),
        ("three", {"n": 3.5, "name": "Bob", "flag": False, "nothing": None}),
        ("four", {"n": "1"}),
        ("five", {}),
    ]
    for day, (stored, metadata) in enumerate(rows, 1):
        memory_db.remember(
            f"text {id}", session="a" if day < 4 else "b", id=stored, metadata=metadata, timestamp=f"2026-01-0{day}"
        )
    return memory_db


CASES = [
    ({"n": 1}, {"one"}),
    ({"n": "1"}, {"four"}),
    ({"flag": True}, {"one"}),
    ({"n": {"$eq": 2}}, {"two"}),
    ({"n": {"$gt": 1}}, {"two", "three"}),
    ({"n": {"$gte": 1, "$lt": 3}}, {"one", "two"}),
    ({"n": {"$lte": 1}}, {"one"}),
    ({"n": {"$in": [1, 3.5]}}, {"one", "three"}),
    ({"n": {"$in": []}}, set()),
    ({"name": {"$exists": True}}, {"two", "three"}),
    ({"name": {"$exists": False}}, {"one", "four", "five"}),
    ({"tags": {"$contains": "red"}}, {"one", "two"}),
    ({"name": {"$contains": "nn"}}, {"two"}),
    ({"$and": [{"n": {"$gt": 0}}, {"n": {"$lt": 3}}]}, {"one", "two"}),
    ({"$or": [{"n": 1}, {"name": "Bob"}]}, {"one", "three"}),
    ({"$not": {"n": {"$exists": True}}}, {"five"}),
    ({"n": 2, "name": "Anna"}, {"two"}),
    ({}, {"one", "two", "three", "four", "five"}),
    (None, {"one", "two", "three", "four", "five"}),
    ({"_vx_session": "b"}, {"four", "five"}),
    ({"_vx_kind": "turn"}, {"one", "two", "three", "four", "five"}),
    ({"_vx_kind": "fact"}, set()),
]


@pytest.mark.parametrize(("filter", "expected"), CASES, ids=lambda value: repr(value)[:60])
def test_filter_admits_the_same_in_every_read(shelf, filter, expected):
    assert set(shelf.recall("text", filter=filter, **ALL).ids) == expected
    assert set(shelf.search("text", filter=filter).ids) == expected
    assert set(shelf.search(filter=filter).ids) == expected
    assert shelf.count(filter) == len(expected)


def test_true_is_not_1(memory_db):
    memory_db.remember("bool", id="bool", metadata={"x": True})
    memory_db.remember("int", id="int", metadata={"x": 1})
    assert memory_db.search(filter={"x": True}).ids == ["bool"]
    assert memory_db.search(filter={"x": 1}).ids == ["int"]


@pytest.mark.parametrize(
    "since",
    [
        datetime(2026, 1, 3),  # noqa: DTZ001 - naive is UTC
        datetime(2026, 1, 3, tzinfo=UTC),
        datetime(2026, 1, 3, 5, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        "2026-01-03T00:00:00+00:00",
    ],
)
def test_times_are_compared_as_times(shelf, since):
    assert set(shelf.search(filter={"_vx_ts": {"$gte": since}}).ids) == {"three", "four", "five"}
    assert set(shelf.search(filter={"_vx_ts": {"$lt": since}}).ids) == {"one", "two"}


def test_filter_decides_before_the_limit(memory_db):
    memory_db.remember_many([{"text": f"apple pie {i}", "session": "a"} for i in range(300)])
    memory_db.remember("something else altogether", session="a", id="one", metadata={"n": 1})
    assert memory_db.recall("apple pie", session="a", limit=1, filter={"n": 1}, **ALL).ids == ["one"]
    assert memory_db.search("apple pie", limit=1, filter={"n": 1}).ids == ["one"]


def test_tuples_and_sets_may_be_lists_of_in(shelf):
    assert set(shelf.search(filter={"n": {"$in": (1, 2)}}).ids) == {"one", "two"}
    assert set(shelf.search(filter={"n": {"$in": {1, 2}}}).ids) == {"one", "two"}


@pytest.mark.parametrize(
    "filter",
    [
        "n = 1",
        3,
        [],
        [{"n": 1}],
        {"n": {"$regex": "x"}},
        {"$nor": [{"n": 1}]},
        {"n": {"$in": 1}},
        {"n": {"$in": "abc"}},
        {"n": {"$exists": 1}},
        {"n": {"$exists": "yes"}},
        {"$and": {"n": 1}},
        {"$or": [1]},
        {"$not": [{"n": 1}]},
        {"n": float("nan")},
        {"n": {"$gt": float("inf")}},
        {"n": {"$gt": [1]}},
        {1: 2},
        {"n": object()},
        {"n": b"x"},
        {"n": "\ud800"},
    ],
    ids=repr,
)
def test_bad_filter_is_refused_by_every_read(shelf, filter):
    for read in (shelf.recall, shelf.search, shelf.context):
        with pytest.raises(InvalidInputError):
            read("text", filter=filter)
    with pytest.raises(InvalidInputError):
        shelf.count(filter)


def test_deeply_nested_filter_is_refused(shelf):
    condition = {"n": 1}
    for _ in range(500):
        condition = {"$not": condition}
    with pytest.raises(InvalidInputError, match="deep"):
        shelf.search(filter=condition)


def test_filter_asked_again_sees_what_was_written_since(shelf):
    """What is kept of the last filter must not outlive a write, nor answer another filter or another session."""

    def found(filter, **where):
        return set(shelf.recall("text", filter=filter, session="a", **where, **ALL).ids)

    low, useful = {"n": {"$lte": 2}}, {"_vx_feedback": {"$exists": True}}
    for _ in range(2):
        assert found(low) == {"one", "two"}
        assert found(useful) == set()
        assert set(shelf.recall("text", filter=low, session="b", **ALL).ids) == set()
    shelf.remember("text six", session="a", id="six", metadata={"n": 0})
    assert found(low) == {"one", "two", "six"}
    shelf.feedback("two", "useful")
    assert found(useful) == {"two"}
    shelf.delete(["one"])
    assert found(low) == {"two", "six"}
    assert found(low, as_of="2026-01-02T12:00:00Z") == {"two"}
    assert found(low) == {"two", "six"}
