"""`progress` of every method that takes one: it may sleep, use the collection, start threads, answer junk, raise."""

import asyncio
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


def prepared(folder):
    """A collection that every method has something to do in."""
    with Collection("other", folder, embedder=HASH, durability="normal") as other:
        other.remember_many(ITEMS[:40])
        other.export(folder / "other.jsonl")
    db = Collection("c", folder, embedder=HASH, durability="normal")
    db.remember_many([{"text": f"turn {i}", "session": "old"} for i in range(16)])
    return db


@pytest.mark.parametrize("method", METHODS)
def test_a_stop_iteration_passes_through_as_it_is(tmp_path, method):
    stop = StopIteration("of the caller's")

    def progress(done, total):
        raise stop

    with prepared(tmp_path) as db:
        with pytest.raises(StopIteration) as caught:
            METHODS[method](db, tmp_path, progress)
        assert caught.value is stop
        if method in ("remember_many", "add"):
            assert stop.stored == 1_000
            assert stop.__notes__ == ["1000 were stored before this, in order"]
        elif method == "consolidate":
            assert len(stop.report.turn_ids) == 8
        elif method == "reembed":
            assert stop.__notes__
        assert db.verify().ok


class Twins:
    """A collection whose methods give their twins' coroutines."""

    def __init__(self, db):
        self.db = db

    def __getattr__(self, name):
        return getattr(self.db, f"a{name}")


@pytest.mark.parametrize("method", METHODS)
def test_a_stop_iteration_in_a_twin_is_the_cause_of_a_runtime_error(tmp_path, method):
    """No coroutine of Python's can raise it."""
    stop = StopIteration("of the caller's")

    def progress(done, total):
        raise stop

    async def use(db):
        await METHODS[method](Twins(db), tmp_path, progress)

    with prepared(tmp_path) as db:
        with pytest.raises(RuntimeError) as caught:
            asyncio.run(use(db))
        assert caught.value.__cause__ is stop
        if method in ("remember_many", "add"):
            assert caught.value.stored == 1_000
        assert db.verify().ok


class Stopping:
    """Raises a StopIteration of the caller's wherever it is asked."""

    def __init__(self):
        self.stop = StopIteration("of the caller's")

    def ask(self, *_):
        raise self.stop

    __iter__ = __len__ = __index__ = __fspath__ = write = ask


ARGUMENTS = {
    "remember_many": lambda db, given: db.remember_many(given),
    "import_items": lambda db, given: db.import_items(given),
    "import_": lambda db, given: db.import_(given),
    "replace_turns": lambda db, given: db.replace_turns("s", given),
    "export": lambda db, given: db.export(given),
    "search": lambda db, given: db.search("x", given),
    "recall": lambda db, given: db.recall("x", session="s", exclude_ids=given),
    "context": lambda db, given: db.context("x", "s", given),
    "forget": lambda db, given: db.forget(ids=given),
    "delete": lambda db, given: db.delete(given),
    "get": lambda db, given: db.get(given),
    "calibrate": lambda db, given: db.calibrate(given),
}


@pytest.mark.parametrize("method", ARGUMENTS)
def test_a_stop_iteration_of_an_argument_passes_through_as_it_is(memory_db, method):
    memory_db.remember("known", session="s")
    given = Stopping()
    with pytest.raises(StopIteration) as caught:
        ARGUMENTS[method](memory_db, given)
    assert caught.value is given.stop
    assert memory_db.count() == 1


def test_a_generator_of_the_callers_that_raises_stop_iteration_has_raised_a_runtime_error(memory_db):
    """Python makes it one before anybody else sees it, so it stays one."""

    def items():
        yield {"text": "one", "session": "s"}
        raise StopIteration("of the caller's")

    for method in (memory_db.remember_many, memory_db.import_items):
        with pytest.raises(RuntimeError, match="generator raised StopIteration"):
            method(items())
