"""The floors of `benches/src/bin/floors.rs` again with numpy and Python's sqlite3: the faster is the denominator.

    python benches/python/floors.py --scan 1000000 --programs target/release

prints the processor time of a bare 1-bit scan of so many vectors, in Rust and in numpy, in turns.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rows import DIMENSION

RETURNED = 10
SCANS = 20
SCANNED = 8_192  # rows of a block


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


def scan_floor(memories: int) -> float:
    """Microseconds of processor time for a bare 1-bit scan with numpy, the mean of 20: the bits that differ by row.

    In blocks that stay in the processor's caches, into arrays that are there.
    """
    random = np.random.default_rng(1)
    rows = random.integers(0, 2**63, (memories, DIMENSION // 64), dtype=np.uint64)
    query = rows[0].copy()
    distances = np.empty(memories, np.uint16)
    differ = np.empty((SCANNED, DIMENSION // 64), np.uint64)
    counts = np.empty((SCANNED, DIMENSION // 64), np.uint8)

    def scan() -> None:
        for first in range(0, memories, SCANNED):
            block = rows[first : first + SCANNED]
            np.bitwise_xor(block, query, out=differ[: len(block)])
            np.bitwise_count(differ[: len(block)], out=counts[: len(block)])
            np.sum(counts[: len(block)], axis=1, dtype=np.uint16, out=distances[first : first + SCANNED])

    scan()
    before = time.process_time()
    for _ in range(SCANS):
        scan()
    return (time.process_time() - before) / SCANS * 1e6


def measure_scan(programs: Path, memories: int) -> dict[str, float]:
    """Microseconds of processor time for the 1-bit scan of both, in turns, each the least of three, and the faster."""

    def rust() -> float:
        command = [str(programs / "floors"), "--scan", str(memories), "--dimension", str(DIMENSION)]
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return float(answer["scan_processor_us"])

    turns = [(rust(), scan_floor(memories)) for _ in range(3)]
    in_rust, in_numpy = min(turn[0] for turn in turns), min(turn[1] for turn in turns)
    return {"scan_rust": in_rust, "scan_numpy": in_numpy, "scan": min(in_rust, in_numpy)}


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


def main() -> int:
    """Prints the floor of a scan."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--programs", type=Path, default=Path("target/release"), help="folder of the Rust programs")
    arguments.add_argument("--scan", type=int, default=1_000_000, help="how many vectors")
    options = arguments.parse_args()
    print(json.dumps(measure_scan(options.programs, options.scan)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
