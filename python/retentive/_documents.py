"""Plain documents: texts without kind or session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from retentive import _clock, _ids, _json, _validate
from retentive._bulk import TRANSACTION, Bulk, Item, Progress
from retentive._constants import DOCUMENT
from retentive._errors import InvalidInputError
from retentive._give_way import giving_way, let_go
from retentive._steps import CHECKPOINT, Steps
from retentive._vectors import given_vectors
from retentive._whole import import_whole

if TYPE_CHECKING:
    from retentive._engine import Engine
    from retentive._requests import NewMemory


def add(
    engine: Engine,
    texts: str | Iterable[str],
    metadata: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None,
    ids: str | Sequence[str] | None,
    vectors: object,
    progress: Progress | None,
) -> Steps[list[str]]:
    """Store documents; see `Collection.add`."""
    items = checked(texts, metadata, ids, vectors)
    with Bulk(engine, len(items), progress) as bulk:
        items.reverse()
        while items:
            chunk = items[: -TRANSACTION - 1 : -1]
            yield from bulk.commit(chunk, _clock.now())
            del items[-TRANSACTION:]
            let_go(chunk)
            yield CHECKPOINT
    return bulk.ids


def checked(texts: Any, metadata: Any, ids: Any, vectors: object) -> list[Item]:
    """Return documents whose every field is right, from the arguments of `Collection.add`."""
    if isinstance(texts, str):
        texts = [texts]
        metadata = [metadata] if isinstance(metadata, Mapping) else metadata
        ids = [ids] if isinstance(ids, str) else ids
        vectors = _one_row(vectors)
    return _items(_validate.items(texts, "texts", "texts"), metadata, ids, vectors)


def _items(texts: Sequence[Any], metadata: object, ids: object, vectors: object) -> list[Item]:
    count = len(texts)
    checked = [_validate.text(text, f"texts[{index}]") for index, text in enumerate(giving_way(texts))]
    names = [_ids.document_id(text) for text in checked] if ids is None else _validate.memory_ids(ids)
    metadatas = [None] * count if metadata is None else _validate.items(metadata, "metadata", "dicts, one a text")
    for name, given in (("ids", names), ("metadata", metadatas)):
        if len(given) != count:
            raise InvalidInputError(f"{name} has {len(given)} items, expected {count}, one a text")
    _refuse_repeated(names, checked)
    rows = [None] * count if vectors is None else given_vectors(vectors, count)
    now = _clock.now()
    return [
        Item(_document(name, text, own, now), judged=False, vector=row)
        for name, text, own, row in giving_way(zip(names, checked, metadatas, rows, strict=True))
    ]


def _refuse_repeated(names: Sequence[str], texts: Sequence[str]) -> None:
    """Refuse two texts under one id in one call: one of them would be lost."""
    held: dict[str, str] = {}
    for index, (name, text) in enumerate(zip(names, texts, strict=True)):
        if held.setdefault(name, text) != text:
            raise InvalidInputError(f"ids[{index}] is {name!r} again, for another text; expected an id a text")


def _document(name: str, text: str, metadata: Mapping[str, Any] | None, now: int) -> NewMemory:
    return {
        "id": name,
        "text": text,
        "kind": DOCUMENT,
        "user": None,
        "session": None,
        "role": None,
        "name": None,
        "key": None,
        "turn": None,
        "ts": now,
        "expires": None,
        "metadata": _json.metadata_text(metadata),
        "vectors": (),
        "model_epoch": None,
        "judge": None,
        "supersedes": (),
        "replace": True,
    }


def _one_row(vectors: Any) -> Any:
    """Return the vectors of a single text as rows: `[d]` is one too."""
    if vectors is None:
        return None
    import_whole("numpy")
    import numpy as np

    try:
        return [vectors] if np.ndim(vectors) == 1 else vectors
    except (TypeError, ValueError):
        return vectors  # refused where rows are checked, with its name
