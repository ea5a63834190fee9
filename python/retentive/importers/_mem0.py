"""Memories of mem0, as `get_all` gives them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from retentive import _clock, _times, _validate
from retentive._errors import InvalidInputError
from retentive.importers._message import Item, instant, placed
from retentive.importers._source import Source, mapping, rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_INSIDE = ("results", "memories")
_TEXTS = ("memory", "data", "text")
_KEPT = ("agent_id", "app_id", "actor_id", "categories", "hash", "score_threshold")


def mem0(source: Source, *, user: str | None = None) -> Iterator[Item]:
    """Yield the memories of mem0 as facts, for `remember_many`.

    Ids stay, so that importing twice is a `ConflictError`. `user_id` is the user, `run_id` the session, `role` who said
    it, `updated_at` (else `created_at`) the time; `user_id` and `run_id` may be None, and `""` is refused. `agent_id`,
    `app_id`, `actor_id`, `categories` and `hash` join the metadata. A memory with an `expiration_date` lasts until that
    day is over in UTC, as in mem0; one that has expired is left out. No judge is asked.

    Args:
        source: what `get_all` returned, with `results` or as a list; or the path of a file with it. It returns no more
            than it is asked for: 20 in mem0 2, unless `top_k` says otherwise.
        user: whose the memories without a `user_id` are.

    Raises:
        InvalidInputError: a memory is not of this form; the message says where.
        OSError: the file cannot be read.
    """
    owner = _validate.owner(user)
    return _items(source, owner)


def _items(source: Source, user: str | None) -> Iterator[Item]:
    for place, row in rows(source, "results", *_INSIDE):
        found = _item(mapping(row, place), place, user)
        if found is not None:
            yield found


def _item(memory: Mapping[str, Any], place: str, user: str | None) -> Item | None:
    text = next((memory[key] for key in _TEXTS if isinstance(memory.get(key), str)), None)
    if text is None:
        raise InvalidInputError(f"{place} has no memory, expected what get_all() of mem0 returns")
    if not text.strip():
        raise InvalidInputError(f"{place}.memory is {_validate.shown(text)}, expected a text that says something")
    end = _end(memory.get("expiration_date"), f"{place}.expiration_date")
    if end is not None and end <= _clock.now():
        return None
    at, days = _span(memory, end, place)
    about = dict(mapping(memory.get("metadata") or {}, f"{place}.metadata"))
    about |= {key: memory[key] for key in _KEPT if memory.get(key) is not None}
    found = {
        "text": text,
        "kind": "fact",
        "check": False,
        "user": user if memory.get("user_id") is None else memory["user_id"],
        "session": memory.get("run_id"),
        "timestamp": at,
        **({"role": memory["role"]} if memory.get("role") else {}),
        **({"id": memory["id"]} if memory.get("id") else {}),
        **({"metadata": about} if about else {}),
        **({} if days is None else {"ttl_days": days}),
    }
    return placed(found, place)


def _span(memory: Mapping[str, Any], end: int | None, place: str) -> tuple[datetime | str, float | None]:
    """Return the time of a memory, and after how many days it expires."""
    now = _clock.now()
    key = "updated_at" if memory.get("updated_at") else "created_at"
    said = memory.get(key)
    at: datetime | str = _times.to_datetime(now) if said is None else instant(said, f"{place}.{key}")
    if end is None:
        return at, None
    begin = _times.instant(f"{place}.{key}", at)
    if begin >= end:  # there only the end counts
        at, begin = _times.to_datetime(now), now
    return at, (end - begin) / _times.DAY_US


def _end(expires: object, name: str) -> int | None:
    """Return when a memory expires; a date lasts until the day is over, in UTC."""
    if expires is None or expires == "":
        return None
    try:
        day = date.fromisoformat(expires) if isinstance(expires, str) else None
    except ValueError:  # a time, or nothing of the kind
        day = None
    if day is None:
        return _times.instant(name, instant(expires, name))
    return None if day == date.max else _times.instant(name, (day + timedelta(days=1)).isoformat())
