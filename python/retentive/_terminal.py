"""What every program of this package lets through to a terminal, and how it ends."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
from typing import TYPE_CHECKING, NoReturn, TextIO

from retentive import _start

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import SupportsWrite

FAILED = 1
INTERRUPTED = _start.INTERRUPTED
PIPE_CLOSED = 141  # as a shell says it of a program that the pipe ended: 128 + SIGPIPE

# What a terminal acts upon, or shows in another order than it is stored: C0 but tab and line feed, DEL, C1, marks and
# overrides of direction, other line separators, annotations, halves of a pair.
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb\ud800-\udfff]")
_ACTS_IN_A_LINE = re.compile(f"[\t\n]|{ACTS.pattern}")


def shown(text: str) -> str:
    r"""Return a text of many lines with what a terminal would act upon as `\x1b` or `\u202e`."""
    return ACTS.sub(_escaped, text.replace("\r\n", "\n"))


def shown_in_line(text: str) -> str:
    r"""Return a text as one line: as `shown`, with `\t` and `\n` too."""
    return _ACTS_IN_A_LINE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "surrogatepass").decode()


def complain(sentence: str) -> None:
    """Write a sentence to standard error; where that cannot be written, the exit code alone tells."""
    if sys.stderr is None:  # closed, and nothing stands in for it yet
        return
    try:
        sys.stderr.write(f"{shown_in_line(sentence)}\n")
        sys.stderr.flush()
    except OSError:
        discard_output()


class Arguments(argparse.ArgumentParser):
    """A parser whose errors show an argument as `shown_in_line` does, and whose help is written or an error."""

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Write the help; argparse's own swallows an `OSError`."""
        (sys.stdout if file is None else file).write(self.format_help())

    def error(self, message: str) -> NoReturn:
        """End with the usage and a sentence."""
        super().error(shown_in_line(message))


def run(program: Callable[[], int], name: str) -> int:
    """Run what a module run with `-m` does; return its exit code, with everything written by then.

    Args:
        program: takes the arguments of the process, returns an exit code.
        name: stands before the sentence of an error.
    """
    try:
        _start.give_back()
        prepare_streams()
        try:
            code = program()
        except SystemExit as ended:  # argparse
            code = ended.code if isinstance(ended.code, int) else FAILED
        sys.stdout.flush()
        _start.take_over()
    except KeyboardInterrupt:
        _start.take_over()
        complain(f"{name}: interrupted")
        code = INTERRUPTED
    except BrokenPipeError:
        code = PIPE_CLOSED
    except OSError as error:  # a disk that is full
        discard_output()
        complain(f"{name}: {error.strerror or error}")
        code = FAILED
    discard_output()
    return code


def prepare_streams() -> None:
    """Have every character read and written somehow, and streams that were closed swallow what is written."""
    _start.open_standard_streams()
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123 - to the end
    elif hasattr(sys.stdin, "reconfigure"):
        with contextlib.suppress(io.UnsupportedOperation):  # a host has read from it
            # What is no UTF-8 is refused where it is used; a carriage return within a line does not end it.
            sys.stdin.reconfigure(errors="surrogateescape", newline="\n")
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
