"""Why a memory stands where it stands: each part of its score as a bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from retentive import _constants as words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

    from retentive._results import Result
    from retentive.memory import ConversationMemory

WIDTH = 24  # columns of a part of 1
_NAMES = 16
_MOST_FEEDBACK = 2  # counts for no more, either way
_EIGHTHS = " ▏▎▍▌▋▊▉"
_NOT_SIGNALS = {"relevance", "relevance_norm", "recency", "feedback"}


class Part(NamedTuple):
    """What one thing adds; `depth` 0 adds up to the score, 1 to the relevance, 2 to the signal above."""

    name: str
    value: float
    depth: int


def parts(scoring: Mapping[str, float], settings: ConversationMemory) -> Iterator[Part]:
    """Yield relevance with its signals, strongest first, then recency and feedback as they count in the score.

    A signal that says nothing is left out. A search has no recency and no feedback.
    """
    # Signals add up to `relevance`; what counts is `relevance_norm`, its place between the least and the best found.
    yield Part("relevance", scoring.get("relevance_norm", scoring.get("relevance") or 0.0), 0)
    signals = {name: value for name, value in scoring.items() if name not in _NOT_SIGNALS and value}
    own = {name for name in signals if not name.startswith("dense_")}
    for name in sorted(own, key=lambda name: -abs(signals[name])):
        yield Part(name, signals[name], 1)
        if name == "dense":
            yield from (Part(half, signals[half], 2) for half in sorted(signals.keys() - own))
    if "recency" in scoring:
        yield Part("recency", settings.recency_weight * scoring["recency"], 0)
    if "feedback" in scoring:
        points = max(-_MOST_FEEDBACK, min(scoring["feedback"], _MOST_FEEDBACK))
        yield Part("feedback", settings.feedback_weight * points, 0)


def bars(result: Result, settings: ConversationMemory, out: Console, indent: int) -> Iterator[Text]:
    """Yield a line a part; one below 0 is red, with a minus before the number."""
    scoring = result.metadata.get(words.K_SCORING)
    if not scoring:
        return
    room = max(out.width - indent - _NAMES - 8, 4) if out.is_terminal else WIDTH * 2
    for name, value, depth in parts(scoring, settings):
        line = Text(" " * indent).append(f"{'  ' * depth + name:<{_NAMES}}{value:6.3f}")
        if bar := _bar(min(abs(value) * WIDTH, room), out.encoding):
            line.append(" ").append(bar, style="red" if value < 0 else "green" if depth else "cyan")
        yield line


def _bar(columns: float, encoding: str) -> str:
    if not encoding.lower().startswith("utf"):
        return "#" * round(columns)
    eighths = round(columns * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
