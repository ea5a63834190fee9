"""Bulk writes: vectors in batches, transactions of 1,000, and how much was stored when something stops them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

from retentive import _validate
from retentive._vectors import same_dimension

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from retentive._engine import Engine
    from retentive._requests import NewMemory
    from retentive._vectors import Vector

Progress: TypeAlias = Callable[[int, int | None], object]

TRANSACTION = 1_000
BATCH = 250  # texts an embedder gets at once


class Item(NamedTuple):
    """One item of a bulk write, checked."""

    memory: NewMemory
    judged: bool
    vector: Vector | None


class Bulk:
    """A bulk write under way. An exception that ends it, also Ctrl-C, says how many were stored.

    Args:
        engine: where to.
        total: how many there are, None where not known.
        progress: called after each transaction with how many are stored, and `total`.
    """

    def __init__(self, engine: Engine, total: int | None, progress: Progress | None) -> None:
        _validate.callable_or_none("progress", progress)
        self.ids: list[str] = []
        self._engine = engine
        self._total = total
        self._progress = progress

    def commit(self, items: Sequence[Item], now: int) -> None:
        """Store items in one transaction."""
        self._engine.core.remember([item.memory for item in items], now, self.ids)
        if self._progress is not None:
            self._progress(len(self.ids), self._total)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            count = len(self.ids)
            error.add_note(f"{count} were stored before this, in order")
            error.stored = count  # type: ignore[attr-defined]


def embed(engine: Engine, items: Sequence[Item]) -> None:
    """Fill in the vectors: the given ones as they are, the others embedded in batches."""
    given = [item.vector for item in items if item.vector is not None]
    if given:
        same_dimension(given)
        engine.embedding.accept(len(given[0]))
    for item in items:
        if item.vector is not None:
            item.memory["vectors"] = [item.vector.reshape(1, -1)]
    missing = [item.memory for item in items if item.vector is None]
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        for memory, vectors in zip(batch, engine.embedding.documents([rendered(m) for m in batch]), strict=True):
            memory["vectors"] = vectors


def rendered(memory: NewMemory) -> str:
    """Return what is embedded: the text, after the speaker's name where it has one."""
    name = memory["name"]
    return memory["text"] if name is None else f"{name}: {memory['text']}"
