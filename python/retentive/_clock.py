"""The only clock of the package."""

from __future__ import annotations

import time

# What a datetime and ISO 8601 can say in UTC: the years 1 to 9999, in microseconds.
FIRST = -62_135_596_800_000_000
LAST = 253_402_300_799_999_999


def now() -> int:
    """Return the time as integer microseconds UTC; of a clock beyond the years 1 to 9999, their edge."""
    at = time.time_ns() // 1_000
    return at if FIRST <= at <= LAST else min(max(at, FIRST), LAST)


def milliseconds_since(start: float) -> float:
    """Return the milliseconds since `start`, a value of `stopwatch()`."""
    return (time.perf_counter() - start) * 1_000


stopwatch = time.perf_counter
