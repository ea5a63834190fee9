"""LanceDB: one table, the conversation as a column that each query filters by, its hybrid search (vectors and BM25)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retentive.evaluate.peers.adapter import Ask, Request

PACKAGE = "lancedb"
MODE = "hybrid"


def prepare(request: Request) -> Ask:
    """Fill the table and index its texts; returns how it is asked."""
    lancedb = importlib.import_module("lancedb")
    rows = zip(request.scopes, request.texts, request.documents, strict=True)
    table = lancedb.connect(str(request.folder / "lance")).create_table(
        "memory",
        [
            {"row": row, "scope": scope, "text": text, "vector": vector.tolist()}
            for row, (scope, text, vector) in enumerate(rows)
        ],
    )
    table.create_fts_index("text")

    def ask(question: int) -> list[int]:
        found = (
            table.search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
            .vector(request.queries[question].tolist())
            .text(request.questions[question])
            .distance_type("cosine")
            .where(f"scope = {request.question_scopes[question]}", prefilter=True)
            .limit(request.depth_of(question))
            .to_list()
        )
        return [hit["row"] for hit in found]

    return ask
