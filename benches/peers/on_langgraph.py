"""LangGraph's SqliteStore: the session as a namespace, its vector search (sqlite-vec's functions)."""

from __future__ import annotations

import sys
from pathlib import Path

import pysqlite3

from serve import GivenVectors, Row

sys.modules["sqlite3"] = pysqlite3  # Python's own is often built without extensions, which the store needs

from langgraph.store.base import PutOp  # noqa: E402 - after the line above
from langgraph.store.sqlite import SqliteStore  # noqa: E402

PACKAGE = "langgraph-checkpoint-sqlite"
MODE = "exact cosine"
SCOPE = "namespace"
DURABLE = "4 fsyncs (rollback journal)"
BATCH = 1_000


def open(folder: Path, dimension: int, given: GivenVectors) -> Store:  # noqa: A001 - the name each adapter has
    """An empty store."""
    return Store(folder, dimension, given)


class Store:
    """One store, indexed by the text."""

    def __init__(self, folder: Path, dimension: int, given: GivenVectors) -> None:
        self._db = pysqlite3.connect(str(folder / "store.db"), check_same_thread=False, isolation_level=None)
        # `fields` is what is documented, `text_fields` what version 3.1.2 reads: else it embeds the whole value.
        index = {"dims": dimension, "embed": given.embed, "fields": ["text"], "text_fields": ["text"]}
        self._store = SqliteStore(self._db, index=index)
        self._store.setup()

    def add(self, rows: list[Row]) -> None:
        """One batch."""
        self._store.batch([PutOp(("memory", row.session), str(row.number), _value(row)) for row in rows])

    def finish(self) -> None:
        """Nothing is left to do."""

    def remember(self, row: Row) -> None:
        """One put."""
        self._store.put(("memory", row.session), str(row.number), _value(row))

    def recall(self, question: Row, limit: int) -> list[int]:
        """The nearest, with their values."""
        found = self._store.search(("memory", question.session), query=question.text, limit=limit)
        return [int(item.key) for item in found]

    def close(self) -> None:
        """Close the file."""
        self._store.stop_ttl_sweeper()
        self._db.close()


def _value(row: Row) -> dict[str, str]:
    return {"text": row.text, "role": row.role, "time": row.time}
