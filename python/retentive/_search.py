"""Search: over documents and live memories alike, without thread, recency or feedback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from retentive import _clock, _json, _validate
from retentive._embedding import DEFAULT_DENSE_WEIGHT
from retentive._engine import Engine, reach
from retentive._errors import InvalidInputError
from retentive._reading import limits, mode_of, score_gap, selected
from retentive._vectors import given_vector

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retentive._constants import User
    from retentive._requests import SearchRequest
    from retentive._results import Results


def search(
    engine: Engine,
    query: str | None,
    limit: int | None,
    mode: str,
    filter: Mapping[str, Any] | None,
    token_budget: int | None,
    gap: float | None,
    session: str | None,
    user: User,
    vector: object,
    max_distance: float | Literal["auto"] | None,
    explain: bool,
) -> Results:
    """Search within a limit and a budget; see `Collection.search`."""
    start = _clock.stopwatch()
    if query is not None:
        _validate.text(query, "query")
    limit, token_budget = limits(limit, token_budget)
    request: SearchRequest = {
        "query": query,
        "vector": None if vector is None else given_vector(vector),
        "reach": reach(_validate.user(user), _validate.session(session)),
        "limit": limit,
        "token_budget": token_budget,
        "score_gap": score_gap(gap),
        "mode": mode_of(mode),
        "now": _clock.now(),
        "filter": _json.filter_text(filter),
        "max_distance": None,
        "calibrated": isinstance(max_distance, str),  # "auto": any other is refused
        "dense_weight": DEFAULT_DENSE_WEIGHT,
        "explain": _validate.boolean("explain", explain),
    }
    _embed(engine, request)
    request["max_distance"] = _max_distance(engine, max_distance, measured=request["vector"] is not None)
    return selected(
        engine,
        engine.core.search(request),
        verb="search",
        query=query,
        mode=request["mode"],
        limit=limit,
        token_budget=token_budget,
        start=start,
    )


def _embed(engine: Engine, request: SearchRequest) -> None:
    """Fill in the vector where the search needs one; a lexical one never touches the embedder."""
    if request["query"] is None:
        if request["mode"] == "lexical" and request["vector"] is not None:
            raise InvalidInputError('mode is "lexical" with a vector and no query, expected a query or mode="dense"')
        request["mode"] = "dense" if request["vector"] is not None else request["mode"]
    elif request["mode"] != "lexical":
        if request["vector"] is None:
            request["vector"] = engine.embedding.query(request["query"])
        request["dense_weight"] = engine.embedding.dense_weight


def _max_distance(engine: Engine, value: object, *, measured: bool) -> float | None:
    if value is None:
        return None
    if isinstance(value, str) and value == "auto":
        floor = engine.embedding.noise_floor if measured else None
        return None if floor is None else 1.0 - floor
    if not measured:
        raise InvalidInputError(
            f"max_distance is {_validate.shown(value)} without a vector to measure from, expected None; pass a query "
            'in mode "hybrid" or "dense", or a vector'
        )
    return _validate.number("max_distance", value, at_least=0, expected='a number of at least 0, "auto" or None')
