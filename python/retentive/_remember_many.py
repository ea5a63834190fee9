"""Remembering many: embedded in batches, one transaction per 1,000, the same result as one by one."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import retentive._judge as judging
from retentive import _clock, _validate
from retentive._bulk import TRANSACTION, Bulk, Item, Progress, embed
from retentive._errors import InvalidInputError
from retentive._give_way import giving_way, let_go
from retentive._remember import new_memory
from retentive._steps import CHECKPOINT, Steps
from retentive._vectors import given_vector

if TYPE_CHECKING:
    from retentive._engine import Engine
    from retentive.memory import ConversationMemory

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
ITEM_FIELDS = FIELDS | {"check", "vector"}


def remember_many(
    engine: Engine, settings: ConversationMemory, items: Iterable[Mapping[str, Any]], progress: Progress | None
) -> Steps[list[str]]:
    """Store many memories; see `Collection.remember_many`."""
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise InvalidInputError(f"items is {_validate.shown(items)}, expected mappings, one a memory")
    with Bulk(engine, len(items) if isinstance(items, Sized) else None, progress) as bulk:
        for chunk in _chunks(settings, items):
            judged = any(item.judged for item in chunk)
            if judged:
                yield from judging.announced(settings)
            yield from engine.embedded(partial(embed, items=chunk))  # all together: an embedder is faster in batches
            for part in _transactions(chunk) if judged else [chunk]:
                now = _clock.now()
                judge = partial(judging.apply, engine, settings, part[0].memory, now)
                yield from bulk.commit(part, now, judge if part[0].judged else None)
                let_go(part)
                yield CHECKPOINT
            let_go(chunk)
    return bulk.ids


def _chunks(settings: ConversationMemory, items: Iterable[Mapping[str, Any]]) -> Iterator[list[Item]]:
    """Yield checked items, 1,000 at a time. What has a length is checked whole first: one bad item, nothing stored."""
    items_checked = (checked(settings, index, item) for index, item in enumerate(giving_way(items)))
    chunks = iter(lambda: list(islice(items_checked, TRANSACTION)), [])
    if not isinstance(items, Sequence):
        yield from chunks
        return
    whole = deque(chunks)
    while whole:
        yield whole.popleft()  # and holds on to none that was stored


def checked(settings: ConversationMemory, index: int, item: Mapping[str, Any]) -> Item:
    """Return an item whose every field is right; an error says which item was not."""
    try:
        return _item(settings, item)
    except InvalidInputError as error:
        error.args = (f"items[{index}]: {error.args[0]}",)
        raise


def _item(settings: ConversationMemory, item: Mapping[str, Any]) -> Item:
    if type(item) is not dict and not isinstance(item, Mapping):
        raise InvalidInputError(f"the item is {_validate.shown(item)}, expected a mapping like {{'text': ...}}")
    fields = dict(item)
    if "text" not in fields or not ITEM_FIELDS.issuperset(fields):
        unknown = sorted(map(str, fields.keys() - ITEM_FIELDS))
        got = f"the unknown field {_validate.shown(unknown[0])}" if unknown else "no text"
        raise InvalidInputError(f"the item has {got}, expected text and of {', '.join(sorted(ITEM_FIELDS))}")
    check, vector = fields.pop("check", None), fields.pop("vector", None)
    memory = new_memory(settings, _clock.now(), **fields)
    return Item(
        memory, judging.wanted(settings, memory["kind"], check), None if vector is None else given_vector(vector)
    )


def _transactions(chunk: list[Item]) -> Iterator[list[Item]]:
    """Yield runs of items without a judge, and the others one by one: their candidates may be the items before."""
    for judged, run in groupby(giving_way(chunk), attrgetter("judged")):
        if judged:
            yield from ([item] for item in run)
        else:
            yield list(run)
