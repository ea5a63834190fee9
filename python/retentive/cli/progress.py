"""How far long work is: a bar on standard error, nothing where that is no terminal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from retentive.cli.terminal import console

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retentive._bulk import Progress as Callback


@contextmanager
def bar(what: str) -> Iterator[Callback | None]:
    """Give a callback of how many are done and how many there are (None where not known)."""
    screen = console(stderr=True)
    if not screen.is_terminal or screen.is_dumb_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Say that something of unknown length is going on."""
    screen = console(stderr=True)
    if not screen.is_terminal or screen.is_dumb_terminal:
        yield
        return
    with screen.status(what):
        yield
