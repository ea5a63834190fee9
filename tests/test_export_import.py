"""`export` and `import_`: what was stored is the same somewhere else, or nothing is there."""

import asyncio
import io
import json
import os
import stat
import subprocess
import sys
import tempfile
from datetime import UTC, datetime

import pytest

from retentive import (
    ANY,
    Collection,
    HashEmbedder,
    InvalidInputError,
)

LONG_AGO = datetime(2024, 5, 8, 13, 56, tzinfo=UTC)


def lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def fresh(name="test", dimension=64, **options):
    return Collection(name, embedder=HashEmbedder(dimension), **options)


def filled(db):
    """A collection with some of everything; ids by name."""
    ids = {}
    ids["turn"] = db.remember(
        "I'd like the report as a PDF",
        session="u42",
        timestamp=LONG_AGO,
        name="Ann",
        metadata={"n": [1, 2.5, None, "ü"]},
    )
    ids["answer"] = db.remember("Noted: PDF it is", session="u42", role="assistant", timestamp=LONG_AGO)
    ids["pin"] = db.remember("Customer is on the annual plan", session="u42", pinned=True)
    ids["old"] = db.remember("Berlin", user="ann", kind="fact", key="City")
    ids["new"] = db.remember("Vienna", user="ann", kind="fact", key="city")
    ids["expiring"] = db.remember("until tomorrow", user="ann", session="s", ttl_days=1)
    db.feedback(ids["turn"], "useful", timestamp=LONG_AGO)
    ids["correction"] = db.feedback(ids["answer"], "corrected", "It is a Word file")
    ids["document"] = db.add("The export button is top right", metadata={"page": 3})[0]
    db.remember_many([{"text": f"turn {n} of a longer talk", "session": "talk"} for n in range(6)])
    db.consolidate("talk", lambda batch: [{"text": "They talked", "turns": [0, 1]}], keep_recent=2, delete=False)
    return ids


def round_trip(db, tmp_path, target, *, vectors=False, **options):
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    db.export(first, vectors=vectors)
    report = target.import_(first, **options)
    target.export(second, vectors=vectors)
    return first.read_bytes(), second.read_bytes(), report


@pytest.mark.parametrize("vectors", [False, True])
def test_exported_imported_and_exported_again_is_the_same_bytes(db, tmp_path, vectors):
    filled(db)
    with fresh() as target:
        first, second, report = round_trip(db, tmp_path, target, vectors=vectors)
        assert first == second
        assert report.imported == db.count() == target.count()
        assert report.embedded == (0 if vectors else report.imported)
        assert target.verify().ok


def test_import_brings_back_what_reads_say(db, tmp_path):
    ids = filled(db)
    with fresh() as target:
        round_trip(db, tmp_path, target)
        for each in ids.values():
            was, now = db.get_one(each), target.get_one(each)
            assert (was.id, was.text, was.metadata) == (now.id, now.text, now.metadata)
            assert [hit.id for hit in db.history(each)] == [hit.id for hit in target.history(each)]
        assert target.fact("city", user="ann").text == "Vienna"
        assert target.sessions(ANY) == db.sessions(ANY)
        assert [hit.turn for hit in target.turns("talk")] == list(range(6))
        question = "what format did they want"
        assert target.recall(question, session="u42").ids == db.recall(question, session="u42").ids


def test_consolidated_turns_are_not_summarised_again(db, tmp_path):
    filled(db)
    with fresh() as target:
        round_trip(db, tmp_path, target)
        seen = []
        target.consolidate("talk", lambda batch: seen.extend(batch) or [], keep_recent=2, delete=False)
        assert [turn["text"] for turn in seen] == ["turn 2 of a longer talk", "turn 3 of a longer talk"]


def test_turn_numbers_of_forgotten_turns_are_not_given_out_again(db, tmp_path):
    ids = [db.remember(f"turn {n}", session="s") for n in range(3)]
    db.forget(ids=ids[1:])
    with fresh() as target:
        first, second, _ = round_trip(db, tmp_path, target)
        assert first == second
        target.remember("after", session="s")
        assert [hit.turn for hit in target.turns("s")] == [0, 3]


def test_what_was_superseded_stays_so_when_its_successor_was_forgotten(db, tmp_path):
    old = db.remember("Berlin", kind="fact", key="city", user="ann")
    new = db.remember("Vienna", kind="fact", key="city", user="ann")
    db.forget(ids=[new])
    with fresh() as target:
        first, second, _ = round_trip(db, tmp_path, target)
        assert first == second
        assert target.fact("city", user="ann") is None
        assert target.get_one(old).superseded_by == db.get_one(old).superseded_by == "forgotten"


def test_what_has_expired_is_left_out_and_chains_go_past_it(db, tmp_path):
    first = db.remember("Berlin", kind="fact", user="ann", key="city")
    middle = db.remember("Graz", kind="fact", user="ann", key="city", timestamp=LONG_AGO, ttl_days=1)
    last = db.remember("Vienna", kind="fact", user="ann", key="city")
    gone = db.remember("said long ago", session="s", timestamp=LONG_AGO, ttl_days=1)
    with fresh() as target:
        one, two, report = round_trip(db, tmp_path, target)
        assert one == two
        assert b"Graz" not in one
        assert b"said long ago" not in one
        assert report.imported == 2
        assert target.get([middle, gone]) == []
        assert [hit.id for hit in target.history(first)] == [first, last]
        assert target.verify().ok


def test_export_has_one_line_a_memory_behind_one_that_says_what_it_is(db, tmp_path):
    filled(db)
    file = tmp_path / "chat.jsonl"
    count = db.export(file)
    header, *memories = lines(file)
    assert (header["format"], header["version"], header["collection"]) == ("retentive-export", 1, "test")
    assert header["memories"] == count == len(memories)
    assert header["models"][0]["dimension"] == 64
    assert not header["vectors"]
    assert memories[0]["text"] == "I'd like the report as a PDF"
    assert memories[0]["feedback"] == [{"outcome": "useful", "ts": "2024-05-08T13:56:00.000000+00:00"}]
    assert not any("vectors" in memory for memory in memories)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_export_can_be_read_by_its_owner_alone_and_leaves_no_other_file(db, tmp_path):
    filled(db)
    folder = tmp_path / "out"
    folder.mkdir()
    db.export(folder / "chat.jsonl")
    db.export(folder / "chat.jsonl")
    assert [path.name for path in folder.iterdir()] == ["chat.jsonl"]
    assert stat.S_IMODE((folder / "chat.jsonl").stat().st_mode) == 0o600


def test_export_that_fails_leaves_the_file_that_was_there(db, tmp_path):
    filled(db)
    file = tmp_path / "chat.jsonl"
    db.export(file)
    before = file.read_bytes()
    long = {"n": "x" * 20_000}  # it takes longer than the callback waits for
    db.remember_many([{"text": f"number {n}", "session": "many", "metadata": long} for n in range(2_500)])

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        db.export(file, progress=stop)
    assert file.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir() if ".part" in path.name) == []


def test_export_refuses_the_collections_own_files(db, tmp_path):
    filled(db)
    link = tmp_path / "link.jsonl"
    os.link(db.path, link)
    for own in (db.path, f"{db.path}-wal", link):
        with pytest.raises(InvalidInputError, match="own file"):
            db.export(own)
        with pytest.raises(InvalidInputError, match="own file"):
            db.import_(own)
    assert db.verify().ok


FULL = """
import resource, signal, sys
from retentive import Collection, FullError, HashEmbedder
db = Collection("test", path=sys.argv[1], embedder=HashEmbedder(64))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # no file may become larger: a disk without room
for write in (lambda: db.export(sys.argv[2] + "/x.jsonl"), lambda: db.backup(sys.argv[2])):
    try:
        write()
    except FullError as error:
        assert sys.argv[2] in str(error), error
        print("full")
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_full_disk_is_an_error_that_leaves_no_file(db, tmp_path):
    db.remember_many([{"text": f"number {n} of many", "session": "many"} for n in range(2_000)])
    folder = tmp_path / "out"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path), str(folder)], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["full", "full"]
    assert list(folder.iterdir()) == []


def test_export_replaces_no_collection(db, tmp_path, embedder):
    db.remember("hello", session="s")
    with Collection("other", path=tmp_path, embedder=embedder) as other:
        other.remember("mine", session="s")
        with pytest.raises(InvalidInputError, match="own file"):
            db.export(other.path)
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(InvalidInputError, match="own file"):
        db.export(tmp_path / "other.db")
    assert (tmp_path / "other.db").read_bytes() == before


def test_export_is_of_one_moment_while_others_write(db, tmp_path):
    db.remember_many([{"text": f"number {n}", "session": "many"} for n in range(3_000)])
    written = []

    def write(done, total):
        written.append(db.remember("meanwhile", session="many"))

    file = tmp_path / "chat.jsonl"
    count = db.export(file, progress=write)
    assert written
    assert count == 3_000
    assert b"meanwhile" not in file.read_bytes()


def test_async_twins_move_a_collection_too(db, tmp_path):
    filled(db)

    async def moved():
        with fresh() as target:
            file = tmp_path / "chat.jsonl"
            count = await db.aexport(file, vectors=True)
            report = await target.aimport_(file)
            copy = await target.abackup(tmp_path / "copy.db")
            return count, report.imported, copy.exists()

    count = db.count()
    assert asyncio.run(moved()) == (count, count, True)


@pytest.mark.parametrize("path", [None, 3, b"x", "", "\0", [], True, "\ud800"])
def test_what_is_no_path_is_refused(db, path):
    for call in (db.export, db.import_, db.backup):
        with pytest.raises(InvalidInputError, match="path"):
            call(path)


@pytest.mark.parametrize("on_conflict", [None, "merge", "", 1, []])
def test_what_is_no_way_to_treat_conflicts_is_refused(db, on_conflict):
    with pytest.raises(InvalidInputError, match="on_conflict"):
        db.import_("x.jsonl", on_conflict=on_conflict)


def test_missing_files_and_folders_are_the_systems_errors(db, tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        db.import_(tmp_path / "none.jsonl")
    assert raised.value.filename == str(tmp_path / "none.jsonl")
    for path, error in ((tmp_path / "none" / "x.jsonl", FileNotFoundError), (tmp_path, IsADirectoryError)):
        with pytest.raises(error):
            db.export(path)
    with pytest.raises(IsADirectoryError):
        db.import_(tmp_path)


def test_progress_ends_at_the_total(db, tmp_path):
    db.remember_many([{"text": f"number {n}", "session": "many"} for n in range(600)])
    told = []
    file = tmp_path / "chat.jsonl"
    db.export(file, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (600, 600)
    told.clear()
    with fresh() as target:
        target.import_(file, progress=lambda done, total: told.append((done, total)))
    assert told == [(250, 600), (500, 600), (600, 600)]


# ---- vectors


def test_vectors_of_the_same_embedder_are_taken_as_they_are(db, tmp_path):
    ids = filled(db)
    calls = []

    class Counting(HashEmbedder):
        def embed_documents(self, texts):
            calls.append(len(texts))
            return super().embed_documents(texts)

    file = tmp_path / "chat.jsonl"
    db.export(file, vectors=True)
    with Collection("other", embedder=Counting(64)) as target:
        assert target.import_(file).embedded == 0
        assert calls == [1]  # the probe
        was, now = db.get([ids["turn"]], vectors=True)[0], target.get([ids["turn"]], vectors=True)[0]
        assert was.vector.tobytes() == now.vector.tobytes()


def test_vectors_of_another_embedder_are_made_anew(db, tmp_path):
    filled(db)
    file = tmp_path / "chat.jsonl"
    db.export(file, vectors=True)
    with fresh(dimension=32) as target:
        report = target.import_(file)
        assert report.embedded == report.imported == db.count()
        assert target.recall("what format", session="u42").ids


def test_vectors_that_a_caller_made_go_into_a_collection_without_a_model(tmp_path):
    file = tmp_path / "docs.jsonl"
    with Collection("docs") as source:
        ids = source.add(["one", "two"], vectors=[[1.0, 2.0, 3.0], [3.0, 1.0, 0.5]])
        source.export(file, vectors=True)
    with Collection("docs") as target:
        assert target.import_(file).embedded == 0
        assert target.search(vector=[1.0, 2.0, 3.0], limit=1).ids == ids[:1]
        again = tmp_path / "again.jsonl"
        target.export(again, vectors=True)
        assert again.read_bytes() == file.read_bytes()


def test_vectors_of_two_models_are_taken_in_their_order(tmp_path):
    file, again = tmp_path / "two.jsonl", tmp_path / "again.jsonl"

    def two():
        return Collection("two", embedder=[HashEmbedder(16), HashEmbedder(8)])

    with two() as source:
        source.remember("I'd like the report as a PDF", session="u42")
        source.export(file, vectors=True)
    with two() as target:
        assert target.import_(file).embedded == 0
        target.export(again, vectors=True)
    assert again.read_bytes() == file.read_bytes()
    with fresh(dimension=16) as target:
        assert target.import_(file).embedded == 1


def test_a_failed_import_leaves_an_empty_collection_without_a_model(tmp_path):
    file = tmp_path / "docs.jsonl"
    with Collection("docs") as source:
        source.add(["one", "two"], vectors=[[1.0, 2.0, 3.0], [3.0, 1.0, 0.5]])
        source.export(file, vectors=True)
    file.write_bytes(file.read_bytes() + b"{}\n")
    with Collection("docs", embedder="static") as target:
        with pytest.raises(InvalidInputError, match="line 4"):
            target.import_(file)
        target.remember("still of its own embedder", session="s")


def test_calibration_comes_along_into_an_empty_collection(db, tmp_path):
    db.add([f"note {number} on subject {number % 7}" for number in range(40)])
    assert db.calibrate(f"what about note {number}?" for number in range(30)).enough
    with fresh() as target:
        first, second, _ = round_trip(db, tmp_path, target)
        assert first == second
        assert target.calibration() == db.calibration()
    with fresh() as target:
        target.remember("there is something", session="s")
        target.import_(tmp_path / "first.jsonl")
        assert target.calibration() is None


def test_a_move_to_other_vectors_that_was_begun_is_not_in_the_export(db, tmp_path):
    db.remember_many([{"text": f"number {n}", "session": "many"} for n in range(600)])

    class Failing(HashEmbedder):
        calls = 0

        def embed_documents(self, texts):
            self.calls += 1
            if self.calls > 2:
                raise RuntimeError("enough")
            return super().embed_documents(texts)

    with pytest.raises(Exception, match="enough"):
        db.reembed(Failing(32))
    assert db.stats()["reembed_pending"]
    with fresh() as target:
        first, second, _ = round_trip(db, tmp_path, target, vectors=True)
        assert first == second
        assert not target.stats()["reembed_pending"]


def test_an_open_file_gets_the_export_when_it_is_whole(db, tmp_path, monkeypatch):
    filled(db)
    count = db.export(tmp_path / "chat.jsonl")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    buffered, raw = io.BytesIO(), (tmp_path / "raw").open("wb", buffering=0)
    with raw:
        assert db.export(buffered) == db.export(raw) == count
    assert buffered.getvalue() == (tmp_path / "raw").read_bytes() == (tmp_path / "chat.jsonl").read_bytes()
    assert list((tmp_path / "temporary").iterdir()) == []
    with pytest.raises(InvalidInputError, match="a file of text"):
        db.export(io.StringIO())


@pytest.mark.skipif(sys.platform == "win32", reason="pipes there always wait")
def test_an_open_file_that_does_not_take_all_is_said(db):
    db.remember_many([{"text": "x" * 2_000, "session": "s"} for _ in range(100)])
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with (
        os.fdopen(reading, "rb"),
        os.fdopen(writing, "wb", buffering=0) as full,
        pytest.raises(BlockingIOError, match="have to wait"),
    ):
        db.export(full)

    class Odd:
        def __init__(self, answer):
            self.write = lambda piece: answer

    for answer in (0, -1, 10**9, "all", 1.0):
        with pytest.raises(InvalidInputError, match=r"path\.write\(\) answered .* expected how many"):
            db.export(Odd(answer))
    assert db.export(Odd(None)) == 100


@pytest.mark.skipif(sys.platform == "win32", reason="no links without rights")
def test_a_ring_of_links_is_the_systems_error(db, tmp_path):
    (tmp_path / "ring").symlink_to("ring")
    for action in (db.export, db.import_, db.backup):
        with pytest.raises(OSError, match="ring"):
            action(tmp_path / "ring")
