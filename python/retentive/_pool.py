"""The threads in which a collection's async twins work."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from retentive._errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future, ThreadPoolExecutor

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 4


class Pool:
    """At most `THREADS` threads, started when they are needed, gone when the collection is closed.

    A forked child inherits no threads, so each process has its own; no lock is held that a fork could copy.

    Args:
        name: the collection's, for the names of the threads.
    """

    def __init__(self, name: str) -> None:
        # Before there are threads that fork: it registers handlers, which must not come in the middle of a fork.
        import concurrent.futures.thread  # noqa: F401

        self._name = name
        self._closed = False
        self._executors: dict[int, ThreadPoolExecutor] = {}  # by process id

    async def call(self, method: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what a blocking method returns, without blocking the loop; see `aio.call`."""
        from retentive import aio  # and asyncio, which whoever awaits this has loaded

        return await aio.call(self, method, *args, **kwargs)

    def submit(self, job: Callable[..., Any], *arguments: object, apart: bool = False) -> Future[Any]:
        """Have a thread run a job.

        Args:
            job: what to run.
            arguments: for the job.
            apart: in a thread of its own, since all of the pool's may be waiting for it.

        Raises:
            ClosedError: the pool was closed.
        """
        executor = _executor(self._name, 1) if apart else self._shared()
        try:
            if not self._closed:
                return executor.submit(job, *arguments)
        except RuntimeError:
            if not self._closed:  # no thread can be started, or the interpreter ends
                raise
        finally:
            if apart or self._closed:
                executor.shutdown(wait=False)
        raise ClosedError("the collection is closed; open it again")

    def close(self) -> None:
        """Start nothing more; what was submitted still runs, and its threads end after it."""
        self._closed = True
        executor = self._executors.get(os.getpid())
        if executor is not None:
            executor.shutdown(wait=False)

    def _shared(self) -> ThreadPoolExecutor:
        process = os.getpid()
        executor = self._executors.get(process)
        if executor is None:
            made = _executor(self._name, THREADS)
            executor = self._executors.setdefault(process, made)  # of two made at once, one has no threads yet
        return executor


def _executor(name: str, threads: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads, thread_name_prefix=f"retentive-{name}")
