"""Moving a collection to other vectors, while it is read and written with the old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retentive import _steps, _validate
from retentive._bulk import spoken
from retentive._embedding import Embedding
from retentive._steps import CHECKPOINT
from retentive.embedders import only, resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retentive._bulk import Progress
    from retentive._engine import Engine
    from retentive._requests import Parts
    from retentive._steps import Steps
    from retentive.embedders import AsyncEmbedder, Embedder, EmbedderPair

BATCH = 256  # texts embedded at once and stored in one transaction: what a kill costs at most


def reembed(
    engine: Engine,
    embedder: str | Embedder | AsyncEmbedder | EmbedderPair | Sequence[str | Embedder | AsyncEmbedder],
    progress: Progress | None,
) -> Steps[int]:
    """Move the collection; see `Collection.reembed`."""
    _validate.callable_or_none("progress", progress)
    _steps.plain("progress", progress)
    target = Embedding(resolve(embedder), engine.core, chosen=not isinstance(only(embedder), str))
    begun = yield from target.begin_move()
    if begun is None:
        engine.embedding = target
        return 0
    move = Move(engine, target, *begun)
    try:
        engine.target = target  # where other threads' calls go on when their vectors are refused
        yield from move.embed_all(progress)
    except BaseException as error:
        move.settle()  # an interrupt may come between the end of the last transaction and what follows it
        error.add_note(move.state())
        raise
    finally:
        if engine.target is target:  # another thread may be moving it elsewhere
            engine.target = None
    return move.embedded


class Move:
    """A move under way."""

    def __init__(self, engine: Engine, target: Embedding, id: int, done: int, total: int) -> None:
        self.embedded = 0
        self._engine = engine
        self._target = target
        self._id = id
        self._done = done
        self._total = total
        self._epochs: list[int] = []  # the core's word that the move is over
        self._finished = False

    def embed_all(self, progress: Progress | None) -> Steps[None]:
        """Embed and store, batch by batch, until nothing is missing."""
        after = 0
        while not self._finished:
            batch = self._engine.core.unembedded(after, BATCH)
            texts = [spoken(text, name) for _, text, name in batch]
            vectors = (yield from self._target.parts(texts)) if texts else []
            after = batch[-1][0] if batch else 0
            self._store([(seq, parts) for (seq, _, _), parts in zip(batch, vectors, strict=True)])
            if progress is not None:
                progress(self._done, self._total)
            yield CHECKPOINT

    def state(self) -> str:
        """Return how far it is, in words."""
        if self._finished:
            return "the collection was moved before this"
        return (
            f"{self._done} of {self._total} memories were embedded before this; call reembed again to go on from there"
        )

    def settle(self) -> None:
        """Let the collection's handle go on with the new embedder, if the move is over."""
        if self._epochs and not self._finished:
            self._target.moved(self._epochs[0])
            self._engine.embedding = self._target
            self._finished, self._done = True, self._total

    def _store(self, vectors: list[tuple[int, list[Parts]]]) -> None:
        """Store a batch. One that is not full may be the last: the move ends, unless more was written meanwhile."""
        core = self._engine.core
        if len(vectors) == BATCH:
            stored = core.store_reembedded(self._id, vectors)
            if stored is not None:
                added, self._total = stored
                self.embedded += added
                self._done = min(self._done + added, self._total)
                return
        core.finish_reembed(self._id, vectors, self._epochs)
        self.embedded += len(vectors)
        self._done = min(self._done + len(vectors), self._total)
        self.settle()
