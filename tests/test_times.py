"""Instants are UTC inside; without an offset they are UTC."""

import json
import os
import subprocess
import sys
import time
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

import pytest

from retentive import Collection, HashEmbedder, InvalidInputError, _clock
from retentive.importers import openai_messages

ALL = {"min_relevance": None}
INDIA = timezone(timedelta(hours=5, minutes=30))
SAME = [
    datetime(2026, 5, 1, 7, 30),  # noqa: DTZ001 - naive is UTC
    datetime(2026, 5, 1, 7, 30, tzinfo=UTC),
    datetime(2026, 5, 1, 13, 0, tzinfo=INDIA),
    "2026-05-01T07:30:00",
    "2026-05-01 07:30",
    "2026-05-01T07:30:00Z",
    "2026-05-01T09:30:00+02:00",
]


@pytest.mark.parametrize("timestamp", SAME, ids=str)
def test_timestamp_is_an_instant(memory_db, timestamp):
    result = memory_db.get_one(memory_db.remember("x", timestamp=timestamp))
    assert result.timestamp == datetime(2026, 5, 1, 7, 30, tzinfo=UTC)
    assert result.timestamp.utcoffset() == timedelta(0)
    assert result.metadata["_vx_ts"] == "2026-05-01T07:30:00+00:00"


EDGES = ["2026-05-01T07:30:00.000001", "9999-12-31T23:59:59.999999", "0001-01-01T00:00:00", "1969-12-31T23:59:59"]


@pytest.mark.parametrize("moment", [datetime.fromisoformat(edge) for edge in EDGES], ids=str)
def test_microseconds_and_the_edges_of_the_calendar_are_kept(memory_db, moment):
    result = memory_db.get_one(memory_db.remember("x", timestamp=moment))
    assert result.timestamp == moment.replace(tzinfo=UTC)


class OddZone(tzinfo):
    def __init__(self, answer):
        self.answer = answer

    def utcoffset(self, moment):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


# In UTC they are in the year 0 or 10,000, of which no ISO date can say anything again.
BEYOND = [
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "0001-01-01T00:00:00.000000+00:01",
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))),
    datetime.max.replace(tzinfo=timezone(-timedelta(seconds=1))),
]
ODD_ZONES = [datetime(2026, 5, 1, tzinfo=OddZone(answer)) for answer in ("x", 1, timedelta(days=2), ValueError("tz"))]


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59+05:00", "0001-01-01T00:00:00-05:00"])
def test_the_edges_of_the_calendar_are_those_of_utc(memory_db, moment):
    assert memory_db.get_one(memory_db.remember("x", timestamp=moment)).timestamp == datetime.fromisoformat(moment)


@pytest.mark.parametrize("value", BEYOND, ids=str)
def test_what_lies_beyond_the_calendar_is_refused_wherever_a_time_comes_in(memory_db, value):
    told = value if isinstance(value, str) else value.isoformat()
    for call in taking_a_time(memory_db, value):
        with pytest.raises(InvalidInputError, match="outside the years 1 to 9999 in UTC"):
            call()
    for call in (
        lambda: memory_db.remember_many([{"text": "x", "timestamp": value}]),
        lambda: memory_db.import_items([{"text": "x", "timestamp": value}]),
        lambda: memory_db.forget(session="a", older_than=value),
        lambda: memory_db.recall("x", filter={"_vx_ts": {"$lt": datetime.fromisoformat(told)}}),
        lambda: list(openai_messages([{"role": "user", "content": "x", "created_at": value}])),
    ):
        with pytest.raises(InvalidInputError, match="outside the years 1 to 9999 in UTC"):
            call()
    assert memory_db.count() == 1


def test_a_clock_beyond_the_calendar_stands_at_its_edge(memory_db, tmp_path, monkeypatch):
    for seconds in (-(10**11), 10**12):
        monkeypatch.setattr(time, "time_ns", lambda seconds=seconds: seconds * 10**9)
        memory_db.remember("x", session="s")
    memory_db.export(tmp_path / "chat.jsonl")
    said = [json.loads(line)["ts"] for line in (tmp_path / "chat.jsonl").read_text().splitlines()[1:]]
    assert said == ["0001-01-01T00:00:00.000000+00:00", "9999-12-31T23:59:59.999999+00:00"]


def test_a_clock_that_is_set_back_changes_no_order_and_shows_nothing_late(memory_db, monkeypatch):
    """Ten years back in the middle of a session; then what was said before has a time that is to come."""
    day = 86_400
    today, set_back = 1_900_000_000, 1_900_000_000 - 3_652 * day
    monkeypatch.setattr(time, "time_ns", lambda: today * 10**9)
    before = [memory_db.remember(f"apple pie {i}", session="s", ttl_days=1) for i in range(3)]
    memory_db.remember("lives in Oslo", session="s", kind="fact", key="city")
    monkeypatch.setattr(time, "time_ns", lambda: set_back * 10**9)
    after = [memory_db.remember(f"apple pie {i}", session="s", ttl_days=1) for i in range(3, 6)]
    moved = memory_db.remember("lives in Bergen", session="s", kind="fact", key="city")
    assert memory_db.fact("city", session="s").id == moved
    assert [turn.id for turn in memory_db.turns("s")] == before + after
    assert [turn.turn for turn in memory_db.turns("s")] == list(range(6))
    assert len({*before, *after}) == 6
    block = memory_db.context("apple pie", "s", recent_turns=2)
    assert [turn.id for turn in block.recent] == after[-2:]
    found = memory_db.recall("apple pie", session="s", kinds=("turn",), min_relevance=None)
    assert {hit.metadata["_vx_scoring"]["recency"] for hit in found if hit.id in before + after} == {1.0}
    assert memory_db.expire() == 0
    monkeypatch.setattr(time, "time_ns", lambda: (set_back + day) * 10**9)
    assert [turn.id for turn in memory_db.turns("s")] == before
    assert memory_db.expire() == 3


def test_times_beyond_the_calendar_of_an_older_release_are_exported_at_its_edge(memory_db, tmp_path, monkeypatch):
    """They were taken in by mistake; what has them must move out and in again."""
    with monkeypatch.context() as older:
        older.setattr(_clock, "FIRST", -(2**62))
        older.setattr(_clock, "LAST", 2**62)
        far = memory_db.remember("before", session="s", timestamp="0001-01-01T00:00:00+14:00")
        memory_db.feedback(far, "useful", timestamp="9999-12-31T23:59:59-14:00")
        memory_db.remember("after", session="s", timestamp="9999-12-31T23:59:59-14:00")
        memory_db.remember("long", session="s", timestamp="9999-12-31T12:00:00", ttl_days=1)
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    memory_db.export(first)
    with Collection("other", embedder=HashEmbedder(64)) as other:
        assert other.import_(first).imported == 3
        other.export(second)
        assert [turn.text for turn in other.turns("s")] == ["before", "after", "long"]
    assert second.read_text().splitlines()[1:] == first.read_text().splitlines()[1:]
    moments = [memory_db.get_one(turn.id).metadata["_vx_ts"][:4] for turn in memory_db.turns("s")]
    assert moments == ["0001", "9999", "9999"]


@pytest.mark.parametrize(
    "value",
    [
        *[1_700_000_000, 1_700_000_000.5, True, date(2026, 5, 1), "yesterday", "", "05/01/2026", [], b"2026-05-01"],
        *ODD_ZONES,
    ],
)
def test_what_is_no_instant_is_refused(memory_db, value):
    for call in taking_a_time(memory_db, value):
        with pytest.raises(InvalidInputError, match=r"timestamp|now|as_of"):
            call()
    assert memory_db.count() == 1


def taking_a_time(memory_db, value):
    stored = memory_db.remember("x", session="a")
    return [
        lambda: memory_db.remember("y", timestamp=value),
        lambda: memory_db.recall("x", now=value),
        lambda: memory_db.recall("x", as_of=value),
        lambda: memory_db.context("x", now=value),
        lambda: memory_db.feedback(stored, "useful", timestamp=value),
        lambda: memory_db.forget(session="a", now=value),
        lambda: memory_db.expire(now=value),
        lambda: memory_db.consolidate("a", lambda turns: [], now=value),
    ]


def test_number_is_refused_with_a_hint(memory_db):
    with pytest.raises(InvalidInputError, match="fromtimestamp"):
        memory_db.remember("x", timestamp=1_700_000_000)


def test_future_time_scores_as_new_and_no_more(memory_db):
    memory_db.remember("the plan is annual", kind="fact", timestamp="2026-01-01", id="now")
    memory_db.remember("the plan is annual", kind="fact", timestamp="2027-01-01", id="future")
    hits = memory_db.recall("annual plan", now="2026-01-01", **ALL)
    recency = {hit.id: hit.metadata["_vx_scoring"]["recency"] for hit in hits}
    assert recency["now"] == recency["future"]
    assert memory_db.get_one("future").timestamp.year == 2027


def test_a_thousand_turns_of_one_instant_stay_in_order(memory_db):
    memory_db.remember_many([{"text": f"text {i}", "session": "a", "timestamp": "2026-01-01"} for i in range(1_000)])
    assert [turn.text for turn in memory_db.turns("a")] == [f"text {i}" for i in range(1_000)]


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/Los_Angeles", "UTC"])
def test_time_zone_of_the_machine_plays_no_part(zone):
    code = (
        "from datetime import datetime\n"
        "from retentive import Collection, HashEmbedder\n"
        "db = Collection('c', embedder=HashEmbedder(8))\n"
        "id = db.remember('x', timestamp=datetime(2100, 3, 14, 2, 30), ttl_days=1)\n"  # no such time in Los Angeles
        "print(db.get_one(id).metadata['_vx_ts'], db.get_one(id).metadata['_vx_expires'])\n"
        "print(db.expire(now='2100-03-15T02:29:59.999999'), db.expire(now=datetime(2100, 3, 15, 2, 30)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"TZ": zone}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["2100-03-14T02:30:00+00:00", "2100-03-15T02:30:00+00:00", "0", "1"]
