"""`export` and `import_`: what was stored is the same somewhere else, or nothing is there."""

import asyncio
import json
import os
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from retentive import (
    ANY,
    Collection,
    ConflictError,
    ConversationMemory,
    HashEmbedder,
    InvalidInputError,
    StoreError,
    VersionError,
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
    db.remember_many([{"text": f"number {n}", "session": "many"} for n in range(4_000)])

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


# ---- conflicts


def test_an_id_in_use_is_a_conflict_that_names_the_line(db, tmp_path):
    filled(db)
    file = tmp_path / "chat.jsonl"
    db.export(file)
    before = db.count()
    with pytest.raises(ConflictError, match="line 2: the id"):
        db.import_(file)
    assert db.count() == before
    assert db.verify().ok


@pytest.mark.parametrize("on_conflict", ["skip", "replace"])
def test_importing_twice_changes_nothing(db, tmp_path, on_conflict):
    filled(db)
    file, again = tmp_path / "chat.jsonl", tmp_path / "again.jsonl"
    count = db.export(file)
    report = db.import_(file, on_conflict=on_conflict)
    assert (report.skipped, report.replaced) == ((count, 0) if on_conflict == "skip" else (0, count))
    assert db.verify().ok
    db.export(again)
    if on_conflict == "skip":
        assert again.read_bytes() == file.read_bytes()
    else:
        assert sorted(again.read_bytes().splitlines()) == sorted(file.read_bytes().splitlines())


def test_replace_takes_what_is_in_the_file_and_erases_what_was_here(db, tmp_path):
    account = db.remember("the account number is 12345", session="s")
    file = tmp_path / "chat.jsonl"
    db.export(file)
    file.write_text(file.read_text("utf-8").replace("12345", "54321"), "utf-8")
    assert db.import_(file, on_conflict="replace").replaced == 1
    assert [(hit.id, hit.text, hit.turn) for hit in db.turns("s")] == [(account, "the account number is 54321", 0)]
    path = db.path
    db.close()
    assert b"12345" not in path.read_bytes()


def test_new_turns_of_a_session_keep_their_numbers_behind_the_old(db, tmp_path):
    ids = [db.remember(f"turn {n}", session="s") for n in range(4)]
    file = tmp_path / "chat.jsonl"
    db.export(file)
    db.forget(ids=ids[2:])
    report = db.import_(file, on_conflict="skip")
    assert (report.imported, report.skipped, report.renumbered) == (2, 2, 0)
    assert [(hit.turn, hit.text) for hit in db.turns("s")] == [(n, f"turn {n}") for n in range(4)]


def test_turns_whose_numbers_are_taken_come_after_those_that_are_there(db, tmp_path):
    db.remember_many([{"text": f"there {n}", "session": "s", "user": "ann"} for n in range(3)])
    with fresh() as source:
        source.remember_many([{"text": f"here {n}", "session": "s", "user": "ann"} for n in range(3)])
        source.export(tmp_path / "chat.jsonl")
    assert db.import_(tmp_path / "chat.jsonl").renumbered == 3
    turns = db.turns("s", user="ann")
    assert [hit.text for hit in turns] == ["there 0", "there 1", "there 2", "here 0", "here 1", "here 2"]
    assert [hit.turn for hit in turns] == list(range(6))
    assert db.verify().ok


@pytest.mark.parametrize(("on_conflict", "city"), [("skip", "Berlin"), ("replace", "Vienna")])
def test_a_key_with_another_fact_is_a_conflict(db, tmp_path, on_conflict, city):
    db.remember("Berlin", user="ann", kind="fact", key="city")
    with fresh() as source:
        source.remember("Vienna", user="ann", kind="fact", key="city", session="other")
        source.export(tmp_path / "chat.jsonl")
    with pytest.raises(ConflictError, match='line 2: the key "city"'):
        db.import_(tmp_path / "chat.jsonl")
    db.import_(tmp_path / "chat.jsonl", on_conflict=on_conflict)
    assert db.fact("city", user="ann").text == city
    assert db.verify().ok


def test_what_the_file_says_came_later_supersedes_what_is_here(db, tmp_path):
    old = db.remember("Berlin", user="ann", kind="fact", key="city")
    db.export(tmp_path / "old.jsonl")
    new = db.remember("Vienna", user="ann", kind="fact", key="city")
    db.export(tmp_path / "new.jsonl")
    with fresh() as target:
        target.import_(tmp_path / "old.jsonl")
        target.import_(tmp_path / "new.jsonl", on_conflict="skip")
        assert target.fact("city", user="ann").id == new
        assert [hit.id for hit in target.history(old)] == [old, new]
        assert target.verify().ok


# ---- files that are wrong

HEADER = {"format": "retentive-export", "version": 1, "collection": "test", "models": [], "vectors": False}
MEMORY = {"id": "a", "kind": "turn", "session": "s", "role": "user", "text": "hello", "ts": "2024-05-08T13:56:00+00:00"}


def written(tmp_path, *values, header=None):
    file = tmp_path / "wrong.jsonl"
    rows = [HEADER if header is None else header, *values]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return file


WRONG_LINES = {
    "no text": {**MEMORY, "text": None},
    "blank text": {**MEMORY, "text": " "},
    "lone surrogate": {**MEMORY, "text": "\ud800"},
    "unknown field": {**MEMORY, "colour": 1},
    "unknown kind": {**MEMORY, "kind": "thought"},
    "number as id": {**MEMORY, "id": 1},
    "no time": {**MEMORY, "ts": None},
    "time as number": {**MEMORY, "ts": 1_700_000_000},
    "turn of a fact": {**MEMORY, "kind": "fact", "turn": 1},
    "negative turn": {**MEMORY, "turn": -1},
    "key of a turn": {**MEMORY, "key": "city"},
    "user of a document": {"id": "a", "kind": "document", "text": "x", "ts": MEMORY["ts"], "user": "ann"},
    "feedback unknown": {**MEMORY, "feedback": [{"outcome": "great", "ts": MEMORY["ts"]}]},
    "feedback no list": {**MEMORY, "feedback": {}},
    "reserved metadata": {**MEMORY, "metadata": {"_vx_kind": "fact"}},
    "metadata a list": {**MEMORY, "metadata": []},
    "successor without time": {**MEMORY, "superseded_by": "b"},
    "time without successor": {**MEMORY, "superseded_at": MEMORY["ts"]},
    "superseded by itself": {**MEMORY, "superseded_by": "a", "superseded_at": MEMORY["ts"]},
    "supersedes itself": {**MEMORY, "supersedes": "a"},
    "vectors without models": {**MEMORY, "vectors": [["AACAPw=="]]},
    "a list": [1],
    "a number": 3,
    "negative next turn": {"session": "s", "next_turn": -1},
    "next turn with text": {"session": "s", "next_turn": 1, "text": "x"},
}


@pytest.mark.parametrize("line", WRONG_LINES.values(), ids=WRONG_LINES.keys())
def test_a_wrong_line_is_named_and_nothing_is_imported(db, tmp_path, line):
    right = {**MEMORY, "id": "right"}
    with pytest.raises(InvalidInputError, match=r"line 3: ") as raised:
        db.import_(written(tmp_path, right, line))
    assert len(str(raised.value)) < 2_000
    assert db.count() == 0
    assert db.sessions(ANY) == []


@pytest.mark.parametrize("tail", [b"{", b"\xff\n", b"[" * 100_000, b'{"id": NaN}', b"\x00", b'"' + b"x" * 100])
def test_bytes_that_are_no_json_are_named_by_their_line(db, tmp_path, tail):
    file = written(tmp_path, MEMORY)
    file.write_bytes(file.read_bytes() + tail)
    with pytest.raises(InvalidInputError, match=r"line 3: it "):
        db.import_(file)
    assert db.count() == 0


def test_an_id_twice_in_a_file_is_named(db, tmp_path):
    with pytest.raises(InvalidInputError, match=r"line 3: the id .* earlier line"):
        db.import_(written(tmp_path, MEMORY, MEMORY))
    assert db.count() == 0


def test_a_key_twice_in_a_file_is_named(db, tmp_path):
    fact = {**MEMORY, "kind": "fact", "key": "city"}
    with pytest.raises(InvalidInputError, match=r"line 3: the key"):
        db.import_(written(tmp_path, fact, {**fact, "id": "b"}))
    assert db.count() == 0


def test_a_chain_to_another_owner_is_refused(db, tmp_path):
    old = {**MEMORY, "user": "ann", "superseded_by": "b", "superseded_at": MEMORY["ts"]}
    with pytest.raises(InvalidInputError, match=r"line 2: .*another owner"):
        db.import_(written(tmp_path, old, {**MEMORY, "id": "b", "user": "bob", "supersedes": "a"}))
    assert db.count() == 0


def test_a_file_that_was_cut_off_is_refused(db, tmp_path):
    filled(db)
    file = tmp_path / "chat.jsonl"
    db.export(file)
    rows = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(rows[:-2]))
    with fresh() as target:
        with pytest.raises(InvalidInputError, match="cut off"):
            target.import_(file)
        assert target.count() == 0


def test_a_part_of_a_file_is_imported_where_the_first_line_does_not_count(db, tmp_path):
    filled(db)
    file = tmp_path / "chat.jsonl"
    db.export(file)
    header, *rows = lines(file)
    del header["memories"]
    kept = [row for row in rows if row.get("session") == "u42"]
    with fresh() as target:
        assert target.import_(written(tmp_path, *kept, header=header)).imported == len(kept)
        assert target.verify().ok


def test_a_newer_version_and_another_file_are_version_errors(db, tmp_path):
    with pytest.raises(VersionError, match="version 2") as raised:
        db.import_(written(tmp_path, MEMORY, header={**HEADER, "version": 2}))
    assert (raised.value.found, raised.value.supported) == (2, 1)
    for content in (b"", b"hello\n", b'{"id": 1}\n', b"\x00" * 100):
        file = tmp_path / "other"
        file.write_bytes(content)
        with pytest.raises(VersionError, match="not an export"):
            db.import_(file)


def test_a_hand_written_file_needs_few_fields(db, tmp_path):
    rows = [{"id": str(n), "kind": "turn", "session": "s", "text": f"turn {n}", "ts": "2024-05-08"} for n in range(3)]
    file = written(tmp_path, *rows, header={"format": "retentive-export", "version": 1})
    assert db.import_(file).imported == 3
    assert [hit.turn for hit in db.turns("s")] == [0, 1, 2]


def test_import_into_a_read_only_collection_is_refused(db, tmp_path):
    filled(db)
    db.export(tmp_path / "chat.jsonl")
    with Collection("test", path=tmp_path, embedder=HashEmbedder(64), readonly=True) as reader:
        with pytest.raises(StoreError, match="read-only"):
            reader.import_(tmp_path / "chat.jsonl")
        assert reader.export(tmp_path / "again.jsonl") == db.count()


def test_an_import_that_is_broken_off_stores_nothing(db, tmp_path):
    filled(db)
    db.remember_many([{"text": f"number {n}", "session": "many"} for n in range(600)])
    file = tmp_path / "chat.jsonl"
    db.export(file)

    def stop(done, total):
        raise KeyboardInterrupt

    with fresh() as target:
        with pytest.raises(KeyboardInterrupt):
            target.import_(file, progress=stop)
        assert target.count() == 0
        assert target.import_(file).imported == db.count()


KILLED = """
import os, sys
from retentive import Collection, HashEmbedder
calls = []
class Dying(HashEmbedder):
    def embed_documents(self, texts):
        calls.append(1)
        if len(calls) == 3:
            os._exit(9)
        return super().embed_documents(texts)
Collection("killed", path=sys.argv[1], embedder=Dying(64)).import_(sys.argv[2])
"""


def test_an_import_that_is_killed_stores_nothing_and_leaves_no_text(db, tmp_path):
    db.remember_many([{"text": f"the secret number {n}", "session": "many"} for n in range(700)])
    file = tmp_path / "chat.jsonl"
    db.export(file)
    folder = tmp_path / "other"
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), str(file)], check=False)
    assert done.returncode == 9
    assert all(b"secret" not in path.read_bytes() for path in folder.iterdir())
    with Collection("killed", path=folder, embedder=HashEmbedder(64)) as target:
        assert target.count() == 0
        assert target.import_(file).imported == 700


def test_import_leaves_no_file_beside_the_collection(db, tmp_path):
    filled(db)
    folder = tmp_path / "other"
    db.export(tmp_path / "chat.jsonl")
    with Collection("chat", path=folder, embedder=HashEmbedder(64)) as target:
        target.import_(tmp_path / "chat.jsonl")
        with pytest.raises(ConflictError):
            target.import_(tmp_path / "chat.jsonl")
        assert {path.name for path in folder.iterdir()} <= {"chat.db", "chat.db-wal", "chat.db-shm"}


def test_an_expired_memory_here_holds_its_key_no_longer(db, tmp_path):
    db.memory = ConversationMemory(db)
    db.remember(
        "Berlin", user="ann", kind="fact", key="city", timestamp=datetime.now(UTC) - timedelta(days=2), ttl_days=1
    )
    with fresh() as source:
        source.remember("Vienna", user="ann", kind="fact", key="city")
        source.export(tmp_path / "chat.jsonl")
    assert db.import_(tmp_path / "chat.jsonl").imported == 1
    assert db.fact("city", user="ann").text == "Vienna"
    assert db.verify().ok
