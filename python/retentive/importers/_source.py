"""Where items come from: a file of JSON or JSON Lines, or what somebody loaded already."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any, NoReturn, TypeAlias

from retentive import _validate
from retentive._errors import InvalidInputError
from retentive._export_lines import LONGEST_LINE, packed
from retentive._files import infile, refuse_open_database
from retentive.importers._json_text import JsonText

if TYPE_CHECKING:
    from pathlib import Path

Source: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | Iterable[Any]

_LINES = (".jsonl", ".ndjson")
_ID_BITS = 128
LONGEST_PIPE = 1 << 32  # bytes: what comes through a pipe is kept on the disk until it is read
_PIECE = 1 << 20


def rows(source: Source, label: str, *inside: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a source: of a list each item, of an object the list under one of the names `inside`, else it.

    Each comes with its place for an error: the number in a list that is called `label`, or the line; and the file.

    Raises:
        InvalidInputError: not JSON, or no rows.
        OSError: the file cannot be read.
    """
    if isinstance(source, str | os.PathLike):
        yield from _rows_of(infile(source), label, inside)
        return
    values: Any = source
    if isinstance(values, Mapping):
        found = next((values[name] for name in inside if isinstance(values.get(name), list)), None)
        values = [values] if found is None else found
    elif isinstance(values, bytes) or not isinstance(values, Iterable):
        raise InvalidInputError(f"source is {_validate.shown(values)}, expected a path, a list or a dict")
    for index, value in enumerate(values):
        yield f"{label}[{index}]", value


def _rows_of(path: Path, label: str, inside: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    with opened(path) as data:
        if path.suffix.lower() in _LINES or _has_lines(data, path):
            yield from _lines(data, path)
            return
        text = JsonText(data, path)
        found = _listed(text, inside)
        for index, value in enumerate(found):
            yield f"{path}: {label}[{index}]", value
        text.expect_end()


def _listed(text: JsonText, inside: tuple[str, ...]) -> Iterator[Any]:
    """Yield the items of a list, or of the first list that an object has under one of these names; else the object."""
    start = text.peek()
    if start == "[":
        yield from text.items()
        return
    if start != "{":
        text.refuse_value("a list or an object")
    beside: dict[str, Any] | None = {}
    for name in text.members():
        if beside is None:
            text.skip()
        elif name in inside and text.peek() == "[":
            beside = None
            yield from text.items()
        else:
            beside[name] = text.value()
    if beside is not None:
        yield beside


def _has_lines(data: IO[bytes], path: Path) -> bool:
    """Whether something comes behind the first object."""
    text = JsonText(data, path)
    lines = False
    if text.peek() == "{":
        for _ in text.members():
            text.skip()
        lines = text.peek() != ""
    data.seek(0)
    return lines


def _lines(data: IO[bytes], path: Path) -> Iterator[tuple[str, Any]]:
    number = 0
    while line := data.readline(LONGEST_LINE + 1):
        number += 1
        if line.isspace():
            continue
        try:
            value = json.loads(line.decode("utf-8-sig")) if len(line) <= LONGEST_LINE else _refuse_length()
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"{path}, line {number}: it is not JSON in UTF-8 ({error})") from error
        yield f"{path}, line {number}: the row", value


def _refuse_length() -> NoReturn:
    raise ValueError(f"it is longer than {LONGEST_LINE:,} bytes")


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that can be read from its start again; what comes through a pipe is kept in one without a name.

    Raises:
        InvalidInputError: it is packed, more than `LONGEST_PIPE` came through a pipe, or it is a database that somebody
            has open: closing it would drop SQLite's locks.
    """
    refuse_open_database(path)  # it may have been opened since it was named
    with path.open("rb") as given, ExitStack() as copies:
        data: IO[bytes] = given
        if not stat.S_ISREG(os.fstat(given.fileno()).st_mode):
            data = copies.enter_context(tempfile.TemporaryFile())
            keep(given, data, str(path))
        what = packed(data.read(4))
        if what is not None:
            raise InvalidInputError(f"{path}: it is {what}, expected JSON; unpack it first")
        data.seek(0)
        yield data


def keep(pipe: IO[bytes], kept: IO[bytes], name: str) -> None:
    """Copy what a pipe gives, at most `LONGEST_PIPE`.

    Args:
        pipe: read to its end.
        kept: where to.
        name: of the pipe, for an error.

    Raises:
        InvalidInputError: it gives more.
    """
    count = 0
    while piece := pipe.read(_PIECE):
        count += len(piece)
        if count > LONGEST_PIPE:
            raise InvalidInputError(
                f"{name}: more than {LONGEST_PIPE:,} bytes came through the pipe; write them into a file, and pass that"
            )
        kept.write(piece)


class Place:
    """A reader of an opened file with a place of its own: several read the same file."""

    def __init__(self, data: IO[bytes]) -> None:
        self._data = data
        self._at = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        self._data.seek(self._at)
        found = self._data.read(size)
        self._at += len(found)
        return found


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
