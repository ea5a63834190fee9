"""The verbs of conversation memory, which `Collection` and `ConversationMemory` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from retentive import (
    _clock,
    _consolidate,
    _context,
    _feedback,
    _forget,
    _recall,
    _remember,
    _remember_many,
    _replace_turns,
    _times,
    _validate,
)
from retentive._constants import KINDS, User
from retentive._conversation_twins import ConversationTwins
from retentive._results import ConsolidationReport, Result, Results
from retentive._steps import Steps, blocking

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from retentive._bulk import Progress
    from retentive._consolidate import Summarize
    from retentive._context import ContextBlock
    from retentive._engine import Engine
    from retentive._recall import RecallOptions
    from retentive.memory import ConversationMemory

T = TypeVar("T")


class Conversation(ConversationTwins):
    """Remember, recall, pack, correct, forget, consolidate."""

    _engine: Engine

    if TYPE_CHECKING:

        @property
        def _settings(self) -> ConversationMemory: ...

    @staticmethod
    def _run(steps: Steps[T]) -> T:
        """Run steps; always the last thing a method does, since its async twin takes them from here."""
        return blocking(steps)

    def remember(
        self,
        text: str,
        session: str | None = None,
        role: str = "user",
        turn: int | None = None,
        timestamp: datetime | str | None = None,
        pinned: bool = False,
        kind: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        ttl_days: float | None = None,
        check: bool | None = None,
        *,
        user: str | None = None,
        key: str | None = None,
        name: str | None = None,
    ) -> str:
        """Store one memory; when this returns, it is on disk.

        Args:
            text: what was said or is known; any valid Unicode, not blank, at most 4 MiB.
            session: the thread it belongs to; None for none.
            role: who said it: `user`, `assistant`, ...
            turn: its number in the session; None for the next one. Only for turns.
            timestamp: when it was said, a datetime or ISO 8601 string; without an offset it is UTC. None is now.
            pinned: makes it a pinned fact, always in the context.
            kind: `turn` (default), `fact` or `pinned`.
            metadata: JSON of the caller's own; keys that start with `_vx_` are refused.
            id: an id of the caller's own; None for a random one.
            ttl_days: days to live from `timestamp`, above 0, `float("inf")` for ever; None for the settings' own.
            check: whether the judge sees it; None for facts and pinned facts.
            user: who owns it; None for nobody.
            key: of a fact: a new value under the same key and owner supersedes the old one.
            name: the speaker's name.

        Returns:
            The id. A keyed fact that is known already keeps the id it has.

        Raises:
            InvalidInputError: an argument has the wrong type or value; nothing is stored.
            ConflictError: the id is in use.
            EmbedderError: the embedder failed.
            JudgeError: the judge failed, and the settings say `on_judge_error="raise"`.
            StoreError: the file cannot be written.

        Examples:
            >>> from retentive import Collection
            >>> from retentive.embedders import HashEmbedder
            >>> db = Collection("chat", embedder=HashEmbedder(64))
            >>> first = db.remember("I'd like the report as a PDF", session="u42")
            >>> plan = db.remember("Customer is on the annual plan", session="u42", pinned=True)
            >>> db.count(session="u42")
            2
        """
        fields = {
            "text": text,
            "session": session,
            "role": role,
            "turn": turn,
            "timestamp": timestamp,
            "pinned": pinned,
            "kind": kind,
            "metadata": metadata,
            "id": id,
            "ttl_days": ttl_days,
            "user": user,
            "key": key,
            "name": name,
        }
        return self._run(_remember.remember(self._engine, self._settings, check, fields))

    def remember_many(self, items: Iterable[Mapping[str, Any]], *, progress: Progress | None = None) -> list[str]:
        """Store many memories, embedded in batches and committed 1,000 at a time.

        What is stored is what `remember` would store one by one, in order. A list is checked as a whole before
        anything is stored; of an iterator, 1,000 items at a time.

        Args:
            items: mappings with the arguments of `remember`, and `vector`, float32 `[d]`, for one made elsewhere.
            progress: called with how many are stored and how many there are (None where not known).

        Returns:
            The ids, in order.

        Raises:
            InvalidInputError: an item is wrong; the message names its index.
            KeyboardInterrupt: Ctrl-C. As on every exception, `.stored` says how many were stored, in order.

        Examples:
            >>> from retentive import Collection
            >>> from retentive.embedders import HashEmbedder
            >>> db = Collection("chat", embedder=HashEmbedder(64))
            >>> len(db.remember_many([{"text": "hello", "session": "a"}, {"text": "hi", "role": "assistant"}]))
            2
        """
        return self._run(_remember_many.remember_many(self._engine, self._settings, items, progress))

    def replace_turns(self, session: str, items: Iterable[Mapping[str, Any]], *, user: str | None = None) -> list[str]:
        """Put other turns in the place of a session's turns, in one transaction.

        For a conversation that was edited, rolled back or read from elsewhere. The old turns are deleted for good;
        facts stay. No reader sees the session half-way, and what fails changes nothing.

        Args:
            session: whose turns.
            items: mappings with the arguments of `remember` that a turn has, without session and user; and `vector`.
                None of them is judged. An id of the old turns may be given again. No items: the session has no turns
                any more.
            user: the session's user; None for a session without one.

        Returns:
            The new ids, in order. Turn numbers go on from the old ones.

        Raises:
            InvalidInputError: an item is not a turn, or its fields are wrong; nothing is changed.
            ConflictError: an id is in use elsewhere; nothing is changed.
            EmbedderError: the embedder failed; nothing is changed.

        Examples:
            >>> from retentive import Collection
            >>> from retentive.embedders import HashEmbedder
            >>> db = Collection("chat", embedder=HashEmbedder(64))
            >>> _ = db.remember("helo", session="u42")
            >>> _ = db.replace_turns("u42", [{"text": "hello"}, {"text": "Hi!", "role": "assistant"}])
            >>> [turn.text for turn in db.turns("u42")]
            ['hello', 'Hi!']
        """
        return self._run(_replace_turns.replace_turns(self._engine, self._settings, session, items, user))

    def recall(
        self,
        query: str,
        session: str | None = None,
        limit: int | None = 10,
        token_budget: int | None = None,
        score_gap: float | None = None,
        kinds: Iterable[str] = KINDS,
        include_superseded: bool = False,
        mode: str | None = None,
        now: datetime | str | None = None,
        exclude_ids: Iterable[str] = (),
        *,
        user: User = None,
        filter: Mapping[str, Any] | None = None,
        min_relevance: float | Literal["auto"] | None = "auto",
        as_of: datetime | str | None = None,
    ) -> Results:
        """Return what matters now for a query: relevance, blended with recency and feedback.

        Args:
            query: a question or a message, up to 4 MiB. All of its words are looked for; its meaning is that of its
                first and its last sentence where it is longer than the embedder's window (default: 1,024 tokens).
            session: one session; None for every session of the user, or of what has no user.
            limit: how many at most; None for as many as fit the budget.
            token_budget: how many tokens at most; the first result always ships.
            score_gap: keep what scores at least this fraction of the best, 0 to 1.
            kinds: of `turn`, `fact`, `pinned`.
            include_superseded: also what was corrected.
            mode: `hybrid` (default), `dense` or `lexical`, which never loads the embedder.
            now: the time to rank from; None for the clock's.
            exclude_ids: ids to leave out.
            user: whose memories; None for what has no user, `ANY` for everybody's.
            filter: conditions on metadata, decided before ranking.
            min_relevance: `"auto"` returns nothing where nothing is relevant (judged from ten memories on, and the more
                strictly the more there are), in `lexical` where no memory has a word of the query; a number is the
                least similarity of each (not in `lexical`, which takes none); None returns the best there is.
            as_of: answer as of this instant of the memories' own time: what was said by then, had not expired, and
                was not superseded by anything said by then. Of corrections of one memory that is the last by then,
                also where their times are out of order.

        Returns:
            `Results`, best first.

        Raises:
            InvalidInputError: an argument has the wrong type or value.
            EmbedderError, CounterError: the embedder or the token counter failed.

        Examples:
            >>> from retentive import Collection
            >>> from retentive.embedders import HashEmbedder
            >>> db = Collection("chat", embedder=HashEmbedder(64))
            >>> id = db.remember("I'd like the report as a PDF", session="u42")
            >>> db.recall("which format for the report", session="u42").top.text
            "I'd like the report as a PDF"
        """
        options: RecallOptions = {
            "score_gap": score_gap,
            "kinds": kinds,
            "include_superseded": include_superseded,
            "mode": mode,
            "exclude_ids": exclude_ids,
            "filter": filter,
            "min_relevance": min_relevance,
            "as_of": as_of,
        }
        return self._run(
            _recall.recall(self._engine, self._settings, query, session, limit, token_budget, now, user, options)
        )

    def context(
        self,
        query: str,
        session: str | None = None,
        token_budget: int = 1500,
        recent_turns: int = 6,
        limit: int | None = 10,
        now: datetime | str | None = None,
        *,
        user: str | None = None,
        excerpt: int | Literal["auto"] | None = "auto",
        **recall_kwargs: Unpack[RecallOptions],
    ) -> ContextBlock:
        """Return a block for a prompt: pinned facts, the last turns, and what is recalled, within a budget.

        Args:
            query: the message that is to be answered; a long one as in `recall`.
            session: where the last turns come from; None for no turns.
            token_budget: how many tokens the block has at most; only pinned facts may exceed it.
            recent_turns: how many of the last turns at most; they take half of what pinned facts leave, and
                more where the recalled memories leave more.
            limit: how many recalled memories at most; None for as many as fit.
            now: the time to rank from; None for the clock's.
            user: recall from everything this user owns, not from `session` alone.
            excerpt: how long recalled texts are packed. `"auto"`: one longer than a quarter of the tokens left (and 40)
                as its sentences that answer the query best, but whole where room remains in the end. A number: as at
                most so many tokens, or one sentence. None: all whole.
            recall_kwargs: `kinds`, `score_gap`, `include_superseded`, `mode`, `exclude_ids`, `filter`,
                `min_relevance`, `as_of` of `recall`.

        Returns:
            `ContextBlock`, with `text`, and `messages()` for a chat API.

        Raises:
            InvalidInputError: an argument has the wrong type or value.
            EmbedderError, CounterError: the embedder or the token counter failed.

        Examples:
            >>> from retentive import Collection
            >>> from retentive.embedders import HashEmbedder
            >>> db = Collection("chat", embedder=HashEmbedder(64))
            >>> id = db.remember("Customer is on the annual plan", session="u42", pinned=True)
            >>> "annual plan" in db.context("what does it cost", session="u42").text
            True
        """
        return self._run(
            _context.context(
                self._engine,
                self._settings,
                query,
                session,
                token_budget,
                recent_turns,
                limit,
                now,
                user,
                excerpt,
                recall_kwargs,
            )
        )

    def feedback(
        self,
        id: str,
        outcome: str,
        correction: str | None = None,
        timestamp: datetime | str | None = None,
    ) -> str | None:
        """Say how a memory turned out.

        Args:
            id: of the memory.
            outcome: `useful` (+1), `dead_end` (-1) or `corrected` (-1).
            correction: with `corrected`, what is right: a new memory that supersedes the newest of the chain.
            timestamp: when; None is now.

        Returns:
            The id of the correction, or None.

        Raises:
            NotFoundError: no memory has that id.
            ConflictError: somebody else corrected it meanwhile.
            InvalidInputError: an argument has the wrong type or value.

        Examples:
            >>> from retentive import Collection
            >>> from retentive.embedders import HashEmbedder
            >>> db = Collection("chat", embedder=HashEmbedder(64))
            >>> id = db.remember("The office is in Lyon", kind="fact")
            >>> new = db.feedback(id, "corrected", correction="The office is in Paris")
            >>> [result.text for result in db.history(id)]
            ['The office is in Lyon', 'The office is in Paris']
        """
        return self._run(_feedback.feedback(self._engine, self._settings, id, outcome, correction, timestamp))

    def forget(
        self,
        session: str | None = None,
        kinds: Iterable[str] = ("turn",),
        older_than: float | datetime | str | None = None,
        ids: Iterable[str] | None = None,
        superseded: bool = False,
        now: datetime | str | None = None,
        *,
        user: User = None,
        all: bool = False,
    ) -> int:
        """Delete memories for good: their bytes are overwritten in the file.

        Args:
            session: only of this session.
            kinds: of `turn`, `fact`, `pinned`; only turns unless others are named.
            older_than: only what was said more than so many days before `now`, or before a datetime.
            ids: only these, whatever their kind, and whoever owns them unless `user` or `session` is given.
            superseded: only what was superseded.
            now: the time to count from; None for the clock's.
            user: whose; None for what has no user, `ANY` for everybody's.
            all: must be True where nothing above selects.

        Returns:
            How many were deleted.

        Raises:
            InvalidInputError: nothing selects and `all` is not True, or an argument has the wrong type or value.
        """
        return _forget.forget(self._engine, session, kinds, older_than, ids, superseded, now, user, all)

    def expire(self, now: datetime | str | None = None) -> int:
        """Delete what is past its time to live. Reads never show it, whether or not this ran.

        Args:
            now: the time to count from; None for the clock's.

        Returns:
            How many were deleted.
        """
        return self._engine.core.expire(_times.instant_or("now", now, _clock.now()))

    def consolidate(
        self,
        session: str,
        summarize: Summarize,
        keep_recent: int = 6,
        older_than: float | datetime | str | None = None,
        batch_turns: int = 40,
        delete: bool = True,
        pinned: bool = False,
        now: datetime | str | None = None,
        *,
        user: str | None = None,
        progress: Progress | None = None,
    ) -> ConsolidationReport:
        """Turn a session's old turns into a few facts, with a summarizer of the caller's.

        Each batch's facts and the deletion of its turns are one transaction. Pinned facts are never touched.

        Args:
            session: the session.
            summarize: gets `[{"role", "text", "ts"}, ...]`, oldest first (`name` too where there is one); returns a
                list of strings or of mappings `{"text", "turns": [indexes], "key", "pinned"}`. `[]` is valid.
            keep_recent: how many of the last turns stay as they are.
            older_than: only turns said more than so many days before `now`, or before a datetime.
            batch_turns: how many turns `summarize` gets at once, at most.
            delete: False keeps the turns; those that a fact cites are not summarised again, the others are, at the
                next call. Beside its turns a fact is found by what tells them apart, and left out where all of them
                are there: say which in `turns`.
            pinned: store the facts as pinned facts.
            now: the time to count from; None for the clock's.
            user: whose session.
            progress: called with how many turns are done, and None.

        Returns:
            `ConsolidationReport`.

        Raises:
            SummarizeError: the summarizer raised or returned something else; `.report` says what was done before.
            ConflictError: the turns kept changing meanwhile.
            KeyboardInterrupt: Ctrl-C. As on every exception from the first batch on, `.report` says what was done.

        Examples:
            >>> from retentive import Collection
            >>> from retentive.embedders import HashEmbedder
            >>> db = Collection("chat", embedder=HashEmbedder(64))
            >>> ids = db.remember_many([{"text": f"number {i}", "session": "u42"} for i in range(8)])
            >>> db.consolidate("u42", lambda turns: [f"counted to {len(turns) - 1}"], keep_recent=6).turns_removed
            2
        """
        request = _consolidate.checked_request(session, user, keep_recent, older_than, batch_turns, delete, pinned, now)
        return self._run(_consolidate.consolidate(self._engine, self._settings, request, summarize, progress))

    def turns(self, session: str, limit: int | None = None, *, user: str | None = None) -> list[Result]:
        """Return a session's turns in order, not expired, at most the settings' `max_turns`.

        Args:
            session: the session.
            limit: only the last so many.
            user: whose session.
        """
        session, user = _validate.named_session(session), _validate.owner(user)
        limit = _validate.integer_or_none("limit", limit)
        most = self._settings.max_turns
        if most is not None:
            limit = most if limit is None else min(limit, most)
        return [Result(turn) for turn in self._engine.core.turns(session, user, limit, _clock.now())]
