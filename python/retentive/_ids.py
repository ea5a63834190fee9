"""Ids: random and ordered by time for memories, the hash of the text for documents."""

from __future__ import annotations

import hashlib
import os
import threading

from retentive import _clock, _fork

_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32
_PAIRS = [high + low for high in _DIGITS for low in _DIGITS]
_RANDOM_BITS = 80


class _Ulids:
    """130 bits in base 32: 2 of zero, 48 of milliseconds, 80 random. Within a process each is above the one before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0
        self._milliseconds = -1
        self._time = ""  # what `_milliseconds` is written as

    def next(self) -> str:
        milliseconds = _clock.now() // 1_000
        random = int.from_bytes(os.urandom(_RANDOM_BITS // 8), "big")
        number = milliseconds << _RANDOM_BITS | random
        with self._lock:
            if number <= self._last:  # the same millisecond, or the clock was set back
                number = self._last + 1 + (random & 0xFFFF_FFFF)
            self._last = number
            if number >> _RANDOM_BITS != self._milliseconds:
                self._milliseconds = number >> _RANDOM_BITS
                self._time = _written(self._milliseconds, 40)
            return self._time + _written(number, _RANDOM_BITS - 10)


def _written(number: int, highest: int) -> str:
    """Return the bits of `number` below `highest + 10`, two characters for each ten."""
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(highest, -1, -10)])


_ulids = _Ulids()


def _forked() -> None:
    """Forget the parent's state: its lock may be held for ever, and its next ids are its own."""
    global _ulids  # noqa: PLW0603 - one source of ids a process
    _ulids = _Ulids()


_fork.in_child(_forked)


def memory_id() -> str:
    """Return `mem_` and 26 characters, later ones greater."""
    return "mem_" + _ulids.next()


def document_id(text: str) -> str:
    """Return `doc_` and the hash of `text`: the same text is the same document."""
    return "doc_" + hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
