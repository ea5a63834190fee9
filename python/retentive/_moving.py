"""Moving a collection in and out: as JSON Lines, and as a copy of its file."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from retentive import _export, _import, _import_items

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Any, BinaryIO

    from retentive._bulk import Progress
    from retentive._engine import Engine
    from retentive._report import ImportReport
    from retentive._steps import Steps
    from retentive.memory import ConversationMemory

T = TypeVar("T")


class Moving:
    """What `Collection` offers for moving its contents."""

    _engine: Engine
    _name: str

    if TYPE_CHECKING:

        @property
        def _settings(self) -> ConversationMemory: ...

        @staticmethod
        def _run(steps: Steps[T]) -> T: ...

    def export(
        self, path: str | os.PathLike[str] | BinaryIO, *, vectors: bool = False, progress: Progress | None = None
    ) -> int:
        """Write everything that has not expired into a file, as JSON Lines; `import_` reads it.

        One line says what the file is, then comes one memory or document a line, in the order in which they were
        stored, with ids, users, sessions, turn numbers, times, chains of corrections, feedback, keys and sources. The
        same contents give the same bytes. It is plain text that a memory can do nothing in. One moment is written,
        whatever others store meanwhile, and however much there is, one memory at a time is in memory.

        The file is written beside its place and renamed when it is whole, replacing one that was there. Only its owner
        may read it. What is forgotten later stays in it.

        Args:
            path: the file; or an open one of bytes, as `sys.stdout.buffer`, which gets the export once that is whole:
                until then it is kept in a file without a name in the system's folder for temporary files.
            vectors: write the vectors too, as they are stored; without them importing embeds each text again.
            progress: called now and then with how many are written, and how many there are; at the end they are equal.

        Returns:
            How many memories and documents were written.

        Raises:
            InvalidInputError: an argument is wrong; or the file is a collection's own, a device or a pipe.
            OSError: the folder is missing or may not be written.
            FullError: the disk is full; no file is left.
            CorruptError: a row is damaged.

        Examples:
            >>> import tempfile
            >>> from pathlib import Path
            >>> from retentive import Collection, HashEmbedder
            >>> db = Collection("chat", embedder=HashEmbedder(64))
            >>> id = db.remember("I'd like the report as a PDF", session="u42")
            >>> file = Path(tempfile.mkdtemp()) / "chat.jsonl"
            >>> db.export(file)
            1
            >>> Collection("chat", embedder=HashEmbedder(64)).import_(file)
            ImportReport(imported=1, skipped=0, replaced=0, renumbered=0, embedded=1)
        """
        return _export.export(self._engine, path, vectors, progress)

    def import_(
        self, path: str | os.PathLike[str], on_conflict: str = "error", *, progress: Progress | None = None
    ) -> ImportReport:
        """Store what `export` wrote: all of it, or, where anything is wrong, nothing.

        The file is read once, line by line; each memory is checked, embedded and put aside in a file without a name
        beside the collection (of a collection in memory, in memory). When the last line is right, one transaction
        stores them all. Others can read meanwhile; they can write but for that transaction.

        Vectors in the file are taken when they are of the collection's embedder, by its fingerprint; else each text is
        embedded. What was calibrated comes along into a collection that is empty and has the same embedder.

        Where the collection has the id of a memory in the file, or another live fact under its key, that is a
        conflict. Turns keep their numbers. In a session in which one of them is taken by another turn, all that come
        get numbers after those that are there, in their order.

        Args:
            path: the file.
            on_conflict: `"error"`, nothing is imported; `"skip"`, what is here stays; `"replace"`, what is in the file
                takes its place: under the id it is deleted for good, under a key it is superseded. What was superseded
                here stays so.
            progress: called after each 250 memories read with how many, and how many the file says there are; at the
                end they are equal.

        Returns:
            An `ImportReport`.

        Raises:
            InvalidInputError: an argument or a line is wrong; the message has the number of the line.
            VersionError: a newer release wrote the file, or it is not one of `export`'s.
            ConflictError: an id or a key is in use here.
            FingerprintError, EmbedderError: a text could not be embedded, or `reembed` moved the collection meanwhile.
            OSError: the file cannot be read.
            FullError: the disk is full.
            StoreError: the collection is read-only.
        """
        return self._run(_import.import_file(self._engine, path, on_conflict, progress))

    def import_items(
        self, items: Iterable[Mapping[str, Any]], on_conflict: str = "error", *, progress: Progress | None = None
    ) -> ImportReport:
        """Store what an importer yields: all of it, or, where anything is wrong, nothing.

        As `import_` does with lines: each item is checked, embedded and put aside, then one transaction stores them
        all. However many there are, 250 are in memory at a time. No judge is asked, and a text that is there already
        is stored again.

        Args:
            items: mappings with the arguments of `remember`, or of `add` (`texts`, `metadata`, `ids`, `vectors`); what
                the functions of `retentive.importers` yield.
            on_conflict: where an id, or a key's live fact, is here already, as for `import_`. With `"replace"` a
                document takes the place of a document alone.
            progress: called after each 250 with how many are read, and how many there are, None where not known; at the
                end they are equal.

        Returns:
            An `ImportReport`.

        Raises:
            InvalidInputError: an item is wrong; the message has its number.
            ConflictError: an id or a key is in use here.
            DimensionError: a vector has another dimension than the collection's, or the first.
            FingerprintError, EmbedderError: a text could not be embedded, or `reembed` moved the collection meanwhile.
            FullError: the disk is full.
            StoreError: the collection is read-only.

        Examples:
            >>> from retentive import Collection, HashEmbedder
            >>> from retentive.importers import openai_messages
            >>> db = Collection("chat", embedder=HashEmbedder(64))
            >>> messages = [{"role": "user", "content": "As a PDF, please"}, {"role": "assistant", "content": "Done"}]
            >>> db.import_items(openai_messages(messages, session="u42")).imported
            2
        """
        steps = _import_items.import_items(self._engine, self._settings, items, on_conflict, progress)
        return self._run(steps)

    def backup(self, path: str | os.PathLike[str]) -> Path:
        """Copy the collection, as it is at one moment, into a new file that opens as a collection; return that file.

        Other threads and processes go on reading and writing. The copy is complete: vectors, a calibration, a move to
        other vectors that was begun, and what has expired but is not deleted yet. It is written beside its place and
        renamed when it is whole and on the disk.

        To restore it, put it in the place of the collection's file while no process has that open, and delete the
        `-wal` and `-shm` files beside it. What was forgotten after the backup is in it.

        Args:
            path: the file, `<name>.db`, so that `Collection(name, path=folder)` opens it; or a folder, for a file with
                the collection's own name. A file that is there is replaced only if it is an older backup of this
                collection, and nobody has it open.

        Raises:
            InvalidInputError: the name cannot be a collection's, or the file is there and is something else.
            OSError: the folder is missing or may not be written.
            FullError: the disk is full; no file is left.
            BusyError: the collection stayed locked.

        Examples:
            >>> import tempfile
            >>> from retentive import Collection, HashEmbedder
            >>> db = Collection("chat", embedder=HashEmbedder(64))
            >>> id = db.remember("I'd like the report as a PDF", session="u42")
            >>> file = db.backup(tempfile.mkdtemp())
            >>> Collection("chat", path=file.parent, embedder=HashEmbedder(64)).turns("u42")[0].text
            "I'd like the report as a PDF"
        """
        return _export.backup(self._engine, self._name, path)
