"""Storing what other programs have, all of it or nothing: checked, embedded and put aside, then one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import islice
from typing import TYPE_CHECKING, Any

from retentive import _documents, _steps, _validate
from retentive._bulk import BATCH, Item
from retentive._errors import DimensionError, InvalidInputError
from retentive._give_way import giving_way
from retentive._import import ON_CONFLICT, Staged
from retentive._remember_many import checked
from retentive._steps import CHECKPOINT

if TYPE_CHECKING:
    from retentive._bulk import Progress
    from retentive._engine import Engine
    from retentive._report import ImportReport
    from retentive._requests import Restored
    from retentive._steps import Steps
    from retentive._vectors import Vector
    from retentive.memory import ConversationMemory

_BATCH_FIELDS = frozenset({"texts", "metadata", "ids", "vectors"})


def import_items(
    engine: Engine,
    settings: ConversationMemory,
    items: Iterable[Mapping[str, Any]],
    on_conflict: str,
    progress: Progress | None,
) -> Steps[ImportReport]:
    """Store items, all of them or nothing; see `Collection.import_items`."""
    _validate.choice("on_conflict", on_conflict, ON_CONFLICT)
    _validate.callable_or_none("progress", progress)
    _steps.plain("progress", progress)
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise InvalidInputError(f"items is {_validate.shown(items)}, expected mappings, one a memory or a batch")
    total = len(items) if isinstance(items, Sized) else None
    staged = Staged(engine, engine.core.stage(), [], own_vectors=True)
    rest = giving_way(_checked(settings, items))
    while batch := list(islice(rest, BATCH)):
        yield from _add(engine, staged, batch)
        if progress is not None and (total is None or staged.count < total):
            progress(staged.count, total)
        yield CHECKPOINT
    report = staged.commit(on_conflict)
    if progress is not None:
        progress(staged.count, staged.count)
    return report


def _checked(settings: ConversationMemory, items: Iterable[Any]) -> Iterator[Item]:
    for index, item in enumerate(items):
        is_mapping = isinstance(item, Mapping)
        if is_mapping and "texts" in item:
            yield from _documents_of(item, index)
        else:
            yield checked(settings, index, _unjudged(item, index) if is_mapping else item)


def _unjudged(item: Mapping[str, Any], index: int) -> Mapping[str, Any]:
    """Return an item of which no judge is asked."""
    if item.get("check") not in {None, False}:
        raise InvalidInputError(
            f"items[{index}]: check is {_validate.shown(item['check'])}, expected None or False: an import asks no "
            "judge; remember_many() does"
        )
    return {**item, "check": False}


def _documents_of(batch: Mapping[str, Any], index: int) -> list[Item]:
    unknown = sorted(map(str, batch.keys() - _BATCH_FIELDS))
    if unknown:
        raise InvalidInputError(
            f"items[{index}]: the batch has the unknown field {_validate.shown(unknown[0])}, expected texts and of "
            f"{', '.join(sorted(_BATCH_FIELDS))}"
        )
    try:
        return _documents.checked(batch["texts"], batch.get("metadata"), batch.get("ids"), batch.get("vectors"))
    except InvalidInputError as error:
        error.args = (f"items[{index}]: {error.args[0]}",)
        raise


def _add(engine: Engine, staged: Staged, batch: list[Item]) -> Steps[None]:
    given = [item for item in batch if item.vector is not None]
    for item in given:
        if item.vector is not None:
            _expect(engine, staged, item.vector)
            item.memory["vectors"] = [item.vector.reshape(1, -1)]
    without = [item for item in batch if item.vector is None]
    memories = [(item.memory, _new(staged.count + index)) for index, item in enumerate(batch)]
    yield from staged.add(memories, without)


def _expect(engine: Engine, staged: Staged, vector: Vector) -> None:
    """Refuse a vector of another dimension. The first says of which model they are, as it does in `remember_many`."""
    if not staged.models:
        known = engine.core.models()
        name, dimension, probe = engine.embedding.model_of_given(len(vector))
        staged.models = [(name, known[0][1] if known else dimension, probe)]
    expected = staged.models[0][1]
    if len(vector) != expected:
        raise DimensionError(
            f"a vector has {len(vector)} dimensions, expected {expected} of the collection, or as in the first",
            expected=expected,
            got=len(vector),
        )


def _new(number: int) -> Restored:
    """Nothing happened yet to a memory."""
    return {
        "line": number,
        "supersedes": None,
        "superseded": None,
        "cited": False,
        "consolidated_from": (),
        "feedback": (),
    }
