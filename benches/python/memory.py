"""What loaded partitions take in memory, beside int8 vectors and postings of as many memories.

    python benches/python/memory.py --out benches/results/memory.json

Cases: one session of 100,000, and 2,000 sessions of 500. Each is written by one process and read by another, which
first reads a session of its own, so that what is there once (modules, the embedder, SQLite's pages) is not counted. A
third case, many sessions of one memory, says what a partition costs beside its memories. `grown` is of the process as
the system sees it, allocator's slack included; `told` is what the collection says of its cache.

The words are numbered and no stop words, so the distinct words of a text are its terms. `bare` is a byte a dimension, 4
for the scale and 8 a posting (row and count); `held` adds what both need to be searched: sign bits and owners of
vectors, lengths, and the tables of terms, one for 4,096 memories. 1.5 times `held` is allowed, and `ALLOWANCE` for each
loaded partition, and once the pages that SQLite keeps for a reading thread; where not all fit, `cache_mb` and 150 MB.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rows import DIMENSION, START, Rows
from run import commit, machine
from scale import TEXTS, opened, resident

POSTING = 8
VECTOR = DIMENSION + 4
HELD = DIMENSION // 8 + 4 + 4  # more of a memory: sign bits, owner, length
SLOT = 33  # of a table of terms, filled to seven eighths of a power of two
SEGMENT = 4_096
FACTOR = 1.5
ALLOWANCE = 4 * 1024  # bytes of a loaded partition, beside its memories
PAGES = 16_000 * 1024  # SQLite's for a reading thread


class Case(NamedTuple):
    """Sessions of a size, and how much the cache may hold."""

    name: str
    sessions: int
    per_session: int
    cache_mb: int


CASES = (
    Case("one session of 100,000", 1, 100_000, 1_024),
    Case("2,000 sessions of 500", 2_000, 500, 2_048),
    Case("2,000 sessions of 500, half of them fit", 2_000, 500, 256),
    Case("20,000 sessions of 1", 20_000, 1, 1_024),
)


def texts(count: int) -> list[str]:
    """So many texts of twenty words."""
    rows = Rows(count, count)
    return [rows.text() for _ in range(count)]


def table(words: list[str]) -> int:
    """Bytes of the table of terms of these texts."""
    terms = len({word for text in words for word in text.split()})
    return SLOT * 2 ** max(2, math.ceil(math.log2(terms * 8 / 7)))


def items(case: Case) -> Iterator[dict[str, Any]]:
    """Session after session."""
    memories = case.sessions * case.per_session
    rows, drawn = Rows(memories, case.per_session), texts(min(TEXTS, memories))
    vectors = [rows.vector() for _ in range(1_000)]
    for number in range(memories):
        yield {
            "text": drawn[number % len(drawn)],
            "session": f"session-{number // case.per_session}",
            "timestamp": START,
            "vector": vectors[number % len(vectors)],
        }
    yield {"text": "word1", "session": "another", "timestamp": START, "vector": vectors[0]}


def write(folder: Path, case: Case) -> dict[str, Any]:
    """Stores the case."""
    db = opened(folder)
    db.remember_many(items(case))
    db.close()
    return {}


def read(folder: Path, case: Case) -> dict[str, Any]:
    """Reads every session once; what that took."""
    db = opened(folder, case.cache_mb)
    db.recall("word1 word2 word3", session="another", min_relevance=None)
    before, told_before = resident(), db.stats()["cache_bytes"]
    for number in range(case.sessions):
        db.recall("word1 word2 word3", session=f"session-{number}", min_relevance=None)
    grown, stats = resident() - before, db.stats()
    memories = case.sessions * case.per_session
    drawn = texts(min(TEXTS, memories))
    terms = sum(len(set(text.split())) for text in drawn) / len(drawn)
    loaded = min(case.sessions, stats["cached_partitions"])
    read_rows = loaded * case.per_session
    bare = read_rows * (VECTOR + POSTING * terms)
    sample = drawn[: min(SEGMENT, case.per_session)]
    held = bare + read_rows * HELD + read_rows / len(sample) * table(sample)
    all_fit = loaded == case.sessions
    allowed = FACTOR * held + ALLOWANCE * loaded + PAGES if all_fit else (case.cache_mb + 150) * 2**20
    told = stats["cache_bytes"] - told_before
    return {
        "memories": memories,
        "cache_mb": case.cache_mb,
        "terms_per_memory": terms,
        "loaded_partitions": loaded,
        "bare_mb": bare / 2**20,
        "held_mb": held / 2**20,
        "told_mb": told / 2**20,
        "grown_mb": grown / 2**20,
        "told_per_memory": told / read_rows,
        "told_by_bare": told / bare,
        "told_by_held": told / held,
        "allowed_mb": allowed / 2**20,
        "within": grown <= allowed and told <= case.cache_mb * 2**20,
    }


def measure(folder: Path, which: int) -> dict[str, Any]:
    """A case, its two parts each in a process of its own; what the case before wrote is there."""
    is_there = any(folder.iterdir())
    for part in ("read",) if is_there else ("write", "read"):
        command = [sys.executable, __file__, "--part", part, "--case", str(which), "--folder", str(folder)]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    measured: dict[str, Any] = json.loads(answer.stdout)
    return measured


def main() -> int:
    """Measures each case, and keeps the figures; fails where one takes more than is allowed."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--out", type=Path, help="where the figures are kept as JSON")
    arguments.add_argument("--part", choices=("write", "read"), help=argparse.SUPPRESS)
    arguments.add_argument("--case", type=int, help="only this one, counted from 0")
    arguments.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.part:
        part = write if options.part == "write" else read
        print(json.dumps(part(options.folder, CASES[options.case])))
        return 0
    figures = {}
    chosen = [which for which in range(len(CASES)) if options.case in (None, which)]
    with tempfile.TemporaryDirectory(dir=os.environ.get("RETENTIVE_BENCH_DIR")) as scratch:
        for which in chosen:
            case = CASES[which]
            folder = Path(scratch, f"{case.sessions}-{case.per_session}")
            folder.mkdir(exist_ok=True)
            figures[case.name] = measure(folder, which)
            print(case.name, json.dumps(figures[case.name], indent=1), flush=True)
    if options.out:
        report = {"command": " ".join(sys.argv), "commit": commit(), "machine": machine(), "cases": figures}
        options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0 if all(figure["within"] for figure in figures.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
