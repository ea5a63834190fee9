"""Ids: random and ordered by time for memories, the hash of the text for documents."""

from __future__ import annotations

import hashlib
import os

from retentive import _clock, _core, _fork

_RANDOM_BYTES = 10
_DRAWN_AT_ONCE = 64  # the system's random bytes cost as much as all the rest of an id

_process = os.getpid()
_drawn: list[bytes] = []  # only appended to and taken from: as whole as that of an id with no lock
_ulids = _core.Ulids()  # no lock of Python's: a signal handler that stores something may come in the middle of a call


def _forked() -> None:
    """Forget the parent's last id, and what it drew for the next ones: a child's are its own."""
    global _process, _drawn, _ulids
    _process, _drawn, _ulids = os.getpid(), [], _core.Ulids()


_fork.in_child(_forked)


def memory_id() -> str:
    """Return `mem_` and 26 characters; within a process each is above the one before."""
    if os.getpid() != _process:  # out of a fork's hook that was registered before this module's
        _forked()
    return "mem_" + _ulids.next(_clock.now() // 1_000, _random())


def _random() -> bytes:
    try:
        return _drawn.pop()
    except IndexError:
        many = os.urandom(_RANDOM_BYTES * _DRAWN_AT_ONCE)
        first, *rest = (many[at : at + _RANDOM_BYTES] for at in range(0, len(many), _RANDOM_BYTES))
        _drawn.extend(rest)
        return first


def document_id(text: str) -> str:
    """Return `doc_` and the hash of `text`: the same text is the same document."""
    return "doc_" + hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
