"""What a bulk writer costs a reader: recall and context beside writes to the same store, against a control.

    python benches/python/beside_writer.py > benches/results/reader-beside-writer.txt

The control is a process that does the same work at the same time on another collection in another folder, so that what
a core that is shared costs cancels out. A time is from call to return, less what the thread stood ready and waited for a
core (as Linux counts it): what is left are its own work and its waits for locks, for the interpreter and for the disk.
Conditions take turns in slices of a fraction of a second within one run.
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
from typing import Any, Protocol

import numpy as np

from retentive import Collection
from rows import Rows

TURNS = 500
BATCH = 1_000
WHAT = ("given", "static", "owner", "expire", "consolidate", "forget")
Work = Callable[[], None]


def batches(rows: Rows, vectors: bool) -> Iterator[list[dict[str, Any]]]:
    """Bulk batches for ever, of texts drawn once."""
    items = [dict(item, session="bulk") for item in rows.items()]
    if not vectors:
        items = [{name: value for name, value in item.items() if name != "vector"} for item in items]
    return itertools.repeat(items)


def work_of(what: str, folder: Path) -> tuple[Collection, Work]:
    """A collection, and one piece of work on it that can be done again and again."""
    db = Collection("beside", path=folder)
    bulk = batches(Rows(BATCH, BATCH), vectors=what != "static")
    if what == "owner":  # what the reader's own user said in another session
        owned = [dict(item, user="reader") for item in next(bulk)]
        return db, lambda: (db.remember_many(owned), db.forget("bulk", user="reader"))[0] and None
    if what in {"given", "static"}:
        return db, lambda: db.remember_many(next(bulk)) and None
    if what == "forget":
        return db, lambda: (db.remember_many(next(bulk)), db.forget("bulk"))[0] and None
    if what == "expire":
        soon = [dict(item, ttl_days=1) for item in next(bulk)]
        return db, lambda: (db.remember_many(soon), db.expire())[0] and None
    return db, lambda: (
        db.remember_many(next(bulk)),
        db.consolidate("bulk", lambda turns: [f"{len(turns)} turns"], keep_recent=100),
    )[0] and None


class Load(Protocol):
    """Something that works in the background from `start` to `stop`."""

    def start(self) -> None: ...
    def stop(self) -> int: ...
    def close(self) -> None: ...


class Threaded:
    """Work in a thread of this process."""

    def __init__(self, what: str, folder: Path) -> None:
        self._db, self._work = work_of(what, folder)
        self._done = 0

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._work()
            self._done += 1

    def start(self) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> int:
        self._stopping.set()
        self._thread.join()
        return self._done

    def close(self) -> None:
        self._db.close()


class Forked:
    """Work in a process of its own."""

    def __init__(self, what: str, folder: Path) -> None:
        command = [sys.executable, __file__, "--work", what, "--folder", str(folder)]
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1)
        self._ask("ready")

    def _ask(self, line: str) -> str:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(f"{line}\n")
        self._child.stdin.flush()
        return self._child.stdout.readline()

    def start(self) -> None:
        self._ask("start")

    def stop(self) -> int:
        return int(self._ask("stop"))

    def close(self) -> None:
        self._child.communicate()


def serve(what: str, folder: Path) -> None:
    """The child of `Forked`: a thread works while the first one listens."""
    load = Threaded(what, folder)
    for line in sys.stdin:
        if line == "start\n":
            load.start()
        print(load.stop() if line == "stop\n" else 0, flush=True)
    load.close()


class Stopwatch:
    """Seconds of this thread, without those in which it waited for a core."""

    def __init__(self) -> None:
        self._schedule = Path("/proc/thread-self/schedstat").open("rb", buffering=0)

    def read(self) -> float:
        """Seconds since some moment."""
        waited = int(os.pread(self._schedule.fileno(), 100, 0).split()[1])
        return time.perf_counter() - waited / 1e9


def latencies(read: Callable[[str], object], questions: Iterator[str], seconds: float) -> list[float]:
    times = []
    watch, end = Stopwatch(), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = watch.read()
        read(next(questions))
        times.append(watch.read() - start)
    return times


def compare(what: str, where: str, folder: Path, rounds: int, seconds: float) -> None:
    """Print what a writer at one place costs each read."""
    ours, other = folder / "ours", folder / "other"
    for path in (ours, other):
        path.mkdir(parents=True)
    user = "reader" if what == "owner" else None
    db = Collection("beside", path=ours)
    rows = Rows(TURNS, TURNS, seed=3)
    db.remember_many([dict(item, session="s", user=user) for item in rows.items()])
    questions = itertools.cycle([rows.text() for _ in range(100)])
    options: dict[str, Any] = {"session": "s", "user": user, "min_relevance": None}
    reads: dict[str, Callable[[str], object]] = {
        "recall": lambda text: db.recall(text, **options),
        "context": lambda text: db.context(text, **options),
    }
    writer = Threaded if where == "thread" else Forked
    loads: dict[str, Load | None] = {"alone": None, "control": Forked(what, other), "writer": writer(what, ours)}
    times: dict[tuple[str, str], list[float]] = {(read, load): [] for read in reads for load in loads}
    work = dict.fromkeys(loads, 0)
    for read in reads.values():
        latencies(read, questions, 0.2)
    for _ in range(rounds):
        for name, load in loads.items():
            if load is not None:
                load.start()
            for verb, read in reads.items():
                times[verb, name] += latencies(read, questions, seconds)
            if load is not None:
                work[name] = load.stop()
    for load in loads.values():
        if load is not None:
            load.close()
    db.close()
    for verb in reads:
        report(what, where, verb, {name: np.array(times[verb, name]) * 1e3 for name in loads}, work)


def report(what: str, where: str, verb: str, times: dict[str, Any], work: dict[str, int]) -> None:
    p50, p99 = ({name: float(np.percentile(of, at)) for name, of in times.items()} for at in (50, 99))
    print(
        f"{what:<12}{where:<9}{verb:<9}"
        f"{p50['alone']:8.2f}{p50['control']:8.2f}{p50['writer']:8.2f}{p50['writer'] / p50['control']:7.2f}  "
        f"{p99['alone']:8.2f}{p99['control']:8.2f}{p99['writer']:8.2f}{p99['writer'] / p99['control']:7.2f}  "
        f"{len(times['writer']):8}{work['control']:6}{work['writer']:6}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.4, help="of each verb in each slice")
    parser.add_argument("--what", default=",".join(WHAT))
    parser.add_argument("--where", default="thread,process")
    parser.add_argument("--work", choices=WHAT, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        serve(arguments.work, arguments.folder)
        return
    print(f"# CPython {platform.python_version()}, {os.cpu_count()} cores; milliseconds; ratio = writer / control")
    print(f"{'':30}{'p50':>8}{'':16}{'ratio':>7}  {'p99':>8}{'':16}{'ratio':>7}  {'reads':>8}{'batches':>12}")
    print(f"{'':30}" + 2 * (f"{'alone':>8}{'control':>8}{'writer':>8}{'':9}") + f"{'':8}{'ctrl':>6}{'wrtr':>6}")
    for what in arguments.what.split(","):
        for where in arguments.where.split(","):
            with tempfile.TemporaryDirectory() as folder:
                compare(what, where, Path(folder), arguments.rounds, arguments.seconds)


if __name__ == "__main__":
    main()
