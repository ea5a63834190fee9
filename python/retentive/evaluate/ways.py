"""The calls under measurement: each puts one question to a collection, within a number of memories or of tokens."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from retentive.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import retentive
    from retentive.evaluate.conversations import Question

    Found = tuple[Sequence[retentive.Result], str, int]

SESSION = "conversation"
"""Every turn goes into one session: sittings are found by the gap in time, as in a product."""

BLOCKS = ("context", "excerpts", "defaults", "defaults_whole")
"""What `context` builds under a budget: all that fits of the best whole turns, the same as excerpts, and what a user
gets who gives the budget alone, with excerpts and without."""

BASELINES = ("search", "cosine")
"""What the collection can do without being a memory: hybrid search, and the exact cosine of the same vectors."""


@dataclass(frozen=True, slots=True)
class Way:
    """A call under measurement, with a limit, with a token budget, or with the defaults of the product."""

    call: str
    limit: int | None = None
    token_budget: int | None = None

    @property
    def key(self) -> str:
        """What the way is called in the figures, as `recall@10`, `context:1500` or `recall-default`."""
        if self.token_budget is not None:
            return f"{self.call}:{self.token_budget}"
        return f"{self.call}-default" if self.limit is None else f"{self.call}@{self.limit}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call handed back: the ids of its memories, the text a model would read, its tokens, the time it took."""

    ids: tuple[str, ...]
    text: str
    tokens: int
    seconds: float


def ways(tops: Iterable[int], budgets: Iterable[int]) -> tuple[Way, ...]:
    """Return the rows of a run: the calls with their defaults first, then each size, each with the baselines beside."""
    default = [Way("recall"), Way("context")]
    by_count = [Way(call, limit=top) for top in tops for call in ("recall", *BASELINES)]
    by_budget = [Way(call, token_budget=size) for size in budgets for call in (*BLOCKS, "recall", *BASELINES)]
    return tuple(default + by_count + by_budget)


def ask(db: retentive.Collection, question: Question, way: Way) -> Answer:
    """Put one question to the memory in one way."""
    start = time.perf_counter()
    items, text, tokens = _CALLS[way.call](db, question, way)
    return Answer(tuple(item.id for item in items), text, tokens, time.perf_counter() - start)


def as_read(text: str, name: str | None) -> str:
    """Return a memory as a model would read it in a list: with its speaker, where it has one."""
    return text if name is None else f"{name}: {text}"


def _recall(db: retentive.Collection, question: Question, way: Way) -> Found:
    if way.limit is way.token_budget is None:
        return _listed(db.recall(question.text, session=SESSION, now=question.now))
    return _listed(
        db.recall(
            question.text,
            session=SESSION,
            limit=way.limit,
            token_budget=way.token_budget,
            now=question.now,
            min_relevance=None,
        )
    )


def _context(db: retentive.Collection, question: Question, way: Way) -> Found:
    if way.token_budget is None:
        return _shown(db.context(question.text, session=SESSION, now=question.now))
    return _block(db, question, way.token_budget, None)


def _defaults(db: retentive.Collection, question: Question, way: Way) -> Found:
    budget = way.token_budget or 0
    return _shown(db.context(question.text, session=SESSION, token_budget=budget, now=question.now))


def _defaults_whole(db: retentive.Collection, question: Question, way: Way) -> Found:
    budget = way.token_budget or 0
    return _shown(db.context(question.text, session=SESSION, token_budget=budget, now=question.now, excerpt=None))


def _shown(block: retentive.ContextBlock) -> Found:
    return (*block.pinned, *block.recent, *block.retrieved), block.text, block.token_estimate


def _excerpts(db: retentive.Collection, question: Question, way: Way) -> Found:
    return _block(db, question, way.token_budget or 0, "auto")


def _block(db: retentive.Collection, question: Question, budget: int, excerpt: Literal["auto"] | None) -> Found:
    block = db.context(
        question.text,
        session=SESSION,
        token_budget=budget,
        recent_turns=0,
        limit=None,
        now=question.now,
        excerpt=excerpt,
        min_relevance=None,
    )
    return block.retrieved, block.text, block.token_estimate


def _search(db: retentive.Collection, question: Question, way: Way) -> Found:
    return _listed(db.search(question.text, limit=way.limit, token_budget=way.token_budget, session=SESSION))


def _cosine(db: retentive.Collection, question: Question, way: Way) -> Found:
    budget = way.token_budget
    return _listed(db.search(question.text, limit=way.limit, mode="dense", token_budget=budget, session=SESSION))


def _listed(results: retentive.Results) -> Found:
    text = "\n".join(as_read(item.text, item.name) for item in results)
    tokens = results.token_estimate
    if not tokens and text:
        tokens = sum(estimate_tokens(as_read(item.text, item.name)) for item in results)
    return results, text, tokens


_CALLS = {
    "recall": _recall,
    "context": _context,
    "excerpts": _excerpts,
    "defaults": _defaults,
    "defaults_whole": _defaults_whole,
    "search": _search,
    "cosine": _cosine,
}
