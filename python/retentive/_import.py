"""Storing what an export has: read, checked, embedded and put aside line by line, then stored in one transaction."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from retentive import _clock, _steps, _validate
from retentive._bulk import BATCH, Item, embed
from retentive._errors import FingerprintError
from retentive._export_lines import Reader, Unused
from retentive._files import infile
from retentive._give_way import giving_way
from retentive._report import ImportReport
from retentive._steps import CHECKPOINT

if TYPE_CHECKING:
    from retentive._bulk import Progress
    from retentive._core import Staging
    from retentive._embedding import Embedding
    from retentive._engine import Engine
    from retentive._export_fields import Stored
    from retentive._export_lines import Calibrated, Model
    from retentive._requests import NewMemory, Restored
    from retentive._steps import Steps

ON_CONFLICT = ("error", "skip", "replace")


def import_file(engine: Engine, path: object, on_conflict: str, progress: Progress | None) -> Steps[ImportReport]:
    """Store what is in a file; see `Collection.import_`."""
    _validate.choice("on_conflict", on_conflict, ON_CONFLICT)
    _validate.callable_or_none("progress", progress)
    _steps.plain("progress", progress)
    source = infile(path)
    staging = engine.core.stage()
    with Reader(source) as reader:
        header = reader.header
        own_vectors = header.vectors and bool(header.models) and (yield from engine.embedding.is_of(header.models))
        staged = Staged(engine, staging, header.models, own_vectors, header.calibration)
        unused: list[Unused] = []
        rest = giving_way(reader)
        while batch := list(islice(rest, BATCH)):
            unused += [line for line in batch if isinstance(line, Unused)]
            yield from _add(staged, [line for line in batch if not isinstance(line, Unused)])
            if progress is not None and (header.memories is None or staged.count < header.memories):
                progress(staged.count, header.memories)
            yield CHECKPOINT
        reader.expect_whole(staged.count)
    report = staged.commit(on_conflict, unused)
    if progress is not None:
        progress(staged.count, staged.count)
    return report


def _add(staged: Staged, lines: list[Stored]) -> Steps[None]:
    without: list[Item] = []
    for line in lines:
        if staged.own_vectors and line.vectors is not None:
            line.memory["vectors"] = line.vectors
        else:
            without.append(Item(line.memory, judged=False, vector=None))
    yield from staged.add([(line.memory, line.restored) for line in lines], without)


class Staged:
    """The memories of a source that were put aside.

    Args:
        engine: where to.
        staging: where they are put.
        models: of the vectors that come along.
        own_vectors: those are the collection's models, or become its first.
        calibration: of these models; None of what is no export.
    """

    def __init__(
        self,
        engine: Engine,
        staging: Staging,
        models: list[Model],
        own_vectors: bool,
        calibration: Calibrated | None = None,
    ) -> None:
        self.count = 0
        self.models = models
        self.own_vectors = own_vectors
        self._calibration = calibration
        self._engine = engine
        self._staging = staging
        self._embedded = 0
        self._made_by: tuple[Embedding, int | None] | None = None

    def add(self, memories: list[tuple[NewMemory, Restored]], without: list[Item]) -> Steps[None]:
        """Put memories aside, and embed before those that have no vectors."""

        def embedded(embedding: Embedding) -> Steps[None]:
            self._made_by = self._made_by or (embedding, embedding.model_epoch)
            yield from embed(embedding, without)

        if without:
            yield from self._engine.embedded(embedded)
        self._engine.core.add_staged(self._staging, memories)
        self.count += len(memories)
        self._embedded += len(without)

    def commit(self, on_conflict: str, unused: list[Unused] | None = None) -> ImportReport:
        """Store them all.

        Args:
            on_conflict: of `ON_CONFLICT`.
            unused: of an export; None says that the memories are no lines but items.
        """
        try:
            return self._commit(on_conflict, unused)
        except FingerprintError as error:
            if not self._moved():
                raise
            where = error.path or ":memory:"
            raise FingerprintError(
                f"{where}: it was moved to another embedder while this import embedded its texts with the earlier one. "
                "Nothing was imported; import again",
                path=error.path,
            ) from error

    def _moved(self) -> bool:
        """Whether this collection, as it is open here, has another embedder than what was embedded first."""
        now = self._engine.embedding
        return self._made_by is not None and self._made_by != (now, now.model_epoch)

    def _commit(self, on_conflict: str, unused: list[Unused] | None) -> ImportReport:
        imported, skipped, replaced, renumbered = self._engine.core.import_staged(
            self._staging,
            on_conflict,
            {
                "unused": unused or [],
                "models": self.models,
                "with_vectors": self.own_vectors and bool(self.models),
                "calibration": self._calibration,
            },
            _clock.now(),
            unused is not None,
        )
        return ImportReport(imported, skipped, replaced, renumbered, self._embedded)
