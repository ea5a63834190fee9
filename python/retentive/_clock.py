"""The only clock of the package."""

from __future__ import annotations

import time


def now() -> int:
    """Return the time as integer microseconds UTC."""
    return time.time_ns() // 1_000


def milliseconds_since(start: float) -> float:
    """Return the milliseconds since `start`, a value of `stopwatch()`."""
    return (time.perf_counter() - start) * 1_000


stopwatch = time.perf_counter
