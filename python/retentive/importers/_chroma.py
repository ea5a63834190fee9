"""Collections of Chroma, as documents."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from retentive import _validate
from retentive._errors import ConfigurationError, InvalidInputError
from retentive._files import infile
from retentive._vectors import length
from retentive.importers._json_text import JsonText
from retentive.importers._source import Place, opened

Batch = dict[str, Any]

_DATABASE = "chroma.sqlite3"  # of a PersistentClient, in its folder
BATCH = 1_000  # documents asked for at once
_EXPECTED = "expected what collection.get(include=['documents', 'metadatas']) of Chroma returns"
_COLUMNS = ("ids", "documents", "metadatas")
_WITHOUT_VECTORS = ["documents", "metadatas"]
_WITH_VECTORS = [*_WITHOUT_VECTORS, "embeddings"]


def chroma(source: object, *, collection: str | None = None, vectors: bool = False) -> Iterator[Batch]:
    """Yield the documents of a Chroma collection, 1,000 a batch, for `add`.

    Each batch is what `add` takes by name: `for batch in chroma(source): db.add(**batch)`.
    Ids and metadata stay, so that importing twice changes nothing.

    Args:
        source: what `collection.get(include=[...])` returned, or the path of a file with that as JSON; a collection of
            `chromadb`; or the folder of a `PersistentClient`, which needs `chromadb` installed.
        collection: the collection's name, for a folder, which has many.
        vectors: take Chroma's vectors too. All of a collection are of one model: open ours with that embedder, or
            without one and search with vectors. False embeds the texts anew.

    Raises:
        InvalidInputError: a document has no text, this is not what `get` returns, or the folder is not Chroma's or has
            no such collection.
        ConfigurationError: `chromadb` is not installed.
        OSError: the file cannot be read.
    """
    _validate.boolean("vectors", vectors)
    if isinstance(source, str | os.PathLike) and collection is None and not Path(source).is_dir():
        return _batches_of(infile(source), vectors)
    if isinstance(source, str | os.PathLike):
        source = _opened(source, collection)
    elif collection is not None:
        raise InvalidInputError("collection is given without a folder, expected a folder as source, or no collection")
    return _batches(source, vectors)


def _opened(folder: str | os.PathLike[str], collection: str | None) -> Any:
    if collection is None:
        raise InvalidInputError(
            f"collection is not given, expected the name of one in the folder {os.fspath(folder)}, as "
            "list_collections() has them"
        )
    if not Path(folder).exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(folder))
    if not Path(folder).is_dir():
        raise InvalidInputError(
            f"collection is given, and {os.fspath(folder)} is a file: it has one collection; leave the name out, or "
            "pass the folder of a PersistentClient"
        )
    if not (Path(folder) / _DATABASE).is_file():  # chromadb would make one
        raise InvalidInputError(f"{os.fspath(folder)} has no {_DATABASE}, expected the folder of a PersistentClient")
    try:
        import chromadb  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise ConfigurationError(
            "a folder of Chroma is read by chromadb, which is not installed",
            hint="pip install chromadb, or pass what collection.get(include=[...]) returned there",
        ) from error
    try:
        return chromadb.PersistentClient(path=os.fspath(folder)).get_collection(collection)
    except Exception as error:  # its classes of errors differ from version to version
        raise InvalidInputError(
            f"{os.fspath(folder)}: chromadb gives no collection {_validate.shown(collection)} ({error}); expected the "
            "name of one in the folder, as list_collections() has them"
        ) from error


def _batches(source: Any, vectors: bool) -> Iterator[Batch]:
    if isinstance(source, Mapping):
        if length(source.get("ids")):
            yield _batch(source, vectors)
        elif not isinstance(source.get("ids"), list):
            raise _not_a_result(source)
        return
    if not callable(getattr(source, "get", None)):
        raise _not_a_result(source)
    include = _WITH_VECTORS if vectors else _WITHOUT_VECTORS
    start = 0
    while length((got := source.get(include=include, limit=BATCH, offset=start))["ids"]):
        yield _batch(got, vectors)
        start += len(got["ids"])


def _batches_of(path: Path, vectors: bool) -> Iterator[Batch]:
    """Yield what a file of JSON has. Its lists lie one behind the other: each has a reader."""
    with opened(path) as data:
        counts = _counts(JsonText(Place(data), path))
        got = [name for name in (*_COLUMNS, "embeddings")[: 3 + vectors] if counts.get(name) is not None]
        wrong = next((name for name in got if counts[name] != counts.get("ids")), None)
        if wrong is not None:
            raise InvalidInputError(
                f"{path}: it has {counts[wrong]:,} {wrong} for {counts.get('ids') or 0:,} ids, expected one an id"
            )
        if "ids" not in got:
            raise InvalidInputError(f"{path}: it has no list of ids, {_EXPECTED}")
        columns = [_column(JsonText(Place(data), path), name) for name in got]
        rest = zip(*columns, strict=True)
        while page := list(islice(rest, BATCH)):
            yield _batch(dict(zip(got, map(list, zip(*page, strict=True)), strict=True)), vectors, f"{path}: it")


def _counts(text: JsonText) -> dict[str, int | None]:
    """Return how many each list of the object has; None for what is no list."""
    if text.peek() != "{":
        text.refuse_value(_EXPECTED.removeprefix("expected "))
    counts: dict[str, int | None] = {}
    for name in text.members():
        if text.peek() == "[":
            counts[name] = sum(1 for _ in text.items())
        else:
            text.value()
            counts[name] = None
    text.expect_end()
    return counts


def _column(text: JsonText, name: str) -> Iterator[Any]:
    for found in text.members():
        if found == name:
            yield from text.items()
            return
        text.skip()


def _not_a_result(source: object) -> InvalidInputError:
    return InvalidInputError(f"source is {_validate.shown(source)}, {_EXPECTED}, a collection or a folder")


def _batch(got: Mapping[str, Any], vectors: bool, it: str = "source") -> Batch:
    ids, texts = got.get("ids"), got.get("documents")
    if not isinstance(ids, list) or not all(isinstance(name, str) for name in ids):
        raise InvalidInputError(
            f"{it} has other ids than get() gives; of query() they are lists of lists: use get() instead"
        )
    if not isinstance(texts, list):
        raise InvalidInputError(f"{it} has no documents, expected get(include=['documents', 'metadatas'])")
    if len(texts) != len(ids):
        raise InvalidInputError(f"{it} has {len(texts)} documents for {len(ids)} ids, expected one an id")
    missing = [name for name, text in zip(ids, texts, strict=True) if not isinstance(text, str) or not text.strip()]
    if missing:
        raise InvalidInputError(
            f"{len(missing)} of {len(ids)} records have no document, the first is {_validate.shown(missing[0])}; "
            "expected a text each: leave those out with get(ids=...)"
        )
    batch: Batch = {"texts": texts, "ids": ids, "metadata": got.get("metadatas") or None}
    if vectors:
        if length(got.get("embeddings")) != len(ids):
            raise InvalidInputError(f"{it} has no embeddings, expected get(include=[..., 'embeddings'])")
        batch["vectors"] = got["embeddings"]
    return batch
