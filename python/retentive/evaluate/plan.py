"""What is measured, from what was asked for: the runs, and which is held against which."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import retentive
from retentive.embedders import HashEmbedder
from retentive.evaluate.measure import Run, Settings
from retentive.evaluate.ways import ways

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retentive.embedders import Embedder, EmbedderPair

RECENCY = "recency"

BLENDED = ("relevance", "relevance_norm", RECENCY, "feedback")
"""Parts of `_vx_scoring` that are no signals: what they add up to, and what is blended with that."""


def signal_names() -> tuple[str, ...]:
    """Return the names of the signals, as the product itself lists them with a memory's score."""
    with retentive.Collection("signals", embedder=HashEmbedder(8)) as db:
        db.remember("one turn", session="one")
        scoring = db.recall("one turn", session="one", min_relevance=None)[0].metadata[retentive.memory.K_SCORING]
    return tuple(name for name in scoring if name not in BLENDED)


def plan(
    embedders: Sequence[Embedder | EmbedderPair],
    signals: Mapping[str, float],
    tops: Sequence[int],
    budgets: Sequence[int],
    *,
    ablate: Sequence[str] = (),
    facts: bool = False,
    protocol: bool = False,
) -> tuple[list[Run], list[tuple[str, str]]]:
    """Return the runs, each embedder's first one plain, and the pairs to compare.

    Args:
        embedders: one run each, and what follows for each.
        signals: weights that differ from the defaults, in every run.
        tops: numbers of memories.
        budgets: token budgets.
        ablate: the signals to leave out, a run each; `recency` is one of them.
        facts: a run with the data set's facts beside the turns.
        protocol: measure by LongMemEval's own protocol as well.
    """
    rows = ways(tops, budgets)
    ranked = tuple(way for way in rows if way.key != f"{way.call}-default" and way.call in {"recall", "context"})
    runs: list[Run] = []
    compared: list[tuple[str, str]] = []
    for name, embedder in _named(embedders).items():
        settings = Settings(embedder, dict(signals))
        runs.append(Run(name, settings, rows, protocol))
        others = [Run(f"{name} without {signal}", _without(settings, signal), ranked) for signal in ablate]
        if facts:
            others.append(Run(f"{name} with facts", replace(settings, facts=True), rows))
        runs += others
        compared += [(run.name, name) for run in others]
    return runs, compared


def _without(settings: Settings, signal: str) -> Settings:
    if signal == RECENCY:
        return replace(settings, recency_weight=0.0)
    return replace(settings, signals={**settings.signals, signal: 0.0})


def _named(embedders: Sequence[Embedder | EmbedderPair]) -> dict[str, Embedder | EmbedderPair]:
    named: dict[str, Embedder | EmbedderPair] = {}
    for embedder in embedders:
        name, count = embedder.name, 2
        while name in named:
            name, count = f"{embedder.name} ({count})", count + 1
        named[name] = embedder
    return named
