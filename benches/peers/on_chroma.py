"""Chroma: one persistent collection, the session as metadata that each query filters by, its HNSW cosine."""

from __future__ import annotations

from pathlib import Path

import chromadb

from serve import GivenVectors, Row

PACKAGE = "chromadb"
MODE = "approximate cosine (HNSW)"
SCOPE = "where filter"
DURABLE = "8 fsyncs"
BATCH = 5_000


def open(folder: Path, _dimension: int, _: GivenVectors) -> Store:  # noqa: A001 - the name each adapter has
    """An empty store."""
    return Store(folder)


class Store:
    """One collection."""

    def __init__(self, folder: Path) -> None:
        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(folder), settings=settings)
        configuration = {"hnsw": {"space": "cosine"}}
        self._memory = self._client.create_collection("memory", embedding_function=None, configuration=configuration)

    def add(self, rows: list[Row]) -> None:
        """All in one call."""
        self._memory.add(
            ids=[str(row.number) for row in rows],
            embeddings=[row.vector for row in rows],
            documents=[row.text for row in rows],
            metadatas=[{"session": row.session, "role": row.role, "time": row.time} for row in rows],
        )

    def finish(self) -> None:
        """Nothing is left to do."""

    def remember(self, row: Row) -> None:
        """A call of one."""
        self.add([row])

    def recall(self, question: Row, limit: int) -> list[int]:
        """The nearest, with their texts."""
        found = self._memory.query(
            query_embeddings=[question.vector], n_results=limit, where={"session": question.session}
        )
        return [int(name) for name in found["ids"][0]]

    def close(self) -> None:
        """The client has no close of its own in every version: what it wrote is in its files."""
        close = getattr(self._client, "close", None)
        if close is not None:
            close()
