"""sqlite-vec: one vec0 table, the session as its partition key, the text in an auxiliary column, exact cosine."""

from __future__ import annotations

from pathlib import Path

import apsw
import sqlite_vec

from serve import GivenVectors, Row

PACKAGE = "sqlite-vec"
MODE = "exact cosine"
SCOPE = "partition key"
DURABLE = "1 fsync (WAL, synchronous=FULL)"
BATCH = 10_000
_INSERT = "INSERT INTO memory (rowid, session, vector, text) VALUES (?, ?, ?, ?)"


def open(folder: Path, dimension: int, _: GivenVectors) -> Store:  # noqa: A001 - the name each adapter has
    """An empty store."""
    return Store(folder, dimension)


class Store:
    """One table; `apsw`, since Python's own sqlite3 is often built without extensions."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self._db = apsw.Connection(str(folder / "vectors.db"))
        self._db.enable_load_extension(True)
        self._db.load_extension(sqlite_vec.loadable_path())
        self._db.pragma("journal_mode", "wal")
        self._db.pragma("synchronous", "full")
        self._db.execute(
            "CREATE VIRTUAL TABLE memory USING vec0"
            f"(session TEXT PARTITION KEY, vector FLOAT[{dimension}] DISTANCE_METRIC=cosine, +text TEXT)"
        )

    def add(self, rows: list[Row]) -> None:
        """One transaction."""
        fields = ((row.number + 1, row.session, row.vector.tobytes(), row.text) for row in rows)
        with self._db:
            self._db.executemany(_INSERT, fields)

    def finish(self) -> None:
        """Nothing is left to do."""

    def remember(self, row: Row) -> None:
        """One transaction of one row."""
        self.add([row])

    def recall(self, question: Row, limit: int) -> list[int]:
        """The nearest, with their texts."""
        found = self._db.execute(
            "SELECT rowid, text FROM memory WHERE vector MATCH ? AND k = ? AND session = ? ORDER BY distance",
            (question.vector.tobytes(), limit, question.session),
        )
        return [row - 1 for row, _ in found]

    def close(self) -> None:
        """Close the file."""
        self._db.close()
