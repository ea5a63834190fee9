"""`progress` of every method that takes one: it may sleep, use the collection, start threads, answer junk, raise."""

import threading
import time

import pytest

from retentive import Collection, HashEmbedder

HASH = HashEmbedder(32)
ITEMS = [{"text": f"said {i}", "session": "new"} for i in range(1_200)]  # more than one transaction

pytestmark = pytest.mark.timeout(120)  # a deadlock fails, with every thread's stack: see `watchdog.py`


def use(db):
    db.remember("from inside", session="inside", kind="fact", check=False)
    db.recall("inside", session="inside", min_relevance=None)
    db.stats()
    db.forget(session="inside", kinds=("fact",))


def in_a_thread(db):
    thread = threading.Thread(target=use, args=(db,))
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


class StopError(Exception):
    """Of the caller's."""


def stops(db):
    raise StopError


ACTS = {
    "sleeps": lambda db: time.sleep(0.01),
    "junk": lambda db: object(),
    "calls back": use,
    "starts a thread": in_a_thread,
    "raises": stops,
}
METHODS = {
    "remember_many": lambda db, folder, progress: db.remember_many(ITEMS, progress=progress),
    "add": lambda db, folder, progress: db.add([item["text"] for item in ITEMS], progress=progress),
    "import_items": lambda db, folder, progress: db.import_items(ITEMS, progress=progress),
    "import_": lambda db, folder, progress: db.import_(folder / "other.jsonl", progress=progress),
    "export": lambda db, folder, progress: db.export(folder / "out.jsonl", progress=progress),
    "consolidate": lambda db, folder, progress: db.consolidate(
        "old", lambda turns: ["folded"], keep_recent=0, batch_turns=8, progress=progress
    ),
    "reembed": lambda db, folder, progress: db.reembed(HashEmbedder(16), progress=progress),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("act", ACTS)
def test_a_progress_callback_may_do_anything(tmp_path, method, act):
    with Collection("other", tmp_path, embedder=HASH, durability="normal") as other:
        other.remember_many(ITEMS[:40])
        other.export(tmp_path / "other.jsonl")
    told = []

    def progress(done, total):
        told.append((done, total))
        return ACTS[act](db)

    with Collection("c", tmp_path, embedder=HASH, durability="normal") as db:
        db.remember_many([{"text": f"turn {i}", "session": "old"} for i in range(16)])
        if act == "raises":
            with pytest.raises(StopError):
                METHODS[method](db, tmp_path, progress)
            assert len(told) == 1
        else:
            METHODS[method](db, tmp_path, progress)
            assert told == sorted(told)
        assert told
        assert db.count(session="inside") == 0
        if method == "reembed" and act == "raises":
            db.reembed(HashEmbedder(16))
        db.remember("after", session="after")
        assert db.verify().ok
