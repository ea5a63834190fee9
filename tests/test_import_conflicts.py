"""`import_` into what has something, and of what is wrong: conflicts as asked, and all of it or nothing."""

import contextlib
import gzip
import json
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from retentive import ANY, Collection, ConflictError, HashEmbedder, InvalidInputError, StoreError, VersionError
from retentive.importers import openai_messages


def lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def fresh(name="test", dimension=64, **options):
    return Collection(name, embedder=HashEmbedder(dimension), **options)


def filled(db):
    """Turns, a chain of facts, a correction, feedback, a document."""
    first = db.remember("I'd like the report as a PDF", session="u42", metadata={"n": 1})
    db.remember("Noted: PDF it is", session="u42", role="assistant")
    db.feedback(first, "corrected", "It is a Word file")
    for city in ("Berlin", "Vienna"):
        db.remember(city, user="ann", kind="fact", key="city")
    db.add("The export button is top right")


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


@pytest.mark.parametrize("key", [None, "city"])
def test_replace_wakes_nothing_that_was_superseded_here(db, tmp_path, key):
    old = db.remember("Lives in Berlin", user="ann", kind="fact", key=key)
    db.export(tmp_path / "old.jsonl")
    new = db.feedback(old, "corrected", "Lives in Vienna")
    for _ in range(2):
        assert db.import_(tmp_path / "old.jsonl", on_conflict="replace").replaced == 1
        assert db.recall("lives in", user="ann", min_relevance=None).ids == [new]
        assert [hit.id for hit in db.facts(user="ann")] == ([new] if key else [])
        assert db.verify().ok
    db.export(tmp_path / "both.jsonl")
    with fresh() as target:
        target.import_(tmp_path / "both.jsonl")
        assert target.recall("lives in", user="ann", min_relevance=None).ids == [new]


def test_replace_of_a_chain_wakes_no_link_of_a_longer_one(db, tmp_path):
    first = db.remember("Lives in Berlin", session="s", user="ann")
    second = db.feedback(first, "corrected", "Lives in Vienna")
    db.export(tmp_path / "chain.jsonl")
    third = db.feedback(second, "corrected", "Lives in Porto")
    assert db.import_(tmp_path / "chain.jsonl", "replace").replaced == 2
    assert db.recall("lives in", user="ann", min_relevance=None).ids == [third]
    assert [hit.id for hit in db.history(first)] == [first, second, third]
    assert db.verify().ok
    db.forget(ids=[third])
    assert db.recall("lives in", user="ann", min_relevance=None).ids == []


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
    db.import_(tmp_path / "chat.jsonl", on_conflict)
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


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")
def test_an_import_that_a_signal_interrupts_stores_all_or_nothing(db, tmp_path, alarms):
    db.remember_many([{"text": f"number {n}", "session": "many"} for n in range(2_000)])
    file = tmp_path / "chat.jsonl"
    db.export(file, vectors=True)

    def stop(*_):
        raise KeyboardInterrupt

    counts = set()
    for delay in (0.01, 0.05, 0.1, 0.2, 0.4, 0.8):
        with Collection(f"c{delay}", path=tmp_path, embedder=HashEmbedder(64)) as target:
            with contextlib.suppress(KeyboardInterrupt):
                alarms(delay, stop, once=True)
                target.import_(file)
                signal.setitimer(signal.ITIMER_REAL, 0)
            counts.add(target.count())
            assert target.verify().ok
    assert counts <= {0, 2_000}
    assert 0 in counts


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


def test_an_expired_memory_here_makes_room_for_its_id(db, tmp_path):
    long_ago = datetime.now(UTC) - timedelta(days=2)
    with fresh() as source:
        source.remember("a new one", session="s", id="one")
        source.export(tmp_path / "chat.jsonl")
    for on_conflict in ("error", "skip", "replace"):
        db.clear()
        db.remember("said long ago", session="s", id="one", timestamp=long_ago, ttl_days=1)
        assert db.import_(tmp_path / "chat.jsonl", on_conflict=on_conflict).imported == 1
        assert [turn.text for turn in db.turns("s")] == ["a new one"]
    assert db.verify().ok


def test_an_expired_memory_here_holds_its_key_no_longer(db, tmp_path):
    db.remember(
        "Berlin", user="ann", kind="fact", key="city", timestamp=datetime.now(UTC) - timedelta(days=2), ttl_days=1
    )
    with fresh() as source:
        source.remember("Vienna", user="ann", kind="fact", key="city")
        source.export(tmp_path / "chat.jsonl")
    assert db.import_(tmp_path / "chat.jsonl").imported == 1
    assert db.fact("city", user="ann").text == "Vienna"
    assert db.verify().ok


def test_a_field_twice_is_named(db, tmp_path):
    file = written(tmp_path, MEMORY)
    file.write_text(file.read_text("utf-8").replace('"role":', '"id": "b", "role":'), "utf-8")
    with pytest.raises(InvalidInputError, match="line 2: it has the field 'id' twice"):
        db.import_(file)
    assert db.count() == 0


def test_a_packed_file_is_told(db, tmp_path):
    db.remember("hello", session="s")
    db.export(tmp_path / "chat.jsonl")
    (tmp_path / "chat.gz").write_bytes(gzip.compress((tmp_path / "chat.jsonl").read_bytes()))
    for read in (db.import_, lambda file: db.import_items(openai_messages(file))):
        with pytest.raises(InvalidInputError, match="packed with gzip"):
            read(tmp_path / "chat.gz")


def test_no_importer_opens_a_collection_that_is_open(db):
    """Closing it would drop SQLite's locks in this process."""
    db.remember("hello", session="s")
    for file in (db.path, db.path.with_name(f"{db.path.name}-wal")):
        with pytest.raises(InvalidInputError, match="a database that is open"):
            db.import_items(openai_messages(file))
