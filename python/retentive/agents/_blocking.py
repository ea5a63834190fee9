"""Blocking calls of async methods, also from inside a running event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from retentive import _fork

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

T = TypeVar("T")

_Place = Literal["helper loop", "worker", "own loop"]

# Where the code that asks was called from; None is the user's own code. Threads inherit it with the context.
_place: ContextVar[_Place | None] = ContextVar("retentive_agents_place", default=None)


def run(call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run an async method to its end in the helper thread, in the caller's context, and return what it returns.

    A call from within a memory's own work gets a thread and a loop of its own: the helper loop cannot wait for itself.
    """
    if _place.get() is not None:
        context = contextvars.copy_context()
        context.run(_place.set, "own loop")
        with ThreadPoolExecutor(1, "retentive-agents-nested") as pool:
            return pool.submit(context.run, asyncio.run, call()).result()
    future = asyncio.run_coroutine_threadsafe(_on_helper_loop(call), _helper.loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()  # Ctrl-C ends the wait; what failed by itself is done already
        raise


async def _on_helper_loop(call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    _place.set("helper loop")
    return await call()


def has_own_loop() -> bool:
    """Return whether the running loop is there for one blocking call, so that its work may as well block it."""
    return _place.get() == "own loop"


@contextmanager
def at_work() -> Iterator[None]:
    """Mark what is called from here, in threads too, as a memory's own work."""
    before = _place.set("worker")
    try:
        yield
    finally:
        _place.reset(before)


class _Helper:
    """One thread with an event loop that runs for as long as the process, started when first needed."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                threading.Thread(target=loop.run_forever, name="retentive-agents", daemon=True).start()
                # Only now may it be found: a signal handler that comes in between waits for one that runs.
                self._loop = loop
            return self._loop


_helper = _Helper()


def _forked() -> None:
    """Forget the parent's helper: its thread is not in the child, and its lock may be held for ever."""
    global _helper  # noqa: PLW0603 - one helper a process
    _helper = _Helper()


_fork.in_child(_forked)
