"""What was superseded, which `search` does not find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retentive._constants import K_KIND, K_SUPERSEDED_BY, User

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retentive._collection import Collection
    from retentive._results import Result

MOST_READ = 1_000
NO_WORDS = "?"


def superseded(
    collection: Collection, condition: Mapping[str, Any], kinds: Sequence[str], session: str | None, user: User
) -> list[Result]:
    """Return the newest that were superseded, at most `MOST_READ`: recalled by nothing but their age."""
    chosen = {**condition, K_KIND: {"$in": list(kinds)}, K_SUPERSEDED_BY: {"$exists": True}}
    count = collection.count(chosen, session=session, user=user)
    if not count:
        return []
    found = collection.recall(
        NO_WORDS,
        session,
        min(count, MOST_READ),
        kinds=kinds,
        include_superseded=True,
        mode="lexical",
        user=user,
        filter=chosen,
        min_relevance=None,
    )
    return sorted(found, key=lambda result: result.timestamp, reverse=True)
