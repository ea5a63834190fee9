"""ShareGPT's form, and training files made after it."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from retentive import _validate
from retentive._errors import InvalidInputError
from retentive.importers._message import Item, dated, item, kept, role_of, wanted, when
from retentive.importers._source import Source, identifier, mapping, rows, sequence, word

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

ROLES = {
    **dict.fromkeys(("human", "user", "prompter"), "user"),
    **dict.fromkeys(("gpt", "chatgpt", "assistant", "bing", "bard", "model", "bot"), "assistant"),
    **dict.fromkeys(("function_call", "tool_call"), "assistant"),
    **dict.fromkeys(("tool", "function", "observation", "tool_response", "function_response"), "tool"),
}
_TURNS = ("conversations", "conversation", "items", "messages")
_SPEAKERS = ("from", "role", "user")
_VALUES = ("value", "content", "text")


def sharegpt(
    source: Source, *, session: str = "sharegpt", user: str | None = None, roles: Collection[str] | None = None
) -> Iterator[Item]:
    """Yield the messages of conversations in ShareGPT's form as turns, for `remember_many`.

    Each row is a conversation, `{"id": ..., "conversations": [{"from": "human", "value": "..."}, ...]}`, and a session:
    by its `id`, or `session-0`, `session-1` and so on. A `system` text of the row comes first. A row may be the list of
    its turns; where the rows are turns, they are one session. Times are treated as in `openai_messages`.

    Args:
        source: the path of a file (JSON, or JSON Lines with one conversation a line), or what was loaded from it.
        session: the first part of the sessions' names, where rows have no id.
        user: whose they are.
        roles: keep only messages of these roles, as `user` and `assistant`; None for all.

    Raises:
        InvalidInputError: a row is not of this form; the message says where.
        OSError: the file cannot be read.
    """
    _validate.named_session(session)
    keep = wanted(roles)
    return kept(_items(source, session, _validate.owner(user)), keep)


def _items(source: Source, session: str, user: str | None) -> Iterator[Item | None]:
    for index, (place, row) in enumerate(rows(source, "")):
        if isinstance(row, list):
            yield from _turns(row, place, f"{session}-{index}", user)
            continue
        found = mapping(row, place)
        key = next((key for key in _TURNS if key in found), None)
        if key is None and "from" in found and "value" in found:  # one conversation, which is the list
            yield _item(found, place, session, user)
            continue
        if key is None:
            raise InvalidInputError(
                f"{place} has no conversations, expected {{'conversations': [{{'from', 'value'}}]}}"
            )
        own = identifier(found.get("id"), f"{place}.id") or f"{session}-{index}"
        system = word(found.get("system"), f"{place}.system")
        turns = _turns(found[key], f"{place}.{key}", own, user)
        if system is not None:
            first = item({"content": system}, place, role="system", session=own, user=user, field="system")
            turns = chain([first], turns)
        yield from dated(filter(None, turns), when(found, place))


def _turns(turns: object, place: str, session: str, user: str | None) -> Iterator[Item | None]:
    for number, turn in enumerate(sequence(turns, place)):
        at = f"{place}[{number}]"
        yield _item(mapping(turn, at), at, session, user)


def _item(turn: Mapping[str, Any], place: str, session: str, user: str | None) -> Item | None:
    speaker = next((turn[key] for key in _SPEAKERS if key in turn), None)
    key = next((key for key in _VALUES if key in turn), None)
    said = {} if key is None else {"content": turn[key]}
    role = role_of(speaker, ROLES, f"{place}.from")
    return item({**turn, **said}, place, role=role, session=session, user=user, field=key or "value")
