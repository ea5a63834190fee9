"""Where items come from: a file of JSON or JSON Lines, or what somebody loaded already."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from retentive import _validate
from retentive._errors import InvalidInputError
from retentive._export import file

if TYPE_CHECKING:
    from pathlib import Path

Source: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | Iterable[Any]

_LINES = (".jsonl", ".ndjson")


def rows(source: Source, *inside: str) -> Iterator[Any]:
    """Yield the rows of a source: of a list each item, of an object the list under one of the names `inside`, else it.

    Raises:
        InvalidInputError: not JSON, or no rows.
        OSError: the file cannot be read.
    """
    values = loaded(source)
    if isinstance(values, Mapping):
        found = next((values[name] for name in inside if isinstance(values.get(name), list)), None)
        yield from [values] if found is None else found
    elif isinstance(values, bytes) or not isinstance(values, Iterable):
        raise InvalidInputError(f"source is {_validate.shown(values)}, expected a path, a list or a dict")
    else:
        yield from values


def loaded(source: Source) -> Any:
    """Return what is in a file, where the source is a path; else the source."""
    if not isinstance(source, str | os.PathLike):
        return source
    path = file(source)
    if path.suffix.lower() in _LINES:
        return _lines(path)
    data = path.read_bytes()
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}: it is not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise InvalidInputError(f"{path}: it is nested too deeply") from error
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return _lines(path)  # one value a line
        raise InvalidInputError(f"{path}, line {error.lineno}: it is not JSON ({error.msg})") from error
    except ValueError as error:
        raise InvalidInputError(f"{path}: it is not JSON ({error})") from error


def _lines(path: Path) -> Iterator[Any]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.isspace():
                continue
            try:
                yield json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                raise InvalidInputError(f"{path}, line {number}: it is not JSON in UTF-8 ({error})") from error


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
