"""Whose memory it is, and where it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retentive._collection import Collection
    from retentive._engine import Engine


@dataclass(frozen=True, slots=True)
class Owner:
    """One session in one collection, and the user it belongs to, if any."""

    collection: Collection
    session: str
    user: str | None
    max_turns: int | None = None  # of the conversation

    @property
    def engine(self) -> Engine:
        """What the collection works with."""
        return self.collection._engine  # noqa: SLF001 - the transactions below are this package's own

    @property
    def reach(self) -> str | None:
        """The session that facts and statements are limited to; None with a user, who owns them in every session."""
        return self.session if self.user is None else None
