"""`MemoryManager`: an assistant's memory in one collection."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

from retentive import _times, _validate
from retentive._collection import Collection
from retentive._errors import ConfigurationError, InvalidInputError
from retentive._open_handle import OpenHandle
from retentive.assistant import _facts, _file, _packing, _session
from retentive.assistant._conversation import Conversation
from retentive.assistant._facts import Facts
from retentive.assistant._owner import Owner
from retentive.assistant._semantic import Semantic
from retentive.assistant._statement import MIN_WORDS, is_statement
from retentive.memory import ConversationMemory
from retentive.tokens import estimate_tokens

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from retentive.assistant._semantic import Found
    from retentive.assistant._turn import ChatTurn
    from retentive.embedders import Embedder

COLLECTION = "assistant"


class MemoryManager(OpenHandle):
    """A conversation, known facts, and what was said before, in one collection.

    The collection is the truth: what was recorded is stored when `record` returns. `checkpoint` writes the conversation
    as JSON beside it; a manager whose session has no turns yet loads that file. Usable as a context manager.

    Args:
        session_id: the thread of conversation.
        path: a folder, for the collection `assistant.db` and the file `session_<id>.json`; None keeps all in memory.
        max_turns: how many turns the conversation has at most; None for all.
        retention_days: how old a turn of the conversation may be when `prune` runs; None for any age.
        token_budget: `context_for` stays under so many tokens.
        user: who owns facts and statements, in every session. None: they are the session's own.
        embedder: `"static"` for the model in the package, or any `Embedder`.
        token_counter: `str -> int`, for the budget; None for the built-in estimate.
        collection: one that is open already, in place of `path`, `embedder` and `token_counter`; it stays open. The
            file of the session is beside it, `session_<id>+<name>.json`, since a folder may have many collections.

    Attributes:
        conversation: the newest turns.
        facts: one value a key.
        semantic: documents and statements, found by meaning.

    Raises:
        InvalidInputError: an argument has the wrong type or value.
        ConfigurationError: `collection` came together with what only a new one takes.
        SessionFileError: the session's file is damaged or not a session. Nothing was changed.
        StoreError, OSError: the collection or its folder cannot be used.

    Examples:
        >>> with MemoryManager("u42") as memory:
        ...     turn = memory.record("user", "I can't eat peanuts, they make my throat swell")
        ...     memory.semantic.search("peanuts make my throat swell")[0].text
        "I can't eat peanuts, they make my throat swell"
    """

    def __init__(
        self,
        session_id: str = "default",
        *,
        path: str | os.PathLike[str] | None = None,
        max_turns: int | None = 50,
        retention_days: float | None = 30,
        token_budget: int = 800,
        user: str | None = None,
        embedder: str | Embedder | None = None,
        token_counter: Callable[[str], int] | None = None,
        collection: Collection | None = None,
    ) -> None:
        session, user = _session_id(session_id), _validate.owner(user)
        max_turns = _validate.integer_or_none("max_turns", max_turns, at_least=1)
        retention_days = _retention(retention_days)
        self._token_budget = _validate.integer("token_budget", token_budget, at_least=1)
        self._owns = collection is None
        if collection is None:
            collection = _opened(path, max_turns, embedder, token_counter)
        else:
            _check_shared(collection, path=path, embedder=embedder, token_counter=token_counter)
        self._owner = Owner(collection, session, user, max_turns)
        self._file = file = _checkpoint(collection, session, user)
        self.conversation = Conversation(self._owner, retention_days, file)
        self.facts = Facts(self._owner)
        self.semantic = Semantic(self._owner)
        try:
            if file is not None:
                _session.load_new(self._owner, file)
        except BaseException:
            self.close()
            raise

    @property
    def session_id(self) -> str:
        """The thread of conversation."""
        return self._owner.session

    @property
    def user(self) -> str | None:
        """Who owns facts and statements, or None."""
        return self._owner.user

    @property
    def collection(self) -> Collection:
        """The collection that has everything."""
        return self._owner.collection

    @property
    def token_budget(self) -> int:
        """`context_for` stays under so many tokens."""
        return self._token_budget

    def record(self, role: str, content: str, image_path: str | os.PathLike[str] | None = None) -> ChatTurn:
        """Store a turn, and make it searchable where it is a statement of the user with at least four words.

        A question counts as a statement: "did I tell you that I moved to Lyon?" tells something. Where words have no
        spaces between them (Chinese, Japanese, Thai) each character counts as a word.

        Args:
            role: who said it; `user` or `human` is the user.
            content: what was said.
            image_path: an image that came with it; the path is kept, the image is not read.

        Returns:
            The turn.

        Raises:
            InvalidInputError: the content is blank, or an argument has the wrong type. Nothing was stored.
            EmbedderError: the embedder failed. Nothing was stored.
        """
        _validate.text(content, "content")
        searchable = is_statement(_validate.label(role, "role"), content)
        return _session.store(self._owner, role, content, image_path, searchable=searchable)

    def context_for(self, query: str, k_recent: int = 5, k_semantic: int = 3) -> str:
        """Return a block for a prompt: known facts, what is relevant of what was said before, the recent conversation.

        The block stays under `token_budget` tokens by the token counter, always. Facts have half of it, and what the
        rest leaves; where not all fit, the newest do. A text of more than a quarter of it is cut: a turn at its end, a
        memory to what is nearest to the query. What is in the recent conversation, and the query itself, is not
        repeated as a memory.

        Args:
            query: the message that is to be answered.
            k_recent: how many of the last turns at most.
            k_semantic: how many memories at most.

        Returns:
            The block; empty where there is nothing to say.

        Raises:
            InvalidInputError: the query is blank, or an argument has the wrong type or value.
            EmbedderError, CounterError: the embedder or the token counter failed.
        """
        _validate.text(query, "query")
        k_recent = _validate.integer("k_recent", k_recent)
        k_semantic = _validate.integer("k_semantic", k_semantic)
        turns = _session.conversation(self._owner, k_recent)
        hits = self._not_said_yet(query, {turn.text for turn in turns} | {query}, k_semantic)
        count = self._owner.engine.counter or estimate_tokens
        return _packing.pack(query, _facts.stored(self._owner), hits, turns, self._token_budget, count)

    def checkpoint(self) -> Path:
        """Write the conversation as JSON beside the collection; return the file.

        Raises:
            ConfigurationError: the collection is in memory.
            OSError: the file cannot be written; the one before it is as it was.
        """
        if self._file is None:
            raise ConfigurationError(
                "the collection is in memory, so a checkpoint has no folder",
                hint="pass path=, or call conversation.save(path)",
            )
        return self.conversation.save(self._file)

    def close(self) -> None:
        """Close the collection, unless it was given; once is enough, more does nothing."""
        if self._owns:
            self._owner.collection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        owner = "" if self.user is None else f", user={self.user!r}"
        return f"<MemoryManager {self.session_id!r}{owner} on {self.collection!r}>"

    def _not_said_yet(self, query: str, shown: set[str], k: int) -> list[Found]:
        """Return the nearest memories whose texts are not shown; each text once."""
        wanted = k + len(shown)
        while True:
            found = self.semantic.search(query, wanted)
            fresh = {hit.text: hit for hit in reversed(found) if hit.text not in shown}
            hits = sorted(fresh.values(), key=lambda hit: hit.distance)
            if len(hits) >= k or len(found) < wanted:
                return hits[:k]
            wanted *= 2


def _session_id(value: object) -> str:
    try:
        return _validate.named_session(value)
    except InvalidInputError as error:
        error.args = (f"session_id is {_validate.shown(value)}: {error}",)
        raise


def _checkpoint(collection: Collection, session: str, user: str | None) -> Path | None:
    if collection.path is None:
        return None
    # A folder has one collection of this name, and any number of others.
    name = None if collection.name == COLLECTION else collection.name
    return collection.path.parent / _file.file_name(session, user, name)


def _retention(value: object) -> float | None:
    if value is None or (isinstance(value, float) and value == math.inf):
        return None
    days = _validate.number("retention_days", value, above=0, expected="days above 0, or None")
    return days if math.isfinite(days * _times.DAY_US) else None


def _opened(
    path: str | os.PathLike[str] | None,
    max_turns: int | None,
    embedder: str | Embedder | None,
    token_counter: Callable[[str], int] | None,
) -> Collection:
    embedder = "static" if embedder is None else embedder
    collection = Collection(COLLECTION, path, embedder=embedder, token_counter=token_counter)
    # So that the collection's own `recall` and `context` agree with what is searchable here.
    collection.memory = ConversationMemory(
        collection, max_turns=max_turns, recall_roles=("user", "human"), recall_min_words=MIN_WORDS
    )
    return collection


def _check_shared(collection: object, **given: object) -> None:
    if not isinstance(collection, Collection):
        raise InvalidInputError(f"collection is {_validate.shown(collection)}, expected a Collection")
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise ConfigurationError(
            f"{named[0]} is given together with a collection, which has its own",
            hint=f"pass {named[0]} to Collection, or leave collection out",
        )
