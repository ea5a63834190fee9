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


def read_floor(folder: Path, rows: int) -> float:
    """One scan of the partition's vectors as a float32 product, and ten rows by rowid."""
    vectors = np.random.default_rng(1).standard_normal((rows, DIMENSION)).astype(np.float32)
    query = vectors[0].copy()
    base = sqlite3.connect(folder / "numpy-floor.db")
    base.execute("CREATE TABLE row (seq INTEGER PRIMARY KEY, body BLOB)")
    base.executemany("INSERT INTO row VALUES (?, ?)", ((seq, b"x" * 200) for seq in range(rows)))
    base.commit()

    def read(_: int) -> None:
        first = int(np.argmax(vectors @ query))
        for offset in range(RETURNED):
            base.execute("SELECT body FROM row WHERE seq = ?", ((first + 37 * offset) % rows,)).fetchone()

    return median_us(read, 500)


def write_floor(folder: Path, row_bytes: int) -> float:
    """One row with the same bytes in one transaction under `synchronous=FULL`."""
    base = sqlite3.connect(folder / "sqlite3-floor.db", isolation_level=None)
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("PRAGMA synchronous=FULL")
    base.execute("CREATE TABLE row (seq INTEGER PRIMARY KEY, body BLOB)")
    body = b"x" * row_bytes
    return median_us(lambda _: base.execute("INSERT INTO row (body) VALUES (?)", (body,)), 400)


def measure(folder: Path, programs: Path, rows: int, row_bytes: int) -> dict[str, float]:
    """Both floors of a read over `rows` and of a write, in microseconds, and the faster of each."""
    command = [str(programs / "floors"), "--dir", str(folder), "--rows", str(rows), "--bytes", str(row_bytes)]
    rust = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    python = {"read": read_floor(folder, rows), "write": write_floor(folder, row_bytes)}
    return {
        "read_rust": rust["read_us"],
        "read_python": python["read"],
        "write_rust": rust["write_full_us"],
        "write_python": python["write"],
        "read": min(rust["read_us"], python["read"]),
        "write": min(rust["write_full_us"], python["write"]),
    }
