"""Where items come from: a file of JSON or JSON Lines, or what somebody loaded already."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from retentive import _validate
from retentive._errors import InvalidInputError
from retentive._export import file

if TYPE_CHECKING:
    from pathlib import Path

Source: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | Iterable[Any]

_LINES = (".jsonl", ".ndjson")
_ID_BITS = 128


@dataclass(frozen=True)
class Loaded:
    """What a source has, and where that is."""

    values: Any
    path: Path | None = None
    by_line: bool = False  # the values are pairs of a line's number and what it has

    @property
    def is_object(self) -> bool:
        """It is one object, not a list of rows."""
        return isinstance(self.values, Mapping)


def rows(source: Source | Loaded, label: str, *inside: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a source: of a list each item, of an object the list under one of the names `inside`, else it.

    Each comes with its place for an error: the number in a list that is called `label`, or the line; and the file.

    Raises:
        InvalidInputError: not JSON, or no rows.
        OSError: the file cannot be read.
    """
    given = source if isinstance(source, Loaded) else loaded(source)
    values = given.values
    if given.by_line:
        for line, value in values:
            yield f"{given.path}, line {line}: the row", value
        return
    if isinstance(values, Mapping):
        found = next((values[name] for name in inside if isinstance(values.get(name), list)), None)
        values = [values] if found is None else found
    elif isinstance(values, bytes | str) or not isinstance(values, Iterable):
        raise InvalidInputError(f"source is {_validate.shown(values)}, expected a path, a list or a dict")
    before = "" if given.path is None else f"{given.path}: "
    for index, value in enumerate(values):
        yield f"{before}{label}[{index}]", value


def loaded(source: Source) -> Loaded:
    """Return what is in a file, where the source is a path; else the source."""
    if not isinstance(source, str | os.PathLike):
        return Loaded(source)
    path = file(source)
    if path.suffix.lower() in _LINES:
        return Loaded(_lines(path), path, by_line=True)
    data = path.read_bytes()
    try:
        return Loaded(json.loads(data.decode("utf-8-sig")), path)
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}: it is not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise InvalidInputError(f"{path}: it is nested too deeply") from error
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return Loaded(_lines(path), path, by_line=True)
        raise InvalidInputError(f"{path}, line {error.lineno}: it is not JSON ({error.msg})") from error
    except ValueError as error:
        raise InvalidInputError(f"{path}: it is not JSON ({error})") from error


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.isspace():
                continue
            try:
                value = json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                raise InvalidInputError(f"{path}, line {number}: it is not JSON in UTF-8 ({error})") from error
            yield number, value


def mapping(value: object, name: str) -> Mapping[str, Any]:
    """Return a value that must be an object."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected an object")
    return value


def sequence(value: object, name: str) -> list[Any]:
    """Return a value that must be a list."""
    if not isinstance(value, list | tuple):
        raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected a list")
    return list(value)


def word(value: object, name: str) -> str | None:
    """Return a value that must be a text, or is not there."""
    if value is not None and not isinstance(value, str):
        raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected a text")
    return value


def identifier(value: object, name: str) -> str | None:
    """Return an id, a text or a number, as text; None where there is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected a text or a number")
    if isinstance(value, int) and value.bit_length() > _ID_BITS:
        raise InvalidInputError(f"{name} is a number of {value.bit_length():,} bits, expected at most {_ID_BITS}")
    return None if value is None else str(value)
