"""Ctrl-C and other signals: heard while waiting, honest about what was stored, and free to use the collection."""

import os
import signal
import threading

import pytest

from retentive import Collection, EmbedderError

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")


@pytest.fixture
def holder(start):
    child = start("""
import sqlite3
held = sqlite3.connect(f"{folder}/test.db", isolation_level=None)
held.execute("BEGIN IMMEDIATE")
tell("held")
wait()
held.execute("ROLLBACK")
tell("released")
""")
    assert child.stdout.readline() == "held\n"
    return child


@pytest.fixture
def waiting(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder, busy_timeout_s=60) as db:
        db.remember("here", session="s")
        yield db


class StopError(Exception):
    pass


@pytest.mark.parametrize(
    "write",
    [
        lambda db: db.remember("more", session="s"),
        lambda db: db.remember_many([{"text": "more", "session": "s"}]),
        lambda db: db.forget("s"),
        lambda db: db.clear(),
    ],
)
def test_waiting_for_a_busy_file_ends_with_the_handlers_exception(waiting, holder, alarms, write):
    def stop(number, frame):
        raise StopError

    alarms(0.1, stop)
    with pytest.raises(StopError):
        write(waiting)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert [turn.text for turn in waiting.turns("s")] == ["here"]
    holder.communicate("\n")
    waiting.remember("goes on", session="s")


def test_a_handler_may_use_the_collection_that_waits(waiting, holder, alarms):
    seen = []

    def use(number, frame):
        seen.append((waiting.count(), waiting.recall("here", session="s").texts))
        if len(seen) == 3:
            signal.setitimer(signal.ITIMER_REAL, 0)
            holder.communicate("\n")
            waiting.remember("from the handler", session="s")

    alarms(0.05, use)
    waiting.remember("after the wait", session="s")
    assert seen == [(1, ["here"])] * 3
    assert [turn.text for turn in waiting.turns("s")] == ["here", "from the handler", "after the wait"]


def test_a_handler_may_close_the_collection_that_waits(waiting, holder, alarms):
    alarms(0.1, lambda number, frame: waiting.close())
    with pytest.raises(RuntimeError, match="closed"):
        waiting.remember("too late", session="s")


@pytest.mark.usefixtures("no_finalizers")
@pytest.mark.parametrize("verb", ["remember_many", "add"])
@pytest.mark.parametrize("milliseconds", [20, 60, 110, 170])
def test_a_bulk_write_says_exactly_how_many_it_stored(tmp_path, embedder, verb, milliseconds):
    """A real Ctrl-C: most arrive inside a commit, which ends before Python hears of it."""
    texts = [f"said {i}" for i in range(60_000)]
    with Collection("test", path=tmp_path, embedder=embedder, durability="normal") as db:
        interrupt = threading.Timer(0, os.kill, (os.getpid(), signal.SIGINT))

        def progress(stored, total):
            if stored == 2_000:
                interrupt.interval = milliseconds / 1_000
                interrupt.start()

        given = texts if verb == "add" else ({"text": text, "session": "s"} for text in texts)
        with pytest.raises(KeyboardInterrupt) as caught:
            getattr(db, verb)(given, progress=progress)
        interrupt.join()
        stored = caught.value.stored
        assert 2_000 <= stored == db.count() < 60_000
        assert f"{stored} were stored" in " ".join(caught.value.__notes__)
        if verb == "remember_many":
            assert [turn.text for turn in db.turns("s")] == texts[:stored]


@pytest.mark.parametrize("call", ["verify", "compact", "export"])
def test_a_signal_at_any_moment_of_long_work_is_raised(db, tmp_path, alarms, call):
    """Also when the work is done before it looks whether to stop."""
    db.remember_many([{"text": f"number {number}", "session": "s"} for number in range(20)])
    work = {"verify": db.verify, "compact": db.compact, "export": lambda: db.export(tmp_path / "out.jsonl")}[call]
    heard = 0

    def stop(*_):
        nonlocal heard
        heard += 1
        raise StopError

    def until_it_is_heard(number):
        alarms(0.002 + number / 20_000, stop, once=True)
        while heard == number:
            work()

    for number in range(60):
        with pytest.raises(StopError):
            until_it_is_heard(number)


def test_an_interrupt_while_an_erasure_waits_says_all_that_was_stored(db, alarms):
    """Documents that replace others wait, when they are stored, for reads of this process that take long."""
    db.remember_many([{"text": f"number {number}", "session": "s"} for number in range(3_000)])
    ended = threading.Event()

    def check():
        while not ended.is_set():
            db.verify()

    def stop(*_):
        raise StopError

    documents, names = [f"document {number}" for number in range(20)], [f"d{number}" for number in range(20)]
    checking = threading.Thread(target=check)
    checking.start()
    try:
        for attempt in range(30):
            stored = None
            try:
                alarms(0.004 + attempt / 2_000, stop, once=True)
                db.add(documents, [{"attempt": attempt}] * 20, names)
                stored = 20
                signal.setitimer(signal.ITIMER_REAL, 0)
            except (StopError, EmbedderError) as error:  # one in the middle of the embedder is its own failure
                stored = getattr(error, "stored", stored)  # it may come between two lines of this test
            found = [row for row in db.get(names) if row.metadata["attempt"] == attempt]
            assert len(found) == stored or stored is None
    finally:
        ended.set()
        checking.join()
