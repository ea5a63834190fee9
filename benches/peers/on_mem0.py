"""mem0 with a local Qdrant, `infer=False`: texts as they are, the session as its user, no language model asked."""

from __future__ import annotations

import os
from pathlib import Path

from serve import GivenVectors, Row

# Before the import, which reads them. The key belongs to a client that is made and never asked.
os.environ.update(MEM0_TELEMETRY="False", OPENAI_API_KEY="none")

from mem0 import Memory

PACKAGE = "mem0ai"
MODE = "its search, vectors alone (its keyword search needs models from a hub)"
SCOPE = "user_id"
DURABLE = "8 fsyncs"
BATCH = 100


class Given:
    """Stands in for an embedding model of mem0's."""

    def __init__(self, given: GivenVectors) -> None:
        self._given = given

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002 - mem0's signature
        """The vector that is given."""
        return self._given[text].tolist()


def open(folder: Path, dimension: int, given: GivenVectors) -> Store:  # noqa: A001 - the name each adapter has
    """An empty store."""
    return Store(folder, dimension, given)


class Store:
    """One memory, on disk."""

    def __init__(self, folder: Path, dimension: int, given: GivenVectors) -> None:
        config = {"path": str(folder / "qdrant"), "embedding_model_dims": dimension, "on_disk": True}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": {**config, "collection_name": "memory"}},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = Given(given)

    def add(self, rows: list[Row]) -> None:
        """One by one: metadata is per call."""
        for row in rows:
            self.remember(row)

    def finish(self) -> None:
        """Nothing is left to do."""

    def remember(self, row: Row) -> None:
        """One call."""
        said = [{"role": row.role, "content": row.text}]
        self._memory.add(said, user_id=row.session, metadata={"number": row.number, "time": row.time}, infer=False)

    def recall(self, question: Row, limit: int) -> list[int]:
        """No threshold: ten are asked for."""
        found = self._memory.search(question.text, top_k=limit, filters={"user_id": question.session}, threshold=0.0)
        return [hit["metadata"]["number"] for hit in found["results"]]

    def close(self) -> None:
        """Let go of both files."""
        self._memory.close()
        self._memory.vector_store.client.close()
