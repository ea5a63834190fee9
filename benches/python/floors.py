"""The floors of `benches/src/bin/floors.rs` again with numpy and Python's sqlite3: the faster is the denominator."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rows import DIMENSION

RETURNED = 10


def median_us(call: Callable[[int], object], runs: int) -> float:
    """The median time of `runs` calls in microseconds, after a tenth of them as warm-up."""
    for run in range(runs // 10):
        call(run)
    times = []
    for run in range(runs):
        start = time.perf_counter()
        call(run)
        times.append(time.perf_counter() - start)
    return float(np.median(times)) * 1e6


def read_floor(folder: Path, rows: int, sessions: int) -> float:
    """One scan of a partition's vectors as a float32 product, and ten rows by rowid; one session after the other."""
    random = np.random.default_rng(1)
    partitions = [random.standard_normal((rows, DIMENSION)).astype(np.float32) for _ in range(sessions)]
    query = partitions[0][0].copy()
    base = sqlite3.connect(folder / "numpy-floor.db")
    base.execute("CREATE TABLE row (seq INTEGER PRIMARY KEY, body BLOB)")
    base.executemany("INSERT INTO row VALUES (?, ?)", ((seq, b"x" * 200) for seq in range(rows * sessions)))
    base.commit()

    def read(run: int) -> None:
        session = run % sessions
        first = int(np.argmax(partitions[session] @ query))
        for offset in range(RETURNED):
            row = session * rows + (first + 37 * (offset + run // sessions)) % rows
            base.execute("SELECT body FROM row WHERE seq = ?", (row,)).fetchone()

    return median_us(read, 500)


def write_beside(folder: Path, row_bytes: int, write: Callable[[int], object], runs: int) -> tuple[float, float]:
    """Medians of `write` and of the floor of a write in turns, in microseconds.

    The floor is one row with the same bytes in one transaction under `synchronous=FULL`. In turns, since what an fsync
    costs changes with what the disk is busy with.
    """
    base = sqlite3.connect(folder / "sqlite3-floor.db", isolation_level=None)
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("PRAGMA synchronous=FULL")
    base.execute("CREATE TABLE IF NOT EXISTS row (seq INTEGER PRIMARY KEY, body BLOB)")
    body = b"x" * row_bytes
    floor = []

    def both(run: int) -> float:
        start = time.perf_counter()
        base.execute("INSERT INTO row (body) VALUES (?)", (body,))
        middle = time.perf_counter()
        write(run)
        floor.append(middle - start)
        return time.perf_counter() - middle

    times = [both(run) for run in range(runs)]
    return float(np.median(times)) * 1e6, float(np.median(floor)) * 1e6


def measure(folder: Path, programs: Path, rows: int, sessions: int) -> dict[str, float]:
    """The floor of a read of one of `sessions` sessions of `rows` in microseconds, the faster of both.

    The sessions are read in turns, as by the calls that are compared with it: neither finds its memory in the
    processor's caches. `read_one` is the floor of one session that is read again and again.
    """
    taken = {}
    for count in {1, sessions}:
        inner = folder / f"floor-{count}"
        inner.mkdir()
        command = [str(programs / "floors"), "--dir", str(inner), "--rows", str(rows), "--sessions", str(count)]
        rust = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        taken[count] = (rust["read_us"], read_floor(inner, rows, count))
    rust_us, python_us = taken[sessions]
    return {
        "read_rust": rust_us,
        "read_python": python_us,
        "read": min(rust_us, python_us),
        "read_one": min(taken[1]),
    }
