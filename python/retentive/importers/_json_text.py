"""A file of JSON, read value by value: what was read is let go of, however long the file is."""

from __future__ import annotations

import codecs
import json
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from retentive import _validate
from retentive._errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PIECE = 1 << 16  # bytes read at once, at first
LONGEST_VALUE = 1 << 28  # characters of one item of a list, or of one member of an object
_SPACE = " \t\n\r"
_ENDS = frozenset([*_SPACE, ",", ":", "]", "}"])  # what stands behind a value
_CUT_OFF = 64  # characters: an error further from the end of what was read is none of having read too little
_UNTERMINATED = "Unterminated string"  # whose error is at its beginning


class Readable(Protocol):
    """Bytes, read piece by piece."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes; none at the end."""


class JsonText:
    """The values of a file.

    Raises:
        InvalidInputError: it is not JSON in UTF-8, or a value is too long; the message says where.
    """

    def __init__(self, file: Readable, path: Path) -> None:
        self._file = file
        self._path = path
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._scan = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._line = 1  # of what was let go of
        self._bytes = 0
        self._whole = False  # nothing is left in the file

    def peek(self) -> str:
        """Return the next character that is no space; none at the end."""
        while True:
            while self._at < len(self._text):
                char = self._text[self._at]
                if char not in _SPACE:
                    return char
                self._at += 1
            if not self._fill():
                return ""

    def items(self) -> Iterator[Any]:
        """Yield the values of a list."""
        self._expect("[")
        if self._passed("]"):
            return
        while True:
            yield self.value()
            if self._passed("]"):
                return
            self._expect(",")

    def members(self) -> Iterator[str]:
        """Yield the names of an object's members; whoever has one reads its value before the next."""
        self._expect("{")
        if self._passed("}"):
            return
        while True:
            if self.peek() != '"':
                self._refuse("Expecting property name enclosed in double quotes", self._at)
            name: str = self.value()
            self._expect(":")
            yield name
            if self._passed("}"):
                return
            self._expect(",")

    def value(self) -> Any:
        """Return the next value, whole."""
        self.peek()
        while True:
            start = self._at
            try:
                value, end = self._scan(self._text, start)
            except json.JSONDecodeError as error:
                if error.pos + _CUT_OFF < len(self._text) and not error.msg.startswith(_UNTERMINATED):
                    self._refuse(error.msg, error.pos)
                if not self._fill():  # which lets go of what was passed
                    self._refuse(error.msg, error.pos - start)
            except RecursionError as error:
                line = self._line_at(start)
                raise InvalidInputError(f"{self._path}, line {line}: it is nested too deeply") from error
            except ValueError as error:  # a number of too many digits, or the first of those of one with a point
                if not self._fill():
                    self._refuse(str(error), 0)
            else:
                # A number may go on behind what was read: "1" of "1.5", and "1" of "1." too.
                if self._text[end : end + 1] in _ENDS:
                    self._at = end
                    return value
                if not self._fill():
                    self._at = end - start
                    return value

    def skip(self) -> None:
        """Pass over the next value, a list item by item."""
        if self.peek() == "[":
            for _ in self.items():
                pass
        else:
            self.value()

    def refuse_value(self, expected: str) -> NoReturn:
        """Refuse the next value, which is something else."""
        line = self._line_at(self._at)
        raise InvalidInputError(
            f"{self._path}, line {line}: it is {_validate.shown(self.value())}, expected {expected}"
        )

    def expect_end(self) -> None:
        """Refuse what comes behind the value."""
        if self.peek():
            self._refuse("Extra data", self._at)

    def _expect(self, char: str) -> None:
        if not self._passed(char):
            self._refuse(f"Expecting '{char}'", self._at)

    def _passed(self, char: str) -> bool:
        if self.peek() != char:
            return False
        self._at += 1
        return True

    def _fill(self) -> bool:
        """Read on, as much again as waits here, so that a long value is scanned few times; whether there was more."""
        self._line += self._text.count("\n", 0, self._at)
        self._text, self._at = self._text[self._at :], 0
        if len(self._text) > LONGEST_VALUE:
            raise InvalidInputError(
                f"{self._path}, line {self._line}: a value is longer than {LONGEST_VALUE:,} characters, which no "
                "message and no conversation is"
            )
        while not self._whole:
            waiting = len(self._decoder.getstate()[0])
            data = self._file.read(max(PIECE, len(self._text)))
            self._whole = not data
            try:
                more = self._decoder.decode(data, final=self._whole)
            except UnicodeDecodeError as error:
                at = self._bytes - waiting + error.start
                raise InvalidInputError(f"{self._path}: it is not UTF-8 at byte {at}") from error
            self._bytes += len(data)
            if more:
                self._text += more
                return True
        return False

    def _line_at(self, place: int) -> int:
        return self._line + self._text.count("\n", 0, place)

    def _refuse(self, what: str, place: int) -> NoReturn:
        raise InvalidInputError(f"{self._path}, line {self._line_at(place)}: it is not JSON ({what})")
