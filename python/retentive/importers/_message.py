"""What messages of chat APIs have in common: roles, contents of several parts, calls of tools, times."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from retentive import _validate
from retentive._errors import InvalidInputError

Item = dict[str, Any]

_TIMES = ("timestamp", "created_at", "create_time", "ts")
_TEXTS = ("text", "refusal", "thinking")
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
            others.append(str(part.get("type", part.get("content_type", "part"))))
        elif text:
            texts.append(text)
    return "\n".join(texts), others


def _part(part: object, name: str) -> str | None:
    """Return the text of a part; None where it has none."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise InvalidInputError(f"{name} is {_validate.shown(part)}, expected a text or an object with a type")
    kind = part.get("type")
    if kind in {"tool_use", "tool_call", "function_call"}:
        return ""  # said with the calls
    found = next((part[key] for key in _TEXTS if isinstance(part.get(key), str)), None)
    if found is None and kind == "tool_result":
        return content(part.get("content"), name)[0]
    return found


def calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the calls of tools that a message makes, each with `name` and `arguments`."""
    given = [*_list(message.get("tool_calls")), *([message["function_call"]] if message.get("function_call") else [])]
    given += [part for part in _list(message.get("content")) if _kind(part) in {"tool_use", "tool_call"}]
    return list({_call_key(call): call for call in map(_call, given)}.values())


def _list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _kind(part: object) -> object:
    return part.get("type") if isinstance(part, Mapping) else None


def _call(call: object) -> dict[str, Any]:
    if not isinstance(call, Mapping):
        raise InvalidInputError(f"a call of a tool is {_validate.shown(call)}, expected an object")
    function = call["function"] if isinstance(call.get("function"), Mapping) else call
    arguments = next((function[key] for key in ("arguments", "args", "input") if key in function), None)
    found = {"name": str(function.get("name", "tool")), "arguments": arguments}
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
) -> Item | None:
    """Return a message as an item of `remember_many`; None where nothing was said."""
    text, others = content(message.get("content"), f"{place}.content")
    made = calls(message)
    stored = said(text, others, made)
    if not stored or stored.isspace():
        return None
    about = dict(metadata or {})
    if made:
        about["tool_calls"] = made
    if others:
        about["parts"] = others
    if message.get("tool_call_id"):
        about["tool_call_id"] = message["tool_call_id"]
    name, at = message.get("name"), when(message, place)
    return {
        "text": stored,
        "session": session,
        "user": user,
        "role": role,
        **({"name": name} if name else {}),
        **({"timestamp": at} if at else {}),
        **({"metadata": about} if about else {}),
    }


def when(message: Mapping[str, Any], place: str) -> datetime | str | None:
    """Return when a message was said, where it tells that: ISO 8601, or a Unix time of seconds or milliseconds."""
    key = next((key for key in _TIMES if message.get(key) is not None), None)
    return None if key is None else instant(message[key], f"{place}.{key}")


def instant(value: object, name: str) -> datetime | str:
    """Return a time: ISO 8601 as it is, a Unix time as a datetime."""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected ISO 8601 or a Unix time")
    seconds = value / 1_000 if abs(value) >= MILLISECONDS else value
    try:
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
    if isinstance(roles, str) or not all(isinstance(role, str) for role in roles):
        raise InvalidInputError(f"roles is {_validate.shown(roles)}, expected a list of roles, or None for all")
    return frozenset(roles)


def kept(items: Iterator[Item | None], roles: frozenset[str] | None) -> Iterator[Item]:
    """Yield what was said, by those roles."""
    for found in items:
        if found is not None and (roles is None or found["role"] in roles):
            yield found
