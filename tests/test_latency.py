"""What makes a call wait, as ratios taken in one run: the model's first use, and who writes meanwhile."""

import contextlib
import importlib
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from retentive import InvalidInputError
from retentive._give_way import let_go
from retentive._remember import new_memory

SOAK = bool(os.environ.get("RETENTIVE_SOAK"))
KINDS = ("static", "forget", "given", "expire", "consolidate")  # of bulk work
BESIDE = [(what, where) for where in ("thread", "process") for what in (KINDS if SOAK else KINDS[:2])]
OWNER = [("owner", "thread")] if SOAK else []  # the core's own tests say that nothing is left to catch up with

FIRST_RECALLS = """
import time
db = Collection("c", path=folder)
if sys.argv[2] == "warm":
    db.warmup()


def recall():
    start = time.thread_time()
    db.recall("which format", session="s", min_relevance=None)
    return time.thread_time() - start


first = recall()
tell(first / min(recall() for _ in range(10)))
"""


def test_warmup_moves_the_models_cost_out_of_the_first_recall(run):
    ratios = {}
    for how in ("cold", "warm"):
        ratios[how] = min(float(run(FIRST_RECALLS, how)[0]) for _ in range(2))
    assert ratios["cold"] > 3 * ratios["warm"]


@pytest.fixture
def beside_writer(root, monkeypatch):
    """The program that measures what a bulk writer costs a reader, as a module."""
    monkeypatch.syspath_prepend(root / "benches" / "python")
    return importlib.import_module("beside_writer")


@pytest.mark.parametrize("where", ["checking", "converting", "freeing"])
def test_other_threads_get_the_interpreter_in_the_middle_of_a_bulk_write(db, where):
    """Nobody can ask for it here: who has it must let go. The last item is wrong, so nothing else lets go either."""
    texts = ["the same words again and again"] * 20_000
    rows = [new_memory(db.memory, 0, text) for text in texts]
    named = [{"text": text, "id": row["id"]} for text, row in zip(texts, rows, strict=True)]
    stored = [[{number} for number in range(10)] for _ in texts]
    jobs = {
        "checking": lambda: db.remember_many([*named, {"text": ""}]),
        "converting": lambda: db._engine.core.remember([*rows, {}], 0, []),
        "freeing": lambda: let_go(stored),
    }
    ended = []

    def runs():
        with pytest.raises((InvalidInputError, KeyError)) if where != "freeing" else contextlib.nullcontext():
            jobs[where]()
        ended.append(where)

    thread = threading.Thread(target=runs)
    interval, had = sys.getswitchinterval(), 0
    sys.setswitchinterval(60)
    try:
        thread.start()
        while thread.is_alive():
            time.sleep(0.0001)
            had += 1
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert ended == [where]
    assert had > 10


@pytest.mark.soak
@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="nothing tells waiting for a core apart")
@pytest.mark.parametrize(("what", "where"), [*BESIDE, *OWNER])
def test_a_bulk_writer_does_not_slow_a_reader_twofold(beside_writer, tmp_path, what, where, counted):
    """Against the same work on another collection: the median, and the 99th percentile (the 97th of few in a test run).

    What another process or another handle adds to the reader's own partition is read by the reader, and not held here.
    """
    percentile, rounds, seconds, tries = (99, 12, 0.6, 3) if SOAK else (97, 3, 0.25, 3)
    told = []
    for number in range(tries):
        folder = tmp_path / str(number)
        folder.mkdir()
        times, work = beside_writer.compare(what, where, folder, rounds, seconds)
        assert work["control"]
        assert work["writer"]
        counted(reads_checked=sum(len(of["writer"]) for of in times.values()))
        median, tail = [max(beside_writer.ratio(of, at) for of in times.values()) for at in (50, percentile)]
        told.append((round(median, 2), round(tail, 2)))
        if median < 2 and tail < 2:
            return
    pytest.fail(f"beside the writer over beside the control, median and tail, each try: {told}")


def test_reads_write_nothing(db, tmp_path):
    db.remember_many([{"text": f"turn number {i}", "session": "s"} for i in range(50)])
    db.remember("a fact", kind="fact", key="k", session="s")
    db.recall("turn", session="s")

    def files():
        return {
            path.name: (path.stat().st_size, path.stat().st_mtime_ns)
            for path in tmp_path.iterdir()
            if path.suffix != ".db-shm"
        }

    before = files()
    for _ in range(50):
        found = db.recall("turn number 7", session="s", min_relevance=None)
        db.context("turn number 7", session="s")
        db.search("turn number 7", filter={"_vx_session": "s"})
        db.turns("s"), db.facts(session="s"), db.fact("k", session="s"), db.count(), db.sessions(), db.users()
        db.history(found.top.id), db.similar(found.top.id), db.get(found.ids), db.stats()
    assert files() == before
