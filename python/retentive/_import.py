"""Storing what an export has: read, checked, embedded and put aside line by line, then stored in one transaction."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from retentive import _clock, _steps, _validate
from retentive._bulk import BATCH, Item, embed
from retentive._export import file
from retentive._export_lines import Header, Reader, Unused, expect_lines
from retentive._give_way import giving_way
from retentive._report import ImportReport
from retentive._steps import CHECKPOINT

if TYPE_CHECKING:
    from retentive._bulk import Progress
    from retentive._core import Staging
    from retentive._embedding import Embedding
    from retentive._engine import Engine
    from retentive._export_fields import Stored
    from retentive._steps import Steps

ON_CONFLICT = ("error", "skip", "replace")


def import_file(engine: Engine, path: object, on_conflict: str, progress: Progress | None) -> Steps[ImportReport]:
    """Store what is in a file; see `Collection.import_`."""
    _validate.choice("on_conflict", on_conflict, ON_CONFLICT)
    _validate.callable_or_none("progress", progress)
    _steps.plain("progress", progress)
    source = file(path)
    staging = engine.core.stage()
    expect_lines(engine, source)
    with Reader(source) as reader:
        header = reader.header
        own_vectors = header.vectors and bool(header.models) and (yield from engine.embedding.is_of(header.models))
        staged = Staged(engine, staging, header, own_vectors)
        rest = giving_way(reader)
        while batch := list(islice(rest, BATCH)):
            yield from staged.add(batch)
            if progress is not None and (header.memories is None or staged.count < header.memories):
                progress(staged.count, header.memories)
            yield CHECKPOINT
        reader.expect_whole(staged.count)
    report = staged.commit(on_conflict)
    if progress is not None:
        progress(staged.count, staged.count)
    return report


class Staged:
    """The memories of a file that were put aside."""

    def __init__(self, engine: Engine, staging: Staging, header: Header, own_vectors: bool) -> None:
        self.count = 0
        self._engine = engine
        self._staging = staging
        self._header = header
        self._own_vectors = own_vectors
        self._unused: list[Unused] = []
        self._embedded = 0

    def add(self, batch: list[Stored | Unused]) -> Steps[None]:
        """Embed memories that need it, and put all of them aside."""
        memories = [line for line in batch if not isinstance(line, Unused)]
        self._unused += [line for line in batch if isinstance(line, Unused)]
        without: list[Item] = []
        for stored in memories:
            if self._own_vectors and stored.vectors is not None:
                stored.memory["vectors"] = stored.vectors
            else:
                without.append(Item(stored.memory, judged=False, vector=None))

        def embedded(embedding: Embedding) -> Steps[None]:
            yield from embed(embedding, without)

        if without:
            yield from self._engine.embedded(embedded)
        self._engine.core.add_staged(self._staging, [(stored.memory, stored.restored) for stored in memories])
        self.count += len(memories)
        self._embedded += len(without)

    def commit(self, on_conflict: str) -> ImportReport:
        """Store them all."""
        header = self._header
        imported, skipped, replaced, renumbered = self._engine.core.import_staged(
            self._staging,
            on_conflict,
            {
                "unused": self._unused,
                "models": header.models,
                "with_vectors": self._own_vectors,
                "calibration": header.calibration,
            },
            _clock.now(),
        )
        return ImportReport(imported, skipped, replaced, renumbered, self._embedded)
