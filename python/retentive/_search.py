"""Search: over documents and live memories alike, without thread, recency or feedback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from retentive import _clock, _json, _validate
from retentive._engine import Engine, reach
from retentive._errors import InvalidInputError
from retentive._reading import limits, mode_of, score_gap, selected
from retentive._vectors import given_vector
from retentive.embedders._protocol import DEFAULT_DENSE_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retentive._constants import User
    from retentive._core import Ranked
    from retentive._embedding import Embedding
    from retentive._requests import SearchRequest
    from retentive._results import Results
    from retentive._steps import Steps


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
) -> Steps[Results]:
    """Search within a limit and a budget; see `Collection.search`."""
    start = _clock.stopwatch()
    if query is not None:
        _validate.text(query, "query")
    limit, token_budget = limits(limit, token_budget)
    request: SearchRequest = {
        "query": query,
        "vectors": [] if vector is None else [given_vector(vector)],
        "model_epoch": None,
        "reach": reach(_validate.user(user), _validate.session(session)),
        "limit": limit,
        "token_budget": token_budget,
        "score_gap": score_gap(gap),
        "mode": mode_of(mode),
        "now": _clock.now(),
        "filter": _json.filter_text(filter),
        "max_distance": None,
        "calibrated": isinstance(max_distance, str),  # "auto": any other is refused
        "dense_weights": [DEFAULT_DENSE_WEIGHT],
        "explain": _validate.boolean("explain", explain),
    }
    _settle_mode(request)

    def find(embedding: Embedding) -> Steps[Ranked]:
        asked = yield from _embedded(request, embedding)
        asked["max_distance"] = _max_distance(embedding, max_distance, measured=bool(asked["vectors"]))
        return engine.core.search(asked)

    return selected(
        engine,
        (yield from engine.embedded(find)),
        verb="search",
        query=query,
        mode=request["mode"],
        limit=limit,
        token_budget=token_budget,
        start=start,
    )


def _settle_mode(request: SearchRequest) -> None:
    if request["query"] is None:
        if request["mode"] == "lexical" and request["vectors"]:
            raise InvalidInputError('mode is "lexical" with a vector and no query, expected a query or mode="dense"')
        request["mode"] = "dense" if request["vectors"] else request["mode"]


def _embedded(request: SearchRequest, embedding: Embedding) -> Steps[SearchRequest]:
    """Return the request with the vectors where the search needs some; a lexical one never touches the embedder."""
    embedded = request.copy()
    if request["vectors"]:
        embedded["model_epoch"] = embedding.accept_query()
    if request["query"] is not None and request["mode"] != "lexical":
        if not request["vectors"]:
            embedded["vectors"] = yield from embedding.query(request["query"])
            embedded["model_epoch"] = embedding.model_epoch
        embedded["dense_weights"] = embedding.dense_weights
    return embedded


def _max_distance(embedding: Embedding, value: object, *, measured: bool) -> float | None:
    if value is None:
        return None
    if _validate.is_auto(value):
        floor = embedding.noise_floor if measured else None
        return None if floor is None else 1.0 - floor
    if not measured:
        raise InvalidInputError(
            f"max_distance is {_validate.shown(value)} without a vector to measure from, expected None; pass a query "
            'in mode "hybrid" or "dense", or a vector'
        )
    return _validate.number("max_distance", value, at_least=0, expected='a number of at least 0, "auto" or None')
