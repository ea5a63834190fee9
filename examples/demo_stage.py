"""How the demo speaks: headings, wrapped text, bars, and claims that are checked before they are printed."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retentive import Result

WIDTH = max(60, min(100, shutil.get_terminal_size((100, 24)).columns))
BAR = 24

_COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_COLOURED = sys.stdout.isatty() and "NO_COLOR" not in os.environ


class ClaimError(AssertionError):
    """Something the demo says is not so."""


def _can_print(characters: str) -> bool:
    try:
        characters.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


FULL, EMPTY, TICK, CROSS, RULE = "█░✓✗─" if _can_print("█░✓✗─") else "#.+x-"


def paint(text: str, *styles: str) -> str:
    """Colour a text, on a terminal only."""
    if not _COLOURED:
        return text
    return f"\x1b[{';'.join(_COLOURS[style] for style in styles)}m{text}\x1b[0m"


def heading(number: int, title: str) -> None:
    """Open a section."""
    label = f" {number}  {title} "
    print(f"\n{paint(RULE * 2 + label + RULE * max(2, WIDTH - 2 - len(label)), 'bold', 'cyan')}\n")


def say(text: str) -> None:
    """Print a paragraph."""
    print(textwrap.fill(" ".join(text.split()), WIDTH))


def quote(text: str, mark: str = "  ", *styles: str) -> None:
    """Print somebody's words, indented under a mark."""
    indent = " " * len(mark)
    for line in textwrap.wrap(text, WIDTH - len(mark)) or [""]:
        print(paint(mark, "dim") + paint(line, *styles) if styles else paint(mark, "dim") + line)
        mark = indent


def ask(question: str) -> None:
    """Print a question put to the memory."""
    print()
    quote(question, "? ", "bold", "yellow")


def check(holds: bool, claim: str) -> None:
    """Print a claim with a tick; a claim that does not hold ends the demo.

    Raises:
        ClaimError: it does not hold.
    """
    if not holds:
        fail(claim)
    indent = " " * (len(TICK) + 1)
    lines = textwrap.wrap(claim, WIDTH - len(indent))
    print(f"{paint(TICK, 'bold', 'green')} {lines[0]}", *(indent + line for line in lines[1:]), sep="\n")


def fail(claim: str) -> NoReturn:
    """End the demo: this was to be shown and is not so."""
    raise ClaimError(claim)


def line_of(result: Result) -> str:
    """Return a memory on one line: what it is, its date, who said it, what."""
    who = result.role if result.kind == "turn" else result.kind
    return f"{result.timestamp:%d %b} {who}: {result.text}"


def bars(scoring: Mapping[str, float]) -> None:
    """Draw the parts of a score, the longest bar for the largest part."""
    longest = max((abs(value) for value in scoring.values()), default=0.0) or 1.0
    for name, value in scoring.items():
        filled = round(BAR * abs(value) / longest)
        bar = paint(FULL * filled, "red" if value < 0 else "blue") + paint(EMPTY * (BAR - filled), "dim")
        print(f"    {name:<16} {bar} {value:6.3f}")


def framed(text: str) -> None:
    """Print a block exactly as it is, with a line at its left; long lines are folded for the screen only."""
    for line in text.splitlines():
        for part in textwrap.wrap(line, WIDTH - 4, subsequent_indent="    ", drop_whitespace=True) or [""]:
            print(f"  {paint('|', 'dim')} {part}")
