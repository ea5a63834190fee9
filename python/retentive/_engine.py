"""What every verb works with: the core, the embedding, the counter, the pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retentive._constants import ANY, User

if TYPE_CHECKING:
    from retentive._core import Core
    from retentive._embedding import Embedding
    from retentive._pool import Pool
    from retentive._requests import Counter, Reach


@dataclass(frozen=True, slots=True)
class Engine:
    """One open collection, without its defaults."""

    core: Core
    embedding: Embedding
    counter: Counter | None
    pool: Pool


def reach(user: User, session: str | None) -> Reach:
    """Return which memories a call may see; arguments are checked already."""
    if user is ANY:
        return {"user": None, "any_user": True, "session": session}
    return {"user": user, "any_user": False, "session": session}
