"""Messages: who said what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from retentive import _validate
from retentive._errors import InvalidInputError


class Role(StrEnum):
    """Who a message is from. Each equals its string: `Role.USER == "user"`."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"

    @classmethod
    def of(cls, value: object, name: str = "role") -> Self:
        """Return the role that `value` names.

        Raises:
            InvalidInputError: it names none.
        """
        try:
            return cls(value)  # type: ignore[arg-type]
        except ValueError as error:
            known = ", ".join(repr(role.value) for role in cls)
            raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected one of {known}") from error


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. Frozen; equal to another of the same role, content and metadata.

    Args:
        role: a `Role` or its string.
        content: what was said; may be blank, for example beside a tool call.
        metadata: JSON of the caller's own; None for none. The mapping is copied.

    Raises:
        InvalidInputError: an argument has the wrong type, or the role is unknown.

    Examples:
        >>> Message.user("hello") == Message("user", "hello")
        True
    """

    role: Role
    content: str
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __init__(self, role: Role | str, content: str, metadata: Mapping[str, Any] | None = None) -> None:
        if not isinstance(content, str):
            raise InvalidInputError(f"content is {_validate.shown(content)}, expected a string; '' where there is none")
        if metadata is not None and not isinstance(metadata, Mapping):
            raise InvalidInputError(f"metadata is {_validate.shown(metadata)}, expected a dict or None")
        object.__setattr__(self, "role", Role.of(role))
        object.__setattr__(self, "content", content)
        object.__setattr__(self, "metadata", dict(metadata or {}))

    @classmethod
    def user(cls, content: str, metadata: Mapping[str, Any] | None = None) -> Self:
        """Return a message of the user."""
        return cls(Role.USER, content, metadata)

    @classmethod
    def assistant(cls, content: str, metadata: Mapping[str, Any] | None = None) -> Self:
        """Return a message of the assistant."""
        return cls(Role.ASSISTANT, content, metadata)

    @classmethod
    def system(cls, content: str, metadata: Mapping[str, Any] | None = None) -> Self:
        """Return a message of the system."""
        return cls(Role.SYSTEM, content, metadata)

    @classmethod
    def tool(cls, content: str, metadata: Mapping[str, Any] | None = None) -> Self:
        """Return a message of a tool."""
        return cls(Role.TOOL, content, metadata)


def checked_message(message: object) -> Message:
    """Return a message.

    Raises:
        InvalidInputError: it is something else.
    """
    if not isinstance(message, Message):
        raise InvalidInputError(f"message is {_validate.shown(message)}, expected a Message; pass Message.user(...)")
    return message


def checked_messages(messages: object) -> tuple[Message, ...]:
    """Return one message or many as a tuple.

    Raises:
        InvalidInputError: something else is among them.
    """
    if isinstance(messages, Message):
        return (messages,)
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise InvalidInputError(
            f"messages is {_validate.shown(messages)}, expected Message objects; pass [Message.user(...)]"
        )
    given = tuple(messages)
    for index, message in enumerate(given):
        if not isinstance(message, Message):
            way = "Message(**item)" if isinstance(message, Mapping) else "Message.user(...)"
            raise InvalidInputError(f"messages[{index}] is {_validate.shown(message)}, expected a Message; pass {way}")
    return given
