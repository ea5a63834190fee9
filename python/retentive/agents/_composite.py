"""`CompositeMemory`: several memories as one."""

from __future__ import annotations

import asyncio
import logging
import os
import traceback
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from retentive import _validate
from retentive._errors import ConfigurationError, InvalidInputError, RetentiveError
from retentive.agents._memory import DEFAULT_THREAD, Memory, checked_limit, checked_query, checked_thread
from retentive.agents._message import Message, checked_messages
from retentive.agents._stored import StoredMemory, prepared, write

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

    from retentive._collection import Collection

logger = logging.getLogger("retentive")


class MemberError(RetentiveError):
    """Members of a `CompositeMemory` failed to write; the others were not stopped. The first failure is the cause.

    Attributes:
        failures: the name of each member that failed, with its exception.
    """

    def __init__(self, message: str = "", *, failures: Iterable[tuple[str, Exception]] = ()) -> None:
        super().__init__(message)
        self.failures = tuple(failures)


class CompositeMemory(Memory):
    """Several memories as one: writes to all, recalls from each in turn.

    Members that share a collection store a message once. A member that fails to write does not stop the others; after
    all were tried, `MemberError` names each failure. A member that fails to recall is logged and left out.

    Args:
        memories: the members, in the order of recall; one may be composite itself.
        name: what it is called in messages and logs.

    Raises:
        ConfigurationError: there are no members, or one is no `Memory`; `.hint` says what to pass.

    Examples:
        >>> from retentive.agents import Message, VectorMemory, WindowMemory
        >>> memory = CompositeMemory([VectorMemory(embedder="static"), WindowMemory(window=4)])
        >>> memory.add(Message.user("I am allergic to peanuts"))
        >>> [message.content for message in memory.get(query="which foods am I allergic to?")]
        ['I am allergic to peanuts']
    """

    def __init__(self, memories: Iterable[Memory], *, name: str = "composite") -> None:
        self._memories = _members(memories)
        self._name = _validate.label(name, "name")

    @property
    def name(self) -> str:
        """What it is called in messages and logs."""
        return self._name

    @property
    def memories(self) -> tuple[Memory, ...]:
        """The members, in the order of recall."""
        return self._memories

    async def aadd(self, messages: Message | Iterable[Message], thread_id: str | None = DEFAULT_THREAD) -> None:
        """Add messages to every member.

        Args:
            messages: one or many, oldest first; each member leaves out what it does not keep.
            thread_id: the thread; None is `"default"`.

        Raises:
            InvalidInputError: a message or the thread is wrong; no member was asked.
            MemberError: members failed; the others have stored the messages.
        """
        checked, thread = checked_messages(messages), checked_thread(thread_id)
        alone, sharing = _by_collection(self._leaves())
        items = await asyncio.gather(
            *[prepared(group[0].native(), group, checked, thread) for group in sharing], return_exceptions=True
        )
        for wrong in items:
            if isinstance(wrong, InvalidInputError):  # what one member cannot store is stored by none
                raise wrong
        writes = [(memory.name, _add(memory, checked, thread)) for memory in alone]
        for group, rows in zip(sharing, items, strict=True):
            names = " and ".join(dict.fromkeys(memory.name for memory in group))
            writes.append((names, _write(group[0].native(), rows)))
        await _all("store the messages", writes)

    async def aget(
        self, *, thread_id: str | None = DEFAULT_THREAD, query: str | None = None, limit: int | None = None
    ) -> list[Message]:
        """Return what the members recall, in their order, each role and content once.

        Args:
            thread_id: the thread; None is `"default"`.
            query: what is about to be answered.
            limit: how many messages at most, of each member and in all; the first members come first.

        Raises:
            InvalidInputError: an argument has the wrong type or value.
        """
        thread, asked, most = checked_thread(thread_id), checked_query(query), checked_limit(limit)
        answers = await asyncio.gather(
            *[_get(memory, thread, asked, most) for memory in self._memories],
            return_exceptions=True,
        )
        found: dict[tuple[str, str], Message] = {}
        for memory, answer in zip(self._memories, answers, strict=True):
            if isinstance(answer, Exception):
                # Not its message or its trace: they may quote what was asked, and a log has no texts.
                logger.warning("the memory %r failed to recall (%s) and is left out", memory.name, _kind(answer))
            elif isinstance(answer, BaseException):
                raise answer
            else:
                for message in answer:
                    found.setdefault((message.role, message.content), message)
        return list(found.values())[:most]

    async def aclear(self, thread_id: str | None = None) -> None:
        """Clear every member.

        Args:
            thread_id: only of this thread; None for all threads.

        Raises:
            InvalidInputError: the thread is no string, or an empty one; no member was asked.
            MemberError: members failed; the others are cleared.
        """
        thread = None if thread_id is None else checked_thread(thread_id)
        await _all("clear", [(memory.name, _clear(memory, thread)) for memory in self._leaves()])

    def describe(self) -> dict[str, Any]:
        """Return what the members say of themselves, under `memories`, as JSON."""
        return {**super().describe(), "memories": [memory.describe() for memory in self._memories]}

    def _leaves(self) -> list[Memory]:
        """Return the members, those of composite members in their place, each once."""
        leaves: list[Memory] = []
        for memory in self._memories:
            leaves += memory._leaves() if type(memory) is CompositeMemory else [memory]  # noqa: SLF001 - of this class
        return list({id(memory): memory for memory in leaves}.values())


def _kind(error: Exception) -> str:
    """Return the class of an error and where it was raised: file, line and function."""
    places = [
        f" in {frame.f_code.co_qualname}, {frame.f_code.co_filename}:{line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    return type(error).__qualname__ + "".join(places[-1:])


def _members(memories: object) -> tuple[Memory, ...]:
    hint = "pass memories=[WindowMemory(...), VectorMemory(...)]"
    if isinstance(memories, Memory | str | bytes | Mapping):
        raise ConfigurationError(f"memories is {_validate.shown(memories)}, expected a list of them", hint=hint)
    try:
        members: Sequence[Any] = _validate.items(memories, "memories", "memories")
    except InvalidInputError as error:
        raise ConfigurationError(str(error), hint=hint) from error
    if not members:
        raise ConfigurationError("CompositeMemory has no members", hint=hint)
    for index, member in enumerate(members):
        if not isinstance(member, Memory):
            raise ConfigurationError(f"memories[{index}] is {_validate.shown(member)}, expected a Memory", hint=hint)
    return tuple(members)


def _by_collection(memories: Iterable[Memory]) -> tuple[list[Memory], list[list[StoredMemory]]]:
    """Return the memories that write by themselves, and those that write together: of one collection each."""
    alone: list[Memory] = []
    groups: dict[object, list[StoredMemory]] = {}
    for memory in memories:
        # A class of somebody's own that overrides `aadd` is asked by it.
        if isinstance(memory, StoredMemory) and type(memory).aadd is StoredMemory.aadd:
            groups.setdefault(_identity(memory.native()), []).append(memory)
        else:
            alone.append(memory)
    return alone, list(groups.values())


def _identity(collection: Collection) -> object:
    """Return what two collections of one file have in common: it may be open twice, by two of its paths."""
    return id(collection) if collection.path is None else os.path.realpath(collection.path)


# A member of somebody else's may raise before it awaits anything, or return something else; neither stops the others.
async def _add(memory: Memory, messages: Sequence[Message], thread: str) -> None:
    await memory.aadd(messages, thread_id=thread)


async def _write(collection: Collection, items: Sequence[dict[str, Any]] | BaseException) -> None:
    if isinstance(items, BaseException):
        raise items
    await write(collection, items)


async def _get(memory: Memory, thread: str, query: str | None, limit: int | None) -> Sequence[Message]:
    messages: object = await memory.aget(thread_id=thread, query=query, limit=limit)
    if not isinstance(messages, Sequence | Message):  # an iterator may have no end
        raise InvalidInputError(f"aget returned {type(messages).__name__}, expected a list of Message objects")
    return checked_messages(messages)


async def _clear(memory: Memory, thread: str | None) -> None:
    await memory.aclear(thread_id=thread)


async def _all(what: str, calls: Sequence[tuple[str, Coroutine[Any, Any, None]]]) -> None:
    """Wait for all calls, then report those that failed."""
    answers = await asyncio.gather(*[call for _, call in calls], return_exceptions=True)
    failures: list[tuple[str, Exception]] = []
    for (name, _), answer in zip(calls, answers, strict=True):
        if isinstance(answer, Exception):
            failures.append((name, answer))
        elif isinstance(answer, BaseException):
            raise answer
    if failures:
        told = "; ".join(f"{name}: {type(error).__name__}: {error}" for name, error in failures)
        rest = "the others did" if len(failures) < len(calls) else "no member did"
        raise MemberError(
            f"{len(failures)} of {len(calls)} failed to {what}, {rest}: {told}", failures=failures
        ) from failures[0][1]
