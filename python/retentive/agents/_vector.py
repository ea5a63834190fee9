"""`VectorMemory`: what a thread says about a query, by meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from retentive import _validate
from retentive._collection import Collection
from retentive._constants import FACT, K_KIND, K_ROLE, PINNED
from retentive._errors import ConfigurationError
from retentive.agents import _blocking
from retentive.agents._memory import DEFAULT_THREAD, checked_thread
from retentive.agents._message import Role, checked_message
from retentive.agents._off_loop import off_loop
from retentive.agents._stored import StoredMemory, check_metadata, checked_collection, message_of, stored_metadata
from retentive.embedders._resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from retentive._results import Result
    from retentive.agents._message import Message
    from retentive.embedders import Embedder


class VectorMemory(StoredMemory):
    """What was said or is known in a thread that is near a query, oldest first.

    It reads everything the thread's session has in the collection: its own messages, what other memories or the
    application stored there, and the session's facts, as messages of the role `system`; of turns, only those of
    `store_roles`. It clears only what it stored itself.

    Args:
        embedder: for a collection in memory: `"static"` or an `Embedder`. Beside a collection it must be its own.
        collection: where the messages are stored.
        top_k: how many messages are recalled at most; at least 1.
        score_threshold: the least similarity (cosine, -1 to 1) of each message. `"auto"` is the embedder's own
            `noise_floor` (nothing is dropped by an embedder that does not tell it); a number is taken literally; None
            drops nothing.
        store_roles: whose messages are stored and recalled; those of other roles are left out.
        name: under which it stores.

    Raises:
        ConfigurationError: neither embedder nor collection is given, or they do not fit; `.hint` says what to pass.
        InvalidInputError: an argument has the wrong type or value.

    Examples:
        >>> from retentive.agents import Message
        >>> memory = VectorMemory(embedder="static")
        >>> memory.add([Message.user("I am allergic to peanuts"), Message.user("My train leaves at nine")])
        >>> [message.content for message in memory.get(query="which foods am I allergic to?")]
        ['I am allergic to peanuts']
    """

    def __init__(
        self,
        *,
        embedder: str | Embedder | None = None,
        collection: Collection | None = None,
        top_k: int = 5,
        score_threshold: float | Literal["auto"] | None = "auto",
        store_roles: Iterable[Role | str] = (Role.USER, Role.ASSISTANT),
        name: str = "vector",
    ) -> None:
        self._top_k = _validate.integer("top_k", top_k, at_least=1)
        self._score_threshold = _threshold(score_threshold)
        roles = _validate.items(store_roles, "store_roles", "roles, like ('user', 'assistant')")
        self._store_roles = tuple(dict.fromkeys(Role.of(role, "a role of store_roles") for role in roles))
        super().__init__(_collection_of(embedder, collection), name)

    @property
    def top_k(self) -> int:
        """How many messages are recalled at most."""
        return self._top_k

    @property
    def score_threshold(self) -> float | Literal["auto"] | None:
        """The least similarity of a recalled message, `"auto"`, or None."""
        return self._score_threshold

    @property
    def store_roles(self) -> tuple[Role, ...]:
        """Whose messages are stored and recalled."""
        return self._store_roles

    def keeps(self, message: Message) -> bool:
        """Return whether a message is of a role that is stored.

        Raises:
            InvalidInputError: it is no `Message`.
        """
        return checked_message(message).role in self._store_roles

    async def aremember(self, fact: str, thread_id: str | None = DEFAULT_THREAD, **metadata: Any) -> str:
        """Store a fact: it is recalled like a message, with the role `system`, and is no turn of the conversation.

        Args:
            fact: what is known; not blank.
            thread_id: the thread it belongs to; None is `"default"`.
            metadata: JSON of the caller's own.

        Returns:
            Its id in the collection.

        Raises:
            InvalidInputError: the fact, its metadata or the thread is wrong; nothing is stored.
            EmbedderError, JudgeError: the embedder failed, or the judge of the collection's settings.
            StoreError: the file cannot be written.
        """
        _validate.text(fact, "fact")
        check_metadata(metadata)
        thread = checked_thread(thread_id)
        return await off_loop(
            self._collection,
            self._collection.remember,
            fact,
            session=thread,
            role=Role.SYSTEM.value,
            kind=FACT,
            metadata=stored_metadata(metadata, [self.name]),
        )

    def remember(self, fact: str, thread_id: str | None = DEFAULT_THREAD, **metadata: Any) -> str:
        """Do what `aremember` does, and wait for it."""
        return _blocking.run(lambda: self.aremember(fact, thread_id=thread_id, **metadata))

    def describe(self) -> dict[str, Any]:
        """Return the settings and where the messages are, as JSON; nothing is read or counted."""
        settings = {
            "embedder": self._collection.embedder.name,
            "top_k": self._top_k,
            "score_threshold": self._score_threshold,
            "store_roles": [role.value for role in self._store_roles],
        }
        return {**super().describe(), **settings}

    async def _read(self, thread: str, query: str | None, limit: int | None) -> list[Message]:
        most = self._top_k if limit is None else limit
        if query is None or not most:
            return []
        roles = [role.value for role in self._store_roles]
        threshold = self._score_threshold
        hits = await off_loop(
            self._collection,
            self._collection.search,
            query,
            limit=most,
            mode="dense",
            session=thread,
            filter={"$or": [{K_ROLE: {"$in": roles}}, {K_KIND: {"$in": [FACT, PINNED]}}]},
            max_distance="auto" if threshold == "auto" else None,
        )
        # A number is held against the similarity itself: 1 - (1 - 0.43) is not 0.43.
        near = [
            (hit, hit.similarity)
            for hit in hits
            if hit.similarity is not None and (not isinstance(threshold, float) or hit.similarity >= threshold)
        ]
        near.sort(key=lambda pair: _place(pair[0]))
        return [message_of(hit, {"recalled": True, "score": similarity}) for hit, similarity in near]


def _place(hit: Result) -> tuple[datetime, int, str]:
    """Return what messages are ordered by; those of one instant as they stand in the thread, facts before them."""
    return hit.timestamp, -1 if hit.turn is None else hit.turn, hit.id


def _threshold(value: object) -> float | Literal["auto"] | None:
    if value is None:
        return None
    if _validate.is_auto(value):
        return "auto"
    expected = 'a similarity of -1 to 1, "auto" or None'
    return _validate.number("score_threshold", value, at_least=-1, at_most=1, expected=expected)


def _collection_of(embedder: str | Embedder | None, collection: Collection | None) -> Collection:
    if collection is None:
        if embedder is None:
            raise ConfigurationError(
                "VectorMemory has neither an embedder nor a collection",
                hint='pass embedder="static" to keep it in memory, or collection=Collection(name, path=...)',
            )
        return Collection("vector", embedder=embedder)
    checked = checked_collection(collection)
    if embedder is not None and resolve(embedder).name != checked.embedder.name:
        raise ConfigurationError(
            f"the embedder {resolve(embedder).name!r} is not the collection's, {checked.embedder.name!r}",
            hint="leave embedder out, or open the collection with it",
        )
    return checked
