"""Remembering one memory: fields to a row, a judge's verdict, one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retentive import _clock, _ids, _json, _judge, _times, _validate
from retentive._bulk import rendered
from retentive._constants import FACT, KINDS, PINNED, TURN
from retentive._errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retentive._embedding import Embedding
    from retentive._engine import Engine
    from retentive._requests import NewMemory
    from retentive._steps import Steps
    from retentive.memory import ConversationMemory


def remember(engine: Engine, settings: ConversationMemory, check: bool | None, fields: Mapping[str, Any]) -> Steps[str]:
    """Store one memory; see `Collection.remember`."""
    now = _clock.now()
    memory = new_memory(settings, now, **fields)
    judged = _judge.wanted(settings, memory["kind"], check)
    if judged:
        yield from _judge.announced(settings)
    ids: list[str] = []

    def store(embedding: Embedding) -> Steps[None]:
        (memory["vectors"],) = yield from embedding.documents([rendered(memory)])
        memory["model_epoch"] = embedding.model_epoch
        if judged:
            yield from _judge.apply(engine, settings, memory, now)
        engine.core.remember([memory], now, ids)

    yield from engine.embedded(store)
    return ids[0]


def new_memory(
    settings: ConversationMemory,
    now: int,
    text: str,
    session: str | None = None,
    role: str = "user",
    turn: int | None = None,
    timestamp: _times.Instant | None = None,
    pinned: bool = False,
    kind: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    id: str | None = None,
    ttl_days: float | None = None,
    user: str | None = None,
    key: str | None = None,
    name: str | None = None,
) -> NewMemory:
    """Return the row of a memory, every field checked; without vectors yet."""
    kind = TURN if kind is None and pinned is False else kind_of(kind, pinned)
    session = None if session is None else _validate.named_session(session)
    ts = now if timestamp is None else _times.instant("timestamp", timestamp)
    days = settings.ttl_of(kind) if ttl_days is None else _times.ttl_days(ttl_days)
    return {
        "id": _ids.memory_id() if id is None else _validate.memory_id(id),
        "text": _validate.text(text),
        "kind": kind,
        "user": None if user is None else _validate.owner(user),
        "session": session,
        "role": _validate.role(role),
        "name": None if name is None else _validate.label(name, "name"),
        "key": None if key is None else key_of(key, kind),
        "turn": None if turn is None else _turn_number(turn, kind, session),
        "ts": ts,
        "expires": None if days is None else _times.expiry(ts, days),
        "metadata": None if metadata is None else _json.metadata_text(metadata),
        "vectors": (),
        "model_epoch": None,
        "judge": None,
        "supersedes": (),
        "replace": False,
    }


def kind_of(kind: object, pinned: object) -> str:
    """Return the kind that `kind=` and `pinned=` mean together."""
    if not _validate.boolean("pinned", pinned):
        return TURN if kind is None else _validate.choice("kind", kind, KINDS)
    if kind is None or _validate.choice("kind", kind, KINDS) in {FACT, PINNED}:
        return PINNED
    raise InvalidInputError('pinned is True with kind="turn", expected a fact; only facts can be pinned')


def key_of(key: object, kind: str) -> str:
    """Return a key, trimmed and case-folded."""
    if kind == TURN:
        raise InvalidInputError('key is given for a turn, expected a fact; pass kind="fact" or pinned=True')
    return normalised_key(key)


def normalised_key(key: object) -> str:
    """Return a key, trimmed and case-folded, for storing or looking up."""
    if not isinstance(key, str):
        raise InvalidInputError(f"key is {_validate.shown(key)}, expected a string")
    _validate.utf8_size(key, "key")
    normalised = key.strip().casefold()
    if not normalised:
        raise InvalidInputError(f"key is {_validate.shown(key)}, expected a string that is not blank")
    if len(normalised) > _validate.MAX_ID_CHARACTERS:
        raise InvalidInputError(f"key has {len(normalised)} characters, expected {_validate.MAX_ID_CHARACTERS} at most")
    return normalised


def _turn_number(turn: object, kind: str, session: str | None) -> int:
    number = _validate.integer("turn", turn)
    if kind != TURN or session is None:
        what = f"a {kind}" if kind != TURN else "a turn without a session"
        raise InvalidInputError(f"turn is {number} for {what}, expected a turn of a session; leave turn out")
    if number >= _validate.MAX_INT:
        raise InvalidInputError(f"turn is {number}, expected less than {_validate.MAX_INT}")
    return number
