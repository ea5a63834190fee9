"""What was never stored is in no file: large writes that failed, and those of processes that were killed.

SQLite writes pages into the log before the commit, once a transaction outgrows its memory of 16 MB.
More ways with `RETENTIVE_SOAK=1`.
"""

import os
import signal
import time

import pytest

from retentive import Collection, ConflictError
from retentive.embedders import HashEmbedder

SOAK = bool(os.environ.get("RETENTIVE_SOAK"))

SECRET = "zqneverstored"


def large(number):
    return {"text": f"{SECRET} {number} {'q' * 20_000}", "session": "s", "id": f"n{number}"}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """22 MB of memories, behind them a fact under a key."""
    folder = tmp_path_factory.mktemp("exported")
    with Collection("source", path=folder, embedder=HashEmbedder(64)) as source:
        source.remember_many([large(number) for number in range(1_100)])
        source.remember("a fact", kind="fact", key="taken")
        source.export(folder / "export.jsonl")
    return folder / "export.jsonl"


def test_an_import_that_fails_at_its_end_leaves_nothing_in_the_log(db, found, exported):
    db.remember("another fact", kind="fact", key="taken")
    with pytest.raises(ConflictError):
        db.import_(exported)
    assert found([SECRET]) == []
    assert not db.stats()["erasure_pending"]
    assert db.count() == 1
    assert db.import_(exported, on_conflict="skip").imported == 1_100
    assert found([SECRET]) != []
    assert not db.stats()["erasure_pending"]


@pytest.mark.parametrize("verb", ["remember_many", "replace_turns"] if SOAK else ["remember_many"])
def test_a_batch_that_fails_at_its_end_leaves_nothing_in_the_log(db, found, verb):
    db.remember("here", id="taken", session="other")
    batch = [large(number) for number in range(900)] + [{"text": "last", "id": "taken", "session": "s"}]
    turns = [{name: item[name] for name in ("text", "id")} for item in batch]
    store = {"remember_many": lambda: db.remember_many(batch), "replace_turns": lambda: db.replace_turns("s", turns)}
    with pytest.raises(ConflictError):
        store[verb]()
    assert found([SECRET]) == []
    assert not db.stats()["erasure_pending"]


KILLED = """
db = opened()
db.import_(sys.argv[2])
"""


@pytest.fixture
def killed(tmp_path, start, exported):
    """A process was killed in the one transaction of an import, which had pages in the log by then."""

    def killed():
        log = tmp_path / "test.db-wal"
        for _ in range(5):
            before = log.stat().st_size if log.exists() else 0
            child = start(KILLED, exported)
            while child.poll() is None and (not log.exists() or log.stat().st_size < before + 1_000_000):
                time.sleep(0.002)
            child.send_signal(signal.SIGKILL)
            if child.wait() == -signal.SIGKILL:
                return
        raise AssertionError("every import was over before it was killed")

    return killed


FIRST = {
    "turns": lambda db: db.turns("other"),
    "remember": lambda db: db.remember("more"),
    "stats": lambda db: db.stats(),
}


@pytest.mark.parametrize("call", FIRST if SOAK else ["turns"])
def test_what_a_killed_import_had_in_the_log_goes_with_anybodys_first_call(db, found, killed, call):
    db.remember("here", session="other")
    killed()
    assert found([SECRET]) != []  # nobody was there to remove it
    FIRST[call](db)
    assert found([SECRET]) == []
    assert not db.stats()["erasure_pending"]
    assert db.verify().ok


def test_what_a_killed_import_had_in_the_log_goes_when_the_collection_is_opened(tmp_path, embedder, found, killed):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember("here", session="other")
    killed()
    assert found([SECRET]) != []
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        assert found([SECRET]) == []
        assert db.count() == 1


def test_beside_a_reader_elsewhere_it_is_said_that_something_is_left(db, found, start_reader, killed):
    db.remember("here", session="other")
    reader = start_reader()
    killed()
    assert db.stats()["erasure_pending"]
    assert found([SECRET]) != []
    reader.stdin.write("\n")
    reader.stdin.flush()
    assert reader.stdout.readline() == "done\n"
    assert db.count() == 1
    assert found([SECRET]) == []
    assert not db.stats()["erasure_pending"]
