"""Which collection a command means, opened so that reading creates nothing."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from retentive import _validate
from retentive._collection import Collection
from retentive._errors import ConfigurationError, InvalidInputError, RetentiveError
from retentive._files import COMPANIONS
from retentive.cli.terminal import USAGE, fail, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retentive.embedders import Embedder, EmbedderPair

DEFAULT = "retentive.db"
SUFFIX = ".db"


class Place(NamedTuple):
    """A collection's file, as folder and name."""

    folder: Path
    name: str

    @property
    def file(self) -> Path:
        """The file itself."""
        return self.folder / f"{self.name}{SUFFIX}"


def place(db: str | None) -> Place:
    """Return what `--db` names: `data/chat.db`, or `data/chat` for the same; `retentive.db` without it."""
    if db == "":
        fail(f"--db is empty, expected the path of a collection's file, as data/chat{SUFFIX}", USAGE)
    path = Path(DEFAULT if db is None else db)
    if path.is_dir() or (db or "").endswith(("/", os.sep)):
        fail(f"{path} is a folder, expected a collection's file: {_files_in(path)}", USAGE)
    if path.suffix != SUFFIX:
        if path.exists():
            fail(f"{path} is not called NAME{SUFFIX}, as a collection's file is", USAGE)
        path = path.with_name(path.name + SUFFIX)
    try:
        return Place(path.parent, _validate.collection_name(path.name.removesuffix(SUFFIX)))
    except InvalidInputError:
        fail(f"--db {path}: a collection's name has 1 to 100 characters of A-Z a-z 0-9 _ - ., no leading dot", USAGE)


def existing(db: str | None) -> Place:
    """Return a collection that is there, for what reads, changes or deletes."""
    found = place(db)
    file = found.file
    if not file.exists():
        if db is None:
            fail(f"there is no {DEFAULT} in this folder; name a collection with --db FILE or RETENTIVE_DB")
        fail(f"there is no collection at {file}; `retentive remember` makes one")
    if not file.is_file():
        fail(f"{file} is not a file, expected a collection")
    if not _is_begun(file):
        fail(
            f"{file} is empty, expected a collection; `retentive remember` begins one in it. If it had memories, put a "
            "backup in its place"
        )
    return found


def _is_begun(file: Path) -> bool:
    """Whether something is there; a file of no bytes is left by a collection that could not be made."""
    return file.exists() and not (file.is_file() and file.stat().st_size == 0)


def opened(db: str | None) -> Collection:
    """Open a collection that is there, for what embeds nothing."""
    found = existing(db)
    return Collection(found.name, path=found.folder)


def opened_to_embed(db: str | None, embedder: str | None) -> Collection:
    """Open a collection that is there with the embedder that is named, or that it was made with."""
    found = existing(db)
    collection = Collection(found.name, path=found.folder, embedder=embedder_of(embedder))
    own = None if embedder is not None else _own_embedder(collection)
    if own is None:
        return collection
    collection.close()
    return Collection(found.name, path=found.folder, embedder=own)


def opened_or_made(db: str | None, embedder: str | None) -> Collection:
    """Open a collection, or make one and say so."""
    found = place(db)
    if _is_begun(found.file):
        return opened_to_embed(db, embedder)
    collection = Collection(found.name, path=found.folder, embedder=embedder_of(embedder))
    say(f"made {found.file}")
    return collection


@contextmanager
def filled(db: str | None, embedder: str | None) -> Iterator[Collection]:
    """Open or make a collection for an import; one that was made is taken away again where nothing came into it."""
    found = place(db)
    if _is_begun(found.file):
        with opened_to_embed(db, embedder) as collection:
            yield collection
        return
    try:
        with Collection(found.name, path=found.folder, embedder=embedder_of(embedder)) as collection:
            yield collection
    except BaseException:
        if _is_begun(found.file) and not _removed(found):
            say(f"made {found.file}")
        raise
    say(f"made {found.file}")


def _removed(found: Place) -> bool:
    """Remove a collection that is empty and that nobody else has open; whether it is gone."""
    try:
        with Collection(found.name, path=found.folder) as collection:
            empty = collection.stats()["count"] == 0
    except RetentiveError:  # somebody else's by now; what stopped the import is said
        return False
    # Whoever closes a collection last takes these with it.
    if not empty or any(os.path.lexists(f"{found.file}{suffix}") for suffix in COMPANIONS):
        return False
    found.file.unlink()
    return True


def embedder_of(spec: str | None) -> str | Embedder | EmbedderPair:
    """Return what `--embedder` names, the built-in one without it."""
    if spec is None:
        return "static"
    from retentive.evaluate.embedder import embedder_or_pair_for

    try:
        return embedder_or_pair_for(spec, token_vectors=False)
    except (ValueError, ConfigurationError) as error:
        fail(f"--embedder: {error}", USAGE)


def _own_embedder(collection: Collection) -> Embedder | EmbedderPair | None:
    """Return the embedder that the collection's vectors say they are of; None for the built-in one, and where unknown.

    Unknown is no error here: whatever embeds says of which model the vectors are, and refuses another.
    """
    stats = collection.stats()
    names = [name for name in (stats["model"], stats["second_model"]) if name is not None]
    from retentive.embedders import StaticEmbedder

    static = StaticEmbedder().name
    if names in ([], [static]):
        return None
    from retentive.evaluate.embedder import embedder_or_pair_for

    try:
        return embedder_or_pair_for("+".join("static" if name == static else _spec(name) for name in names))
    except ValueError:
        return None


def _spec(name: str) -> str:
    """Return how `--embedder` calls the model of that name."""
    return re.sub(r"^hash-(\d+)$", r"hash:\1", name)


def _files_in(folder: Path) -> str:
    files = sorted(folder.glob(f"*{SUFFIX}"))
    if not files:
        return f"as {folder / ('chat' + SUFFIX)}"
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return ", ".join(map(str, files[:3])) + more
