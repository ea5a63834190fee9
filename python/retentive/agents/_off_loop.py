"""Where the store's blocking work runs: never on the event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar

from retentive.agents import _blocking

if TYPE_CHECKING:
    from collections.abc import Callable

    from retentive._collection import Collection

P = ParamSpec("P")
T = TypeVar("T")


async def off_loop(_collection: Collection, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a method of a collection, or work for one, in a worker thread and the caller's context.

    Cancelling ends the wait, not the work: a write that has begun is stored whole or not at all.
    """
    if _blocking.has_own_loop():
        return work(*args, **kwargs)  # every worker may be waiting for this call
    with _blocking.at_work():
        return await _collection._engine.pool.call(work, *args, **kwargs)  # noqa: SLF001 - its pool is not for callers
