"""Metadata and filters as JSON text, refusing what would not come back as it went in."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from retentive import _core, _times, _validate
from retentive._constants import RESERVED_PREFIX
from retentive._errors import InvalidInputError

MAX_DEPTH = 100  # what any JSON parser takes
MAX_DIGITS = 4_300  # what any Python reads that was not told otherwise
_MORE_DIGITS = 10**MAX_DIGITS
_TYPES = "None, bool, int, float, str, list and dict"
_HINTS = {
    "datetime": "pass .isoformat()",
    "date": "pass .isoformat()",
    "tuple": "pass a list",
    "set": "pass a list",
    "frozenset": "pass a list",
    "bytes": "pass text",
    "Decimal": "pass a float or a string",
    "UUID": "pass str(...)",
    "ndarray": "pass .tolist()",
}


def metadata_text(metadata: Mapping[str, Any] | None) -> str | None:
    """Return the caller's metadata as JSON text, None where there is none.

    Raises:
        InvalidInputError: not JSON, a reserved key, an integer of more than 4,300 digits, deeper than 100 levels, or
            larger than 4 MiB.
    """
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise InvalidInputError(f"metadata is {_validate.shown(metadata)}, expected a dict")
    if not metadata:
        return None
    value = metadata if isinstance(metadata, dict) else dict(metadata)
    for key in value:
        if isinstance(key, str) and key.startswith(RESERVED_PREFIX):
            raise InvalidInputError(
                f"metadata has the key {_validate.shown(key)}; keys that start with _vx_ are reserved, rename it"
            )
    _check(value, "metadata", 1)
    return _dumped(value, "metadata")


def filter_text(filter: object) -> str | None:
    """Return a filter as JSON text; None where it admits everything. Datetimes become ISO 8601 strings in UTC.

    Raises:
        InvalidInputError: not JSON, an unknown operator, or an operand of the wrong type.
    """
    if filter is None:
        return None
    if not isinstance(filter, Mapping):
        raise InvalidInputError(f"filter is {_validate.shown(filter)}, expected a dict like {{'field': value}}")
    if not filter:
        return None
    value = _with_times(filter, 1)
    _check(value, "filter", 1)
    encoded = _dumped(value, "filter")
    _core.validate_filter(encoded)
    return encoded


def loaded(encoded: str | None) -> dict[str, Any]:
    """Return the metadata of JSON text.

    Raises:
        InvalidInputError: it has an integer of more digits than this process was told to read.
    """
    if encoded is None:
        return {}
    try:
        value: dict[str, Any] = json.loads(encoded)
    except ValueError as error:
        limit = sys.get_int_max_str_digits()
        raise InvalidInputError(
            f"metadata has an integer of more than {limit:,} digits, which this process does not read; "
            f"call sys.set_int_max_str_digits({MAX_DIGITS})"
        ) from error
    return value


def _check(value: object, place: str, depth: int) -> None:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return
    if isinstance(value, int):
        if abs(value) >= _MORE_DIGITS:
            raise InvalidInputError(f"{place} is an integer of more than {MAX_DIGITS:,} digits; pass a string")
        return  # more digits than this process writes are found when written
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInputError(f"{place} is {value}, which JSON does not have; pass None or a string")
        return
    if isinstance(value, dict | list) and depth > MAX_DEPTH:
        raise InvalidInputError(f"{place.split('[', 1)[0]} is nested more than {MAX_DEPTH} levels deep; flatten it")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidInputError(f"{place} has the key {_validate.shown(key)}, expected a string")
            _check(item, f"{place}[{key[:40]!r}]" if depth < 6 else place, depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check(item, f"{place}[{index}]" if depth < 6 else place, depth + 1)
    elif not isinstance(value, str):
        hint = _HINTS.get(kind.__name__, "convert it")
        raise InvalidInputError(f"{place} is {_validate.shown(value)}, expected {_TYPES}; {hint}")


def _dumped(value: object, name: str) -> str:
    try:
        encoded = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError as error:  # an integer of more digits than Python writes
        limit = sys.get_int_max_str_digits()
        raise InvalidInputError(f"{name} has an integer of more than {limit:,} digits; pass a string") from error
    size = len(encoded) if encoded.isascii() else _validate.utf8_size(encoded, name)
    if size > _validate.MAX_TEXT_BYTES:
        raise InvalidInputError(f"{name} has {size:,} bytes as JSON, expected at most {_validate.MAX_TEXT_BYTES:,}")
    return encoded


def _with_times(value: object, depth: int) -> object:
    """Return `value` with datetimes as text, and the tuples and sets that `$in` may be given as lists."""
    if depth > MAX_DEPTH + 1:
        return value  # refused by the check that follows
    if isinstance(value, datetime):
        return _times.to_iso(_times.instant("filter", value))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: _with_times(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_with_times(item, depth + 1) for item in value]
    return value
