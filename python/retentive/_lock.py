"""A lock that a process holds on a file of its own, and that ends with it: what has none was left by a killed one."""

from __future__ import annotations

import os
from typing import IO


def lock(file: IO[str] | IO[bytes]) -> bool:
    """Hold the file until it is closed: nobody else removes it as what a killed process left. False: somebody does."""
    try:
        import fcntl
    except ImportError:  # Windows, where an open file cannot be removed
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return os.name == "nt"
    return True
