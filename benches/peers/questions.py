"""The questions that the figures answer: one table and one plot each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from pair import OURS, THEIRS

Figure = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, of which measure, and how an answer is written."""

    measure: str
    asks: str
    unit: str
    value: Callable[[Figure], float]
    more_is_better: bool = False


def _milliseconds(figure: Figure) -> float:
    return figure["median_ms"]


QUESTIONS = (
    Question("recall", "How long does it take to recall ten memories of one session?", "ms", _milliseconds),
    Question("context", "How long does a block for a prompt take?", "ms", _milliseconds),
    Question("remember", "How long does one write take?", "ms", _milliseconds),
    Question("load", "How fast are many loaded?", "rows/s", lambda figure: figure["rows_per_s"], more_is_better=True),
    Question("disk", "How much does it take on disk?", "MB", lambda figure: figure["bytes"] / 1e6),
    Question("memory", "How much memory does its process take?", "MB", lambda figure: figure["bytes"] / 1e6),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """One library at one size: its value, and how often retentive's cost fits into its own; or why there is none."""

    library: str
    memories: int
    value: float | None
    tail: tuple[float, float] | None = None
    factor: float | None = None
    reason: str = ""


def answers(result: Mapping[str, Any], question: Question) -> list[Answer]:
    """Of retentive (median of its runs beside each peer) and of each peer, by size, but for those that lack it."""
    found: list[Answer] = []
    for size in result["settings"]["sizes"]:
        cases = [(peer, case) for peer in result["peers"] for case in peer["cases"] if case["memories"] == size]
        sides = [case["figures"].get(question.measure, {}) for _, case in cases]
        ours = [side[OURS] for side in sides if OURS in side]
        if ours:
            tails = [(figure["p95_ms"], figure["p99_ms"]) for figure in ours if "p95_ms" in figure]
            tail = (median(one for one, _ in tails), median(other for _, other in tails)) if tails else None
            found.append(Answer(OURS, size, median(question.value(figure) for figure in ours), tail))
        found += [_answer(peer, case, question) for peer, case in cases if _has(peer, question)]
    return found


def _has(peer: Mapping[str, Any], question: Question) -> bool:
    return question.measure != "context" or peer.get("context", False)


def _answer(peer: Mapping[str, Any], case: Mapping[str, Any], question: Question) -> Answer:
    figure = case["figures"].get(question.measure, {}).get(THEIRS)
    if figure is None:
        stopped = f"stopped {case['stopped']}" if case["stopped"] else ""
        return Answer(peer["name"], case["memories"], None, reason=stopped or "failed")
    tail = (figure["p95_ms"], figure["p99_ms"]) if "p95_ms" in figure else None
    partly = case["stopped"] or "" if question.measure == "load" else ""
    factor = case["factor"].get(question.measure)
    return Answer(peer["name"], case["memories"], question.value(figure), tail, factor, partly)
