"""The caller's metadata, and the reserved keys beside it."""

import json
import sys
from decimal import Decimal
from types import MappingProxyType

import pytest

import retentive.memory as constants
from retentive import InvalidInputError

RESERVED = sorted(getattr(constants, name) for name in dir(constants) if name.startswith("K_"))
ROUND_TRIPS = [
    {},
    {"a": None, "b": True, "c": False},
    {"zero": 0, "negative": -1, "big": 10**30, "bigger": -(2**200), "float": 0.1, "tiny": 5e-324, "huge": 1.7e308},
    {"integral": 1.0, "minus zero": -0.0, "long": 0.30000000000000004},
    {"nested": {"list": [1, [2, [3, {"four": None}]], {}], "empty": []}},
    {"": "empty key", "Ünïcödé": "😀", 'quote"\\/\n\t\0': "control \x1f"},
    {"session": "mine", "id": "mine", "pinned": True, "created_at": "mine", "kind": "mine", "text": 1, "ts": 2},
    {"a.b": 1, "$gt": 2, "__proto__": 3, "_vx": 4, "vx_": 5},
]


@pytest.mark.parametrize("metadata", ROUND_TRIPS, ids=lambda value: repr(value)[:40])
def test_metadata_round_trips_exactly(memory_db, metadata):
    result = memory_db.get_one(memory_db.remember("x", session="a", metadata=metadata))
    own = {key: value for key, value in result.metadata.items() if not key.startswith("_vx_")}
    assert own == metadata
    assert json.dumps(own) == json.dumps(metadata)
    assert [type(value) for value in own.values()] == [type(value) for value in metadata.values()]


def test_own_keys_that_sound_like_ours_are_only_data(memory_db):
    own = {"session": "b", "kind": "fact", "id": "other", "pinned": True, "created_at": "2000-01-01", "user": "ann"}
    stored = memory_db.remember("x", session="a", metadata=own)
    result = memory_db.get_one(stored)
    assert (result.id, result.session, result.kind, result.user) == (stored, "a", "turn", None)
    assert result.timestamp.year > 2000
    assert {key: result.metadata[key] for key in own} == own
    assert memory_db.turns("b") == memory_db.facts(session="a") == []
    assert memory_db.count(user="ann") == 0
    assert memory_db.context("x", session="a").pinned == ()
    assert memory_db.search("x", filter=own).ids == [stored]


@pytest.mark.parametrize("key", [*RESERVED, "_vx_", "_vx_anything"])
def test_reserved_keys_are_refused_wherever_metadata_is_given(memory_db, key):
    metadata = {key: "fact"}
    for call in (
        lambda: memory_db.remember("x", metadata=metadata),
        lambda: memory_db.remember_many([{"text": "x", "metadata": metadata}]),
        lambda: memory_db.add(["x"], metadata=[metadata]),
        lambda: memory_db.import_items([{"text": "x", "metadata": metadata}]),
    ):
        with pytest.raises(InvalidInputError, match=key):
            call()
    assert memory_db.count() == 0


def test_metadata_may_be_any_mapping(memory_db):
    stored = memory_db.remember("x", metadata=MappingProxyType({"n": 1}))
    assert memory_db.get_one(stored).metadata["n"] == 1


def test_metadata_is_copied_at_the_call(memory_db):
    given = {"list": [1]}
    stored = memory_db.remember("x", metadata=given)
    given["list"].append(2)
    assert memory_db.get_one(stored).metadata["list"] == [1]


def test_changing_what_came_back_changes_nothing_stored(memory_db):
    stored = memory_db.remember("x", metadata={"n": 1})
    memory_db.get_one(stored).metadata["n"] = 2
    assert memory_db.get_one(stored).metadata["n"] == 1


def test_reserved_keys_of_a_turn(memory_db):
    stored = memory_db.remember(
        "x",
        session="a",
        user="ann",
        role="assistant",
        name="Max",
        timestamp="2026-05-01T09:30:00.5+02:00",
        ttl_days=100_000,
    )
    assert memory_db.get_one(stored).metadata == {
        "_vx_kind": "turn",
        "_vx_session": "a",
        "_vx_user": "ann",
        "_vx_role": "assistant",
        "_vx_name": "Max",
        "_vx_turn": 0,
        "_vx_ts": "2026-05-01T07:30:00.500000+00:00",
        "_vx_expires": "2300-02-14T07:30:00.500000+00:00",
    }


def test_constants_name_the_reserved_keys():
    names = {name: getattr(constants, name) for name in constants.__all__ if name.startswith("K_")}
    assert len(names) == 15
    assert all(value == "_vx_" + name.removeprefix("K_").lower() for name, value in names.items())


NOT_JSON = [
    "text",
    3,
    ["a"],
    {"a": float("nan")},
    {"a": [float("inf")]},
    {"a": {"b": -float("inf")}},
    {"a": (1, 2)},
    {"a": {1, 2}},
    {"a": b"x"},
    {"a": object()},
    {"a": Decimal("1.5")},
    {1: 2},
    {None: 1},
    {"a": {1: 2}},
    {"a": "\ud800"},
    {"\udfff": 1},
    {"a": ["\ud83d"]},
    {"_vx_kind": "fact"},
    {"_vx_anything": 1},
    {"a": 10**5_000},
    {"a": "x" * (5 * 1024 * 1024)},
]


@pytest.mark.parametrize("metadata", NOT_JSON, ids=range(len(NOT_JSON)))
def test_what_is_not_json_is_refused_and_nothing_is_stored(memory_db, metadata):
    with pytest.raises(InvalidInputError, match="metadata"):
        memory_db.remember("x", metadata=metadata)
    assert memory_db.count() == 0


@pytest.fixture
def digits():
    had = sys.get_int_max_str_digits()
    yield sys.set_int_max_str_digits
    sys.set_int_max_str_digits(had)


def test_what_a_process_stores_every_process_reads(memory_db, digits):
    kept = memory_db.remember("x", metadata={"a": [10**4_299]})
    digits(0)
    for more in (10**4_300, -(10**5_000)):
        with pytest.raises(InvalidInputError, match="4,300 digits"):
            memory_db.remember("y", metadata={"a": [more]})
    assert memory_db.count() == 1
    digits(4_300)
    assert memory_db.get_one(kept).metadata["a"] == [10**4_299]
    digits(640)
    with pytest.raises(InvalidInputError, match="set_int_max_str_digits"):
        _ = memory_db.get_one(kept).metadata


def test_nesting_is_bounded(memory_db):
    def nested(depth):
        value = []
        for _ in range(depth):
            value = [value]
        return {"a": value}

    stored = memory_db.remember("x", metadata=nested(90))
    assert memory_db.get_one(stored).metadata["a"] == nested(90)["a"]
    for depth in (101, 1_000, 100_000):
        with pytest.raises(InvalidInputError, match="deep"):
            memory_db.remember("x", metadata=nested(depth))


def test_metadata_that_holds_itself_is_refused(memory_db):
    loop = {}
    loop["self"] = loop
    with pytest.raises(InvalidInputError, match="deep"):
        memory_db.remember("x", metadata=loop)


def test_message_names_the_place(memory_db):
    with pytest.raises(InvalidInputError, match=r"metadata\['a'\]\[1\]\['b'\].*tuple|\(1, 2\)"):
        memory_db.remember("x", metadata={"a": [0, {"b": (1, 2)}]})
