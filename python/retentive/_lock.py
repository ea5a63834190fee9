"""A lock that a process holds on a file of its own, and that ends with it: what has none was left by a killed one."""

from __future__ import annotations

from typing import IO


def lock(file: IO[str] | IO[bytes]) -> bool | None:
    """Hold the file until it is closed: nobody else removes it as what a killed process left.

    False: somebody else holds it. None: its file system has no locks, and nobody removes anything there.
    """
    try:
        import fcntl
    except ImportError:  # Windows, where an open file cannot be removed
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
