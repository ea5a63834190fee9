"""The program that asks a peer: `python adapter.py NAME FOLDER`, with `on_NAME.py` beside it.

Runs in the peer's environment, where numpy is and retentive is not.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]
    Ask = Callable[[int], list[int]]
    """Rows of the texts, best first, for the number of a question."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked: rows of `documents` belong to `texts`, each in a scope that its questions may not leave."""

    folder: Path
    depth: int
    texts: list[str]
    scopes: list[int]
    questions: list[str]
    question_scopes: list[int]
    documents: npt.NDArray[np.float32]
    queries: npt.NDArray[np.float32]

    def depth_of(self, question: int) -> int:
        """How many memories the question asks for: no more than its scope has."""
        return min(self.depth, self.scopes.count(self.question_scopes[question]))


def main() -> None:
    """Read the request in the folder named on the command line, ask everything, write `answer.json` beside it."""
    peer = importlib.import_module(f"on_{sys.argv[1]}")
    folder = Path(sys.argv[2])
    fields: dict[str, Any] = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    documents, queries = np.load(folder / "documents.npy"), np.load(folder / "queries.npy")
    ask: Ask = peer.prepare(Request(folder=folder, documents=documents, queries=queries, **fields))
    ranked, seconds = [], []
    for question in range(len(fields["questions"])):
        start = time.perf_counter()
        ranked.append([int(row) for row in ask(question)])
        seconds.append(time.perf_counter() - start)
    answer = {"version": version(peer.PACKAGE), "mode": peer.MODE, "ranked": ranked, "seconds": seconds}
    (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
