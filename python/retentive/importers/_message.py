"""What messages of chat APIs have in common: roles, contents of several parts, calls of tools, times."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain, groupby
from typing import Any

from retentive import _json, _times, _validate
from retentive._errors import InvalidInputError
from retentive.importers._source import mapping, sequence, word

Item = dict[str, Any]

_TIMES = ("timestamp", "created_at", "create_time", "ts")
_TEXTS = ("text", "refusal", "thinking", "transcript")
_TEXT_FIELDS = frozenset({"content", "refusal", "audio", "tool_calls", "function_call"})
_TOOLS = ("function", "custom")
_CALLS = frozenset({"tool_use", "tool_call", "function_call"})
_AHEAD = 100  # messages that are read before the first is given, looking for a time
MILLISECONDS = 1e11  # a Unix time from here on is no longer one of seconds: they would be past the year 5138


def content(value: object, name: str) -> tuple[str, list[str]]:
    """Return the text of a message's content, and the types of its parts that have none, such as images.

    Args:
        value: a string, None, or a list of strings and of parts with a `type`.
        name: of the value, for an error.
    """
    if value is None or isinstance(value, str):
        return value or "", []
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list | tuple):
        raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected a text, a list of parts or null")
    texts: list[str] = []
    others: list[str] = []
    for index, part in enumerate(value):
        text = _part(part, f"{name}[{index}]")
        if text is None:
            kind = word(part.get("content_type"), f"{name}[{index}].content_type")
            others.append(part.get("type") or kind or "part")
        elif text:
            texts.append(text)
    return "\n".join(texts), others


def _part(part: object, name: str) -> str | None:
    """Return the text of a part; None where it has none."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise InvalidInputError(f"{name} is {_validate.shown(part)}, expected a text or an object with a type")
    kind = word(part.get("type"), f"{name}.type")
    if kind in _CALLS:
        return ""  # said with the calls
    found = next((part[key] for key in _TEXTS if isinstance(part.get(key), str)), None)
    if found is None and kind == "tool_result":
        return content(part.get("content"), f"{name}.content")[0]
    return found


def calls(message: Mapping[str, Any], place: str, field: str = "content") -> list[dict[str, Any]]:
    """Return the calls of tools that a message makes, each with `name` and `arguments`; of a content that was read."""
    made = _calls_of(message.get("tool_calls") or [], f"{place}.tool_calls")
    if message.get("function_call"):
        made.append(_call(message["function_call"], f"{place}.function_call"))
    parts = message.get("content")
    parts = [parts] if isinstance(parts, Mapping) else [] if parts is None or isinstance(parts, str) else parts
    for index, part in enumerate(parts):
        if isinstance(part, Mapping) and part.get("type") in _CALLS:
            made.append(_call(part, f"{place}.{field}[{index}]"))
    return list({_call_key(call): call for call in made}.values())


def _calls_of(value: object, name: str) -> list[dict[str, Any]]:
    return [_call(call, f"{name}[{index}]") for index, call in enumerate(sequence(value, name))]


def _call(value: object, name: str) -> dict[str, Any]:
    call = mapping(value, name)
    function = next((call[kind] for kind in _TOOLS if isinstance(call.get(kind), Mapping)), call)
    arguments = next((function[key] for key in ("arguments", "args", "input") if key in function), None)
    found = {"name": word(function.get("name"), f"{name}.name") or "tool", "arguments": arguments}
    return found if call.get("id") is None else {"id": call["id"], **found}


def _call_key(call: dict[str, Any]) -> str:
    """LangChain gives a call twice: among the contents and by itself."""
    return str(call.get("id") or json.dumps(call, sort_keys=True, default=str))


def said(text: str, others: list[str], made: list[dict[str, Any]]) -> str:
    """Return what is stored of a message: its text, else its calls, else what its parts are. Empty: nothing."""
    if text and not text.isspace():
        return text
    if made:
        return "\n".join(f"{call['name']}({_arguments(call['arguments'])})" for call in made)
    return " ".join(f"[{other}]" for other in others)


def _arguments(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def item(
    message: Mapping[str, Any],
    place: str,
    *,
    role: str,
    session: str,
    user: str | None,
    metadata: Mapping[str, Any] | None = None,
    field: str = "content",
) -> Item | None:
    """Return a message as an item of `remember_many`; None where nothing was said.

    `field` is what the program calls its content, for an error.

    Raises:
        InvalidInputError: it has nothing that could say something, or something of a wrong type.
    """
    text, others = content(message.get("content"), f"{place}.{field}")
    made = calls(message, place, field)
    if not text or text.isspace():
        text = _spoken(message, place) or text
    stored = said(text, others, made)
    if not stored and not _TEXT_FIELDS & message.keys():
        raise InvalidInputError(f"{place} has no {field}, expected a text, a list of parts or null")
    if not stored or stored.isspace():
        return None
    about = dict(metadata or {})
    if made:
        about["tool_calls"] = made
    if others:
        about["parts"] = others
    if message.get("tool_call_id"):
        about["tool_call_id"] = message["tool_call_id"]
    name, at = word(message.get("name"), f"{place}.name"), when(message, place)
    made_item = {
        "text": stored,
        "session": session,
        "user": user,
        "role": role,
        **({"name": name} if name else {}),
        **({"timestamp": at} if at else {}),
        **({"metadata": about} if about else {}),
    }
    return placed(made_item, place)


def placed(found: Item, place: str) -> Item:
    """Return an item that `remember_many` takes.

    Raises:
        InvalidInputError: it would be refused there, by its number instead of its place.
    """
    try:
        _validate.text(found["text"])
        _validate.session(found["session"])
        _validate.owner(found["user"])
        _json.metadata_text(found.get("metadata"))
        if "id" in found:
            _validate.memory_id(found["id"])
        for label in {"role", "name"} & found.keys():
            _validate.label(found[label], label)
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error}") from error
    return found


def _spoken(message: Mapping[str, Any], place: str) -> str | None:
    """Return what stands beside an empty content: a refusal, or the words of an audio."""
    refusal = word(message.get("refusal"), f"{place}.refusal")
    audio = mapping(message.get("audio") or {}, f"{place}.audio")
    return refusal or word(audio.get("transcript"), f"{place}.audio.transcript")


def when(message: Mapping[str, Any], place: str) -> datetime | str | None:
    """Return when a message was said, where it tells that: ISO 8601, or a Unix time of seconds or milliseconds."""
    key = next((key for key in _TIMES if message.get(key) is not None), None)
    return None if key is None else instant(message[key], f"{place}.{key}")


def instant(value: object, name: str) -> datetime | str:
    """Return a time: ISO 8601 as it is, a Unix time as a datetime."""
    if isinstance(value, str | datetime):
        _times.instant(name, value)
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected ISO 8601 or a Unix time")
    try:
        seconds = value / 1_000 if abs(value) >= MILLISECONDS else value
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected a Unix time of our years") from error


def role_of(value: object, roles: Mapping[str, str], name: str) -> str:
    """Return what a program calls a role as we do; one that is not known stays as it is."""
    if not isinstance(value, str) or not value:
        raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected a role")
    return roles.get(value.lower(), value)


def wanted(roles: Collection[str] | None) -> frozenset[str] | None:
    """Return the roles to keep; None for all."""
    if roles is None:
        return None
    if isinstance(roles, str) or not isinstance(roles, Iterable):
        raise InvalidInputError(f"roles is {_validate.shown(roles)}, expected a list of roles, or None for all")
    roles = list(roles)
    if not all(isinstance(role, str) for role in roles):
        raise InvalidInputError(f"roles is {_validate.shown(roles)}, expected a list of roles, or None for all")
    return frozenset(roles)


def kept(items: Iterator[Item | None], roles: frozenset[str] | None) -> Iterator[Item]:
    """Yield what was said, by those roles, with the times that the rest of a session tells."""
    said_ones = (found for found in items if found is not None)
    for _, turns in groupby(said_ones, key=lambda found: found["session"]):
        for found in dated(turns):
            if roles is None or found["role"] in roles:
                yield found


def dated(turns: Iterable[Item], began: datetime | str | None = None) -> Iterator[Item]:
    """Yield the turns of a conversation; one without a time gets that of the one before it, or of the next.

    Else it would be as of today, and older turns behind it. Of what is not known by the 100th turn there is no time.

    Args:
        turns: in their order; they are changed.
        began: the time of those before the first that has one.
    """
    rest = iter(turns)
    first: list[Item] = []
    while began is None and len(first) < _AHEAD and (found := next(rest, None)) is not None:
        first.append(found)
        began = found.get("timestamp")
    for found in chain(first, rest):
        began = found.get("timestamp") if began is None else found.setdefault("timestamp", began)
        yield found
