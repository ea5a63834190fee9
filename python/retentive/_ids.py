"""Ids: random and ordered by time for memories, the hash of the text for documents."""

from __future__ import annotations

import hashlib
import os

from retentive import _clock, _core, _fork

_RANDOM_BYTES = 10

_ulids = _core.Ulids()  # no lock of Python's: a signal handler that stores something may come in the middle of a call


def _forked() -> None:
    """Forget the parent's last id: a child's next ones are its own."""
    global _ulids  # noqa: PLW0603 - one source of ids a process
    _ulids = _core.Ulids()


_fork.in_child(_forked)


def memory_id() -> str:
    """Return `mem_` and 26 characters; within a process each is above the one before."""
    random = int.from_bytes(os.urandom(_RANDOM_BYTES), "big")
    return "mem_" + _ulids.next(_clock.now() // 1_000, random)


def document_id(text: str) -> str:
    """Return `doc_` and the hash of `text`: the same text is the same document."""
    return "doc_" + hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
