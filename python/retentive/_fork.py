"""What a fork waits for, and what its child does first: it inherits locks, not the threads that would let go of them.

`import retentive` loads little; numpy, the model's tokenizer and what the async twins run on come with the first call
that needs them. A child of a process that forks in the middle of such an import would wait for ever in its own.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

from retentive import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What is imported when needed.
_PACKAGES = frozenset({"asyncio", "huggingface_hub", "numpy", "onnxruntime", "retentive", "tokenizers"})
# Whoever waits for the interpreter while this thread sleeps gets it, and asks for it again only after 5 ms: a look at
# the modules and the fork after it are not cut in two.
_MOMENT_S = 0.000001
# For native code of others that lets go of the interpreter: should it wait for the thread that forks, the fork goes on.
_MOST_S = 10.0
_LOOK_S = 0.001

_held_back: list[int] = []  # the threads in it, by their number


def in_child(renew: Callable[[], None]) -> None:
    """Have `renew` called in every child that this process forks; nothing where there is no fork, as on Windows."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew)


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Have other threads' forks wait, while native code makes what it makes once a process, behind locks of its own."""
    thread = threading.get_ident()
    _held_back.append(thread)
    try:
        yield
    finally:
        _held_back.remove(thread)


def wait_for_others() -> None:
    """Return when no other thread imports what this package imports when needed, or is in what holds forks back.

    Calls that are under way come first: native code waits for them too, right before the fork, but with the interpreter
    held, so that nobody could do anything while a long one ends.
    """
    _core.settle()
    waited_for: set[str] = set()
    deadline = time.monotonic() + _MOST_S
    while True:
        time.sleep(_MOMENT_S)
        under_way = _under_way() - waited_for
        others = any(thread != threading.get_ident() for thread in _held_back)
        if not under_way:
            if not others or time.monotonic() > deadline:
                return
            time.sleep(_LOOK_S)
        for name in under_way:
            waited_for.add(name)
            with contextlib.suppress(ImportError):  # theirs to report: whoever needs the module imports it again
                importlib.import_module(name)  # waits for the other thread; not for this one, where it is in it itself


def _forget_other_threads() -> None:
    """In a forked child, they do not exist."""
    _held_back[:] = [thread for thread in _held_back if thread == threading.get_ident()]


def _under_way() -> set[str]:
    """Return the modules whose locks are held. Only the import system knows of those that it is still looking for."""
    locks = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    return {name for name in tuple(locks) if name.partition(".")[0] in _PACKAGES}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=wait_for_others)
    in_child(_forget_other_threads)
