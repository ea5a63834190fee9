"""What a bulk writer costs a reader: recall and context beside writes to the same store, against a control.

    python benches/python/beside_writer.py > benches/results/reader-beside-writer.txt

The reader has a session of 500 turns and the static model. The writer is a `thread` with the same collection, one with
a `handle` of its own on the same file, or another `process`. It adds 1,000 turns at a time: `given` with vectors,
`static` without, `expire`, `forget` and `consolidate` with that call after each thousand; `owner` adds them to another
session of the reader's own user, so that they are part of what the reader searches, and forgets them again, so that
what is searched does not grow with the writer's speed.

The control is a process that does the same work at the same time on another collection in another folder, so that what
a core that is shared costs cancels out. A time is from call to return, less what the thread stood ready and waited for
a core (as Linux counts it): what is left are its own work and its waits for locks, for the interpreter and for the
disk. Conditions take turns in slices of a fraction of a second within one run, every other round in the reverse order.
An `owner` has 10,000 to begin with, and at most a thousand more.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from retentive import Collection
from rows import Rows

TURNS = 500
OWNED = 10_000  # what the reader's user has elsewhere, where the writer adds to it
BATCH = 1_000
WHAT = ("given", "static", "expire", "forget", "consolidate", "owner")
WHERE = ("thread", "handle", "process")
READER = "reader"  # a user

Work = Callable[[], object]
Read = Callable[[str], object]
Times = dict[str, dict[str, NDArray[np.float64]]]  # milliseconds, by verb and load


def work_of(db: Collection, what: str) -> Work:
    """One piece of bulk work, that can be done again and again."""
    items = [dict(item, session="bulk") for item in Rows(BATCH, BATCH).items()]
    if what == "static":
        items = [{name: value for name, value in item.items() if name != "vector"} for item in items]
    if what == "expire":
        items = [dict(item, ttl_days=1) for item in items]
    if what == "owner":
        items = [dict(item, user=READER) for item in items]
    after: dict[str, Work] = {
        "expire": db.expire,
        "forget": lambda: db.forget("bulk"),
        "owner": lambda: db.forget("bulk", user=READER),
        "consolidate": lambda: db.consolidate("bulk", lambda turns: [f"{len(turns)} turns"], keep_recent=100),
    }

    def work() -> None:
        db.remember_many(items)
        after.get(what, lambda: None)()

    return work


class Load(Protocol):
    """Something that works in the background from `start` to `stop`, which says how often it has worked."""

    def start(self) -> None: ...
    def stop(self) -> int: ...
    def close(self) -> None: ...


class Nothing:
    """No load."""

    def start(self) -> None:
        """Nothing."""

    def stop(self) -> int:
        """Never."""
        return 0

    def close(self) -> None:
        """Nothing."""


class Threaded:
    """Work in a thread of this process, on a collection that is closed by whoever opened it."""

    def __init__(self, what: str, db: Collection) -> None:
        self._work = work_of(db, what)
        self._done = 0

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._work()
            self._done += 1

    def start(self) -> None:
        """Start the thread."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> int:
        """Wait for its end."""
        self._stopping.set()
        self._thread.join()
        return self._done

    def close(self) -> None:
        """Nothing."""


class Apart:
    """Work in a process of its own."""

    def __init__(self, what: str, folder: Path) -> None:
        command = [sys.executable, __file__, "--work", what, "--folder", str(folder)]
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        self._ask("ready")

    def _ask(self, line: str) -> int:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(f"{line}\n")
        self._child.stdin.flush()
        return int(self._child.stdout.readline())

    def start(self) -> None:
        """Tell the process to work."""
        self._ask("start")

    def stop(self) -> int:
        """Tell it to stop, and wait until it has."""
        return self._ask("stop")

    def close(self) -> None:
        """End it."""
        self._child.communicate()


def serve(what: str, folder: Path) -> None:
    """The process of `Apart`: a thread works while the first one listens."""
    with Collection("beside", path=folder) as db:
        load = Threaded(what, db)
        for line in sys.stdin:
            if line == "start\n":
                load.start()
            print(load.stop() if line == "stop\n" else 0, flush=True)


class Stopwatch:
    """Seconds of this thread, less those in which it waited for a core; plain seconds where no system counts them."""

    def __init__(self) -> None:
        schedule = Path("/proc/thread-self/schedstat")
        self._schedule = schedule.open("rb", buffering=0) if schedule.exists() else None

    def read(self) -> float:
        """Seconds since some moment."""
        waited = 0 if self._schedule is None else int(os.pread(self._schedule.fileno(), 100, 0).split()[1])
        return time.perf_counter() - waited / 1e9

    def close(self) -> None:
        """Let go of the descriptor."""
        if self._schedule is not None:
            self._schedule.close()


def latencies(read: Read, questions: Iterator[str], seconds: float) -> list[float]:
    """How long each read took, one after the other for so many seconds."""
    times = []
    watch, end = Stopwatch(), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = watch.read()
        read(next(questions))
        times.append(watch.read() - start)
    watch.close()
    return times


def compare(what: str, where: str, folder: Path, rounds: int, seconds: float) -> tuple[Times, dict[str, int]]:
    """The times of each read beside each load, and how often each load worked."""
    ours, other = folder / "ours", folder / "other"
    ours.mkdir()
    other.mkdir()
    user = READER if what == "owner" else None
    rows = Rows(TURNS, TURNS, seed=3)
    with Collection("beside", path=ours) as db, Collection("beside", path=ours) as handle:
        db.remember_many([dict(item, session="s", user=user) for item in rows.items()])
        if user is not None:
            db.remember_many([dict(item, session="old", user=user) for item in Rows(OWNED, OWNED, seed=5).items()])
        reads: dict[str, Read] = {
            "recall": lambda text: db.recall(text, session="s", user=user, min_relevance=None),
            "context": lambda text: db.context(text, session="s", user=user, min_relevance=None),
        }
        of_thread = {"thread": db, "handle": handle}
        writer: Load = Threaded(what, of_thread[where]) if where in of_thread else Apart(what, ours)
        loads: dict[str, Load] = {"alone": Nothing(), "control": Apart(what, other), "writer": writer}
        try:
            return take_turns(reads, loads, rows, rounds, seconds)
        finally:
            for load in loads.values():
                load.close()


def take_turns(
    reads: dict[str, Read], loads: dict[str, Load], rows: Rows, rounds: int, seconds: float
) -> tuple[Times, dict[str, int]]:
    """Read beside each load in turn."""
    questions = itertools.cycle([rows.text() for _ in range(100)])
    times: dict[str, dict[str, list[float]]] = {verb: {load: [] for load in loads} for verb in reads}
    work = dict.fromkeys(loads, 0)
    for read in reads.values():
        latencies(read, questions, 0.1)
    order = list(loads.items())
    for _ in range(rounds):
        for name, load in order:
            for read in reads.values():
                read(next(questions))  # what the last writer left is no part of this slice
            load.start()
            for verb, read in reads.items():
                times[verb][name] += latencies(read, questions, seconds)
            work[name] = load.stop()
        order.reverse()
    return {verb: {name: np.array(of) * 1e3 for name, of in by.items()} for verb, by in times.items()}, work


def ratio(times: dict[str, NDArray[np.float64]], percentile: float) -> float:
    """A percentile beside the writer over that beside the control."""
    return float(np.percentile(times["writer"], percentile) / np.percentile(times["control"], percentile))


def line(names: str, times: dict[str, NDArray[np.float64]], work: dict[str, int]) -> str:
    """One line of the table."""
    cells = [names]
    for at in (50, 99):
        cells += [f"{np.percentile(times[load], at):9.2f}" for load in ("alone", "control", "writer")]
        cells.append(f"{ratio(times, at):7.2f}   ")
    return "".join([*cells, f"{len(times['writer']):7}{work['control']:9}{work['writer']:8}"])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.6, help="of each verb in each slice")
    parser.add_argument("--what", default=",".join(WHAT))
    parser.add_argument("--where", default=",".join(WHERE))
    parser.add_argument("--work", choices=WHAT, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        serve(arguments.work, arguments.folder)
        return
    print(f"# CPython {platform.python_version()}, {os.cpu_count()} cores; milliseconds; ratio = writer / control")
    heads = f"{'alone':>9}{'control':>9}{'writer':>9}{'ratio':>7}   "
    print(f"{'':31}{'p50':>9}{'':28}{'p99':>9}\n{'':31}{heads}{heads}{'reads':>7}{'batches: control, writer':>26}")
    for what, where in itertools.product(arguments.what.split(","), arguments.where.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            times, work = compare(what, where, Path(folder), arguments.rounds, arguments.seconds)
        for verb, of in times.items():
            print(line(f"{what:<13}{where:<9}{verb:<9}", of, work), flush=True)


if __name__ == "__main__":
    main()
