"""A session as a JSON file: a list of `{role, content, timestamp, image_path}`, replaced atomically."""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from retentive import _text_file, _times, _validate
from retentive._errors import InvalidInputError, RetentiveError
from retentive._files import infile, outfile_of_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

REQUIRED = ("role", "content", "timestamp")
FIELDS = (*REQUIRED, "image_path")

_BLANK = re.compile(r"[ \t\r\n]*")
_NAME_CHARACTERS = 100
_COLLECTION_CHARACTERS = 40  # a name of a file has at most 255 bytes


class SessionFileError(RetentiveError):
    """A session file is damaged, or not a session at all. Nothing was changed.

    Attributes:
        path: the file.
        line: where in it, counted from 1; None where the file as a whole is wrong.
    """

    def __init__(self, message: str = "", *, path: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


class Entry(NamedTuple):
    """One turn in a file, checked. `timestamp` is in microseconds UTC."""

    role: str
    content: str
    timestamp: int
    image_path: str | None


def file_name(session: str, user: str | None, collection: str | None) -> str:
    """Return `session_<id>.json`; what cannot stand in the name of a file is percent-encoded.

    Args:
        session: the id.
        user: who owns it, if any.
        collection: the name of a collection that shares its folder with others; None for the manager's own.
    """
    owner = "" if user is None else f"{_encoded(user)}@"
    place = "" if collection is None else f"+{_encoded(collection, _COLLECTION_CHARACTERS)}"
    return f"session_{owner}{_encoded(session)}{place}.json"


def _encoded(name: str, most: int = _NAME_CHARACTERS) -> str:
    encoded = quote(name, safe="")
    if len(encoded) <= most:
        return encoded
    # Two percent signs stand in no encoded name, so a shortened one is never another's.
    return f"{encoded[: most - 35]}%%{hashlib.blake2b(name.encode(), digest_size=16).hexdigest()}"


def checked_path(path: object) -> Path:
    """Return the path of a file that was given."""
    expected = "the path of a JSON file"
    checked = _validate.path(path, "path", expected)
    if not checked.name:
        raise InvalidInputError(f"path is {_validate.shown(path)}, a folder; expected {expected}")
    return checked


def write(path: Path, turns: Sequence[Mapping[str, Any]]) -> None:
    """Write a session: whole, or not at all.

    Raises:
        InvalidInputError: what stands there is no regular file, or a collection's.
        OSError: it cannot be written; the file before it is as it was.
    """
    target = outfile_of_text(path, "a session is written as JSON: name a file like 'session.json'")
    lines = ",\n".join(["  " + json.dumps(turn, ensure_ascii=False) for turn in turns])
    _text_file.write(target, f"[\n{lines}\n]\n" if turns else "[]\n", path)


def read(path: Path) -> list[Entry]:
    """Return the turns of a file.

    Raises:
        FileNotFoundError: there is no such file.
        SessionFileError: it is damaged, or not a session.
    """
    return [_entry(path, line, value) for line, value in _values(path, _text(path))]


def _text(path: Path) -> str:
    try:
        content = infile(path).read_bytes()
    except InvalidInputError as error:  # a device may give bytes without end
        raise SessionFileError(f"{error}; nothing was changed", path=str(path)) from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _error(path, line, f"has bytes that are not UTF-8 ({error.reason})") from error


def _values(path: Path, text: str) -> Iterator[tuple[int, Any]]:
    """Yield the line and the value of each item of the list; one by one, since `json` tells no lines of values."""
    decoder, lines = json.JSONDecoder(), _Lines(text)
    position = _skip(text, 0)
    if text[position : position + 1] != "[":
        raise _error(path, lines.at(position), "does not start with a list")
    position = _skip(text, position + 1)
    closed = text[position : position + 1] == "]"
    while not closed:
        line = lines.at(position)
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise _error(path, error.lineno, f"is not JSON ({error.msg}, column {error.colno})") from error
        except (RecursionError, ValueError) as error:  # too deep, or a number of too many digits
            raise _error(path, line, f"is not a session ({error})") from error
        yield line, value
        position = _skip(text, position)
        separator = text[position : position + 1]
        if separator not in {",", "]"}:
            what = repr(separator) if separator else "the end of the file"
            raise _error(path, lines.at(position), f"has {what} where a comma or ] was expected")
        closed = separator == "]"
        position = position if closed else _skip(text, position + 1)
    end = _skip(text, position + 1)
    if end < len(text):
        raise _error(path, lines.at(end), "goes on after its list")


def _entry(path: Path, line: int, value: object) -> Entry:
    if not isinstance(value, dict):
        raise _error(path, line, f"has {_validate.shown(value)} for a turn")
    missing = [field for field in REQUIRED if field not in value]
    unknown = [field for field in value if field not in FIELDS]
    if missing or unknown:
        raise _error(
            path, line, f"has no {missing[0]!r}" if missing else f"has the unknown field {_validate.shown(unknown[0])}"
        )
    try:
        return Entry(
            _validate.label(value["role"], "role"),
            _validate.text(value["content"], "content"),
            _times.instant("timestamp", value["timestamp"]),
            image_path(value.get("image_path")),
        )
    except InvalidInputError as error:
        raise _error(path, line, str(error)) from error


def image_path(value: object) -> str | None:
    """Return the path of an image, or None."""
    if value is None:
        return None
    try:
        name = os.fspath(value)  # type: ignore[call-overload]
    except TypeError:
        name = None
    if not isinstance(name, str) or not name:
        raise InvalidInputError(f"image_path is {_validate.shown(value)}, expected a path or None")
    _validate.utf8_size(name, "image_path")
    return name


def _error(path: Path, line: int, problem: str) -> SessionFileError:
    return SessionFileError(
        f"{path}, line {line}: {problem}; expected a list of {{role, content, timestamp, image_path}}; nothing was "
        "changed, repair the file or move it away",
        path=str(path),
        line=line,
    )


def _skip(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


class _Lines:
    """Counts lines up to positions that only rise: from the start each time, a long file would take its square."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._line = 1

    def at(self, position: int) -> int:
        """Return the line of a position."""
        self._line += self._text.count("\n", self._position, position)
        self._position = position
        return self._line
