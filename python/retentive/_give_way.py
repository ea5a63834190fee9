"""Letting other threads have the interpreter: a bulk write would hold it for milliseconds at a time."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")

# A thread that waits asks for the interpreter only after 5 ms (`sys.setswitchinterval`); a read waits several times.
LONGEST_HELD_S = 0.0001
# Whoever gives up the interpreter and takes it at once has it again before another thread has woken up.
PAUSE_S = 0.00001
_SHARED = getattr(sys, "_is_gil_enabled", lambda: True)()  # a free-threaded build has one for each thread


def giving_way(items: Iterable[T]) -> Iterator[T]:
    """Yield items, and let go of the interpreter between two of them whenever that is due and there are other threads.

    Args:
        items: each of which takes microseconds of Python.
    """
    since = time.perf_counter()
    for item in items:
        yield item
        if time.perf_counter() - since > LONGEST_HELD_S:
            if _SHARED and threading.active_count() > 1:
                time.sleep(PAUSE_S)
            since = time.perf_counter()
