"""What reaches the terminal: stored text without control sequences, as wide as it is, with or without colour."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from typing import TYPE_CHECKING, NoReturn, TextIO

import typer
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping

NOTHING = 1
USAGE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141  # as a shell says it of a program that the pipe ended: 128 + SIGPIPE

# What a terminal acts upon, or shows in another order than it is stored: C0 but tab and line feed, DEL, C1, marks and
# overrides of direction, other line separators, annotations, halves of a pair.
_ACTS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb\ud800-\udfff]"
)
_ACTS_IN_A_LINE = re.compile(f"[\t\n]|{_ACTS.pattern}")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the program: rich would end the process here."""
        raise  # noqa: PLE0704 - called while the BrokenPipeError is handled


def console(*, stderr: bool = False) -> Console:
    """Return a console on the stream as it is now. Texts given to it are no markup."""
    return _Console(
        file=sys.stderr if stderr else sys.stdout, markup=False, emoji=False, highlight=False, soft_wrap=True
    )


def shown(text: str) -> str:
    r"""Return a text of many lines with what a terminal would act upon as `\x1b` or `\u202e`."""
    return _ACTS.sub(_escaped, text.replace("\r\n", "\n"))


def shown_in_line(text: str) -> str:
    r"""Return a text as one line: as `shown`, with `\t` and `\n` too."""
    return _ACTS_IN_A_LINE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "surrogatepass").decode()


def print_json(document: Mapping[str, object]) -> None:
    """Print one JSON document as a line. What a terminal acts upon is escaped, which JSON reads as the same text."""
    line = json.dumps(document, ensure_ascii=False)
    sys.stdout.write(_ACTS.sub(lambda match: f"\\u{ord(match[0]):04x}", line) + "\n")


def print_text(text: str) -> None:
    """Print a text of many lines as it is but for what a terminal would act upon."""
    sys.stdout.write(shown(text) + "\n")


def say(sentence: str) -> None:
    """Print a sentence for the person on standard error."""
    console(stderr=True).print(Text(shown_in_line(sentence)))


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


def prepare_streams() -> None:
    """Have every character read and written somehow, and streams that were closed swallow what is written."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123 - to the end
    elif hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="surrogateescape")  # what is no UTF-8 is refused where it is used
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - to the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Let nothing more be written: the interpreter flushes once more at its end, and would complain."""
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device
        for stream in (sys.stdout, sys.stderr):
            if not _is_open(stream):
                _redirect(stream, nowhere.fileno())


def _is_open(stream: TextIO) -> bool:
    try:
        stream.flush()
    except OSError:
        return False
    return True


def _redirect(stream: TextIO, descriptor: int) -> None:
    try:
        os.dup2(descriptor, stream.fileno())
    except io.UnsupportedOperation:  # in memory: nobody reads it through a pipe
        return
