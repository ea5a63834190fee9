"""retentive through its public facade: all signals, the default durability."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from retentive import CallableEmbedder, Collection
from serve import GivenVectors, Row, Vector

PACKAGE = "retentive"
MODE = "recall, all signals"
SCOPE = "session"
DURABLE = "1 fsync"
BATCH = 10_000


def open(folder: Path, dimension: int, given: GivenVectors) -> Store:  # noqa: A001 - the name each adapter has
    """An empty store."""
    return Store(folder, dimension, given)


class Store:
    """One collection, a session each."""

    def __init__(self, folder: Path, dimension: int, given: GivenVectors) -> None:
        # A collection tells embedders apart by one text of its own, which has to have a vector too.
        probe = np.full(dimension, dimension**-0.5, np.float32)

        def embed(texts: list[str]) -> Vector:
            return np.stack([given.get(text, probe) for text in texts])

        self._db = Collection("bench", path=folder, embedder=CallableEmbedder("given", dimension, embed))

    def add(self, rows: list[Row]) -> None:
        """All in one call, with their vectors."""
        self._db.remember_many(self._items(rows))

    def _items(self, rows: list[Row]) -> Iterator[dict[str, Any]]:
        for row in rows:
            yield {
                "id": str(row.number),
                "text": row.text,
                "session": row.session,
                "role": row.role,
                "timestamp": datetime.fromisoformat(row.time),
                "vector": row.vector,
            }

    def finish(self) -> None:
        """Nothing is left to do."""

    def remember(self, row: Row) -> None:
        """One call, its vector by the embedder."""
        self._db.remember(
            row.text, row.session, row.role, id=str(row.number), timestamp=datetime.fromisoformat(row.time)
        )

    def recall(self, question: Row, limit: int) -> list[int]:
        """Ten memories whatever the question: the others have no refusal."""
        found = self._db.recall(question.text, question.session, limit, min_relevance=None)
        return [int(name) for name in found.ids]

    def context(self, question: Row) -> str:
        """The default block: recent turns, ten memories, 1,500 tokens."""
        return self._db.context(question.text, question.session, min_relevance=None).text

    def close(self) -> None:
        """Close the collection."""
        self._db.close()
