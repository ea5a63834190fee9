"""Blocking calls of async methods, also from inside a running event loop."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

# True in whatever a blocking call runs, in its worker threads too, since they inherit the context.
_inside: ContextVar[bool] = ContextVar("retentive_agents_inside", default=False)


def run(call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run an async method to its end in the helper thread, in the caller's context, and return what it returns.

    A blocking call within a blocking call gets a thread and a loop of its own: the helper loop cannot wait for itself.
    """
    if _inside.get():
        context = contextvars.copy_context()
        with ThreadPoolExecutor(1, "retentive-agents-nested") as pool:
            return pool.submit(context.run, asyncio.run, call()).result()
    future = asyncio.run_coroutine_threadsafe(_marked(call), _helper.loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()  # Ctrl-C ends the wait; what failed by itself is done already
        raise


async def _marked(call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    _inside.set(True)
    return await call()


class _Helper:
    """One thread with an event loop that runs for as long as the process, started when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="retentive-agents", daemon=True).start()
            return self._loop


_helper = _Helper()


def _forked() -> None:
    """Forget the parent's helper: its thread is not in the child, and its lock may be held for ever."""
    global _helper  # noqa: PLW0603 - one helper a process
    _helper = _Helper()


os.register_at_fork(after_in_child=_forked)
