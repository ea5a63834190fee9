"""Instants and lengths of time. Inside, time is integer microseconds UTC."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from retentive import _clock, _validate
from retentive._constants import KINDS
from retentive._errors import InvalidInputError

Instant: TypeAlias = datetime | str
Ttl: TypeAlias = float | Mapping[str, float | None] | None

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST = datetime.min.replace(tzinfo=UTC)
_FINAL = datetime.max.replace(tzinfo=UTC)

DAY_US = 86_400_000_000
HOUR_US = 3_600_000_000
_CALENDAR_DAYS = 366 * 10_000


def instant(name: str, value: object) -> int:
    """Return a datetime or ISO 8601 string as microseconds. Without an offset it is UTC.

    Raises:
        InvalidInputError: another type (a number could be seconds or milliseconds), not a time, or one outside the
            years 1 to 9999 in UTC, which no ISO date could say again.
    """
    if isinstance(value, str):
        value = _parsed(name, value)
    if not isinstance(value, datetime):
        raise InvalidInputError(
            f"{name} is {_validate.shown(value)}, expected a datetime or an ISO 8601 string; "
            "for a Unix time pass datetime.fromtimestamp(seconds, timezone.utc)"
        )
    if value.tzinfo is UTC:
        return (value - _EPOCH) // _MICROSECOND
    # Wall clock and offset apart: near the years 1 and 9999 their difference is no datetime.
    wall = (value.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
    at = wall - _offset(name, value) // _MICROSECOND
    if not _clock.FIRST <= at <= _clock.LAST:
        raise InvalidInputError(
            f"{name} is {_validate.shown(value.isoformat())}, which lies outside the years 1 to 9999 in UTC"
        )
    return at


def _offset(name: str, value: datetime) -> timedelta:
    try:
        return value.utcoffset() or timedelta(0)
    except Exception as error:  # whatever a class of somebody's own raises, or answers
        raise InvalidInputError(
            f"{name} has the time zone {_validate.shown(value.tzinfo)}, which tells no offset ({error})"
        ) from error


def instant_or(name: str, value: object, default: int) -> int:
    """Return `instant(name, value)`, or `default` for None."""
    return default if value is None else instant(name, value)


def instant_or_none(name: str, value: object) -> int | None:
    """Return `instant(name, value)`, or None for None."""
    return None if value is None else instant(name, value)


def _parsed(name: str, value: str) -> datetime:
    try:
        return datetime.fromisoformat(value)
    except ValueError as error:
        raise InvalidInputError(
            f"{name} is {_validate.shown(value)}, expected ISO 8601 like '2026-05-01T09:30:00+02:00'"
        ) from error


def to_datetime(microseconds: int) -> datetime:
    """Return an aware datetime in UTC; what lies outside the years 1 to 9999 becomes their edge."""
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return _FIRST if microseconds < 0 else _FINAL


def to_iso(microseconds: int) -> str:
    """Return ISO 8601 with offset, `2026-05-01T07:30:00+00:00`."""
    return to_datetime(microseconds).isoformat()


def before(older_than: object, now: int) -> int | None:
    """Return the instant that `older_than` (days before `now`, or an instant) means, None for None."""
    if older_than is None:
        return None
    if isinstance(older_than, datetime | str):
        return instant("older_than", older_than)
    days = _validate.number("older_than", older_than, at_least=0, expected="days, a datetime or an ISO 8601 string")
    return max(round(now - min(days, _CALENDAR_DAYS) * DAY_US), -_clock.LAST)


def ttl_days(value: object, name: str = "ttl_days") -> float | None:
    """Return a time to live in days: above 0, infinity for ever. None stays None.

    Raises:
        InvalidInputError: 0, negative, NaN or no number.
    """
    if value is None:
        return None
    expected = "days above 0 or float('inf')"
    if isinstance(value, float) and value == math.inf:
        return math.inf
    return _validate.number(name, value, above=0, expected=expected)


def ttl_per_kind(value: object) -> dict[str, float | None]:
    """Return the time to live of each kind, from a number for all of them or a mapping of kind to days."""
    if not isinstance(value, Mapping):
        days = ttl_days(value)
        return dict.fromkeys(KINDS, days)
    unknown = [kind for kind in value if kind not in KINDS]
    if unknown:
        raise InvalidInputError(f"ttl_days has the key {_validate.shown(unknown[0])}, expected one of {KINDS}")
    return {kind: ttl_days(value.get(kind), f"ttl_days[{kind!r}]") for kind in KINDS}


def expiry(ts: int, days: float | None) -> int | None:
    """Return the instant `days` after `ts`, None for ever: without days, infinite, or past the year 9999."""
    if days is None or math.isinf(days):
        return None
    at = ts + days * DAY_US
    if at > _clock.LAST:
        return None
    # In whole microseconds as far as the days are whole: a float of microseconds is exact only to 2**53.
    return ts + int(days) * DAY_US + max(round((days - int(days)) * DAY_US), 0 if days >= 1 else 1)
