"""The lines of an export, read: each one checked before anything of it is used. `docs/format.md` describes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from retentive import _calibration, _validate
from retentive._errors import InvalidInputError, VersionError
from retentive._export_fields import FIELDS, Fields, floats, stored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from retentive._export_fields import Stored
    from retentive._requests import Vector

FORMAT = "retentive-export"
VERSION = 1
LONGEST_LINE = 1 << 28  # bytes: the largest text and metadata, escaped, with the vectors of all parts, are less

_PACKED = {b"\x1f\x8b": "packed with gzip", b"PK\x03\x04": "a zip archive"}
_HEADER = frozenset({"format", "version", "collection", "language", "memories", "models", "vectors", "calibration"})
_UNUSED = frozenset({"next_turn", "user", "session"})


Model: TypeAlias = "tuple[str, int, Vector | None]"  # name, dimension, probe; no probe where a caller made the vectors
Calibrated: TypeAlias = tuple[float | None, float | None, str]  # noise floor, refusal floor, report as JSON


class Unused(NamedTuple):
    """A session whose turn numbers go on higher than behind its last turn."""

    user: str | None
    session: str | None
    next_turn: int


class Header(NamedTuple):
    """What the first line says.

    Attributes:
        memories: how many lines there should be; None where it does not say.
        models: name, dimension and probe of the models of the vectors; no probe where a caller made them.
        vectors: whether lines have vectors.
        calibration: noise floor, refusal floor, report as JSON.
    """

    memories: int | None
    models: list[Model]
    vectors: bool
    calibration: Calibrated | None


class Reader:
    """A file that `export` wrote, line by line.

    Raises:
        InvalidInputError: a line is wrong; the message has its number.
        VersionError: the file is of a newer version, or not one of `export`'s.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._number = 0
        self._file = path.open("rb")  # closed by `__exit__`
        try:
            self.header = self._read_header()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Stored | Unused]:
        while (line := self._line()) is not None:
            try:
                entry = self._entry(_object(line))
            except InvalidInputError as error:
                raise self._bad(str(error)) from error
            yield entry

    def expect_whole(self, count: int) -> None:
        """Refuse a file that was cut off between two lines."""
        expected = self.header.memories
        if expected is not None and expected != count:
            raise InvalidInputError(
                f"{self._path}: the first line says {expected:,} memories, the file has {count:,}; nothing was "
                'imported. It was cut off or changed; take "memories" out of the first line to import what there is'
            )

    def _entry(self, values: dict[str, Any]) -> Stored | Unused:
        fields = Fields(values)
        if "next_turn" in values:
            fields.expect(_UNUSED)
            next_turn = _validate.integer("next_turn", values["next_turn"])
            return Unused(_validate.owner(values.get("user")), _validate.session(values.get("session")), next_turn)
        fields.expect(FIELDS)
        return stored(fields, self._number, [dimension for _, dimension, _ in self.header.models])

    def _line(self) -> bytes | None:
        """Return the next line that is not blank; None at the end."""
        while line := self._file.readline(LONGEST_LINE + 1):
            self._number += 1
            if len(line) > LONGEST_LINE:
                raise self._bad(f"it is longer than {LONGEST_LINE:,} bytes, which no memory is")
            if not line.isspace():
                return line
        return None

    def _bad(self, what: str) -> InvalidInputError:
        return InvalidInputError(f"{self._path}, line {self._number}: {what}; nothing was imported")

    def _read_header(self) -> Header:
        line = self._line()
        try:
            values = {} if line is None else _object(line)
        except InvalidInputError:
            values = {}
        if values.get("format") != FORMAT:
            what = packed(line or b"")
            if what is not None:
                raise InvalidInputError(f"{self._path}: it is {what}, expected JSON Lines; unpack it first")
            raise VersionError(
                f'{self._path}: not an export of retentive: its first line is no object with "format": "{FORMAT}"; '
                "for other programs' files see retentive.importers",
                path=str(self._path),
                supported=VERSION,
            )
        version = values.get("version")
        if type(version) is int and version > VERSION:
            raise VersionError(
                f"{self._path}: an export of version {version}, this release reads version {VERSION}; update retentive",
                path=str(self._path),
                found=version,
                supported=VERSION,
            )
        try:
            return _header(Fields(values))
        except InvalidInputError as error:
            raise self._bad(str(error)) from error


def _object(line: bytes) -> dict[str, Any]:
    try:
        values = json.loads(
            line.decode("utf-8-sig"), parse_constant=_refuse_constant, object_pairs_hook=_without_repeats
        )
    except InvalidInputError:
        raise
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"it is not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise InvalidInputError("it is nested too deeply") from error
    except ValueError as error:
        raise InvalidInputError(f"it is not JSON ({error})") from error
    if not isinstance(values, dict):
        raise InvalidInputError(f"it is {_validate.shown(values)}, expected a JSON object")
    return values


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number in JSON")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        raise InvalidInputError(f"it has the field {_validate.shown(twice)} twice, expected it once")
    return values


def packed(start: bytes) -> str | None:
    """Return what a file is whose first bytes say that it has to be unpacked; None of all others."""
    return next((what for magic, what in _PACKED.items() if start.startswith(magic)), None)


def _header(fields: Fields) -> Header:
    fields.expect(_HEADER)
    values = fields.values
    _validate.integer("version", values.get("version"), at_least=1)
    memories = values.get("memories")
    models = [_model(Fields.of("models", model)) for model in _list(values.get("models", []), "models")]
    calibration = values.get("calibration")
    return Header(
        None if memories is None else _validate.integer("memories", memories),
        models,
        _validate.boolean("vectors", values.get("vectors", False)),
        None if calibration is None else _calibrated(Fields.of("calibration", calibration)),
    )


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected a list")
    return value


def _model(fields: Fields) -> Model:
    fields.expect(frozenset({"name", "dimension", "probe"}))
    name = _validate.memory_id(fields.values.get("name"), "a model's name")
    dimension = _validate.integer("dimension", fields.values.get("dimension"), at_least=1)
    probe = fields.values.get("probe", "")
    return name, dimension, None if probe == "" else floats(probe, "probe", dimension)


def _calibrated(fields: Fields) -> Calibrated:
    fields.expect(frozenset({"noise_floor", "refusal_floor", "report"}))
    floors = [fields.values.get(name) for name in ("noise_floor", "refusal_floor")]
    noise, refusal = [
        None if floor is None else _validate.number("a floor", floor, at_least=-2, at_most=2) for floor in floors
    ]
    report = fields.values.get("report")
    try:
        _calibration.restored(Fields.of("report", report).values)
    except (TypeError, ValueError, KeyError) as error:
        raise InvalidInputError(f"calibration has a report that calibrate() did not make ({error})") from error
    return noise, refusal, json.dumps(report)
