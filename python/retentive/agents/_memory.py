"""`Memory`: what every memory of an agent can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from retentive import _validate
from retentive._errors import InvalidInputError
from retentive.agents import _blocking

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retentive.agents._message import Message

DEFAULT_THREAD = "default"
"""The thread of a message where none is named."""


class Memory(ABC):
    """What an agent remembers, by thread.

    A memory of your own defines `aadd`, `aget` and `aclear`; `add`, `get` and `clear` come with it. Their arguments
    are passed on by name. The blocking twins run the async methods in one helper thread that has an event loop of its
    own, so a client that belongs to an event loop serves all of them; they wait, also inside a running loop, which
    stands still meanwhile. Something that only the caller's own loop can finish must be awaited instead.
    """

    @abstractmethod
    async def aadd(self, messages: Message | Iterable[Message], thread_id: str | None = DEFAULT_THREAD) -> None:
        """Add one message or many to a thread, in order.

        Args:
            messages: what was said, oldest first.
            thread_id: the thread; None is `"default"`.
        """

    @abstractmethod
    async def aget(
        self, *, thread_id: str | None = DEFAULT_THREAD, query: str | None = None, limit: int | None = None
    ) -> list[Message]:
        """Return messages of a thread, oldest first.

        Args:
            thread_id: the thread; None is `"default"`.
            query: what is about to be answered; a memory that searches by meaning returns nothing without it.
            limit: how many messages at most; None for the memory's own number.
        """

    @abstractmethod
    async def aclear(self, thread_id: str | None = None) -> None:
        """Delete what this memory stored, for good.

        Args:
            thread_id: only of this thread; None for all threads.
        """

    @property
    def name(self) -> str:
        """What the memory is called in messages and logs; the name of its class unless it has one of its own."""
        return type(self).__name__

    def describe(self) -> dict[str, Any]:
        """Return what kind of memory this is and how it is set, as JSON; nothing is read or counted."""
        return {"type": type(self).__name__, "name": self.name}

    def add(self, messages: Message | Iterable[Message], thread_id: str | None = DEFAULT_THREAD) -> None:
        """Do what `aadd` does, and wait for it."""
        _blocking.run(lambda: self.aadd(messages, thread_id=thread_id))

    def get(
        self, *, thread_id: str | None = DEFAULT_THREAD, query: str | None = None, limit: int | None = None
    ) -> list[Message]:
        """Do what `aget` does, and wait for it."""
        return _blocking.run(lambda: self.aget(thread_id=thread_id, query=query, limit=limit))

    def clear(self, thread_id: str | None = None) -> None:
        """Do what `aclear` does, and wait for it."""
        _blocking.run(lambda: self.aclear(thread_id=thread_id))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


def checked_thread(thread_id: object) -> str:
    """Return a thread's name; None is the default thread.

    Raises:
        InvalidInputError: it is no string, or an empty one.
    """
    if thread_id is None:
        return DEFAULT_THREAD
    if not isinstance(thread_id, str) or not thread_id:
        raise InvalidInputError(
            f"thread_id is {_validate.shown(thread_id)}, expected a string that is not empty; "
            f"leave it out for {DEFAULT_THREAD!r}"
        )
    return thread_id


def checked_query(query: object) -> str | None:
    """Return a query, None where it is missing or blank.

    Raises:
        InvalidInputError: it is no string.
    """
    if query is None:
        return None
    if not isinstance(query, str):
        raise InvalidInputError(f"query is {_validate.shown(query)}, expected a string or None")
    return query if query.strip() else None


def checked_limit(limit: object) -> int | None:
    """Return how many messages at most, None for the memory's own number.

    Raises:
        InvalidInputError: it is no whole number of at least 0.
    """
    return _validate.integer_or_none("limit", limit)
