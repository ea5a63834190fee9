"""The async twins of a collection: the same arguments, answers and errors."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Self, cast

from retentive._constants import ANY, User
from retentive._errors import ClosedError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    import numpy.typing as npt

    from retentive._bulk import Progress
    from retentive._calibrate import Pair, Query
    from retentive._calibration import Calibration
    from retentive._collection import Collection
    from retentive._engine import Engine
    from retentive._report import ImportReport, Report
    from retentive._results import Result, Results
    from retentive.embedders import AsyncEmbedder, Embedder, EmbedderPair


class CollectionTwins:
    """A twin each of the methods of `Collection` that touch the store."""

    _engine: Engine

    async def aclose(self) -> None:
        """Do what `close` does, without blocking the event loop. `async with` does it at its end."""
        with suppress(ClosedError):
            await self._engine.pool.call(_blocking(self).close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def ahistory(self, id: str) -> list[Result]:
        """Do what `history` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).history, id)

    async def afact(self, key: str, *, session: str | None = None, user: str | None = None) -> Result | None:
        """Do what `fact` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).fact, key, session=session, user=user)

    async def afacts(self, *, session: str | None = None, user: str | None = None) -> list[Result]:
        """Do what `facts` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).facts, session=session, user=user)

    async def aadd(
        self,
        texts: str | Iterable[str],
        metadata: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None = None,
        ids: str | Sequence[str] | None = None,
        vectors: npt.ArrayLike | None = None,
        *,
        progress: Progress | None = None,
    ) -> list[str]:
        """Do what `add` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).add, texts, metadata, ids, vectors, progress=progress)

    async def asearch(
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
        """Do what `search` does, without blocking the event loop."""
        return await self._engine.pool.call(
            _blocking(self).search,
            query,
            limit,
            mode,
            filter,
            token_budget,
            score_gap,
            session=session,
            user=user,
            vector=vector,
            max_distance=max_distance,
            explain=explain,
        )

    async def asimilar(self, id: str, limit: int = 10) -> Results:
        """Do what `similar` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).similar, id, limit)

    async def aget(self, ids: Iterable[str], vectors: bool = False) -> list[Result]:
        """Do what `get` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).get, ids, vectors)

    async def aget_one(self, id: str) -> Result | None:
        """Do what `get_one` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).get_one, id)

    async def adelete(self, ids: Iterable[str]) -> int:
        """Do what `delete` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).delete, ids)

    async def acount(
        self, filter: Mapping[str, Any] | None = None, *, session: str | None = None, user: User = ANY
    ) -> int:
        """Do what `count` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).count, filter, session=session, user=user)

    async def asessions(self, user: User = None) -> list[str]:
        """Do what `sessions` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).sessions, user)

    async def ausers(self) -> list[str]:
        """Do what `users` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).users)

    async def aclear(self) -> int:
        """Do what `clear` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).clear)

    async def areembed(
        self,
        embedder: str | Embedder | AsyncEmbedder | EmbedderPair | Sequence[str | Embedder | AsyncEmbedder],
        *,
        progress: Progress | None = None,
    ) -> int:
        """Do what `reembed` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).reembed, embedder, progress=progress)

    async def acalibrate(
        self,
        queries: Iterable[Query] | None = None,
        *,
        related: Iterable[Pair] | None = None,
        unrelated: Iterable[Pair] | None = None,
    ) -> Calibration:
        """Do what `calibrate` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).calibrate, queries, related=related, unrelated=unrelated)

    async def acalibration(self) -> Calibration | None:
        """Do what `calibration` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).calibration)

    async def auncalibrate(self) -> bool:
        """Do what `uncalibrate` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).uncalibrate)

    async def astats(self) -> dict[str, Any]:
        """Do what `stats` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).stats)

    async def averify(self) -> Report:
        """Do what `verify` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).verify)

    async def acompact(self) -> int:
        """Do what `compact` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).compact)

    async def aexport(
        self, path: str | os.PathLike[str] | BinaryIO, *, vectors: bool = False, progress: Progress | None = None
    ) -> int:
        """Do what `export` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).export, path, vectors=vectors, progress=progress)

    async def aimport_(
        self, path: str | os.PathLike[str], on_conflict: str = "error", *, progress: Progress | None = None
    ) -> ImportReport:
        """Do what `import_` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).import_, path, on_conflict, progress=progress)

    async def aimport_items(
        self, items: Iterable[Mapping[str, Any]], on_conflict: str = "error", *, progress: Progress | None = None
    ) -> ImportReport:
        """Do what `import_items` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).import_items, items, on_conflict, progress=progress)

    async def abackup(self, path: str | os.PathLike[str]) -> Path:
        """Do what `backup` does, without blocking the event loop."""
        return await self._engine.pool.call(_blocking(self).backup, path)

    async def awarmup(self) -> None:
        """Do what `warmup` does, without blocking the event loop."""
        await self._engine.pool.call(_blocking(self).warmup)


def _blocking(twins: CollectionTwins) -> Collection:
    return cast("Collection", twins)
