"""sqlite-vec: one vec0 table, the conversation as its partition key, exact cosine."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retentive.evaluate.peers.adapter import Ask, Request

PACKAGE = "sqlite-vec"
MODE = "cosine"


def prepare(request: Request) -> Ask:
    """Fill the table; returns how it is asked."""
    apsw = importlib.import_module("apsw")  # Python's own sqlite3 is often built without extensions
    db = apsw.Connection(str(request.folder / "vectors.db"))
    db.enable_load_extension(True)
    db.load_extension(importlib.import_module("sqlite_vec").loadable_path())
    dimension = request.documents.shape[1]
    db.execute(
        "CREATE VIRTUAL TABLE memory USING vec0"
        f"(scope INTEGER PARTITION KEY, vector FLOAT[{dimension}] DISTANCE_METRIC=cosine)"
    )
    rows = zip(request.scopes, request.documents, strict=True)
    with db:
        db.executemany(
            "INSERT INTO memory (rowid, scope, vector) VALUES (?, ?, ?)",
            ((row, scope, vector.tobytes()) for row, (scope, vector) in enumerate(rows, 1)),
        )

    def ask(question: int) -> list[int]:
        found = db.execute(
            "SELECT rowid FROM memory WHERE vector MATCH ? AND k = ? AND scope = ? ORDER BY distance",
            (request.queries[question].tobytes(), request.depth_of(question), request.question_scopes[question]),
        )
        return [row - 1 for (row,) in found]

    return ask
