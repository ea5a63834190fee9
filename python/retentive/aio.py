"""How an async twin runs: each step in a thread of the collection's pool, the user's coroutines on the caller's loop.

The twins are `Collection.aremember`, `arecall` and so on; nothing here is called by hand.
"""

from __future__ import annotations

import asyncio
import contextvars
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from retentive._errors import ClosedError
from retentive._steps import Pending, Step, Steps, discard

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Future

    from retentive._pool import Pool

P = ParamSpec("P")
T = TypeVar("T")

# Set where a plain callable runs, in a thread of a pool. A loop that it starts or a task that it makes elsewhere
# inherits it, and the callable may be waiting for that: such calls must not need one of the pool's threads.
_in_a_step: ContextVar[bool] = ContextVar("retentive_in_a_step", default=False)


async def call(pool: Pool, method: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what a blocking method returns, without blocking the loop.

    Cancelling it cancels the coroutine of the user's that it awaits. A step that is under way in a thread ends as it
    would have; what was to come after it never starts.

    Args:
        pool: whose threads do the work, in a copy of the caller's context.
        method: of a collection or its memory.
        args: for the method.
        kwargs: for the method.

    Raises:
        ClosedError: the collection is closed.
    """
    result: T = await _Call(pool).run(partial(_deferring(method), *args, **kwargs))
    return result


@dataclass(frozen=True, slots=True)
class _Done:
    value: Any


@dataclass(frozen=True, slots=True)
class _Work:
    steps: Steps[Any]


class _Call:
    """One call of a twin."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._nested = _in_a_step.get()
        self._context = contextvars.copy_context()
        self._context.run(_in_a_step.set, True)
        self._steps: Steps[Any] | None = None
        self._given_up = False

    async def run(self, work: Callable[[], Any]) -> Any:
        """Take one step after the other until the last."""
        outcome = await self._in_pool(self._begin, work)
        while isinstance(outcome, Pending):
            outcome = await self._answered(outcome.awaitable)
        return outcome.value

    async def _answered(self, awaitable: Awaitable[Any]) -> _Done | Pending:
        """Await on the caller's loop, and go on in the pool with the answer or the error."""
        steps = self._under_way
        try:
            resume = partial(steps.send, await awaitable)
        except Exception as error:  # noqa: BLE001 - the steps say what a callable's failure means
            resume = partial(steps.throw, error)
        except BaseException as error:
            # Cancelled: nothing more is called or written, and a bulk write says how far it came.
            self._context.run(steps.throw, error)
            raise
        try:
            return await self._in_pool(self._advance, resume)
        finally:
            del resume  # an error in it would keep this frame, and this frame the error

    async def _in_pool(self, job: Callable[[Any], _Done | Pending], argument: object) -> _Done | Pending:
        try:
            future: Future[_Done | Pending] = self._pool.submit(self._context.run, job, argument, apart=self._nested)
        except ClosedError:
            if self._steps is None:
                raise
            return self._context.run(job, argument)  # what is left finds the store closed, which blocks nobody
        try:
            return await asyncio.wrap_future(future)
        except BaseException:
            self._given_up = True
            if not future.cancel():
                future.add_done_callback(self._clean_up)
            raise
        finally:
            del future  # as above

    def _begin(self, work: Callable[[], Any]) -> _Done | Pending:
        try:
            returned = work()
        except StopIteration as error:  # which no future can hold
            raise RuntimeError("the method raised StopIteration") from error
        if not isinstance(returned, _Work):
            return _Done(returned)
        self._steps = returned.steps
        return self._advance(partial(next, returned.steps))

    def _advance(self, resume: Callable[[], Step]) -> _Done | Pending:
        """Run until the end, or until there is something to await."""
        steps = self._under_way
        try:
            step = resume()
            while not isinstance(step, Pending):
                if self._given_up:
                    steps.close()
                    return _Done(None)
                step = next(steps)
        except StopIteration as done:
            return _Done(done.value)
        return step

    @property
    def _under_way(self) -> Steps[Any]:
        if self._steps is None:
            raise RuntimeError("a step before the first")
        return self._steps

    def _clean_up(self, future: Future[_Done | Pending]) -> None:
        """Let go of what a step asked for after its caller had gone."""
        if future.exception() is None and isinstance(step := future.result(), Pending):
            discard(step.awaitable)
            self._under_way.close()


class _Deferred:
    """Stands for a collection, or its memory, in a method that hands its steps back instead of running them."""

    def __init__(self, owner: object) -> None:
        self._owner = owner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._owner, name)

    @staticmethod
    def _run(steps: Steps[Any]) -> _Work:
        return _Work(steps)


def _deferring(method: Callable[P, T]) -> Callable[P, Any]:
    """Return a method that hands its steps back. One that a subclass overrode is called as it is, in one step."""
    if isinstance(method, MethodType) and method.__func__.__module__.partition(".")[0] == "retentive":
        return MethodType(method.__func__, _Deferred(method.__self__))
    return method
