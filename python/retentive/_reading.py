"""What all reads share: results within a limit and a budget, and a line in the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from retentive import _clock, _core, _validate
from retentive._errors import InvalidInputError
from retentive._results import Dropped, Result, Results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retentive._engine import Engine

logger = logging.getLogger("retentive")

OVER_LIMIT = "over limit"  # as the core says it
BELOW_GAP = "below score gap"  # likewise
UNLIMITED = 2**62

_MODES = {"hybrid": "hybrid", "dense": "dense", "lexical": "lexical", "sparse": "lexical"}


def mode_of(value: object) -> str:
    """Return the mode; `sparse` is another word for `lexical`, None for `hybrid`."""
    return "hybrid" if value is None else _MODES[_validate.choice("mode", value, tuple(_MODES))]


def limits(limit: object, token_budget: object) -> tuple[int | None, int | None]:
    """Return a limit and a budget, of which one must be given."""
    checked = _validate.integer_or_none("limit", limit), _validate.integer_or_none("token_budget", token_budget)
    if checked == (None, None):
        raise InvalidInputError("limit is None without a token_budget; expected a number, or a budget to fill")
    return checked


def score_gap(value: object) -> float | None:
    """Return the fraction of the best score that a result must reach, or None."""
    return None if value is None else _validate.number("score_gap", value, at_least=0, at_most=1)


def selected(
    engine: Engine,
    ranked: _core.Ranked,
    *,
    verb: str,
    query: str | None,
    mode: str,
    limit: int | None,
    token_budget: int | None,
    start: float,
) -> Results:
    """Return what of the pool fits, as results, and log it."""
    pool = ranked.memories
    budget = UNLIMITED if token_budget is None else token_budget  # without one the core counts nothing
    selection = _core.select(pool, limit, budget, engine.counter, verb == "recall")
    kept = tuple([Result(pool[index]) for index in selection["kept"]])
    dropped = [Dropped(pool[index].id, reason) for index, reason in selection["dropped"]]
    dropped += [Dropped(over, OVER_LIMIT) for over in ranked.over_limit]
    dropped += [Dropped(below, BELOW_GAP) for below in ranked.below_gap]
    results = Results(
        items=kept,
        query=query,
        mode=mode,
        time_ms=_clock.milliseconds_since(start),
        truncated=selection["truncated"],
        cut_count=selection["cut_count"],
        token_estimate=selection["tokens"],
        token_budget=token_budget,
        dropped=tuple(dropped),
    )
    log(verb, kept, token_budget, results.time_ms)
    return results


def log(verb: str, results: Sequence[Result], token_budget: int | None, time_ms: float) -> None:
    """Log one read: ids, distances, scores, budget, time. Never a text."""
    if logger.isEnabledFor(logging.DEBUG):
        found = [(result.id, _rounded(result.distance), _rounded(result.score)) for result in results]
        logger.debug(
            "%s: %d of (id, distance, score) %s budget=%s %.2f ms", verb, len(found), found, token_budget, time_ms
        )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
