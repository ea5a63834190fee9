"""Memories as lines: the text, under it in small print what it is, and the bars of its score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from retentive import _constants as words
from retentive._terminal import shown, shown_in_line
from retentive.cli.bars import bars
from retentive.cli.terminal import console

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

    from retentive._results import Result
    from retentive.memory import ConversationMemory


def print_results(
    results: Iterable[Result],
    *,
    ranked: bool = False,
    counted: bool = False,
    explained_by: ConversationMemory | None = None,
    stderr: bool = False,
) -> None:
    """Print each memory under a number: a turn's is its own where nothing else is said.

    Args:
        results: what to print.
        ranked: they have scores; they are counted from 1.
        counted: they are counted from 1.
        explained_by: the settings that they were ranked by, to draw the parts of the scores.
        stderr: print to standard error.
    """
    out = console(stderr=stderr)
    for place, result in enumerate(results, 1):
        own_number = not (ranked or counted) and result.turn is not None
        start = f"{result.turn if own_number else place}. "
        for line in hanging(out, start, result.text):
            out.print(line)
        indent = " " * len(start)
        for line in hanging(out, indent, _about(result, ranked=ranked, turn=not own_number), style="dim"):
            out.print(line)
        if explained_by is not None:
            for line in bars(result, explained_by, out, len(indent)):
                out.print(line)


def print_heading(text: str) -> None:
    """Print a line above others."""
    console().print(Text(shown_in_line(text), style="bold"))


def hanging(out: Console, start: str, text: str, style: str = "") -> Iterator[Text]:
    """Yield the lines of a text, as wide as the terminal; those after the first are indented as far as `start` is."""
    for paragraph in shown(text).split("\n"):
        whole = Text(paragraph, style=style)
        wrapped = out.is_terminal and paragraph
        for line in whole.wrap(out, max(out.width - len(start), 10)) if wrapped else [whole]:
            if wrapped:
                line.rstrip()
            yield Text(start).append_text(line)
            start = " " * len(start)


def _about(result: Result, *, ranked: bool, turn: bool) -> str:
    return shown_in_line(", ".join(_parts(result, ranked=ranked, turn=turn)))


def _parts(result: Result, *, ranked: bool, turn: bool) -> Iterator[str]:
    if ranked:
        yield f"score {result.score:.3f}"
    if result.kind != words.TURN:
        yield result.kind or "document"
    elif turn:
        yield f"turn {result.turn}"
    if result.kind == words.TURN and result.role:
        yield result.role
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
