"""LongMemEval's own retrieval protocol (`src/retrieval` of its repository), as far as a memory can follow it.

Only what the user said is ranked; the labels are those turns that hold the answer. Three of its habits are kept, since
figures are compared with it: the gain of rank 2 is not discounted; a session is found only through one of its labelled
turns; and session figures at k look as far down the ranking as k different sessions take, with the session's other
turns counting as another one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import retentive
from retentive.evaluate.ways import SESSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retentive.evaluate.conversations import Conversation, Question

    Label = tuple[str, bool]

DEPTHS = (5, 10)
TURNS_A_SESSION = 5
"""How many turns are asked for, for each session that is to be found."""

METRICS = ("recall_any", "recall_all", "ndcg_any")
USER = "user"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question by the protocol: `values["recall"]["turn recall_any@5"]` and so on, for each call."""

    question: str
    category: str
    values: Mapping[str, Mapping[str, float]]


def measured(
    db: retentive.Collection,
    question: Question,
    conversation: Conversation,
    turns_of: Mapping[str, frozenset[str]],
) -> Outcome | None:
    """Ask a question by the protocol; None where the user said nothing of the answer: nothing can be found then."""
    session_of = {turn.id: turn.session for turn in conversation.turns if turn.role == USER}
    labels = question.evidence & session_of.keys()
    if not labels:
        return None
    memory = db.memory
    db.memory = retentive.ConversationMemory(
        db, signals=dict(memory.signals), recency_weight=memory.recency_weight, recall_roles=(USER,)
    )
    values: dict[str, dict[str, float]] = {}
    for call in ("recall", "search", "cosine"):
        values[call] = {}
        for k in DEPTHS:
            for level, limit in (("turn", k), ("session", k * TURNS_A_SESSION)):
                ranked = [next(iter(turns_of[memory_id])) for memory_id in _ranked(db, question, call, limit)]
                marks = [(session_of[turn], turn in labels) for turn in ranked]
                found = (
                    at_turns(marks, len(labels), k) if level == "turn" else at_sessions(marks, labels, session_of, k)
                )
                values[call] |= {f"{level} {metric}@{k}": value for metric, value in zip(METRICS, found, strict=True)}
    db.memory = memory
    return Outcome(question.id, question.category, values)


def at_turns(ranked: Sequence[Label], labels: int, k: int) -> tuple[float, float, float]:
    """Return recall_any, recall_all and ndcg_any at `k` of turns marked (session, labelled), best first."""
    hits = [labelled for _, labelled in ranked[:k]]
    return float(any(hits)), float(sum(hits) == labels), _gain(hits) / _gain([True] * min(labels, k))


def at_sessions(
    ranked: Sequence[Label], labels: frozenset[str], session_of: Mapping[str, str], k: int
) -> tuple[float, float, float]:
    """Return the same of sessions: `ranked` as far down as `k` different ones take."""
    depth = 0
    seen: set[Label] = set()
    while depth < len(ranked) and len(seen) < k:
        seen.add(ranked[depth])
        depth += 1
    wanted = {(session_of[turn], True) for turn in labels}
    found = seen & wanted
    gain = _gain([labelled for _, labelled in ranked[:depth]]) / _gain([True] * min(len(labels), max(depth, 1)))
    return float(bool(found)), float(found == wanted), gain


def _gain(hits: Sequence[bool]) -> float:
    """Discounted cumulative gain as the protocol has it: ranks 1 and 2 count in full, rank n `1 / log2(n)`."""
    return sum(1.0 if rank == 1 else 1 / math.log2(rank) for rank, hit in enumerate(hits, 1) if hit)


def _ranked(db: retentive.Collection, question: Question, call: str, limit: int) -> list[str]:
    if call == "recall":
        return db.recall(question.text, session=SESSION, limit=limit, now=question.now, min_relevance=None).ids
    mode = "hybrid" if call == "search" else "dense"
    return db.search(question.text, limit=limit, mode=mode, session=SESSION, filter={"_vx_role": USER}).ids
