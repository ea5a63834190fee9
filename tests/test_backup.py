"""`backup`: a copy of one moment that opens as a collection, while others write."""

import os
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from retentive import Collection, HashEmbedder, InvalidInputError

WRITER = """
import sys
from retentive import Collection, HashEmbedder
db = Collection("test", path=sys.argv[1], embedder=HashEmbedder(64))
print("ready", flush=True)
count = 0
while True:
    db.remember_many([{"text": f"pair {count} {half}", "session": "pairs"} for half in ("a", "b")])
    count += 1
"""


def opened(file, **options):
    return Collection(file.stem, path=file.parent, embedder=HashEmbedder(64), **options)


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "backups"
    made.mkdir()
    return made


def test_backup_opens_as_a_collection_with_everything_in_it(db, folder):
    db.remember("I'd like the report as a PDF", session="u42", metadata={"n": 1})
    db.remember("Berlin", user="ann", kind="fact", key="city")
    db.remember("Vienna", user="ann", kind="fact", key="city")
    db.add("The export button is top right")
    file = db.backup(folder)
    assert file == folder / "test.db"
    with opened(file) as copy:
        assert copy.verify().ok
        assert copy.count() == db.count()
        assert copy.recall("what format", session="u42").ids == db.recall("what format", session="u42").ids
        assert copy.fact("city", user="ann").text == "Vienna"
        copy.remember("the copy goes its own way", session="u42")
    assert db.count() == 4


def test_backup_can_have_another_name(db, folder):
    db.remember("hello", session="s")
    with opened(db.backup(folder / "chat-2026.db")) as copy:
        assert copy.turns("s")[0].text == "hello"


def test_backup_is_consistent_while_another_process_writes(db, tmp_path, folder):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    try:
        assert writer.stdout.readline() == "ready\n"
        counts = []
        for number in range(4):
            wait_for(lambda: len(db.turns("pairs")) > max(counts, default=0))
            with opened(db.backup(folder / f"b{number}.db")) as copy:
                assert copy.verify().ok
                turns = copy.turns("pairs")
                assert len(turns) % 2 == 0
                counts.append(len(turns))
        assert counts == sorted(set(counts))
    finally:
        writer.kill()
        writer.communicate()
    assert db.verify().ok


def test_threads_go_on_writing_while_a_backup_is_made(db, folder):
    db.remember_many([{"text": f"number {n}", "session": "many"} for n in range(5_000)])
    stop = threading.Event()
    written = []

    def write():
        while not stop.is_set():
            written.append(db.remember("meanwhile", session="s"))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(3):
            db.backup(folder / f"b{number}.db")
    finally:
        stop.set()
        thread.join()
    assert written
    assert len(db.turns("s")) == len(written)


def test_backup_of_a_collection_in_memory_is_a_file(memory_db, folder):
    memory_db.remember("hello", session="s")
    file = memory_db.backup(folder / "saved.db")
    with Collection("saved", path=folder, embedder=memory_db.embedder) as copy:
        assert copy.turns("s")[0].text == "hello"
        assert copy.verify().ok
        copy.remember("again", session="s")
    assert file.exists()


def test_an_older_backup_of_the_same_collection_is_replaced(db, folder):
    db.remember("one", session="s")
    db.backup(folder)
    db.remember("two", session="s")
    with opened(db.backup(folder)) as copy:
        assert [turn.text for turn in copy.turns("s")] == ["one", "two"]
    assert [path.name for path in folder.iterdir()] == ["test.db"]


def test_backup_replaces_nothing_else(db, folder, embedder):
    text = folder / "text.db"
    text.write_text("somebody's file\n")
    database = folder / "database.db"
    with sqlite3.connect(database) as sql:
        sql.execute("CREATE TABLE t(x)")
    sql.close()
    with Collection("other", path=folder, embedder=embedder) as other:
        other.remember("hello", session="s")
        with pytest.raises(InvalidInputError, match="open somewhere"):
            db.backup(folder / "other.db")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for target in (text, database, folder / "other.db"):
        with pytest.raises(InvalidInputError, match="not a backup of this collection"):
            db.backup(target)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_backup_refuses_the_collection_itself(db, tmp_path):
    db.remember("hello", session="s")
    link = tmp_path / "link.db"
    link.symlink_to(db.path)
    hard = tmp_path / "hard.db"
    os.link(db.path, hard)
    for own in (db.path, tmp_path, link, hard):
        with pytest.raises(InvalidInputError, match="own file"):
            db.backup(own)
    assert db.verify().ok


@pytest.mark.parametrize("path", ["chat.sqlite", "chat", ".db", "a b.db", "", "\0.db", 3, None, b"chat.db"])
def test_a_name_that_opens_as_no_collection_is_refused(db, folder, path, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(InvalidInputError, match="path"):
        db.backup(path)
    assert list(folder.iterdir()) == []


def test_a_missing_folder_is_the_systems_error(db, tmp_path):
    with pytest.raises(FileNotFoundError):
        db.backup(tmp_path / "none" / "chat.db")


def test_backup_has_nothing_of_what_was_forgotten(db, folder):
    db.remember_many([{"text": f"number {n}", "session": "many"} for n in range(300)])
    db.remember("the account number is 8412-7731", session="secret")
    db.forget("secret")
    file = db.backup(folder)
    assert b"8412-7731" not in file.read_bytes()
    assert b"secret" not in file.read_bytes()


def test_a_move_that_was_begun_goes_on_in_the_backup(db, folder):
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
    with opened(db.backup(folder)) as copy:
        assert copy.verify().ok
        assert copy.stats()["reembed_pending"]
        assert copy.reembed(HashEmbedder(32)) < 600
        assert copy.verify().ok


def test_calibration_is_in_the_backup(db, folder):
    db.add([f"note {number} on subject {number % 7}" for number in range(40)])
    measured = db.calibrate(f"what about note {number}?" for number in range(30))
    with opened(db.backup(folder)) as copy:
        assert copy.calibration() == measured


def test_a_read_only_collection_can_be_backed_up(db, folder, tmp_path):
    db.remember("hello", session="s")
    with opened(db.path, readonly=True) as reader, opened(reader.backup(folder)) as copy:
        assert copy.turns("s")[0].text == "hello"
