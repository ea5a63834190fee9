"""Instants are UTC inside; without an offset they are UTC."""

import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from retentive import InvalidInputError

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


def test_edge_of_the_calendar_with_an_offset_is_taken(memory_db):
    result = memory_db.get_one(memory_db.remember("x", timestamp="9999-12-31T23:59:59-05:00"))
    assert result.timestamp.year == 9999


@pytest.mark.parametrize(
    "value", [1_700_000_000, 1_700_000_000.5, True, date(2026, 5, 1), "yesterday", "", "05/01/2026", [], b"2026-05-01"]
)
def test_what_is_no_instant_is_refused(memory_db, value):
    stored = memory_db.remember("x", session="a")
    calls = [
        lambda: memory_db.remember("y", timestamp=value),
        lambda: memory_db.recall("x", now=value),
        lambda: memory_db.recall("x", as_of=value),
        lambda: memory_db.context("x", now=value),
        lambda: memory_db.feedback(stored, "useful", timestamp=value),
        lambda: memory_db.forget(session="a", now=value),
        lambda: memory_db.expire(now=value),
        lambda: memory_db.consolidate("a", lambda turns: [], now=value),
    ]
    for call in calls:
        with pytest.raises(InvalidInputError, match=r"timestamp|now|as_of"):
            call()
    assert memory_db.count() == 1


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
        "id = db.remember('x', timestamp=datetime(2026, 3, 8, 2, 30), ttl_days=1)\n"
        "print(db.get_one(id).metadata['_vx_ts'], db.get_one(id) and db.expire(now='2026-03-09T02:29:59'))\n"
    )
    code = code.replace("ttl_days=1)", "ttl_days=100_000)").replace("2026-03-09", "2026-03-10")
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"TZ": zone}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["2026-03-08T02:30:00+00:00", "0"]
