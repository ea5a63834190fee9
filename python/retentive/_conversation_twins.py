"""The async twins of the verbs of conversation memory: the same arguments, answers and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from retentive._constants import KINDS, User

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from retentive._bulk import Progress
    from retentive._consolidate import AsyncSummarize, Summarize
    from retentive._context import ContextBlock
    from retentive._conversation import Conversation
    from retentive._engine import Engine
    from retentive._recall import RecallOptions
    from retentive._results import ConsolidationReport, Result, Results


class ConversationTwins:
    """A twin each of the methods of `Conversation`."""

    _engine: Engine

    async def aremember(
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
        """Do what `remember` does, without blocking the event loop."""
        return await self._engine.pool.call(
            _blocking(self).remember,
            text,
            session,
            role,
            turn,
            timestamp,
            pinned,
            kind,
            metadata,
            id,
            ttl_days,
            check,
            user=user,
            key=key,
            name=name,
        )

    async def aremember_many(
        self, items: Iterable[Mapping[str, Any]], *, progress: Progress | None = None
    ) -> list[str]:
        """Do what `remember_many` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).remember_many, items, progress=progress)

    async def areplace_turns(
        self, session: str, items: Iterable[Mapping[str, Any]], *, user: str | None = None
    ) -> list[str]:
        """Do what `replace_turns` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).replace_turns, session, items, user=user)

    async def arecall(
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
        """Do what `recall` does, without blocking the event loop."""
        return await self._engine.pool.call(
            _blocking(self).recall,
            query,
            session,
            limit,
            token_budget,
            score_gap,
            kinds,
            include_superseded,
            mode,
            now,
            exclude_ids,
            user=user,
            filter=filter,
            min_relevance=min_relevance,
            as_of=as_of,
        )

    async def acontext(
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
        """Do what `context` does, without blocking the event loop."""
        return await self._engine.pool.call(
            _blocking(self).context,
            query,
            session,
            token_budget,
            recent_turns,
            limit,
            now,
            user=user,
            excerpt=excerpt,
            **recall_kwargs,
        )

    async def afeedback(
        self, id: str, outcome: str, correction: str | None = None, timestamp: datetime | str | None = None
    ) -> str | None:
        """Do what `feedback` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).feedback, id, outcome, correction, timestamp)

    async def aforget(
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
        """Do what `forget` does, without blocking the event loop."""
        return await self._engine.pool.call(
            _blocking(self).forget, session, kinds, older_than, ids, superseded, now, user=user, all=all
        )

    async def aexpire(self, now: datetime | str | None = None) -> int:
        """Do what `expire` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).expire, now)

    async def aconsolidate(
        self,
        session: str,
        summarize: Summarize | AsyncSummarize,
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
        """Do what `consolidate` does, without blocking the event loop; `summarize` may be an async function."""
        return await self._engine.pool.call(
            _blocking(self).consolidate,
            session,
            cast("Summarize", summarize),
            keep_recent,
            older_than,
            batch_turns,
            delete,
            pinned,
            now,
            user=user,
            progress=progress,
        )

    async def aturns(self, session: str, limit: int | None = None, *, user: str | None = None) -> list[Result]:
        """Do what `turns` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).turns, session, limit, user=user)


def _blocking(twins: ConversationTwins) -> Conversation:
    return cast("Conversation", twins)
