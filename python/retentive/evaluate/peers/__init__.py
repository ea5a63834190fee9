"""Other libraries, asked the same questions over the same texts and vectors, each in an environment of its own."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retentive.embedders._pair import models_of
from retentive.evaluate.measure import judged
from retentive.evaluate.peers.environments import PeerError, environment, execute
from retentive.evaluate.ways import Answer, Way, as_read
from retentive.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retentive.evaluate.conversations import Conversation, Dataset
    from retentive.evaluate.measure import Measured, Outcome

REQUIREMENTS = {
    "chroma": ("chromadb==1.5.9",),
    "lancedb": ("lancedb==0.40.0",),
    "sqlite-vec": ("sqlite-vec==0.1.9", "apsw"),
    "vectrixdb": ("vectrixdb==2.2.0", "onnxruntime"),
}
"""What is installed for each; a figure is of these versions."""

SMALLEST = 10
"""Tokens a memory has at least, about: how many are asked for, so that a budget can be filled."""

_RUN_SECONDS = 3600


@dataclass(slots=True)
class Peer:
    """A library under comparison: what it said of itself, or why there are no figures."""

    name: str
    embedder: str
    version: str | None = None
    mode: str | None = None
    error: str | None = None

    @property
    def call(self) -> str:
        """What its rows are called, as `chroma 1.5.9, cosine`."""
        return f"{self.name} {self.version}, {self.mode}"

    def described(self) -> dict[str, Any]:
        """Return what the figures say of it."""
        return {
            "name": self.name,
            "requirements": list(REQUIREMENTS[self.name]),
            "embedder": self.embedder,
            "call": self.call,
            "version": self.version,
            "mode": self.mode,
            "error": self.error,
        }


def measure_peer(
    name: str,
    dataset: Dataset,
    base: Measured,
    tops: Sequence[int],
    budgets: Sequence[int],
    environments: Path,
) -> Peer:
    """Ask a peer every question and add its rows to those of `base`, whose embedder it is given the vectors of.

    Args:
        name: one of `REQUIREMENTS`.
        dataset: what to ask, and of which conversations; each is a scope of the peer's one store.
        base: the run that it stands beside.
        tops: numbers of memories.
        budgets: token budgets, filled in the peer's order, skipping what does not fit.
        environments: the folder that its environment is in, or is made in.
    """
    peer = Peer(name, base.run.name)
    try:
        python = _environment(name, environments)
        with tempfile.TemporaryDirectory(prefix="retentive-peer-") as folder:
            _write(Path(folder), dataset, base, depth=max([*tops, *(budget // SMALLEST for budget in budgets)]))
            answer = _run(python, name, Path(folder))
        peer.version, peer.mode = answer["version"], answer["mode"]
        rows = [Way(peer.call, limit=top) for top in tops] + [Way(peer.call, token_budget=size) for size in budgets]
        base.outcomes += _outcomes(dataset, answer, rows)
    except PeerError as error:
        peer.error = str(error)
    return peer


def _outcomes(dataset: Dataset, answer: dict[str, Any], rows: Sequence[Way]) -> list[Outcome]:
    asked = iter(zip(answer["ranked"], answer["seconds"], strict=True))
    outcomes: list[Outcome] = []
    first = 0
    for conversation in dataset.conversations:
        packer = _Packer(conversation, first)
        for question in conversation.questions:
            ranked, seconds = next(asked)
            answers = [(way, packer.answer(ranked, way, seconds)) for way in rows]
            outcomes += [judged(question, way, packed, packer.turns_of) for way, packed in answers]
        first += len(conversation.turns)
    return outcomes


class _Packer:
    """Turns a peer's ranking of one conversation, whose rows count from `first`, into answers."""

    def __init__(self, conversation: Conversation, first: int) -> None:
        self._first = first
        self._ids = [turn.id for turn in conversation.turns]
        self._texts = [as_read(turn.text, turn.name) for turn in conversation.turns]
        self._tokens = [estimate_tokens(text) for text in self._texts]
        self.turns_of = {turn: frozenset({turn}) for turn in self._ids}

    def answer(self, ranked: Sequence[int], way: Way, seconds: float) -> Answer:
        """Return what fits, in the peer's order."""
        rows = [row - self._first for row in ranked]
        if any(not 0 <= row < len(self._ids) for row in rows):
            raise PeerError("it returned memories of another conversation")
        taken = rows[: way.limit] if way.token_budget is None else self._fitting(rows, way.token_budget)
        text = "\n".join(self._texts[row] for row in taken)
        return Answer(tuple(self._ids[row] for row in taken), text, sum(self._tokens[row] for row in taken), seconds)

    def _fitting(self, rows: Sequence[int], budget: int) -> list[int]:
        taken: list[int] = []
        for row in rows:
            if self._tokens[row] <= budget:
                budget -= self._tokens[row]
                taken.append(row)
        return taken


def _write(folder: Path, dataset: Dataset, base: Measured, depth: int) -> None:
    """Lay out what an adapter reads: `request.json`, `documents.npy` [n, d], `queries.npy` [m, d], both float32."""
    import numpy as np

    embedder = models_of(base.run.settings.embedder)[0]
    texts = [as_read(turn.text, turn.name) for talk in dataset.conversations for turn in talk.turns]
    questions = [question.text for talk in dataset.conversations for question in talk.questions]
    request = {
        "depth": depth,
        "texts": texts,
        "scopes": [index for index, talk in enumerate(dataset.conversations) for _ in talk.turns],
        "questions": questions,
        "question_scopes": [index for index, talk in enumerate(dataset.conversations) for _ in talk.questions],
    }
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    np.save(folder / "documents.npy", np.asarray(embedder.embed_documents(texts), np.float32))
    np.save(folder / "queries.npy", np.stack([embedder.embed_query(text) for text in questions]).astype(np.float32))


def _environment(name: str, environments: Path) -> Path:
    return environment(name, REQUIREMENTS[name], environments)


def _run(python: Path, name: str, folder: Path) -> dict[str, Any]:
    adapter = Path(__file__).with_name("adapter.py")
    execute([str(python), str(adapter), name.replace("-", "_"), str(folder)], "its adapter", _RUN_SECONDS, cwd=folder)
    answer: dict[str, Any] = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
    return answer
