"""Blocking calls of async methods, also from inside a running event loop.

An exception of a signal handler, as Ctrl-C's, may come anywhere in the thread that waits. So that thread takes
no lock that another one needs: a `Condition`, as in the standard library's futures, it could leave locked for ever.
"""

from __future__ import annotations

import _thread
import asyncio
import contextvars
import threading
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

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
    answer: _Answer[T] = _Answer()
    ended: _Answer[None] = _Answer()

    def serve() -> None:
        try:
            asyncio.run(_into(answer, call, "own loop"))
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            ended.fail(error)
        else:
            ended.give(None)

    context = contextvars.copy_context()
    _start_thread("retentive-agents-nested", lambda: context.run(serve))
    try:
        ended.wait()
    except BaseException:
        answer.abandon()
        raise
    return answer.wait()


def _start_thread(name: str, job: Callable[[], None]) -> None:
    """Start a thread that a process does not wait for at its end. `Thread.start` waits with a `Condition`."""

    def named() -> None:
        threading.current_thread().name = name
        job()

    _thread.start_new_thread(named, ())


class _Answer(Generic[T]):
    """What a call returned or raised, once: given by the thread of its loop, waited for by one other."""

    def __init__(self) -> None:
        self._ready = threading.Lock()  # held until there is an answer; not a `Condition`, see above
        self._ready.acquire()
        self._task: asyncio.Task[None] | None = None
        self._abandoned = False
        self._returned: T | None = None
        self._raised: BaseException | None = None
        self.done = False

    def begin(self) -> None:
        """Tell the answer which task works at it: the running one. It is cancelled where nobody waits any more."""
        self._task = asyncio.current_task()
        if self._abandoned:
            raise asyncio.CancelledError

    def give(self, returned: T) -> None:
        if not self.done:
            self._returned = returned
            self._end()

    def fail(self, raised: BaseException) -> None:
        if not self.done:
            self._raised = raised
            self._end()

    def _end(self) -> None:
        self.done = True
        self._ready.release()

    def wait(self) -> T:
        self._ready.acquire()
        if self._raised is not None:
            try:
                raise self._raised
            finally:
                self._raised = None  # a traceback that leads to what holds it is a circle
        return cast("T", self._returned)

    def abandon(self) -> None:
        """End the work, if it has not ended: nobody waits for it."""
        self._abandoned = True
        if (task := self._task) is not None and not self.done:
            with suppress(RuntimeError):  # the loop is closed
                task.get_loop().call_soon_threadsafe(task.cancel)


async def _into(answer: _Answer[T], call: Callable[[], Coroutine[Any, Any, T]], place: _Place) -> None:
    """Put what a call returns or raises into `answer`: a task that is left by SystemExit ends the run of its loop."""
    _place.set(place)
    try:
        answer.begin()
        returned = await call()
    except BaseException as error:  # noqa: BLE001 - raised where the answer is waited for
        answer.fail(error)
    else:
        answer.give(returned)


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
        answer: _Answer[T] = _Answer()
        while True:
            loop = self._running()
            try:
                if loop.start(answer, call):
                    return answer.wait()
            except BaseException:
                answer.abandon()  # where Ctrl-C ended the wait
                raise
            finally:
                loop.forget(answer)

    def _running(self) -> _Loop:
        with self._lock:
            if self._loop is None or self._loop.ended:
                loop = _Loop()
                _start_thread("retentive-agents", loop.serve)
                # Only now may it be found: a signal handler that comes in between waits for one that runs.
                self._loop = loop
            return self._loop


class _Loop:
    """An event loop, and who waits for an answer from it."""

    def __init__(self) -> None:
        self.ended = False
        self._loop = asyncio.new_event_loop()
        self._waiting: set[_Answer[Any]] = set()
        self._tasks: set[asyncio.Task[None]] = set()  # a loop keeps weak references alone

    def start(self, answer: _Answer[T], call: Callable[[], Coroutine[Any, Any, T]]) -> bool:
        """Start a call; False where the loop has ended."""

        def begin() -> None:
            task = self._loop.create_task(_into(answer, call, "helper loop"))
            self._tasks.add(task)
            task.add_done_callback(over)

        def over(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            # Another memory's work cancelled it before its first step.
            answer.fail(asyncio.CancelledError())

        self._waiting.add(answer)  # before it is asked whether it has ended, which it says before it looks who waits
        if not self.ended:
            try:
                self._loop.call_soon_threadsafe(begin)
            except RuntimeError:  # it is closed
                self.ended = True
            else:
                return True
        return False

    def forget(self, answer: _Answer[Any]) -> None:
        """Nobody waits for it any more."""
        self._waiting.discard(answer)

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
                answer.fail(ended)


_helper = _Helper()


def _forked() -> None:
    """Forget the parent's helper: its thread is not in the child, and its lock may be held for ever."""
    global _helper  # noqa: PLW0603 - one helper a process
    _helper = _Helper()


_fork.in_child(_forked)
