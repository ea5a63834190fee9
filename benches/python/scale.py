"""What one process holds: a million memories in 2,000 sessions, written in bulk, opened, and read at random.

    python benches/python/scale.py --memories 1000000 --out benches/results/scale.json

The rows are spread over the sessions, so that those of one session are scattered over the whole file. Each part runs in
a process of its own. A rate stands beside that of Python's sqlite3 writing rows of the same bytes, in turns with it; a
first read beside the second, which finds everything in memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rows import DIMENSION, START, Rows
from run import ROW_BYTES, commit, folder_bytes, machine

SESSIONS = 2_000
SLICE = 10_000  # rows between two turns of the floor
TRANSACTION = 1_000
LARGE = 100_000  # memories of the one large session
OWNERS = 20_000  # sessions and users whose bytes are told
READS = 400
TEXTS = 20_000  # as many texts and vectors are drawn; a million would take longer than writing them


def items(rows: Rows, memories: int, sessions: int) -> Iterator[dict[str, Any]]:
    """What `remember_many` takes, one memory of each session after the other."""
    drawn = [(rows.text(), rows.vector()) for _ in range(min(TEXTS, memories))]
    for number in range(memories):
        text, vector = drawn[number % len(drawn)]
        yield {
            "text": f"{text} {number}",
            "session": f"session-{number % sessions}",
            "timestamp": START,
            "vector": vector,
        }


def opened(folder: Path, cache_mb: int = 256) -> Any:
    """The collection."""
    from retentive import CallableEmbedder, Collection

    def embed(texts: list[str]) -> Any:
        seeds = (zlib.crc32(text.encode()) for text in texts)
        return np.stack([np.random.default_rng(seed).standard_normal(DIMENSION) for seed in seeds])

    return Collection("scale", path=folder, embedder=CallableEmbedder("scale", DIMENSION, embed), cache_mb=cache_mb)


def floor(folder: Path) -> sqlite3.Connection:
    """A table of rows of the same bytes, as durable."""
    base = sqlite3.connect(folder / "floor.db", isolation_level=None)
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("PRAGMA synchronous=FULL")
    base.execute("CREATE TABLE row (seq INTEGER PRIMARY KEY, body BLOB)")
    return base


def load(folder: Path, memories: int, sessions: int) -> dict[str, float]:
    """Writes everything, and the floor in turns; rows a second of wall and of processor time."""
    db, base = opened(folder / "data"), floor(folder)
    rows, body = Rows(memories, memories), b"x" * ROW_BYTES
    given = items(rows, memories, sessions)
    spent = {"wall": 0.0, "processor": 0.0, "floor": 0.0}
    first_slice = last_slice = 0.0
    for _ in range(0, memories, SLICE):
        piece = [item for _, item in zip(range(SLICE), given, strict=False)]
        start, busy = time.perf_counter(), time.process_time()
        db.remember_many(piece)
        middle = time.perf_counter()
        spent["wall"] += middle - start
        spent["processor"] += time.process_time() - busy
        for count in range(0, len(piece), TRANSACTION):
            base.execute("BEGIN")
            base.executemany("INSERT INTO row (body) VALUES (?)", [(body,)] * min(TRANSACTION, len(piece) - count))
            base.execute("COMMIT")
        spent["floor"] += time.perf_counter() - middle
        last_slice = len(piece) / (middle - start)
        first_slice = first_slice or last_slice
    db.close()
    return {
        "rows_per_s": memories / spent["wall"],
        "rows_per_processor_s": memories / spent["processor"],
        "floor_rows_per_s": memories / spent["floor"],
        "floors": spent["wall"] / spent["floor"],
        "first_slice_rows_per_s": first_slice,
        "last_slice_rows_per_s": last_slice,
        "disk_bytes_per_memory": folder_bytes(folder / "data") / memories,
    }


def resident() -> int:
    """Bytes of this process that are in memory now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def timed(call: Any) -> float:
    """Milliseconds of one call."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def percentiles(times: list[float]) -> dict[str, float]:
    """Median and 95th percentile."""
    return {"p50": float(np.percentile(times, 50)), "p95": float(np.percentile(times, 95))}


def read(folder: Path, sessions: int, cache_mb: int) -> dict[str, Any]:
    """Opens, and reads sessions at random: the first read of each, the second, and what stays resident."""
    query = "word1 word2 word3"
    before = resident()
    start = time.perf_counter()
    db = opened(folder / "data", cache_mb)
    opening = (time.perf_counter() - start) * 1e3
    session = iter(np.random.default_rng(3).permutation(sessions).tolist())
    db.recall(query, session=f"session-{next(session)}", min_relevance=None)  # imports, and the embedder's first use
    empty, first, second = resident(), [], []
    seen = {number for _, number in zip(range(READS), session, strict=False)}
    for number in seen:
        name = f"session-{number}"
        first.append(timed(lambda name=name: db.recall(query, session=name, min_relevance=None)))
        second.append(timed(lambda name=name: db.recall(query, session=name, min_relevance=None)))
    again = np.random.default_rng(4).integers(0, sessions, 4 * READS).tolist()
    for number in again:
        db.recall(query, session=f"session-{number}", min_relevance=None)
    seen.update(again)
    return {
        "open_ms": opening,
        "first_recall_ms": percentiles(first),
        "second_recall_ms": percentiles(second),
        "cache_mb": cache_mb,
        "resident_before_mb": before / 2**20,
        "resident_open_mb": empty / 2**20,
        "resident_after_mb": resident() / 2**20,
        "sessions_read": len(seen),
        "resident_peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10,
        "resident_allowed_mb": cache_mb + 150,
    }


def large(folder: Path, memories: int) -> dict[str, float]:
    """One large session: the first recall after opening, and the next."""
    db = opened(folder / "large")
    db.remember_many(items(Rows(memories, memories), memories, 1))
    db.close()
    db = opened(folder / "large")
    recall = lambda: db.recall("word1 word2 word3", session="session-0", min_relevance=None)  # noqa: E731
    first = timed(recall)
    return {"memories": memories, "first_recall_ms": first, "second_recall_ms": min(timed(recall) for _ in range(5))}


def owners(folder: Path, memories: int) -> dict[str, float]:
    """Bytes on disk of a session and of a user: as many memories in one session, in one each, and of one user each."""
    rows = Rows(memories, memories)
    drawn = [(rows.text(), rows.vector()) for _ in range(memories)]
    taken = {}
    for name in ("one", "sessions", "users"):
        db = opened(folder / name)
        db.remember_many(
            {
                "text": text,
                "session": f"session-{number if name == 'sessions' else 0}",
                "user": f"user-{number}" if name == "users" else None,
                "timestamp": START,
                "vector": vector,
            }
            for number, (text, vector) in enumerate(drawn)
        )
        db.close()
        taken[name] = folder_bytes(folder / name)
    return {
        "memories": memories,
        "disk_bytes_per_session": (taken["sessions"] - taken["one"]) / memories,
        "disk_bytes_per_user_with_a_session": (taken["users"] - taken["one"]) / memories,
    }


def part(options: argparse.Namespace) -> dict[str, Any]:
    """One part, in this process."""
    if options.part == "load":
        return load(options.folder, options.memories, options.sessions)
    if options.part == "large":
        return large(options.folder, min(LARGE, options.memories))
    if options.part == "owners":
        return owners(options.folder, min(OWNERS, options.memories))
    return read(options.folder, options.sessions, options.cache_mb)


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Every part, each in a process of its own."""
    figures = {}
    for name in ("load", "read", "large", "owners"):
        command = [sys.executable, __file__, "--part", name, "--folder", str(folder)]
        command += ["--memories", str(options.memories), "--sessions", str(options.sessions)]
        command += ["--cache-mb", str(options.cache_mb)]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        figures[name] = json.loads(answer.stdout)
        print(name, json.dumps(figures[name]), flush=True)
    return figures


def main() -> int:
    """Measures, and keeps the figures."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--memories", type=int, default=1_000_000)
    arguments.add_argument("--sessions", type=int, default=SESSIONS)
    arguments.add_argument("--cache-mb", type=int, default=256)
    arguments.add_argument("--out", type=Path, help="where the figures are kept as JSON")
    arguments.add_argument("--part", help=argparse.SUPPRESS)
    arguments.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.part:
        print(json.dumps(part(options)))
        return 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("RETENTIVE_BENCH_DIR")) as scratch:
        figures = measure(options, Path(scratch))
    report = {"command": " ".join(sys.argv), "commit": commit(), "machine": machine()}
    report |= {"memories": options.memories, "sessions": options.sessions, **figures}
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
