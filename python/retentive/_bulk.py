"""Bulk writes: vectors in batches, transactions of 1,000, and how much was stored when something stops them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

from retentive import _steps, _validate
from retentive._core import give_way
from retentive._give_way import pieces
from retentive._vectors import same_dimension

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from retentive._embedding import Embedding
    from retentive._engine import Engine
    from retentive._requests import NewMemory
    from retentive._steps import Steps
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
        _steps.plain("progress", progress)
        self.ids: list[str] = []
        self._engine = engine
        self._total = total
        self._progress = progress

    def commit(self, items: Sequence[Item], now: int, prepare: Callable[[], Steps[None]] | None = None) -> Steps[None]:
        """Store items in one transaction. `prepare` runs before it, when the items have their vectors."""

        def store(embedding: Embedding) -> Steps[None]:
            yield from embed(embedding, items)
            if prepare is not None:
                yield from prepare()
            memories = [item.memory for item in items]
            give_way()
            self._engine.core.remember(memories, now, self.ids)

        yield from self._engine.embedded(store)
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


def embed(embedding: Embedding, items: Sequence[Item]) -> Steps[None]:
    """Fill in the vectors that are missing, or of another embedding: the given ones as they are, others in batches."""
    given: list[NewMemory] = []
    vectors: list[Vector] = []
    own: list[NewMemory] = []
    for piece in pieces(items):
        for memory, _, vector in piece:
            if vector is None:
                own.append(memory)
            elif not memory["vectors"]:
                given.append(memory)
                vectors.append(vector)
    if vectors:
        same_dimension(vectors)
        embedding.accept(len(vectors[0]))
        epoch = embedding.given_epoch
        for pairs in pieces(list(zip(given, vectors, strict=True))):
            for memory, own_vector in pairs:
                memory["vectors"], memory["model_epoch"] = (own_vector.reshape(1, -1),), epoch
    missing = [m for m in own if not m["vectors"] or m["model_epoch"] != embedding.model_epoch]
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        embedded = yield from embedding.documents([rendered(memory) for memory in batch])
        give_way()
        for memory, parts in zip(batch, embedded, strict=True):
            memory["vectors"], memory["model_epoch"] = parts, embedding.model_epoch
        give_way()


def rendered(memory: NewMemory) -> str:
    """Return what is embedded: the text, after the speaker's name where it has one."""
    return spoken(memory["text"], memory["name"])


def spoken(text: str, name: str | None) -> str:
    """Return a text after its speaker's name, where there is one."""
    return text if name is None else f"{name}: {text}"
