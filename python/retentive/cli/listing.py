"""Memories as lines: the text, under it in small print what it is, and the bars of its score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from retentive import _constants as words
from retentive.cli.bars import bars
from retentive.cli.terminal import console, shown, shown_in_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

    from retentive._results import Result
    from retentive.memory import ConversationMemory


def print_results(
    results: Iterable[Result], *, ranked: bool = False, explained_by: ConversationMemory | None = None
) -> None:
    """Print each memory; a turn outside of a ranking has its own number, all else counts from 1.

    Args:
        results: what to print.
        ranked: they have scores.
        explained_by: the settings that they were ranked by, to draw the parts of the scores.
    """
    out = console()
    for place, result in enumerate(results, 1):
        number = place if ranked or result.turn is None else result.turn
        start = f"{number}. "
        for line in hanging(out, start, result.text):
            out.print(line)
        indent = " " * len(start)
        for line in hanging(out, indent, _about(result, ranked=ranked), style="dim"):
            out.print(line)
        if explained_by is not None:
            for line in bars(result, explained_by, out, len(indent)):
                out.print(line)


def hanging(out: Console, start: str, text: str, style: str = "") -> Iterator[Text]:
    """Yield the lines of a text, as wide as the terminal; those after the first are indented as far as `start` is."""
    for paragraph in shown(text).split("\n"):
        whole = Text(paragraph, style=style)
        lines = whole.wrap(out, max(out.width - len(start), 10)) if out.is_terminal and paragraph else [whole]
        for line in lines:
            line.rstrip()
            yield Text(start).append_text(line)
            start = " " * len(start)


def _about(result: Result, *, ranked: bool) -> str:
    return shown_in_line(", ".join(_parts(result, ranked=ranked)))


def _parts(result: Result, *, ranked: bool) -> Iterator[str]:
    if ranked:
        yield f"score {result.score:.3f}"
    if result.kind is None:
        yield "document"
    elif result.kind == words.TURN:
        yield f"turn {result.turn}" if ranked else result.role or "turn"
        if ranked and result.role:
            yield result.role
    else:
        yield result.kind
    if result.name:
        yield f"by {result.name}"
    if result.key:
        yield f"key {result.key}"
    if result.session:
        yield f"session {result.session}"
    if result.user:
        yield f"user {result.user}"
    yield f"{result.timestamp:%Y-%m-%d %H:%M}"
    if result.expires_at:
        yield f"expires {result.expires_at:%Y-%m-%d %H:%M}"
    if result.superseded_by:
        yield f"superseded by {result.superseded_by}"
    yield result.id
