"""Messages as OpenAI's chat API takes them, and logs and training files made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retentive import _validate
from retentive._errors import InvalidInputError
from retentive.importers._message import Item, dated, item, kept, role_of, wanted, when
from retentive.importers._source import Source, identifier, mapping, rows, sequence, word

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

ROLES = {"function": "tool"}
_CONVERSATION = "messages"
# Of the Responses API, whose lists have calls and what they gave between the messages.
_CALLS = frozenset({"function_call", "custom_tool_call"})
_OUTPUTS = frozenset({f"{call}_output" for call in _CALLS})
_NOT_SAID = frozenset({"reasoning", "item_reference", "compaction"})


def openai_messages(
    source: Source, *, session: str = "imported", user: str | None = None, roles: Collection[str] | None = None
) -> Iterator[Item]:
    """Yield messages of OpenAI's form as turns, for `remember_many`.

    A content of several parts becomes its texts; what it has of other parts stands in the metadata as `parts`, and is
    the text where there is no other, as `[image_url]`. Calls of tools stand in the metadata as `tool_calls`, and are
    the text of a message without one. A refusal, and what was said in an audio, are the text where there is no other.
    In a list of the Responses API, calls of functions and what they gave are such messages too; what was reasoned is
    left out. A message in which nothing was said (a content that is null or empty) is left out; one without a content
    is of another form. A message may have a time, as may a conversation: `timestamp`, `created_at`, `create_time` or
    `ts`, ISO 8601 or Unix seconds or milliseconds. One without has that of the message before it; before the first
    that has one, the conversation's, or that first one's where it is among 100. Where none has one, it is now.

    Args:
        source: a list of messages; a dict `{"messages": [...]}`, or many of them, one conversation each (a training
            file, one a line); or the path of a file with one of these.
        session: their session; of many conversations, each one's `id`, or `session-0`, `session-1` and so on.
        user: whose they are.
        roles: keep only messages of these roles; None for all.

    Raises:
        InvalidInputError: a message is not of this form; the message says where.
        OSError: the file cannot be read.
    """
    _validate.named_session(session)
    keep = wanted(roles)
    return kept(_items(source, session, _validate.owner(user)), keep)


def _items(source: Source, session: str, user: str | None) -> Iterator[Item | None]:
    for index, (place, row) in enumerate(rows(source, "messages", _CONVERSATION)):
        found = mapping(as_mapping(row), place)
        if _CONVERSATION in found and "role" not in found:
            own = identifier(found.get("id"), f"{place}.id") or f"{session}-{index}"
            messages = enumerate(sequence(found[_CONVERSATION], f"{place}.messages"))
            turns = (_item(message, f"{place}.messages[{number}]", own, user) for number, message in messages)
            yield from dated(filter(None, turns), when(found, place))
        else:
            yield _item(found, place, session, user)


def _item(message: object, place: str, session: str, user: str | None) -> Item | None:
    found = mapping(as_mapping(message), place)
    if "role" not in found:
        kind = word(found.get("type"), f"{place}.type") or ""
        if kind in _NOT_SAID or (kind.endswith("_call") and kind not in _CALLS):
            return None  # thought, or done where the model runs
        found = _of_responses(found, kind)
    if "role" not in found:
        raise InvalidInputError(f"{place} has no role, expected a message like {{'role': 'user', 'content': '...'}}")
    role = role_of(found["role"], ROLES, f"{place}.role")
    return item(found, place, role=role, session=session, user=user)


def _of_responses(found: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return an item of the Responses API as a message."""
    if kind in _CALLS:
        arguments = found.get("arguments", found.get("input"))
        call = {"id": found.get("call_id"), "name": found.get("name"), "arguments": arguments}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if kind in _OUTPUTS:
        return {"role": "tool", "tool_call_id": found.get("call_id"), "content": found.get("output")}
    return found


def as_mapping(value: Any) -> Any:
    """Return a message of a client library as a dict, anything else as it is."""
    return value.model_dump() if hasattr(value, "model_dump") else value
