"""Work in steps: what calls the user's callables is a generator, so that whoever runs it decides how to wait.

A blocking method runs the steps to their end and refuses an async function. An async twin runs each step in a thread
of the collection's pool and awaits the user's coroutines on the caller's loop, between two steps: no thread waits for
them.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from retentive._errors import ConfigurationError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Announced:
    """An async function that may be called. A blocking method fails now, not on the day the data make it called."""

    what: str


@dataclass(frozen=True, slots=True)
class Pending:
    """What an async function returned, to be awaited; its answer is sent back."""

    what: str
    awaitable: Awaitable[Any]


class Checkpoint:
    """A place between two transactions where a call that was given up may stop."""


CHECKPOINT = Checkpoint()
Step: TypeAlias = Announced | Pending | Checkpoint
Steps: TypeAlias = Generator[Step, Any, T]


def announced(what: str, function: object) -> Steps[None]:
    """Say that `function` may be called, where it is async."""
    if is_async(function):
        yield Announced(what)


def called(what: str, function: Callable[..., Any], *arguments: object) -> Steps[Any]:
    """Return what a callable of the user's returns, awaited where that is an awaitable.

    Args:
        what: the callable, as named in an error.
        function: the callable.
        arguments: for it.
    """
    try:
        returned = function(*arguments)
    except StopIteration as error:
        raise _StoppedError from error  # one that left a generator would be a RuntimeError of Python's
    if inspect.isawaitable(returned):
        returned = yield Pending(what, returned)
    return returned


class _StoppedError(Exception):
    """Carries a `StopIteration` of a callable out of the steps."""


def raised_by_callable(error: Exception) -> Exception:
    """Return what a callable raised, where `error` came out of `called`."""
    stopped = error.__cause__ if isinstance(error, _StoppedError) else None
    return stopped if isinstance(stopped, StopIteration) else error


def stopped(error: RuntimeError) -> StopIteration | None:
    """Return the `StopIteration` of a callable, where Python made `error` of it as it left a generator of ours.

    One that left a generator of the caller's was a RuntimeError before anybody saw it, and stays one.
    """
    cause = error.__cause__
    if not isinstance(cause, StopIteration) or cause.__traceback__ is None:
        return None
    left = cause.__traceback__.tb_frame  # the outermost: the generator itself
    if not left.f_code.co_flags & inspect.CO_GENERATOR or not _is_ours(left.f_globals.get("__name__")):
        return None
    cause.__dict__.update(error.__dict__)  # notes, and how far a bulk write came
    return cause


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == "retentive"


def blocking(steps: Steps[T]) -> T:
    """Run steps to their end. What a callable raises passes through as it is.

    Raises:
        ConfigurationError: a callable is async.
    """
    try:
        while isinstance(step := next(steps), Checkpoint):
            pass
        if isinstance(step, Pending):
            discard(step.awaitable)
        # Into the steps, so that a bulk write can say how far it came.
        steps.throw(_refusal(step.what))
    except StopIteration as done:
        result: T = done.value
        return result
    except RuntimeError as error:
        raised = stopped(error)
        if raised is None:
            raise
    else:
        raise RuntimeError("steps went on after they were refused")
    raise raised


def plain(what: str, function: object) -> None:
    """Refuse an async function where none is ever awaited.

    Raises:
        ConfigurationError: `function` is async.
    """
    if is_async(function):
        raise ConfigurationError(
            f"{what} is an async function, and nothing awaits it",
            hint="pass a plain function; judge, summarize and embedder may be async",
        )


def _refusal(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"{what} is an async function, which a blocking method cannot await",
        hint="await the method's async twin, like db.aremember(...) for db.remember(...), or pass a plain function",
    )


class Later:
    """The answer of an awaitable, once `finish` has made something of it."""

    def __init__(self, awaitable: Awaitable[Any], finish: Callable[[Any], Any]) -> None:
        self._awaitable = awaitable
        self._finish = finish

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._finish((yield from self._awaitable.__await__()))

    def close(self) -> None:
        """Let go of the awaitable."""
        discard(self._awaitable)


def discard(awaitable: Awaitable[Any]) -> None:
    """Let go of what nobody will await: a coroutine that is not closed would warn."""
    if inspect.iscoroutine(awaitable) or isinstance(awaitable, Later):
        awaitable.close()


def is_async(function: object) -> bool:
    """Return whether calling `function` gives a coroutine, as far as can be told without calling it."""
    call = getattr(type(function), "__call__", None)  # noqa: B004 - an object may be called through its class
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
