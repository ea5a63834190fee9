"""Messages of LangChain and LangGraph, as their functions dump them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from retentive import _validate
from retentive._errors import InvalidInputError
from retentive.importers._message import Item, item, kept, role_of, wanted
from retentive.importers._openai import as_mapping
from retentive.importers._source import Source, mapping, rows, sequence

ROLES = {"human": "user", "ai": "assistant", "function": "tool"}
_CLASS_ENDS = ("MessageChunk", "Message")
_NOT_SAID = frozenset({"remove"})


def langchain_messages(
    source: Source, *, session: str = "imported", user: str | None = None, roles: Collection[str] | None = None
) -> Iterator[Item]:
    """Yield messages of LangChain as turns, for `remember_many`.

    Takes what `messages_to_dict` gives (`{"type", "data"}`), what `dumpd` and `dumps` give (`{"lc", "id", "kwargs"}`),
    what `message.model_dump()` gives, and messages themselves. `human` is the role `user`, `ai` is `assistant`. Parts,
    calls of tools and times are treated as in `openai_messages`; a message's own id stands in the metadata as
    `message_id`.

    Args:
        source: a list of messages, a dict with a list under `messages` (a graph's state), or the path of a file with
            one of these, or with one message a line.
        session: their session.
        user: whose they are.
        roles: keep only messages of these roles, as `user` and `assistant`; None for all.

    Raises:
        InvalidInputError: a message is not of these forms; the message says where.
        OSError: the file cannot be read.
    """
    _validate.named_session(session)
    keep = wanted(roles)
    return kept(_items(source, session, _validate.owner(user)), keep)


def _items(source: Source, session: str, user: str | None) -> Iterator[Item | None]:
    for place, row in rows(source, "messages", "messages"):
        kind, fields = _unfolded(mapping(as_mapping(row), place), place)
        if kind in _NOT_SAID:
            continue
        given = fields.get("role") if kind == "chat" else kind
        about = {"message_id": fields["id"]} if isinstance(fields.get("id"), str) else {}
        message = {**_beside(fields), **fields, **_legacy_calls(fields)}
        role = role_of(given, ROLES, f"{place}.role" if kind == "chat" else f"{place}.type")
        yield item(message, place, role=role, session=session, user=user, metadata=about)


def _unfolded(message: Mapping[str, Any], place: str) -> tuple[str, Mapping[str, Any]]:
    """Return the type of a message, `human` or `ai`, and its fields."""
    if "lc" in message:
        path = sequence(message.get("id"), f"{place}.id")
        if not path or not isinstance(path[-1], str):
            raise InvalidInputError(
                f"{place}.id is {_validate.shown(path)}, expected a path like ['langchain', ..., 'HumanMessage']"
            )
        if message.get("type") == "not_implemented":
            raise InvalidInputError(
                f"{place} is a {path[-1]} of which dumps() wrote the name alone, expected messages: dump its .messages"
            )
        return _type_of(path[-1]), mapping(message.get("kwargs"), f"{place}.kwargs")
    kind = message.get("type")
    if not isinstance(kind, str):
        raise InvalidInputError(
            f"{place} has no type, expected what messages_to_dict, dumpd or model_dump give; for messages with a role "
            "see openai_messages"
        )
    fields = mapping(message["data"], f"{place}.data") if isinstance(message.get("data"), Mapping) else message
    return _type_of(kind), fields


def _type_of(name: str) -> str:
    """`HumanMessage`, `AIMessageChunk` and `human` are the same."""
    end = next((end for end in _CLASS_ENDS if name.endswith(end)), "")
    return name.removesuffix(end).lower()


def _beside(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what providers give beside a content: a refusal, and an audio with its words."""
    extra = fields.get("additional_kwargs")
    return {key: extra[key] for key in ("refusal", "audio") if key in extra} if isinstance(extra, Mapping) else {}


def _legacy_calls(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the calls as providers gave them, where LangChain has not made its own of them."""
    extra = fields.get("additional_kwargs")
    if fields.get("tool_calls"):
        return {}
    if fields.get("invalid_tool_calls"):  # of arguments that are no JSON
        return {"tool_calls": fields["invalid_tool_calls"]}
    if not isinstance(extra, Mapping):
        return {}
    return {key: extra[key] for key in ("tool_calls", "function_call") if extra.get(key)}
