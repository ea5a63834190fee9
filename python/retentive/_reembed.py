"""Moving a collection to other vectors, while it is read and written with the old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retentive import _steps, _validate
from retentive._bulk import spoken
from retentive._embedding import Embedding
from retentive._steps import CHECKPOINT
from retentive.embedders._resolve import only, resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retentive._bulk import Progress
    from retentive._core import Core
    from retentive._engine import Engine
    from retentive._requests import Parts
    from retentive._steps import Steps
    from retentive.embedders import AsyncEmbedder, Embedder, EmbedderPair

BATCH = 256  # texts embedded at once and stored in one transaction: what a kill costs at most
PATIENCE = 3  # passes over what was written meanwhile, before the move ends with some of it left
WITHOUT_LIMIT = 2**63 - 1


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
        count = Count(*engine.core.vectors_progress(), progress)
        if count.done < count.total:
            yield from embed_rest(engine.core, target, count)
            count.end()
        return count.embedded
    number, done, total = begun
    count = Count(done, total, progress)
    move = Move(engine, target, number, count)
    try:
        engine.target = target  # where other threads' calls go on when their vectors are refused
        yield from move.embed_all()
        yield from embed_rest(engine.core, target, count)
        count.end()
    except BaseException as error:
        move.settle()  # an interrupt may come between the end of the last transaction and what follows it
        error.add_note(move.state())
        raise
    finally:
        if engine.target is target:  # another thread may be moving it elsewhere
            engine.target = None
    return count.embedded


class Count:
    """How many memories have their new vectors, and how many there are. What is told never falls, and ends once."""

    def __init__(self, done: int, total: int, progress: Progress | None) -> None:
        self.embedded = 0
        self.done = done
        self.total = total
        self._progress = progress

    def set(self, done: int, total: int) -> None:
        """Take note of both. Memories are forgotten meanwhile, too: neither falls for that."""
        self.total = max(self.total, total)
        self.done = max(self.done, min(done, self.total))

    def tell(self) -> None:
        """Report, while there is something left to do."""
        if self._progress is not None and self.done < self.total:
            self._progress(self.done, self.total)

    def end(self) -> None:
        """Report that all have them."""
        self.done = self.total
        if self._progress is not None:
            self._progress(self.done, self.total)


def embed_rest(core: Core, embedding: Embedding, count: Count) -> Steps[None]:
    """Give vectors of the collection's models to memories that have none: what was written while a move ended."""
    after = 0
    while batch := core.without_vectors(after, BATCH):
        after = batch[-1][0]
        epoch = yield from embedding.bind()
        vectors = yield from embedding.parts([spoken(text, name) for _, text, name in batch])
        rows = [(seq, parts) for (seq, _, _), parts in zip(batch, vectors, strict=True)]
        added, total = core.add_vectors(epoch, rows)
        count.embedded += added
        count.set(count.done + added, total)
        count.tell()
        yield CHECKPOINT


class Move:
    """A move under way."""

    def __init__(self, engine: Engine, target: Embedding, id: int, count: Count) -> None:
        self._engine = engine
        self._target = target
        self._id = id
        self._count = count
        self._epochs: list[int] = []  # the core's word that the move is over
        self._finished = False
        self._pass = count.total - count.done  # memories that had no new vectors when this pass over them began
        self._ahead = self._pass  # those of them that still have none
        self._passes = 0
        self._behind = False  # more is written during a pass than it embeds

    def embed_all(self) -> Steps[None]:
        """Embed and store, batch by batch, until the new vectors are the collection's."""
        after = 0
        while not self._finished:
            batch = self._engine.core.unembedded(after, BATCH)
            texts = [spoken(text, name) for _, text, name in batch]
            vectors = (yield from self._target.parts(texts)) if texts else []
            after = batch[-1][0] if batch else 0
            self._store([(seq, parts) for (seq, _, _), parts in zip(batch, vectors, strict=True)])
            self._count.tell()
            yield CHECKPOINT

    def state(self) -> str:
        """Return how far it is, in words."""
        count = self._count
        if not self._finished:
            return (
                f"{count.done} of {count.total} memories were embedded before this; call reembed again to go on from "
                "there"
            )
        if count.done == count.total:
            return "the collection was moved before this"
        return (
            "the collection was moved before this; memories written while the move ended may be without vectors: call "
            "reembed again to embed them"
        )

    def settle(self) -> None:
        """Let the collection's handle go on with the new embedder, if the move is over."""
        if self._epochs and not self._finished:
            self._target.moved(self._epochs[0])
            self._engine.embedding = self._target
            self._finished = True

    def _store(self, vectors: list[tuple[int, list[Parts]]]) -> None:
        """Store a batch. The last of a pass ends the move, unless too much was written meanwhile."""
        core, count = self._engine.core, self._count
        self._ahead -= len(vectors)
        if len(vectors) == BATCH and self._ahead > 0:
            stored = core.store_reembedded(self._id, vectors)
            if stored is not None:
                added, total = stored
                count.embedded += added
                count.set(count.done + added, total)
                return
        added, done, total = core.finish_reembed(self._id, vectors, self._most_left(), self._epochs)
        self.settle()
        count.embedded += added
        count.set(done, total)
        self._passes += 1
        self._behind = total - done >= self._pass
        self._pass = self._ahead = total - done

    def _most_left(self) -> int:
        """Return how many memories may be without vectors when the move ends: they get theirs right after.

        So it always ends: either each pass is over fewer memories than the one before, or what is left does not matter.
        """
        if self._passes < PATIENCE:
            return 0
        return WITHOUT_LIMIT if self._behind else BATCH
