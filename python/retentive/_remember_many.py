"""Remembering many: embedded in batches, one transaction per 1,000, the same result as one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import retentive._judge as judging
from retentive import _clock, _validate
from retentive._errors import InvalidInputError
from retentive._remember import new_memory, rendered
from retentive._vectors import given_vector, same_dimension

if TYPE_CHECKING:
    from retentive._engine import Engine
    from retentive._requests import NewMemory
    from retentive._vectors import Vector
    from retentive.memory import ConversationMemory

Progress: TypeAlias = Callable[[int, int | None], object]

TRANSACTION = 1_000
BATCH = 250  # texts an embedder gets at once

# The arguments of `new_memory`; an item may have `check` and `vector` too.
FIELDS = frozenset(
    {
        "text",
        "session",
        "role",
        "turn",
        "timestamp",
        "pinned",
        "kind",
        "metadata",
        "id",
        "ttl_days",
        "user",
        "key",
        "name",
    }
)


class Item(NamedTuple):
    """One item, checked."""

    memory: NewMemory
    judged: bool
    vector: Vector | None


def remember_many(
    engine: Engine, settings: ConversationMemory, items: Iterable[Mapping[str, Any]], progress: Progress | None
) -> list[str]:
    """Store many memories; see `Collection.remember_many`."""
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise InvalidInputError(f"items is {_validate.shown(items)}, expected mappings, one a memory")
    check_callable("progress", progress)
    total = len(items) if isinstance(items, Sized) else None
    ids: list[str] = []
    try:
        for chunk in _chunks(settings, items):
            embed(engine, chunk)
            for part in _transactions(chunk):
                now = _clock.now()
                if part[0].judged:
                    judging.apply(engine, settings, part[0].memory, now)
                ids += engine.core.remember([item.memory for item in part], now)
                if progress is not None:
                    progress(len(ids), total)
    except BaseException as error:  # also Ctrl-C: whoever catches it learns where to go on
        tell_stored(error, len(ids))
        raise
    return ids


def tell_stored(error: BaseException, count: int) -> None:
    """Add to an exception how many were stored before it, as a note and as `stored`."""
    error.add_note(f"{count} were stored before this, in order")
    error.stored = count  # type: ignore[attr-defined]


def check_callable(name: str, value: object) -> None:
    """Refuse what is neither None nor callable."""
    if value is not None and not callable(value):
        raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected a callable")


def _chunks(settings: ConversationMemory, items: Iterable[Mapping[str, Any]]) -> Iterator[list[Item]]:
    """Yield checked items, 1,000 at a time. What has a length is checked whole first: one bad item, nothing stored."""
    checked: Iterable[Item] = (_checked(settings, index, item) for index, item in enumerate(items))
    rest = iter(list(checked) if isinstance(items, Sequence) else checked)
    while chunk := list(islice(rest, TRANSACTION)):
        yield chunk


def _checked(settings: ConversationMemory, index: int, item: Mapping[str, Any]) -> Item:
    try:
        return _item(settings, item)
    except InvalidInputError as error:
        error.args = (f"items[{index}]: {error.args[0]}",)
        raise


def _item(settings: ConversationMemory, item: Mapping[str, Any]) -> Item:
    if not isinstance(item, Mapping):
        raise InvalidInputError(f"the item is {_validate.shown(item)}, expected a mapping like {{'text': ...}}")
    fields = dict(item)
    check, vector = fields.pop("check", None), fields.pop("vector", None)
    if "text" not in fields or not fields.keys() <= FIELDS:
        unknown = sorted(map(str, fields.keys() - FIELDS))
        got = f"the unknown field {unknown[0]!r}" if unknown else "no text"
        raise InvalidInputError(
            f"the item has {got}, expected text and of {', '.join(sorted(FIELDS | {'check', 'vector'}))}"
        )
    memory = new_memory(settings, _clock.now(), **fields)
    return Item(
        memory, judging.wanted(settings, memory["kind"], check), None if vector is None else given_vector(vector)
    )


def _transactions(chunk: list[Item]) -> Iterator[list[Item]]:
    """Yield runs of items without a judge, and the others one by one: their candidates may be the items before."""
    run: list[Item] = []
    for item in chunk:
        if item.judged:
            if run:
                yield run
            yield [item]
            run = []
        else:
            run.append(item)
    if run:
        yield run


def embed(engine: Engine, items: Sequence[Item]) -> None:
    """Fill in the vectors: the given ones as they are, the others embedded in batches."""
    given = [item.vector for item in items if item.vector is not None]
    if given:
        same_dimension(given)
        engine.embedding.accept(len(given[0]))
    for item in items:
        if item.vector is not None:
            item.memory["vectors"] = item.vector.reshape(1, -1)
    missing = [item.memory for item in items if item.vector is None]
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        for memory, vectors in zip(batch, engine.embedding.documents([rendered(m) for m in batch]), strict=True):
            memory["vectors"] = vectors
