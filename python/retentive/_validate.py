"""Arguments, checked before anything is stored: what came, what was expected, what to do."""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

from retentive._constants import ANY, KINDS, OUTCOMES, User
from retentive._errors import InvalidInputError

MAX_TEXT_BYTES = 4 * 1024 * 1024
MAX_ID_CHARACTERS = 1_024
MAX_LABEL_CHARACTERS = 256
MAX_SESSION_CHARACTERS = 65_536
MAX_INT = 2**63 - 1

_COLLECTION_NAME = re.compile(r"(?!\.)[A-Za-z0-9_.\-]{1,100}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SHOWN_CHARACTERS = 60
_USUAL_ROLES = frozenset({"user", "assistant", "system", "tool"})


def shown(value: object) -> str:
    """Return a short repr for a message, with the type where the repr does not tell it."""
    try:
        text = repr(value[: _SHOWN_CHARACTERS + 1] if isinstance(value, str | bytes) else value)
    except Exception:  # noqa: BLE001 - an integer of too many digits, or somebody's own repr
        return f"a value of the type {type(value).__name__}"
    if len(text) > _SHOWN_CHARACTERS:
        text = text[:_SHOWN_CHARACTERS] + "..."
    told = value is None or isinstance(value, bool | int | float | str | bytes | list | tuple | dict | set)
    return text if told else f"{text} ({type(value).__name__})"


def path(value: object, name: str, expected: str) -> Path:
    """Return a path that the system can be asked for; `expected` says in words what it is of."""
    try:
        given = os.fspath(value)  # type: ignore[call-overload]
        if isinstance(given, str) and given and b"\0" not in os.fsencode(given):
            return Path(given)
    except (TypeError, UnicodeEncodeError):  # no path at all; half a surrogate pair
        pass
    raise InvalidInputError(f"{name} is {shown(value)}, expected {expected}")


def absolute_path(value: object, name: str, expected: str) -> Path:
    """Return an absolute path that the core can be given, which takes UTF-8; arguments as those of `path`."""
    absolute = path(value, name, expected).absolute()
    try:
        str(absolute).encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{name} is {shown(value)}, expected {expected} with a name in UTF-8") from error
    return absolute


def collection_name(value: object) -> str:
    """Return a collection's name: 1 to 100 characters of letters, digits, `_ - .`, no leading dot."""
    if not isinstance(value, str) or not is_collection_name(value):
        raise InvalidInputError(
            f"the collection's name is {shown(value)}, expected 1 to 100 characters of A-Z a-z 0-9 _ - . without a "
            "leading dot; the folder goes into path="
        )
    return value


def is_collection_name(value: str) -> bool:
    """Whether a collection can have this name."""
    return _COLLECTION_NAME.fullmatch(value) is not None


def text(value: object, name: str = "text") -> str:
    """Return a text that can be stored: valid Unicode, not blank, at most 4 MiB in UTF-8."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is {shown(value)}, expected a string")
    if not value or value.isspace():
        raise InvalidInputError(f"{name} is {'blank' if value else 'empty'}, expected something to remember or find")
    size = len(value) if value.isascii() else utf8_size(value, name)
    if size > MAX_TEXT_BYTES:
        raise InvalidInputError(f"{name} has {size:,} bytes, expected at most {MAX_TEXT_BYTES:,}; split it")
    return value


def utf8_size(value: str, name: str) -> int:
    """Return the bytes of `value` in UTF-8, refusing lone surrogates."""
    try:
        return len(value.encode())
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{name} has a lone surrogate at character {error.start}, which is not valid Unicode; "
            "decode it with errors='replace'"
        ) from error


def _string(value: object, name: str, limit: int, expected: str) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is {shown(value)}, expected {expected}")
    if not value:
        raise InvalidInputError(f"{name} is the empty string, expected {expected}")
    if not value.isascii():
        utf8_size(value, name)
    if len(value) > limit:
        raise InvalidInputError(f"{name} has {len(value):,} characters, expected at most {limit:,}")
    return value


def session(value: object) -> str | None:
    """Return a session, or None."""
    return None if value is None else named_session(value)


def named_session(value: object) -> str:
    """Return a session that must be named."""
    return _string(value, "session", MAX_SESSION_CHARACTERS, "a string that is not empty")


def owner(value: object) -> str | None:
    """Return a user, or None; `ANY` is refused."""
    if value is None:
        return None
    if value is ANY:
        raise InvalidInputError(
            "user is ANY, expected one user or None; ANY is for recall, search, count, sessions and forget"
        )
    return _string(value, "user", MAX_SESSION_CHARACTERS, "a string that is not empty")


def user(value: object) -> User:
    """Return a user, None, or `ANY`."""
    return ANY if value is ANY else owner(value)


def label(value: object, name: str) -> str:
    """Return a role or a speaker's name: one line that can stand before a text."""
    checked = _string(value, name, MAX_LABEL_CHARACTERS, "a string that is not empty")
    if checked.isspace() or _CONTROL.search(checked):
        raise InvalidInputError(f"{name} is {shown(checked)}, expected one line with visible characters")
    return checked


def role(value: object) -> str:
    """Return a role."""
    return value if isinstance(value, str) and value in _USUAL_ROLES else label(value, "role")


def memory_id(value: object, name: str = "id") -> str:
    """Return an id."""
    return _string(value, name, MAX_ID_CHARACTERS, "a string that is not empty")


def memory_ids(value: object, name: str = "ids") -> list[str]:
    """Return a list of ids."""
    return [memory_id(item, f"{name}[{index}]") for index, item in enumerate(items(value, name, "ids"))]


def items(value: object, name: str, what: str) -> Sequence[Any]:
    """Return an iterable of `what` as a sequence; a lone string is not one."""
    if isinstance(value, list | tuple):
        return value
    return list(iterable(value, name, what))


def iterable(value: object, name: str, what: str) -> Iterable[Any]:
    """Return an iterable of `what`, unread; a lone string is not one."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{name} is {shown(value)}, expected a list of {what}")
    return value


def kinds(value: object) -> tuple[str, ...]:
    """Return kinds to choose from."""
    if value is KINDS:
        return KINDS
    chosen = tuple(items(value, "kinds", f"kinds, of {KINDS}"))
    for kind in chosen:
        if not isinstance(kind, str) or kind not in KINDS:
            raise InvalidInputError(f"kinds has {shown(kind)}, expected kinds of {KINDS}")
    return chosen


def outcome(value: object) -> str:
    """Return an outcome of feedback."""
    return choice("outcome", value, OUTCOMES)


def choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return a string that must be one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidInputError(f"{name} is {shown(value)}, expected one of {choices}")
    return value


def boolean(name: str, value: object) -> bool:
    """Return a bool, refusing what is only truthy."""
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} is {shown(value)}, expected True or False")
    return value


def callable_or_none(name: str, value: object) -> Callable[..., Any] | None:
    """Return a callable, or None."""
    if value is not None and not callable(value):
        raise InvalidInputError(f"{name} is {shown(value)}, expected a callable")
    return value


def is_auto(value: object) -> bool:
    """Whether it is `"auto"`; not by `==` alone, which an array answers item by item."""
    return isinstance(value, str) and value == "auto"


def integer(name: str, value: object, *, at_least: int = 0) -> int:
    """Return a whole number; a bool is none."""
    checked = whole_number(value)
    if checked is None or not at_least <= checked <= MAX_INT:
        most = f" and at most {MAX_INT:,}" if checked is not None and checked > MAX_INT else ""
        raise InvalidInputError(f"{name} is {shown(value)}, expected a whole number of at least {at_least}{most}")
    return checked


def whole_number(value: Any) -> int | None:
    """Return what stands for a whole number as one, numpy's integers too; None for a bool and for everything else."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:  # also of a class, or an array, that has `__index__`
        return None


def integer_or_none(name: str, value: object, *, at_least: int = 0) -> int | None:
    """Return a whole number, or None."""
    return None if value is None else integer(name, value, at_least=at_least)


def number(
    name: str,
    value: object,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = math.inf,
    expected: str | None = None,
) -> float:
    """Return a finite number within bounds; a bool is none."""
    if not isinstance(value, bool) and isinstance(value, Real):
        try:
            checked = float(value)
        except OverflowError:
            checked = math.inf
        if math.isfinite(checked) and at_least <= checked <= at_most and checked > above:
            return checked
    raise InvalidInputError(f"{name} is {shown(value)}, expected {expected or _bounds(at_least, above, at_most)}")


def _bounds(at_least: float, above: float, at_most: float) -> str:
    parts = [f"of at least {at_least:g}"] * (at_least > -math.inf)
    parts += [f"above {above:g}"] * (above > -math.inf)
    parts += [f"of at most {at_most:g}"] * (at_most < math.inf)
    return " ".join(["a finite number", " and ".join(parts)]).strip()
