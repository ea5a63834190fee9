"""Blocking calls of async methods, also from inside a running event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from retentive import _fork
from retentive._errors import RetentiveError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

T = TypeVar("T")

_Place = Literal["helper loop", "worker", "own loop"]

# Where the code that asks was called from; None is the user's own code. Threads inherit it with the context.
_place: ContextVar[_Place | None] = ContextVar("retentive_agents_place", default=None)


def run(call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run an async method to its end in the helper thread, in the caller's context; return what it returns.

    What it raises passes through as it is. A call from within a memory's own work gets a thread and a loop of its own:
    the helper loop cannot wait for itself.
    """
    if _place.get() is None:
        return _helper.run(call)
    answer: Future[T] = Future()
    with ThreadPoolExecutor(1, "retentive-agents-nested") as pool:
        context = contextvars.copy_context()
        pool.submit(context.run, asyncio.run, _into(answer, call, "own loop")).result()
    return answer.result()


async def _into(answer: Future[T], call: Callable[[], Coroutine[Any, Any, T]], place: _Place) -> None:
    """Put what a call returns or raises into `answer`: a task that is left by SystemExit ends the run of its loop."""
    _place.set(place)
    try:
        returned = await call()
    except BaseException as error:  # noqa: BLE001 - raised where the answer is waited for
        if not answer.done():
            answer.set_exception(error)
    else:
        answer.set_result(returned)


def _unanswered(answer: Future[Any]) -> None:
    """Answer a call whose task has ended without: another memory's work cancelled it before its first step."""
    if not answer.done():
        answer.set_exception(asyncio.CancelledError())


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
        self._loop: _Loop | None = None

    def run(self, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        answer: Future[T] = Future()
        while (task := self._running().start(answer, call)) is None:
            pass  # its loop broke meanwhile
        try:
            return answer.result()
        except BaseException:
            if not answer.done():
                task.cancel()  # Ctrl-C ends the wait
            raise

    def _running(self) -> _Loop:
        with self._lock:
            if self._loop is None or self._loop.ended:
                loop = _Loop()
                threading.Thread(target=loop.serve, name="retentive-agents", daemon=True).start()
                # Only now may it be found: a signal handler that comes in between waits for one that runs.
                self._loop = loop
            return self._loop


class _Loop:
    """An event loop, and who waits for an answer from it."""

    def __init__(self) -> None:
        self.ended = False
        self._loop = asyncio.new_event_loop()
        self._waiting: set[Future[Any]] = set()

    def start(self, answer: Future[T], call: Callable[[], Coroutine[Any, Any, T]]) -> Future[None] | None:
        """Start a call; None where the loop has ended."""
        self._waiting.add(answer)  # before it is asked whether it has ended, which it says before it looks who waits
        answer.add_done_callback(self._waiting.discard)
        work = _into(answer, call, "helper loop")
        if not self.ended:
            try:
                task = asyncio.run_coroutine_threadsafe(work, self._loop)
            except RuntimeError:  # it is closed
                self.ended = True
            else:
                task.add_done_callback(lambda _: _unanswered(answer))
                return task
        self._waiting.discard(answer)
        work.close()
        return None

    def serve(self) -> None:
        """Run, whatever a memory's own work does."""
        cause: BaseException | None = None
        try:
            while not self._loop.is_closed():
                try:
                    self._loop.run_forever()  # until something stops it
                except (SystemExit, KeyboardInterrupt):
                    continue  # of one task, which has it as its end; all others go on
        except BaseException as error:  # noqa: BLE001 - the cause of what those who wait are told
            cause = error
        self.ended = True
        try:
            self._loop.close()
        finally:
            for answer in tuple(self._waiting):
                ended = RetentiveError(
                    "the event loop of the memories' blocking calls ended in the middle of this one; whether it was "
                    "done is not known: look, and call again"
                )
                ended.__cause__ = cause
                if not answer.done():
                    answer.set_exception(ended)


_helper = _Helper()


def _forked() -> None:
    """Forget the parent's helper: its thread is not in the child, and its lock may be held for ever."""
    global _helper  # noqa: PLW0603 - one helper a process
    _helper = _Helper()


_fork.in_child(_forked)
