"""The fields of a memory in an export, checked as those of a new one are."""

from __future__ import annotations

import base64
import binascii
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from retentive import _json, _times, _validate
from retentive._constants import DOCUMENT, FACT, KINDS, PINNED, TURN
from retentive._errors import InvalidInputError
from retentive._remember import normalised_key
from retentive._whole import import_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retentive._requests import NewMemory, Parts, Restored, Vector

FIELDS = frozenset(
    {
        "id",
        "kind",
        "user",
        "session",
        "role",
        "name",
        "key",
        "turn",
        "text",
        "ts",
        "expires",
        "supersedes",
        "superseded_by",
        "superseded_at",
        "judge",
        "cited",
        "consolidated_from",
        "feedback",
        "metadata",
        "vectors",
    }
)
_OF_A_MEMORY = ("user", "session", "role", "name", "key", "turn")
_JUDGED = ("ok", "failed")


class Fields:
    """The fields of a JSON object."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    @classmethod
    def of(cls, name: str, value: object) -> Fields:
        """Return the fields of a value that must be an object."""
        if not isinstance(value, dict):
            raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected a JSON object")
        return cls(value)

    def expect(self, known: frozenset[str]) -> None:
        """Refuse fields that are not known: what they mean would be lost."""
        unknown = sorted(self.values.keys() - known)
        if unknown:
            raise InvalidInputError(
                f"it has the unknown field {_validate.shown(unknown[0])}, expected some of {', '.join(sorted(known))}"
            )

    def instant(self, name: str) -> int:
        """Return a time that must be there."""
        value = self.values.get(name)
        if not isinstance(value, str):
            raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected an ISO 8601 string")
        return _times.instant(name, value)


class Stored(NamedTuple):
    """A memory with what happened to it, and its vectors where it has some."""

    memory: NewMemory
    restored: Restored
    vectors: list[Parts] | None


def stored(fields: Fields, line: int, dimensions: Sequence[int]) -> Stored:
    """Return the memory of a line, every field checked; `dimensions` are those of the models of its vectors."""
    values = fields.values
    kind = _validate.choice("kind", values.get("kind"), (*KINDS, DOCUMENT))
    _expect_of_kind(values, kind)
    turn, metadata, expires = values.get("turn"), values.get("metadata"), values.get("expires")
    role, name, key, judge = values.get("role"), values.get("name"), values.get("key"), values.get("judge")
    memory: NewMemory = {
        "id": _validate.memory_id(values.get("id")),
        "text": _validate.text(values.get("text")),
        "kind": kind,
        "user": _validate.owner(values.get("user")),
        "session": _validate.session(values.get("session")),
        "role": None if role is None else _validate.label(role, "role"),
        "name": None if name is None else _validate.label(name, "name"),
        "key": None if key is None else normalised_key(key),
        "turn": None if turn is None else _turn(turn),
        "ts": fields.instant("ts"),
        "expires": None if expires is None else fields.instant("expires"),
        "metadata": None if metadata is None else _json.metadata_text(Fields.of("metadata", metadata).values),
        "vectors": (),
        "model_epoch": None,
        "judge": None if judge is None else _validate.choice("judge", judge, _JUDGED),
        "supersedes": (),
        "replace": False,
    }
    vectors = values.get("vectors")
    return Stored(memory, _restored(fields, line), None if vectors is None else _vectors(vectors, dimensions))


def _expect_of_kind(values: dict[str, Any], kind: str) -> None:
    """Refuse what this kind of memory cannot have."""
    has = [name for name in _OF_A_MEMORY if values.get(name) is not None]
    if kind == DOCUMENT and has:
        raise InvalidInputError(f"a document has the field {has[0]!r}, which only memories have")
    if kind != TURN and "turn" in has:
        raise InvalidInputError(f"a {kind} has the field 'turn', which only turns have")
    if kind not in {FACT, PINNED} and "key" in has:
        raise InvalidInputError(f"a {kind} has the field 'key', which only facts have")


def _turn(value: object) -> int:
    number = _validate.integer("turn", value)
    if number >= _validate.MAX_INT:
        raise InvalidInputError(f"turn is {number}, expected less than {_validate.MAX_INT}")
    return number


def _restored(fields: Fields, line: int) -> Restored:
    values = fields.values
    supersedes, by = values.get("supersedes"), values.get("superseded_by")
    is_superseded = "superseded_by" in values
    if is_superseded != ("superseded_at" in values):
        raise InvalidInputError(
            "superseded_by and superseded_at come together; the first is null where it is forgotten"
        )
    at = fields.instant("superseded_at") if is_superseded else 0
    sources = _validate.memory_ids(_list(values.get("consolidated_from", []), "consolidated_from"))
    if values.get("id") in sources:
        raise InvalidInputError(
            f"consolidated_from names the memory itself, {_validate.shown(values['id'])}; expected the ids of the "
            "turns that it was made from"
        )
    return {
        "line": line,
        "supersedes": None if supersedes is None else _validate.memory_id(supersedes, "supersedes"),
        "superseded": (None if by is None else _validate.memory_id(by, "superseded_by"), at) if is_superseded else None,
        "cited": _validate.boolean("cited", values.get("cited", False)),
        "consolidated_from": sources,
        "feedback": [_feedback(given) for given in _list(values.get("feedback", []), "feedback")],
    }


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected a list")
    return value


def _feedback(given: object) -> tuple[str, int]:
    fields = Fields.of("feedback", given)
    fields.expect(frozenset({"outcome", "ts"}))
    return _validate.outcome(fields.values.get("outcome")), fields.instant("ts")


def _vectors(value: object, dimensions: Sequence[int]) -> list[Parts]:
    import_whole("numpy")
    import numpy as np

    models = _list(value, "vectors")
    if not models or len(models) != len(dimensions):
        raise InvalidInputError(
            f"vectors is of {len(models)} models, expected {len(dimensions)} as the first line says"
        )
    each = []
    for parts, dimension in zip(models, dimensions, strict=True):
        rows = [floats(part, "vectors", dimension) for part in _list(parts, "vectors")]
        if not rows:
            raise InvalidInputError("vectors has none of one of the models, expected one a part of the text")
        each.append(rows[0].reshape(1, -1) if len(rows) == 1 else np.stack(rows))
    return each


def floats(value: object, name: str, dimension: int) -> Vector:
    """Return little-endian float32 from base64, `[dimension]`: finite, and not all zeroes."""
    import_whole("numpy")
    import numpy as np

    if not isinstance(value, str):
        raise InvalidInputError(f"{name} has {_validate.shown(value)}, expected float32 in base64")
    try:
        data = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInputError(f"{name} has {_validate.shown(value)}, which is not base64 ({error})") from error
    if len(data) != 4 * dimension:
        raise InvalidInputError(f"{name} has {len(data)} bytes in base64, expected {dimension} float32")
    numbers = np.frombuffer(data, dtype="<f4").astype(np.float32)
    if not 0 < np.abs(numbers).max() < math.inf:  # of NaN, neither
        raise InvalidInputError(f"{name} has a vector that is not finite, or all zeroes")
    return numbers
