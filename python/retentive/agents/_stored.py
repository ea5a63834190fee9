"""Memories whose messages are turns of a collection, each stored once however many memories keep it."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from retentive import _json, _validate
from retentive._collection import Collection
from retentive._constants import TURN
from retentive._errors import ConfigurationError, InvalidInputError
from retentive.agents._memory import DEFAULT_THREAD, Memory, checked_limit, checked_query, checked_thread
from retentive.agents._message import Message, Role, checked_messages
from retentive.agents._off_loop import off_loop
from retentive.memory import ConversationMemory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from retentive._results import Result

# The key of a turn's metadata that names the memories which stored it: what `clear` goes by.
STORED_BY = "agent_memories"
_RESERVED_PREFIX = "_vx_"


class StoredMemory(Memory):
    """A memory over a collection: a thread is a session, a message is a turn.

    Args:
        collection: where the turns are.
        name: who stored them, on each turn; one line of at most 256 characters.
    """

    def __init__(self, collection: Collection, name: str) -> None:
        self._collection = collection
        self._name = _validate.label(name, "name")

    @property
    def name(self) -> str:
        """The name under which this memory stores, and clears what it stored."""
        return self._name

    def native(self) -> Collection:
        """Return the collection."""
        return self._collection

    @abstractmethod
    def keeps(self, message: Message) -> bool:
        """Return whether this memory stores a message."""

    @abstractmethod
    async def _read(self, thread: str, query: str | None, limit: int | None) -> list[Message]:
        """Return messages of a thread, oldest first; arguments are checked."""

    async def aadd(self, messages: Message | Iterable[Message], thread_id: str | None = DEFAULT_THREAD) -> None:
        """Store messages as turns of a thread: one batch, embedded at once.

        Args:
            messages: one or many, oldest first. Blank ones are left out.
            thread_id: the thread; None is `"default"`.

        Raises:
            InvalidInputError: a message, its metadata or the thread is wrong; nothing is stored.
            EmbedderError: the embedder failed.
            StoreError: the file cannot be written.
        """
        checked, thread = checked_messages(messages), checked_thread(thread_id)
        await store(self._collection, [self], checked, thread)

    async def aget(
        self, *, thread_id: str | None = DEFAULT_THREAD, query: str | None = None, limit: int | None = None
    ) -> list[Message]:
        """Return messages of a thread, oldest first.

        Args:
            thread_id: the thread; None is `"default"`.
            query: what is about to be answered.
            limit: how many at most; None for the memory's own number.

        Raises:
            InvalidInputError: an argument has the wrong type or value.
            EmbedderError: the embedder failed.
            StoreError: the file cannot be read.
        """
        thread, asked, most = checked_thread(thread_id), checked_query(query), checked_limit(limit)
        return await self._read(thread, asked, most)

    async def aclear(self, thread_id: str | None = None) -> None:
        """Delete what was stored under this memory's name, for good; nothing else of the collection.

        A turn that several members of a `CompositeMemory` share is stored once, so clearing one of them deletes it.

        Args:
            thread_id: only of this thread; None for all threads.

        Raises:
            InvalidInputError: the thread is no string, or an empty one.
            StoreError: the file cannot be written.
        """
        thread = None if thread_id is None else checked_thread(thread_id)
        await off_loop(self._collection, self._erase, thread)

    def describe(self) -> dict[str, Any]:
        """Return the settings and where the turns are, as JSON; nothing is read or counted."""
        path = self._collection.path
        where = {"collection": self._collection.name, "path": None if path is None else str(path)}
        return {**super().describe(), **where}

    def _erase(self, thread: str | None) -> None:
        mine = {STORED_BY: {"$contains": self._name}}
        # A search does not see what was corrected. Settings of its own: the collection's may leave turns out of recall.
        everything = ConversationMemory(self._collection)
        while True:
            found = everything.recall(
                "everything",  # ranks, leaves out nothing
                session=thread,
                limit=self._collection.count(mine, session=thread, user=None),
                include_superseded=True,
                mode="lexical",
                min_relevance=None,
                filter=mine,
            )
            doomed = [result.id for result in found if self._stored(result)]
            if not self._collection.delete(doomed):  # once more where others stored meanwhile
                return

    def _stored(self, result: Result) -> bool:
        names = result.metadata.get(STORED_BY)
        return isinstance(names, list) and self._name in names  # `$contains` looks into a caller's string too


async def store(
    collection: Collection, memories: Sequence[StoredMemory], messages: Sequence[Message], thread: str
) -> None:
    """Store each message that any of `memories` keeps, once."""
    await write(collection, await prepared(collection, memories, messages, thread))


async def prepared(
    collection: Collection, memories: Sequence[StoredMemory], messages: Sequence[Message], thread: str
) -> list[dict[str, Any]]:
    """Return each message that any of `memories` keeps as an item to store, once.

    Raises:
        InvalidInputError: a message cannot be stored.
    """
    return await off_loop(collection, _items, memories, messages, thread)


async def write(collection: Collection, items: Sequence[Mapping[str, Any]]) -> None:
    """Store what `prepared` returned."""
    if items:
        await off_loop(collection, collection.remember_many, items)


def _items(memories: Sequence[StoredMemory], messages: Sequence[Message], thread: str) -> list[dict[str, Any]]:
    items = []
    for index, message in enumerate(messages):
        names = dict.fromkeys(memory.name for memory in memories if memory.keeps(message))
        if names and message.content.strip():
            _check(message, f"messages[{index}]")
            items.append(
                {
                    "text": message.content,
                    "session": thread,
                    "role": message.role.value,
                    "metadata": stored_metadata(message.metadata, names),
                }
            )
    return items


def stored_metadata(metadata: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return a caller's metadata with the names of the memories that store it."""
    return {**metadata, STORED_BY: list(names)}


def _check(message: Message, place: str) -> None:
    _validate.text(message.content, f"the content of {place}")
    check_metadata(message.metadata, f"{place}: ")


def check_metadata(metadata: Mapping[str, Any], place: str = "") -> None:
    """Refuse metadata that would not come back as it went in."""
    if STORED_BY in metadata:
        raise InvalidInputError(
            f"{place}metadata has the key {STORED_BY!r}, which says which memories stored a turn; rename it"
        )
    try:
        _json.metadata_text(metadata)
    except InvalidInputError as error:
        error.args = (f"{place}{error.args[0]}",)
        raise


def message_of(result: Result, marks: Mapping[str, Any] | None = None) -> Message:
    """Return a stored turn or fact as a message: the caller's own metadata, then `marks`. A fact is nobody's words."""
    own = {
        key: value
        for key, value in result.metadata.items()
        if key != STORED_BY and not key.startswith(_RESERVED_PREFIX)
    }
    role = Role.of(result.role) if result.kind == TURN else Role.SYSTEM
    return Message(role, result.text, {**own, **(marks or {})})


def checked_collection(collection: object) -> Collection:
    """Return a collection.

    Raises:
        ConfigurationError: it is something else.
    """
    if not isinstance(collection, Collection):
        raise ConfigurationError(
            f"collection is {_validate.shown(collection)}, expected a Collection",
            hint="pass collection=Collection(name, path=...)",
        )
    return collection
