"""`Collection`: one file of memories and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import retentive._fork  # noqa: F401 - registers its handler
from retentive import _clock, _documents, _json, _opening, _reading, _search, _steps, _validate
from retentive._collection_twins import CollectionTwins
from retentive._constants import ANY, User
from retentive._conversation import Conversation
from retentive._embedding import Embedding
from retentive._engine import Engine, reach
from retentive._errors import ConfigurationError, InvalidInputError, NotFoundError
from retentive._maintenance import Maintenance
from retentive._moving import Moving
from retentive._open_handle import OpenHandle
from retentive._pool import Pool
from retentive._remember import normalised_key
from retentive._results import Result, Results
from retentive.embedders._resolve import only, resolve
from retentive.memory import ConversationMemory
from retentive.tokens import checked_counter

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    import numpy.typing as npt

    from retentive._bulk import Progress
    from retentive.embedders import AsyncEmbedder, Embedder, EmbedderPair


class Collection(Conversation, Maintenance, Moving, CollectionTwins, OpenHandle):
    """Turns, facts and documents in one SQLite file, or in memory.

    Many processes of one machine may have the same file open; each sees what the others committed. Usable as a context
    manager, with `async with` too. `await db.aremember(...)` is `db.remember(...)` without blocking the event loop, and
    so for every method that touches the store: four threads of the collection's own do the work.

    Args:
        name: 1 to 100 characters of letters, digits, `_ - .`, no leading dot.
        path: the folder of the file `<name>.db`; it is made if only its last part is missing. None keeps everything in
            memory.
        embedder: `"static"` for the model in the package, any `Embedder`, or, for the async twins alone, an
            `AsyncEmbedder`; or a list of two, the better one first: each memory has the vectors of both (see
            `EmbedderPair`).
        token_counter: `str -> int`, for every budget; None for the built-in estimate.
        durability: `"full"`, what returned survives a power cut; `"normal"`, it survives a crash of the process.
        language: for stemming and stop words.
        cache_mb: megabytes for the index in memory.
        busy_timeout_s: seconds to wait for another process's lock.
        readonly: never write.

    Raises:
        InvalidInputError: an argument has the wrong type or value.
        ConfigurationError: the embedder or the counter cannot work.
        StoreError: the file is not one of retentive's, is newer, damaged or locked.
        OSError: the folder is missing or may not be read.

    Examples:
        >>> from retentive.embedders import HashEmbedder
        >>> with Collection("chat", embedder=HashEmbedder(64)) as db:
        ...     id = db.remember("I'd like the report as a PDF", session="u42")
        ...     db.recall("what format for the report", session="u42").texts
        ["I'd like the report as a PDF"]
    """

    def __init__(
        self,
        name: str,
        path: str | os.PathLike[str] | None = None,
        *,
        embedder: str | Embedder | AsyncEmbedder | EmbedderPair | Sequence[str | Embedder | AsyncEmbedder] = "static",
        token_counter: Callable[[str], int] | None = None,
        durability: str = "full",
        language: str = "english",
        cache_mb: int = 256,
        busy_timeout_s: float = 30,
        readonly: bool = False,
    ) -> None:
        if token_counter is not None and not callable(token_counter):
            raise ConfigurationError(
                f"token_counter is {_validate.shown(token_counter)}", hint="pass a function of str to int, or None"
            )
        _steps.plain("token_counter", token_counter)
        resolved = resolve(embedder)  # before a file is opened
        core, self._path = _opening.open_core(name, path, durability, language, cache_mb, busy_timeout_s, readonly)
        counter = None if token_counter is None else checked_counter(token_counter)
        self._name = name
        embedding = Embedding(resolved, core, chosen=not isinstance(only(embedder), str))
        self._engine = Engine(core, embedding, counter, Pool(name))
        self._memory = ConversationMemory(self)

    @property
    def name(self) -> str:
        """The collection's name."""
        return self._name

    @property
    def path(self) -> Path | None:
        """The collection's file; None in memory. While it is open, nothing but retentive may open it here."""
        return self._path

    @property
    def embedder(self) -> Embedder | EmbedderPair:
        """The embedder, or the pair of them."""
        return self._engine.embedding.embedder

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._engine.core.closed

    @property
    def memory(self) -> ConversationMemory:
        """The `ConversationMemory` whose settings the methods use; can be set.

        Settings of another collection are copied: what is set here always acts on this collection.
        """
        return self._memory

    @memory.setter
    def memory(self, memory: ConversationMemory) -> None:
        if not isinstance(memory, ConversationMemory):
            raise InvalidInputError(f"memory is {_validate.shown(memory)}, expected a ConversationMemory")
        self._memory = memory.bound_to(self._engine)

    @property
    def _settings(self) -> ConversationMemory:
        return self._memory

    def close(self) -> None:
        """Close the file; once is enough, more does nothing."""
        self._engine.core.close()
        self._engine.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "in memory" if self._path is None else f"path={str(self._path.parent)!r}"
        return f"<Collection {self._name!r}, {where}{', closed' if self.closed else ''}>"

    def history(self, id: str) -> list[Result]:
        """Return the whole chain of corrections that `id` is in, oldest first, without what has expired.

        Raises:
            NotFoundError: no memory has that id, or all of the chain has expired.
        """
        now = _clock.now()
        chain = self._engine.core.history(_validate.memory_id(id))
        live = [Result(memory) for memory in chain if memory.expires is None or memory.expires > now]
        if not live:
            raise NotFoundError(f"no memory with id {id!r}; it has expired", id=id)
        return live

    def fact(self, key: str, *, session: str | None = None, user: str | None = None) -> Result | None:
        """Return the fact that is live under `key` for its owner: the user, else the session, else the collection."""
        session, user = _validate.session(session), _validate.owner(user)
        found = self._engine.core.fact(normalised_key(key), user, session, _clock.now())
        return None if found is None else Result(found)

    def facts(self, *, session: str | None = None, user: str | None = None) -> list[Result]:
        """Return the live keyed facts of an owner, by key."""
        session, user = _validate.session(session), _validate.owner(user)
        return [Result(memory) for memory in self._engine.core.facts(user, session, _clock.now())]

    def add(
        self,
        texts: str | Iterable[str],
        metadata: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None = None,
        ids: str | Sequence[str] | None = None,
        vectors: npt.ArrayLike | None = None,
        *,
        progress: Progress | None = None,
    ) -> list[str]:
        """Store plain documents, 1,000 a transaction.

        Args:
            texts: one text or many.
            metadata: a mapping a text, or None.
            ids: an id a text; None for a hash of the text, so that adding twice changes nothing. An id that a document
                has is replaced.
            vectors: `[len(texts), d]`, made elsewhere with the collection's one embedder; None embeds here.
            progress: called with how many are stored and how many there are.

        Returns:
            The ids, in order.

        Raises:
            InvalidInputError: a text, an id, metadata or a vector is wrong; nothing is stored.
            DimensionError: the vectors are not of the collection's dimension.

        Examples:
            >>> from retentive.embedders import HashEmbedder
            >>> db = Collection("docs", embedder=HashEmbedder(64))
            >>> ids = db.add(["The export button is top right", "Invoices come monthly"])
            >>> db.search("export button", limit=1).ids == ids[:1]
            True
        """
        return self._run(_documents.add(self._engine, texts, metadata, ids, vectors, progress))

    def search(
        self,
        query: str | None = None,
        limit: int | None = 10,
        mode: str = "hybrid",
        filter: Mapping[str, Any] | None = None,
        token_budget: int | None = None,
        score_gap: float | None = None,
        *,
        session: str | None = None,
        user: User = None,
        vector: npt.ArrayLike | None = None,
        max_distance: float | Literal["auto"] | None = None,
        explain: bool = False,
    ) -> Results:
        """Search documents and live memories alike: no thread, no recency, no feedback.

        Args:
            query: a text, a long one as in `recall`; None searches by `vector`, or by `filter` alone, newest first.
            limit: how many at most; None for as many as fit the budget.
            mode: `hybrid` (scores of 0 to 1), `dense` (the cosine, of two models the first one's) or `lexical` (BM25;
                also called `sparse`).
            filter: conditions on metadata, decided before ranking.
            token_budget: how many tokens at most; the first result always ships.
            score_gap: keep what scores at least this fraction of the best; near 0.9 suits dense, 0.2 lexical.
            session: one session; None for all.
            user: whose; None for what has no user, `ANY` for everybody's.
            vector: the query's vector, `[d]`, made elsewhere with the collection's one embedder.
            max_distance: leave out what is further (1 - cosine); `"auto"` for the embedder's own noise floor. A number
                needs something to measure from: a query in another mode than `lexical`, or a vector.
            explain: put the parts of the score into `_vx_scoring`.

        Returns:
            `Results`, best first.

        Raises:
            InvalidInputError: an argument has the wrong type or value.
            EmbedderError, CounterError: the embedder or the token counter failed.
        """
        return self._run(
            _search.search(
                self._engine,
                query,
                limit,
                mode,
                filter,
                token_budget,
                score_gap,
                session,
                user,
                vector,
                max_distance,
                explain,
            )
        )

    def similar(self, id: str, limit: int = 10) -> Results:
        """Return what is nearest to a memory, among those of its owner, without itself.

        Texts are as near as their nearest parts. Of a text of more than 256 parts, evenly spread ones are compared.

        Raises:
            NotFoundError: no memory has that id.
        """
        start = _clock.stopwatch()
        limit = _validate.integer("limit", limit)
        ranked = self._engine.core.similar(_validate.memory_id(id), limit, _clock.now())
        return _reading.selected(
            self._engine, ranked, verb="similar", query=None, mode="dense", limit=limit, token_budget=None, start=start
        )

    def get(self, ids: Iterable[str], vectors: bool = False) -> list[Result]:
        """Return memories and documents by id, in the order asked; ids that nothing has are left out.

        Args:
            ids: the ids.
            vectors: also their vectors, as `.vector`: the float32 that was given; of two models those of the first;
                None where there are none, see `reembed`.
        """
        asked = _validate.memory_ids(ids)
        stored = self._engine.core.get(asked, _clock.now())
        rows = self._engine.core.vectors(asked) if _validate.boolean("vectors", vectors) else [None] * len(asked)
        return [
            Result(memory, None if row is None or not len(row) else row[0] if len(row) == 1 else row)
            for memory, row in zip(stored, rows, strict=True)
            if memory is not None
        ]

    def get_one(self, id: str) -> Result | None:
        """Return one memory or document by id, or None."""
        found = self._engine.core.get([_validate.memory_id(id)], _clock.now())[0]
        return None if found is None else Result(found)

    def delete(self, ids: Iterable[str]) -> int:
        """Delete memories and documents by id, for good; return how many there were."""
        return self._engine.core.delete(_validate.memory_ids(ids))

    def count(
        self,
        filter: Mapping[str, Any] | None = None,
        *,
        session: str | None = None,
        user: User = ANY,
    ) -> int:
        """Return how many memories and documents are stored and not expired.

        Args:
            filter: only those that meet it.
            session: only of this session.
            user: only of this user; None for what has no user, `ANY` (the default) for all.
        """
        within = reach(_validate.user(user), _validate.session(session))
        return self._engine.core.count(within, _json.filter_text(filter), _clock.now())

    def sessions(self, user: User = None) -> list[str]:
        """Return the names of a user's sessions, or of those without a user; `ANY` for all.

        A session in which everything has expired is not among them.
        """
        return self._engine.core.sessions(reach(_validate.user(user), None), _clock.now())

    def users(self) -> list[str]:
        """Return the names of the users who own something that has not expired."""
        return self._engine.core.users(_clock.now())

    def clear(self) -> int:
        """Delete everything, for good; return how much there was."""
        return self._engine.core.clear()
