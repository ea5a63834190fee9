"""Results as JSON: the fields that the result objects have, under the names that they have there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from retentive._context import ContextBlock
    from retentive._results import Dropped, Result, Results

_PLAIN = (
    "id",
    "text",
    "score",
    "similarity",
    "distance",
    "kind",
    "session",
    "user",
    "role",
    "name",
    "key",
    "turn",
    "supersedes",
    "superseded_by",
    "excerpt",
    "metadata",
)


def of_result(result: Result) -> dict[str, Any]:
    """Return a `Result`; times are ISO 8601."""
    fields = {name: getattr(result, name) for name in _PLAIN}
    return {**fields, "timestamp": _iso(result.timestamp), "expires_at": _iso(result.expires_at)}


def of_results(results: Results) -> dict[str, Any]:
    """Return `Results`."""
    return {
        "query": results.query,
        "mode": results.mode,
        "items": [of_result(item) for item in results],
        "time_ms": results.time_ms,
        "truncated": results.truncated,
        "cut_count": results.cut_count,
        "token_estimate": results.token_estimate,
        "token_budget": results.token_budget,
        "dropped": _dropped(results.dropped),
    }


def of_block(block: ContextBlock) -> dict[str, Any]:
    """Return a `ContextBlock`, with its messages."""
    return {
        "query": block.query,
        "session": block.session,
        "text": block.text,
        "messages": block.messages(),
        "pinned": [of_result(item) for item in block.pinned],
        "recent": [of_result(item) for item in block.recent],
        "retrieved": [of_result(item) for item in block.retrieved],
        "truncated": block.truncated,
        "cut_count": block.cut_count,
        "token_estimate": block.token_estimate,
        "token_budget": block.token_budget,
        "dropped": _dropped(block.dropped),
    }


def _dropped(dropped: Iterable[Dropped]) -> list[dict[str, str]]:
    return [drop._asdict() for drop in dropped]


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
