"""What a forked child does before it goes on: the threads that held the parent's locks are not in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def in_child(renew: Callable[[], None]) -> None:
    """Have `renew` called in every child that this process forks; nothing where there is no fork, as on Windows."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew)
