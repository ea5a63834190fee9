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
    """What one thing adds; `depth` 0 adds up to the score, 1 is what the line above was made of."""

    name: str
    value: float
    depth: int


def parts(scoring: Mapping[str, float], settings: ConversationMemory) -> Iterator[Part]:
    """Yield what adds up to the score, under the names of `_vx_scoring`, each with what it was made of.

    Of `recall`: relevance over the pool with its signals, strongest first, and recency and feedback times what they
    weigh. Of `search`: its signals. A signal that says nothing is left out.
    """
    if "relevance_norm" not in scoring:
        yield from _signals(scoring, 0)
        return
    yield Part("relevance_norm", scoring["relevance_norm"], 0)
    yield from _signals(scoring, 1)
    yield Part(f"recency * {settings.recency_weight:g}", settings.recency_weight * scoring["recency"], 0)
    points = max(-_MOST_FEEDBACK, min(scoring["feedback"], _MOST_FEEDBACK))
    yield Part(f"feedback * {settings.feedback_weight:g}", settings.feedback_weight * points, 0)


def _signals(scoring: Mapping[str, float], depth: int) -> Iterator[Part]:
    said = {name: value for name, value in scoring.items() if name not in _NOT_SIGNALS and value}
    own = {name for name in said if not name.startswith("dense_")}
    for name in sorted(own, key=lambda name: -abs(said[name])):
        yield Part(name, said[name], depth)
        if name == "dense":
            yield from (Part(half, said[half], depth + 1) for half in sorted(said.keys() - own))


def bars(result: Result, settings: ConversationMemory, out: Console, indent: int) -> Iterator[Text]:
    """Yield a line a part; one below 0 is red, with a minus before the number."""
    scoring = result.metadata.get(words.K_SCORING)
    if not scoring:
        return
    drawn = [("  " * part.depth + part.name, part) for part in parts(scoring, settings)]
    names = max([_NAMES, *(len(name) + 1 for name, _ in drawn)])
    room = max(out.width - indent - names - 8, 4) if out.is_terminal else WIDTH * 2
    for name, (_, value, depth) in drawn:
        line = Text(" " * indent).append(f"{name:<{names}}{value:6.3f}")
        if bar := _bar(min(abs(value) * WIDTH, room), out.encoding):
            line.append(" ").append(bar, style="red" if value < 0 else "green" if depth else "cyan")
        yield line


def _bar(columns: float, encoding: str) -> str:
    if not encoding.lower().startswith("utf"):
        return "#" * round(columns)
    eighths = round(columns * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
