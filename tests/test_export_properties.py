"""Whatever was done to a collection, it comes back the same; and any bytes are read whole or refused whole."""

import contextlib
import json
import os
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retentive import ANY, Collection, ConflictError, HashEmbedder, InvalidInputError, RetentiveError, VersionError

SOAK = bool(os.environ.get("RETENTIVE_SOAK"))

# What JSON and files find hard is in there too - controls, quotes, line separators, astral planes.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(
    lambda text: not text.isspace()
)
NAMES = st.sampled_from(["s", "ü\u2028", "a\nb", "x" * 300])
OWNERS = st.one_of(st.none(), NAMES)
TIMES = st.datetimes(timezones=st.just(UTC))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
METADATA = st.dictionaries(TEXTS.filter(lambda key: not key.startswith("_vx_")), JSON, max_size=3)

REMEMBER = st.fixed_dictionaries(
    {
        "text": TEXTS,
        "kind": st.sampled_from(["turn", "fact", "pinned"]),
        "session": OWNERS,
        "user": OWNERS,
        "metadata": METADATA,
    },
    optional={
        "timestamp": TIMES,
        "ttl_days": st.sampled_from([1, 10_000_000, float("inf")]),
        "key": st.sampled_from(["k", "K2"]),
        "name": st.just("Ann"),
        "role": st.sampled_from(["user", "assistant", "tool"]),
    },
)
STEPS = st.one_of(
    st.tuples(st.just("remember"), REMEMBER),
    st.tuples(st.just("remember"), REMEMBER),
    st.tuples(st.just("add"), st.tuples(TEXTS, METADATA)),
    st.tuples(st.just("correct"), st.tuples(st.integers(0, 50), TEXTS)),
    st.tuples(st.just("useful"), st.tuples(st.integers(0, 50), TIMES)),
    st.tuples(st.just("forget"), st.integers(0, 50)),
    st.tuples(st.just("consolidate"), NAMES),
)


def done(db, steps):
    ids = []
    for verb, given_ in steps:
        with contextlib.suppress(RetentiveError):  # what is refused is not done, here and in any collection
            if verb == "remember":
                fields = dict(given_)
                if fields["kind"] == "turn":
                    fields.pop("key", None)
                ids.append(db.remember(**fields))
            elif verb == "add":
                ids += db.add([given_[0]], [given_[1]])
            elif verb == "consolidate":
                db.consolidate(
                    given_, lambda batch: [{"text": "sum", "turns": [0]}], keep_recent=1, delete=len(ids) % 2 == 0
                )
            elif ids:
                index = given_ if verb == "forget" else given_[0]
                id_ = ids[index % len(ids)]
                if verb == "forget":
                    db.forget(ids=[id_])
                elif verb == "correct":
                    ids += filter(None, [db.feedback(id_, "corrected", given_[1])])
                else:
                    db.feedback(id_, "useful", timestamp=given_[1])
    return ids


@pytest.mark.soak
@settings(max_examples=2_000 if SOAK else 25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEPS, max_size=14), st.booleans())
def test_export_import_export_is_the_same_bytes(steps, vectors):
    with (
        tempfile.TemporaryDirectory() as folder,
        Collection("c", embedder=HashEmbedder(8)) as source,
        Collection("c", embedder=HashEmbedder(8)) as target,
    ):
        ids = done(source, steps)
        first, second = Path(folder) / "first", Path(folder) / "second"
        count = source.export(first, vectors=vectors)
        assert target.import_(first).imported == count == source.count() == target.count()
        assert target.verify().ok, target.verify().problems
        target.export(second, vectors=vectors)
        assert first.read_bytes() == second.read_bytes()
        source.expire()  # its links go past what has expired from now on, as those in the file do
        assert told(source, ids) == told(target, ids)


def told(db, ids):
    return [(hit.id, hit.text, hit.metadata) for hit in db.get(ids)]


@pytest.mark.soak
@settings(max_examples=1_000 if SOAK else 12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEPS, max_size=10), st.lists(STEPS, max_size=10), st.sampled_from(["skip", "replace"]))
def test_importing_into_what_has_something_keeps_the_collection_whole(here, there, on_conflict):
    """Two collections that have a part of their memories in common, and each its own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Collection("c", embedder=HashEmbedder(8)) as source,
        Collection("c", embedder=HashEmbedder(8)) as target,
    ):
        done(source, here)
        file = Path(folder) / "file"
        source.export(file)
        target.import_(file)
        done(target, there)
        done(source, there[::-1])
        source.export(file)
        before = {hit.id: hit.text for hit in everything(target)}
        report = target.import_(file, on_conflict=on_conflict)
        assert report.imported + report.skipped == source.count()
        assert target.verify().ok, target.verify().problems
        after = {hit.id: hit.text for hit in target.get(list(before))}
        if on_conflict == "skip":
            assert after == before
        else:
            assert after.keys() == before.keys()


def everything(db):
    return db.search(filter={"_vx_ts": {"$exists": True}}, limit=10_000, user=ANY)


HEADER = {"format": "retentive-export", "version": 1, "models": [{"name": "m", "dimension": 1, "probe": "AACAPw=="}]}
LINE = {"id": "a", "kind": "fact", "text": "x", "ts": "2024-05-08"}
FIELDS = st.sampled_from(
    [
        "id",
        "kind",
        "user",
        "session",
        "role",
        "name",
        "key",
        "turn",
        "text",
        "ts",
        "expires",
        "supersedes",
        "superseded_by",
        "superseded_at",
        "judge",
        "cited",
        "consolidated_from",
        "feedback",
        "metadata",
        "vectors",
        "next_turn",
        "format",
        "version",
        "memories",
        "models",
        "calibration",
    ]
)
VALUES = JSON | st.sampled_from(["a", "fact", "turn", "document", "2024-05-08", ["AACAPw=="], [["AACAPw=="]]])
LINES = st.dictionaries(FIELDS, VALUES, max_size=5).map(lambda fields: {**LINE, **fields})
FILES = st.one_of(
    st.binary(max_size=200),
    st.lists(LINES, max_size=4).map(
        lambda lines: b"".join(json.dumps(line).encode() + b"\n" for line in [HEADER, *lines])
    ),
    st.tuples(st.dictionaries(FIELDS, VALUES, max_size=4), st.binary(max_size=60)).map(
        lambda parts: json.dumps({**HEADER, **parts[0]}).encode() + b"\n" + parts[1]
    ),
)


@pytest.mark.soak
@settings(max_examples=10_000 if SOAK else 50, deadline=None, suppress_health_check=list(HealthCheck))
@given(FILES, st.integers(0, 300), st.integers(0, 255))
def test_any_bytes_are_read_whole_or_refused_whole(content, place, byte):
    damaged = bytearray(content)
    if place < len(damaged):
        damaged[place] = byte
    for bytes_ in (content, bytes(damaged)):
        with tempfile.TemporaryDirectory() as folder, Collection("c", embedder=HashEmbedder(1)) as db:
            file = Path(folder) / "file"
            file.write_bytes(bytes_)
            try:
                report = db.import_(file)
            except (InvalidInputError, VersionError, ConflictError):
                assert db.stats()["count"] == 0
            else:
                assert db.stats()["count"] == report.imported
            assert db.verify().ok


def test_times_far_away_come_back(tmp_path):
    with Collection("c", embedder=HashEmbedder(8)) as source, Collection("c", embedder=HashEmbedder(8)) as target:
        for time in ("0001-01-01", "9999-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999"):
            source.remember("then", session="s", timestamp=time)
        source.remember("soon", session="s", timestamp=datetime.now(UTC) + timedelta(days=400), ttl_days=0.000_001)
        source.export(tmp_path / "first")
        target.import_(tmp_path / "first")
        target.export(tmp_path / "second")
        assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
