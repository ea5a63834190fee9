"""Other turns in a session's place: all embedded first, then one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from retentive import _clock, _validate
from retentive._bulk import embed
from retentive._constants import TURN
from retentive._errors import InvalidInputError
from retentive._give_way import giving_way
from retentive._remember_many import checked

if TYPE_CHECKING:
    from retentive._embedding import Embedding
    from retentive._engine import Engine
    from retentive._steps import Steps
    from retentive.memory import ConversationMemory

_SAID_ONCE = ("session", "user")  # for all items, by the call


def replace_turns(
    engine: Engine, settings: ConversationMemory, session: str, items: Iterable[Mapping[str, Any]], user: str | None
) -> Steps[list[str]]:
    """Replace the turns of a session; see `Collection.replace_turns`."""
    if _validate.session(session) is None:
        raise InvalidInputError("session is None, expected the name of the session whose turns are replaced")
    user = None if user is None else _validate.owner(user)
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise InvalidInputError(f"items is {_validate.shown(items)}, expected mappings, one a turn")
    new = [checked(settings, index, _turn(index, item, session, user)) for index, item in enumerate(giving_way(items))]
    for index, item in enumerate(new):
        if item.memory["kind"] != TURN:
            raise InvalidInputError(f"items[{index}] is a {item.memory['kind']}, expected a turn")

    def store(embedding: Embedding) -> Steps[list[str]]:
        yield from embed(embedding, new)
        return engine.core.replace_turns(user, session, [item.memory for item in new], _clock.now())

    return (yield from engine.embedded(store))


def _turn(index: int, item: object, session: str, user: str | None) -> Mapping[str, Any]:
    if not isinstance(item, Mapping):
        raise InvalidInputError(f"items[{index}] is {_validate.shown(item)}, expected a mapping like {{'text': ...}}")
    for name in _SAID_ONCE:
        if name in item:
            raise InvalidInputError(f"items[{index}] has a {name}, expected none; pass {name} once, beside the items")
    if "check" in item:
        raise InvalidInputError(f"items[{index}] has a check, expected none; no judge sees turns that replace others")
    return {**item, "session": session, "user": user}
