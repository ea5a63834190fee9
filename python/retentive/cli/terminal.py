"""What reaches the terminal: stored text without control sequences, as wide as it is, with or without colour."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from retentive._terminal import ACTS, discard_output, shown, shown_in_line

if TYPE_CHECKING:
    from collections.abc import Mapping

NOTHING = 1
USAGE = 2


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the program: rich would end the process here."""
        raise  # noqa: PLE0704 - called while the BrokenPipeError is handled


def console(*, stderr: bool = False) -> Console:
    """Return a console on the stream as it is now. Texts given to it are no markup."""
    return _Console(
        file=sys.stderr if stderr else sys.stdout, markup=False, emoji=False, highlight=False, soft_wrap=True
    )


def forget_no_size() -> None:
    """Take a width or height that is no number above 0 out of the environment: rich would print nothing, or fail."""
    for name in ("COLUMNS", "LINES"):
        told = os.environ.get(name, "1")
        if not told.isdecimal() or int(told) == 0:
            del os.environ[name]


def print_json(document: Mapping[str, object]) -> None:
    """Print one JSON document as a line.

    What a terminal acts upon is escaped, and where the stream has not every character all that is not ASCII, which JSON
    reads as the same text.
    """
    line = json.dumps(document, ensure_ascii=not (sys.stdout.encoding or "").lower().startswith("utf"))
    sys.stdout.write(ACTS.sub(lambda match: f"\\u{ord(match[0]):04x}", line) + "\n")


def print_text(text: str) -> None:
    """Print a text of many lines as it is but for what a terminal would act upon."""
    sys.stdout.write(shown(text) + "\n")


def say(sentence: str) -> None:
    """Print a sentence for the person on standard error, where it can be written: what was done is done."""
    try:
        console(stderr=True).print(Text(shown_in_line(sentence)))
    except OSError:
        discard_output()


def fail(sentence: str, code: int = NOTHING) -> NoReturn:
    """End the command with one sentence."""
    say(f"retentive: {sentence}")
    raise typer.Exit(code)


def standard_input(argument: str, what: str) -> str:
    """Return the argument, or for `-` all of standard input without its last line feed."""
    if argument != "-":
        return argument
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        fail(f"the {what} on standard input is no UTF-8 (byte {error.start}: {error.reason})", USAGE)
    return text.removesuffix("\n").removesuffix("\r")
