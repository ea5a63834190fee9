"""A line on the terminal that says how far a run is."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from typing import TextIO

_WIDTH = 30
_SECONDS_BETWEEN = 0.1


class Progress:
    """A bar on standard error; silent where that is not a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._shown = self._stream.isatty()
        self._started = time.monotonic()
        self._last = 0.0

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` of `total` are done."""
        now = time.monotonic()
        if not self._shown or (done < total and now - self._last < _SECONDS_BETWEEN):
            return
        self._last = now
        filled = _WIDTH * done // max(total, 1)
        left = (now - self._started) * (total - done) / max(done, 1)
        bar = "█" * filled + "░" * (_WIDTH - filled)
        self._stream.write(f"\r{bar} {done:,} of {total:,} questions, {left:.0f} s left ")
        self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()
