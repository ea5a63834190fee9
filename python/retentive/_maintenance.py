"""Looking after a collection: its embedder, its cut-offs, its file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from retentive import _calibrate, _opening, _reembed
from retentive._report import Report, report

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retentive._bulk import Progress
    from retentive._calibrate import Pair, Query
    from retentive._calibration import Calibration
    from retentive._engine import Engine
    from retentive._steps import Steps
    from retentive.embedders import AsyncEmbedder, Embedder, EmbedderPair

T = TypeVar("T")


class Maintenance:
    """What `Collection` offers beside storing and finding."""

    _engine: Engine

    if TYPE_CHECKING:

        @staticmethod
        def _run(steps: Steps[T]) -> T: ...

    def reembed(
        self,
        embedder: str | Embedder | AsyncEmbedder | EmbedderPair | Sequence[str | Embedder | AsyncEmbedder],
        *,
        progress: Progress | None = None,
    ) -> int:
        """Move the collection to other vectors: every memory and document is embedded anew with `embedder`.

        Until the last moment the collection is read and written with the old vectors, by this and by other processes.
        Then the new ones take their place at once, the old ones are overwritten in the file, and `db.embedder` is the
        new one. Whoever still has the collection open with the old embedder gets `FingerprintError` from then on.

        What is embedded is kept when the process is killed, the embedder raises or Ctrl-C comes: the same call goes on
        from there, also after opening the collection with the new embedder. Moving to a third embedder gives up what
        was begun, and so does moving to the embedder that the collection has. `stats()` says whether a move was begun
        (`reembed_pending`) and how many memories have their new vectors (`reembedded`). Vectors that the caller made
        are replaced too.

        It ends however much is written meanwhile: where others keep writing, the last few memories have no vectors for
        a moment after the new ones have taken their place, are found by their words, and get theirs before this
        returns. A kill in that moment leaves them so (`without_vectors` in `stats()`, and `reembed_pending`): the same
        call, with the embedder that the collection has by then, embeds them.

        Args:
            embedder: `"static"`, any `Embedder`, or a list of two, as for the collection itself.
            progress: called after each 256 memories with how many have new vectors, and how many there are. Neither
                falls; they are equal once, at the end.

        Returns:
            How many were embedded by this call: 0 where the collection has this embedder already and no memory is
            without vectors.

        Raises:
            EmbedderError: the embedder failed.
            ConflictError: another call gave this move up, or began one to a third embedder.
            FingerprintError: another call moved the collection elsewhere right after this move's end.
            BusyError: another process kept the file locked.
            StoreError: the collection is read-only.

        Examples:
            >>> from retentive import Collection, HashEmbedder
            >>> db = Collection("chat", embedder=HashEmbedder(64))
            >>> id = db.remember("I'd like the report as a PDF", session="u42")
            >>> db.reembed(HashEmbedder(128))
            1
            >>> db.embedder.dimension
            128
        """
        return self._run(_reembed.reembed(self._engine, embedder, progress))

    def calibrate(
        self,
        queries: Iterable[Query] | None = None,
        *,
        related: Iterable[Pair] | None = None,
        unrelated: Iterable[Pair] | None = None,
    ) -> Calibration:
        """Measure which cosines mean something here, and store it: what `"auto"` means from the next call on.

        `max_distance="auto"` then takes the measured noise floor and `min_relevance="auto"` the measured refusal floor,
        in every process, until the collection moves to another model, is cleared, or is calibrated again. The same
        contents give the same numbers. Loads the whole index once, and embeds each question.

        Without arguments, questions are made of up to 256 texts of the collection: the six words of each (half of them,
        of a short one) that fewest of the others have. Each is related to its own text, and unrelated to texts of other
        sessions, or of other sittings where there is one session. Your users' questions say more: 50 or more are best.

        Args:
            queries: questions that the collection has an answer to, as texts or vectors `[d]`. Each is related to its
                best hit, and unrelated to 25 others of 256 texts of the collection. What is repeated counts once.
            related: pairs of a query and the text that answers it, or that text's id.
            unrelated: pairs that have nothing to do with each other, in place of those above.

        Returns:
            The two distributions and the floors. Where there are too few data `enough` is False, nothing is stored
            (what was stored before stays) and `reason` says what is missing.

        Raises:
            InvalidInputError: an argument has the wrong type or value.
            NotFoundError: a pair has a generated id that nothing has.
            DimensionError: a vector is not of the collection's dimension.
            EmbedderError: the embedder failed.
            ConflictError: the collection moved to another model meanwhile.

        Examples:
            >>> from retentive import Collection, HashEmbedder
            >>> db = Collection("docs", embedder=HashEmbedder(64))
            >>> ids = db.add([f"note {number} on subject {number % 7}" for number in range(40)])
            >>> db.calibrate(f"what about note {number}?" for number in range(30)).enough
            True
            >>> db.uncalibrate()
            True
        """
        return self._run(_calibrate.calibrate(self._engine, queries, related, unrelated))

    def calibration(self) -> Calibration | None:
        """Return what `calibrate` stored for the collection's model, or None."""
        return _calibrate.stored(self._engine)

    def uncalibrate(self) -> bool:
        """Forget what `calibrate` stored: `"auto"` is the embedder's own again; return whether there was something."""
        return self._engine.core.drop_calibration()

    def stats(self) -> dict[str, Any]:
        """Return sizes and counts, by name."""
        return self._engine.core.stats()

    def verify(self) -> Report:
        """Read everything, compare it with its checksums, and say what is wrong.

        Each row, SQLite's own structure and indexes, and what rows must have in common: counts, chains, turn numbers,
        vectors, and that what was erased is overwritten. Damaged rows are listed and do not stop it. One snapshot is
        read; writers go on meanwhile, and Ctrl-C ends it. A fork waits until it is done.

        Returns:
            A `Report`; `report.ok` is True where nothing is wrong.

        Raises:
            BusyError: the file stayed locked.

        Examples:
            >>> from retentive import Collection, HashEmbedder
            >>> db = Collection("chat", embedder=HashEmbedder(64))
            >>> id = db.remember("I'd like the report as a PDF", session="u42")
            >>> report = db.verify()
            >>> report.ok, report.rows_checked["memory"]
            (True, 1)
        """
        return report(self._engine.core.verify())

    def compact(self) -> int:
        """Give back the space of what was erased or re-embedded; return how many bytes the file became smaller.

        The file is written anew, without what was overwritten in it, and replaced in one transaction: a kill, a full
        disk or Ctrl-C leaves the old one whole. Needs about twice the new file's size of free space in its folder. All
        processes keep it open: readers go on, writers wait, other processes' at most their `busy_timeout_s`.

        Raises:
            BusyError: somebody kept reading or writing for `busy_timeout_s`; nothing was changed.
            FullError: the disk is full; nothing was changed.
            StoreError: the collection is read-only.

        Examples:
            >>> from retentive import Collection, HashEmbedder
            >>> db = Collection("chat", embedder=HashEmbedder(64))
            >>> ids = db.remember_many([{"text": f"number {i}", "session": "u42"} for i in range(100)])
            >>> db.forget("u42")
            100
            >>> db.compact() > 0
            True
        """
        return self._engine.core.compact()

    def warmup(self) -> None:
        """Load the embedder's model and the index, so that the first call need not."""
        return self._run(_opening.warmup(self._engine))
