"""Recall: what matters now, for a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

from retentive import _clock, _json, _times, _validate
from retentive._constants import KINDS, User
from retentive._engine import Engine, reach
from retentive._errors import InvalidInputError
from retentive._reading import limits, mode_of, score_gap, selected
from retentive.embedders._protocol import DEFAULT_DENSE_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from retentive._core import Ranked
    from retentive._embedding import Embedding
    from retentive._requests import RecallRequest
    from retentive._results import Results
    from retentive._steps import Steps
    from retentive.memory import ConversationMemory


class RecallOptions(TypedDict, total=False):
    """The keywords of `recall` that `context` passes on."""

    score_gap: float | None
    kinds: Iterable[str]
    include_superseded: bool
    mode: str | None
    exclude_ids: Iterable[str]
    filter: Mapping[str, Any] | None
    min_relevance: float | Literal["auto"] | None
    as_of: _times.Instant | None


def recall(
    engine: Engine,
    settings: ConversationMemory,
    query: str,
    session: str | None,
    limit: int | None,
    token_budget: int | None,
    now: _times.Instant | None,
    user: User,
    options: RecallOptions,
) -> Steps[Results]:
    """Recall within a limit and a budget; see `Collection.recall`."""
    start = _clock.stopwatch()
    session, user = _validate.session(session), _validate.user(user)
    request = recall_request(settings, query, user, session, limit, token_budget, now, options)

    def find(embedding: Embedding) -> Steps[Ranked]:
        ranked = engine.core.recall((yield from embedded(request, embedding)))
        return (yield from decided(ranked, query, embedding))

    ranked = yield from engine.embedded(find)
    return selected(
        engine,
        ranked,
        verb="recall",
        query=query,
        mode=request["mode"],
        limit=request["limit"],
        token_budget=request["token_budget"],
        start=start,
    )


def recall_request(
    settings: ConversationMemory,
    query: str,
    user: User,
    session: str | None,
    limit: int | None,
    token_budget: int | None,
    now: _times.Instant | None,
    options: RecallOptions,
) -> RecallRequest:
    """Return the request, everything checked; the query is not embedded yet."""
    _validate.text(query, "query")
    limit, token_budget = limits(limit, token_budget)
    mode = mode_of(options.get("mode"))
    min_relevance = options.get("min_relevance", "auto")
    automatic = _validate.is_auto(min_relevance)
    least = None
    if not automatic and min_relevance is not None:
        least = _validate.number("min_relevance", min_relevance, expected='a finite number, "auto" or None')
    request: RecallRequest = {
        "query": query,
        "vectors": (),
        "query_terms": (),
        "model_epoch": None,
        "reach": reach(user, session),
        "limit": limit,
        "token_budget": token_budget,
        "score_gap": score_gap(options.get("score_gap")),
        "kinds": _validate.kinds(options.get("kinds", KINDS)),
        "include_superseded": _validate.boolean("include_superseded", options.get("include_superseded", False)),
        "mode": mode,
        "now": _times.instant_or("now", now, _clock.now()),
        "as_of": _times.instant_or_none("as_of", options.get("as_of")),
        "exclude_ids": _validate.memory_ids(options.get("exclude_ids", ()), "exclude_ids"),
        "filter": _json.filter_text(options.get("filter")),
        "min_relevance": least,
        "refusal_floor": 0.0 if automatic else None,
        "late_interaction_floor": None,
        "calibrated": automatic and mode != "lexical",  # where nothing is similar to anything
        "settings": settings.native([DEFAULT_DENSE_WEIGHT]),
    }
    if mode == "lexical" and request["min_relevance"] is not None:
        raise InvalidInputError(
            f'min_relevance is {min_relevance} in mode "lexical", which takes no similarities, expected "auto" or None'
        )
    return request


def embedded(request: RecallRequest, embedding: Embedding) -> Steps[RecallRequest]:
    """Return the request with its query embedded."""
    if request["mode"] == "lexical":  # which never touches the embedder
        return request
    refuses = request["refusal_floor"] is not None
    return {
        **request,
        "vectors": (yield from embedding.query(request["query"])),
        "query_terms": (yield from embedding.query_terms(request["query"])),
        "model_epoch": embedding.model_epoch,
        "settings": {**request["settings"], "dense_weights": embedding.dense_weights},
        "refusal_floor": embedding.refusal_floor if refuses else None,
        "late_interaction_floor": embedding.late_interaction_floor if refuses else None,
    }


def decided(ranked: Ranked, query: str, embedding: Embedding) -> Steps[Ranked]:
    """Return what was ranked, or nothing where late interaction says that nothing is relevant."""
    texts = ranked.undecided
    if not texts:
        return ranked
    return ranked.decided((yield from embedding.late_interaction(query, texts)))
