"""Every call of the facade beside the floor of a read or a write, in one run; pytest-benchmark prints the ratios.

    pytest -o pythonpath=benches/python -o addopts= benches/python/test_facade.py

Each group has the figures of one size: a session of 500 memories, or of 10,000. The number in brackets behind each
figure is how many times the smallest of its group it is. `make bench` runs it; the suite does not.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, cycle
from pathlib import Path

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from retentive import CallableEmbedder, Collection
from rows import DIMENSION, Rows
from run import ROW_BYTES, KnownVectors

SESSION = "session-0"
QUERIES = 50
BULK = 1_000


@dataclass(frozen=True)
class Case:
    """A collection of one session, and what it is asked."""

    folder: Path
    rows: Rows
    embedder: CallableEmbedder
    db: Collection
    queries: list[str]

    def open(self) -> Collection:
        """Return one more handle on it."""
        return Collection("bench", path=self.folder, embedder=self.embedder)


@pytest.fixture(scope="module", params=[500, 10_000])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    rows = Rows(request.param, request.param)
    vectors = KnownVectors(rows)
    embedder = CallableEmbedder("bench", DIMENSION, lambda texts: np.stack([vectors[text] for text in texts]))
    queries = [rows.text() for _ in range(QUERIES)]
    for text in queries:
        vectors[text] = rows.vector()
    folder = tmp_path_factory.mktemp("bench")
    db = Collection("bench", path=folder, embedder=embedder)
    db.remember_many(rows.items())
    yield Case(folder, rows, embedder, db, queries)
    db.close()


@pytest.fixture(autouse=True)
def of_one_size(case: Case, benchmark: BenchmarkFixture, request: pytest.FixtureRequest) -> None:
    """Put what is measured into the group of its size, reads and writes apart."""
    kind = "writes" if "write" in request.node.name or "remember" in request.node.name else "reads"
    benchmark.group = f"{kind}, {case.rows.size:,} memories"


def test_floor_of_a_read(case: Case, benchmark: BenchmarkFixture) -> None:
    """One product over the vectors in numpy, ten rows by rowid."""
    vectors = np.random.default_rng(1).standard_normal((case.rows.size, DIMENSION)).astype(np.float32)
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE row (seq INTEGER PRIMARY KEY, body BLOB)")
    base.executemany("INSERT INTO row VALUES (?, ?)", ((seq, b"x" * 200) for seq in range(case.rows.size)))

    def read() -> None:
        first = int(np.argmax(vectors @ vectors[0]))
        for offset in range(10):
            base.execute("SELECT body FROM row WHERE seq = ?", ((first + 37 * offset) % case.rows.size,)).fetchone()

    benchmark(read)


def test_recall(case: Case, benchmark: BenchmarkFixture) -> None:
    queries = cycle(case.queries)
    found = benchmark(lambda: case.db.recall(next(queries), session=SESSION, min_relevance=None))
    assert len(found) == 10


def test_context(case: Case, benchmark: BenchmarkFixture) -> None:
    queries = cycle(case.queries)
    block = benchmark(lambda: case.db.context(next(queries), session=SESSION, min_relevance=None))
    assert block.retrieved


def test_open(case: Case, benchmark: BenchmarkFixture) -> None:
    benchmark(lambda: case.open().close())


def test_first_recall(case: Case, benchmark: BenchmarkFixture) -> None:
    """By a handle that has read nothing yet; opening it is not counted."""

    def fresh() -> tuple[tuple[Collection], dict[str, object]]:
        return (case.open(),), {}

    def first(db: Collection) -> None:
        db.recall(case.queries[0], session=SESSION, min_relevance=None)

    benchmark.pedantic(first, setup=fresh, rounds=20)


def test_recall_after_another_handle_wrote(case: Case, benchmark: BenchmarkFixture) -> None:
    """What catching up with one memory adds."""
    with case.open() as other:

        def write() -> None:
            other.remember(case.queries[0], session=SESSION)

        benchmark.pedantic(
            lambda: case.db.recall(case.queries[1], session=SESSION, min_relevance=None), setup=write, rounds=50
        )


def test_floor_of_a_write(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """One row of the same bytes in one durable transaction."""
    base = sqlite3.connect(tmp_path / "floor.db", isolation_level=None)
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("PRAGMA synchronous=FULL")
    base.execute("CREATE TABLE row (seq INTEGER PRIMARY KEY, body BLOB)")
    benchmark(lambda: base.execute("INSERT INTO row (body) VALUES (?)", (b"x" * ROW_BYTES,)))


def test_remember(case: Case, benchmark: BenchmarkFixture) -> None:
    queries = cycle(case.queries)
    benchmark(lambda: case.db.remember(next(queries), session="written"))


def test_remember_many(case: Case, benchmark: BenchmarkFixture) -> None:
    """A thousand at once, vectors given."""
    rows = Rows(BULK, BULK)
    items = list(rows.items())
    sessions = count()

    def write() -> None:
        session = f"bulk-{next(sessions)}"
        case.db.remember_many({**item, "session": session} for item in items)

    benchmark.pedantic(write, rounds=5)
