"""Chroma: one persistent collection, the conversation as metadata that each query filters by, its HNSW cosine."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retentive.evaluate.peers.adapter import Ask, Request

PACKAGE = "chromadb"
MODE = "cosine"
_BATCH = 1000


def prepare(request: Request) -> Ask:
    """Fill the collection; returns how it is asked."""
    chromadb = importlib.import_module("chromadb")
    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(request.folder / "chroma"), settings=settings)
    memory = client.create_collection("memory", embedding_function=None, configuration={"hnsw": {"space": "cosine"}})
    for first in range(0, len(request.texts), _BATCH):
        rows = range(first, min(first + _BATCH, len(request.texts)))
        memory.add(
            ids=[str(row) for row in rows],
            embeddings=request.documents[first : rows.stop],
            documents=request.texts[first : rows.stop],
            metadatas=[{"scope": request.scopes[row]} for row in rows],
        )

    def ask(question: int) -> list[int]:
        found = memory.query(
            query_embeddings=[request.queries[question]],
            n_results=request.depth_of(question),
            where={"scope": request.question_scopes[question]},
        )
        return [int(row) for row in found["ids"][0]]

    return ask
