"""Letting other threads have the interpreter: a bulk write would hold it for milliseconds at a time."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any, TypeVar

from retentive._core import give_way

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

T = TypeVar("T")

# A reader that handles a few things, as the sentences of an answer, is soon done: it lets nobody go first.
FEW = 16
# What as many items hold is freed, or looked at, in less than the tenth of a millisecond that a thread may hold the
# interpreter.
PIECE = 64


def giving_way(items: Iterable[T]) -> Iterator[T]:
    """Yield items, and let go of the interpreter between two of them whenever that is due and there are other threads.

    Args:
        items: each of which takes microseconds of Python; of few, none lets go.
    """
    if isinstance(items, Sized) and len(items) < FEW:
        yield from items
        return
    for item in items:
        yield item
        give_way()


def pieces(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield items by the piece, and let go of the interpreter in between: for less than a microsecond an item."""
    for start in range(0, len(items), PIECE):
        yield items[start : start + PIECE]
        give_way()


def let_go(items: list[Any]) -> None:
    """Empty a list piece by piece: to free what a thousand items hold takes a millisecond."""
    while items:
        give_way()
        del items[-PIECE:]
