"""`WindowMemory`: the last turns of a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retentive import _validate
from retentive._collection import Collection
from retentive.agents._message import Role, checked_message
from retentive.agents._off_loop import off_loop
from retentive.agents._stored import StoredMemory, checked_collection, message_of

if TYPE_CHECKING:
    from retentive._results import Result
    from retentive.agents._message import Message


class WindowMemory(StoredMemory):
    """The last turns of a thread, in order, whatever the query.

    The turns are kept in a collection, so with one that has a path they survive a restart. What leaves the window
    stays in the collection, where `VectorMemory`, `Collection.recall` and others still find it; `native().forget(...)`
    deletes it. Turns that the application stored in the same session are in the window too.

    Args:
        window: how many turns; at least 1.
        collection: where the turns are; None for one in memory.
        name: under which it stores.

    Raises:
        InvalidInputError: an argument has the wrong type or value.
        ConfigurationError: `collection` is no `Collection`.

    Examples:
        >>> from retentive import Collection
        >>> from retentive.agents import Message
        >>> from retentive.embedders import HashEmbedder
        >>> memory = WindowMemory(window=2, collection=Collection("chat", embedder=HashEmbedder(64)))
        >>> memory.add([Message.user("one"), Message.assistant("two"), Message.user("three")])
        >>> [message.content for message in memory.get()]
        ['two', 'three']
    """

    def __init__(self, window: int = 20, *, collection: Collection | None = None, name: str = "window") -> None:
        self._window = _validate.integer("window", window, at_least=1)
        super().__init__(Collection("window") if collection is None else checked_collection(collection), name)

    @property
    def window(self) -> int:
        """How many turns a thread's window has."""
        return self._window

    def keeps(self, message: Message) -> bool:
        """Return True: a window has all roles.

        Raises:
            InvalidInputError: it is no `Message`.
        """
        checked_message(message)
        return True

    def describe(self) -> dict[str, Any]:
        """Return the settings and where the turns are, as JSON; nothing is read or counted."""
        return {**super().describe(), "window": self._window}

    async def _read(self, thread: str, query: str | None, limit: int | None) -> list[Message]:  # noqa: ARG002 - a window has no query
        most = self._window if limit is None else min(limit, self._window)
        return [message_of(turn) for turn in await self._last(thread, most)]

    async def _last(self, thread: str, most: int) -> list[Result]:
        """Return the last turns of the roles that messages have; the application may have stored others between."""
        asked = most
        while most:
            turns = await off_loop(self._collection, self._collection.turns, thread, asked)
            found = [turn for turn in turns if turn.role in set(Role)]
            if len(found) >= most or len(turns) < asked:
                return found[-most:]
            asked *= 4
        return []
