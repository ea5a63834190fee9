"""Remembers each conversation, asks its questions in every way, and notes how much of the evidence came back."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import retentive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from retentive.embedders import Embedder
    from retentive.evaluate.conversations import Conversation, Dataset, Question

    Found = tuple[Sequence[retentive.Result], int]

SESSION = "conversation"
"""Every turn goes into one session: sittings are found by the gap in time, as in a product."""


@dataclass(frozen=True, slots=True)
class Way:
    """A call under measurement: `method` with either a limit or a token budget."""

    method: str
    limit: int | None = None
    token_budget: int | None = None

    @property
    def key(self) -> str:
        """What the way is called in the figures, as `recall@10` or `context:1500`."""
        return f"{self.method}@{self.limit}" if self.token_budget is None else f"{self.method}:{self.token_budget}"


@dataclass(frozen=True, slots=True)
class Settings:
    """How memory is set up: the embedder, and weights of signals that differ from the defaults."""

    embedder: Embedder
    signals: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call handed back: the ids of its turns, its tokens, and the time it took."""

    ids: tuple[str, ...]
    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question, asked in one way: `found` of `labels` labelled turns were in the answer."""

    question: str
    category: str
    way: Way
    found: int
    labels: int
    memories: int
    tokens: int
    seconds: float

    @property
    def evidence(self) -> float:
        """The share of the question's labelled turns that came back."""
        return self.found / self.labels


def ways(tops: Iterable[int], budgets: Iterable[int]) -> tuple[Way, ...]:
    """Return the rows of a run: recall beside search at each size, and a context block beside both at each budget."""
    by_count = [Way(method, limit=top) for top in tops for method in ("recall", "search")]
    by_budget = [Way(method, token_budget=size) for size in budgets for method in ("context", "recall", "search")]
    return tuple(by_count + by_budget)


def measure(
    dataset: Dataset, rows: Sequence[Way], settings: Settings, progress: Callable[[int, int], None] | None = None
) -> list[Outcome]:
    """Ask every question of a data set in every way.

    Args:
        dataset: what to ask, and of which conversations.
        rows: the calls to measure.
        settings: the embedder and the weights.
        progress: told how many questions are done, of how many.

    Returns:
        One outcome for each question and way, in order.
    """
    outcomes: list[Outcome] = []
    done = 0
    for conversation in dataset.conversations:
        with retentive.Collection("evaluate", embedder=settings.embedder) as db:
            turn_of = _remember(db, conversation, settings)
            for question in conversation.questions:
                outcomes += [_outcome(question, way, ask(db, question, way), turn_of) for way in rows]
                done += 1
                if progress is not None:
                    progress(done, dataset.questions)
    return outcomes


def ask(db: retentive.Collection, question: Question, way: Way) -> Answer:
    """Put one question to the memory in one way."""
    start = time.perf_counter()
    items, tokens = _CALLS[way.method](db, question, way)
    return Answer(tuple(item.id for item in items), tokens, time.perf_counter() - start)


def _recall(db: retentive.Collection, question: Question, way: Way) -> Found:
    results = db.recall(
        question.text,
        session=SESSION,
        limit=way.limit,
        token_budget=way.token_budget,
        now=question.now,
        min_relevance=None,
    )
    return results, results.token_estimate


def _context(db: retentive.Collection, question: Question, way: Way) -> Found:
    block = db.context(
        question.text,
        session=SESSION,
        token_budget=way.token_budget or 0,
        recent_turns=0,
        limit=way.limit,
        now=question.now,
        min_relevance=None,
        excerpt=None,  # a label says nothing of what an excerpt leaves out
    )
    return block.retrieved, block.token_estimate


def _search(db: retentive.Collection, question: Question, way: Way) -> Found:
    results = db.search(question.text, limit=way.limit, token_budget=way.token_budget, session=SESSION)
    return results, results.token_estimate


_CALLS = {"recall": _recall, "context": _context, "search": _search}


def _remember(db: retentive.Collection, conversation: Conversation, settings: Settings) -> dict[str, str]:
    """Store the turns; returns the data set's turn id for each memory id."""
    if settings.signals:
        db.memory = retentive.ConversationMemory(db, signals=dict(settings.signals))
    items = [
        {
            "text": turn.text,
            "session": SESSION,
            "role": turn.role,
            "timestamp": turn.timestamp,
            **({"name": turn.name} if turn.name else {}),
        }
        for turn in conversation.turns
    ]
    ids = db.remember_many(items)
    return {memory: turn.id for memory, turn in zip(ids, conversation.turns, strict=True)}


def _outcome(question: Question, way: Way, answer: Answer, turn_of: Mapping[str, str]) -> Outcome:
    returned = {turn_of[memory] for memory in answer.ids}
    return Outcome(
        question=question.id,
        category=question.category,
        way=way,
        found=len(question.evidence & returned),
        labels=len(question.evidence),
        memories=len(answer.ids),
        tokens=answer.tokens,
        seconds=answer.seconds,
    )
