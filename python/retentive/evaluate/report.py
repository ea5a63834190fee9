"""The figures of a run, complete and ready for JSON; `tables` renders them to be read."""

from __future__ import annotations

from math import inf
from statistics import fmean
from typing import TYPE_CHECKING, Any

from retentive.embedders._pair import models_of
from retentive.evaluate.bootstrap import COVERED, RESAMPLES, SEED, mean_of
from retentive.evaluate.words import SHORT_ANSWER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from retentive.embedders import Embedder, EmbedderPair
    from retentive.evaluate import protocol
    from retentive.evaluate.bootstrap import Mean
    from retentive.evaluate.conversations import Dataset
    from retentive.evaluate.measure import Measured, Outcome
    from retentive.evaluate.peers import Peer
    from retentive.evaluate.ways import Way

    Value = Callable[[Outcome], float | None]
    """What a measure says of an outcome; None where it does not apply."""


def measures(literal: frozenset[str]) -> dict[str, Value]:
    """Return what is averaged over questions, by name; `literal` are the categories where `answers_wholly` applies."""

    def answer_words(outcome: Outcome, at_most: float = SHORT_ANSWER) -> float | None:
        return outcome.stood / outcome.stems if 0 < outcome.stems <= at_most else None

    def answers_wholly(outcome: Outcome) -> float | None:
        applies = outcome.stems and outcome.category in literal
        return float(outcome.stood == outcome.stems) if applies else None

    return {
        "evidence_recall": lambda outcome: outcome.evidence,
        "answer_words": answer_words,
        "answer_words_of_any_length": lambda outcome: answer_words(outcome, inf),
        "answers_wholly": answers_wholly,
    }


def figures(
    dataset: Dataset,
    measured: Sequence[Measured],
    surroundings: Mapping[str, Any],
    compared: Iterable[tuple[str, str]] = (),
    peers: Sequence[Peer] = (),
) -> dict[str, Any]:
    """Return everything that was measured, ready for JSON.

    Questions appear by their id, never by their text: the data sets have licences of their own.

    Args:
        dataset: what was asked.
        measured: what `measure_runs` returned.
        surroundings: the parts that describe the run (version, machine, settings), taken over as they are.
        compared: names of runs, each with the one it is held against, question by question.
        peers: the other libraries that were asked.
    """
    wanted = measures(dataset.literal)
    by_name = {result.run.name: result for result in measured}
    return {
        "dataset": _dataset(dataset),
        **surroundings,
        "intervals": {"covered": COVERED, "resamples": RESAMPLES, "seed": SEED, "over": "questions"},
        "runs": [_run(result, wanted) for result in measured],
        "comparisons": [_comparison(by_name[name], by_name[against], wanted) for name, against in compared],
        "peers": [peer.described() for peer in peers],
        "questions": _by_question(measured),
    }


def _dataset(dataset: Dataset) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "file": dataset.file,
        "sha256": dataset.sha256,
        "conversations": len(dataset.conversations),
        "turns": dataset.turns,
        "facts": dataset.facts,
        "questions": dataset.questions,
        "skipped": dict(dataset.skipped),
        "literal": sorted(dataset.literal),
    }


def _run(result: Measured, wanted: Mapping[str, Value]) -> dict[str, Any]:
    settings = result.run.settings
    seconds = result.embedding_seconds
    grouped = _by_way(result.outcomes)
    return {
        "name": result.run.name,
        "embedder": {
            "name": settings.embedder.name,
            "dimension": _dimension(settings.embedder),
            "milliseconds": 1000 * fmean(seconds) if seconds else None,
        },
        "signals": dict(settings.signals),
        "recency_weight": settings.recency_weight,
        "facts": settings.facts,
        "rows": [_row(way, outcomes, wanted) for way, outcomes in grouped.items()],
        "protocol": _protocol(result.protocol),
    }


def _dimension(embedder: Embedder | EmbedderPair) -> int | str:
    dimensions = [model.dimension for model in models_of(embedder)]
    return dimensions[0] if len(dimensions) == 1 else " + ".join(map(str, dimensions))


def _by_way(outcomes: Iterable[Outcome]) -> dict[Way, list[Outcome]]:
    grouped: dict[Way, list[Outcome]] = {}
    for outcome in outcomes:
        grouped.setdefault(outcome.way, []).append(outcome)
    return grouped


def _row(way: Way, outcomes: Sequence[Outcome], wanted: Mapping[str, Value]) -> dict[str, Any]:
    categories = sorted({outcome.category for outcome in outcomes})
    return {
        "key": way.key,
        "call": way.call,
        "limit": way.limit,
        "token_budget": way.token_budget,
        **_means(outcomes, wanted),
        "by_category": {
            category: _means([outcome for outcome in outcomes if outcome.category == category], wanted)
            for category in categories
        },
    }


def _means(outcomes: Sequence[Outcome], wanted: Mapping[str, Value]) -> dict[str, Any]:
    return {
        "questions": len(outcomes),
        **{name: _mean(value(outcome) for outcome in outcomes) for name, value in wanted.items()},
        "memories": _mean(outcome.memories for outcome in outcomes),
        "tokens": _mean(outcome.tokens for outcome in outcomes),
        "milliseconds": _mean(1000 * outcome.seconds for outcome in outcomes),
        "empty": _mean(float(outcome.memories == 0) for outcome in outcomes),
    }


def _mean(values: Iterable[float | None]) -> dict[str, float] | None:
    mean = mean_of([value for value in values if value is not None])
    return None if mean is None else _plain(mean)


def _plain(mean: Mean) -> dict[str, float]:
    return mean._asdict()


def _comparison(result: Measured, against: Measured, wanted: Mapping[str, Value]) -> dict[str, Any]:
    """The differences in each row that both runs have, question by question: their interval is that of pairs."""
    theirs = {(outcome.question, outcome.way): outcome for outcome in against.outcomes}
    rows = []
    for way, outcomes in _by_way(result.outcomes).items():
        pairs = [(outcome, theirs.get((outcome.question, way))) for outcome in outcomes]
        known = [(mine, other) for mine, other in pairs if other is not None]
        if known:
            rows.append(
                {
                    "key": way.key,
                    **{name: _mean(_difference(value, *pair) for pair in known) for name, value in wanted.items()},
                }
            )
    return {"run": result.run.name, "against": against.run.name, "rows": rows}


def _difference(value: Value, mine: Outcome, other: Outcome) -> float | None:
    left, right = value(mine), value(other)
    return None if left is None or right is None else left - right


def _protocol(outcomes: Sequence[protocol.Outcome]) -> dict[str, Any] | None:
    if not outcomes:
        return None
    first = outcomes[0].values
    return {
        "questions": len(outcomes),
        "rows": {
            call: {metric: _mean(outcome.values[call][metric] for outcome in outcomes) for metric in metrics}
            for call, metrics in first.items()
        },
    }


def _by_question(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    questions: dict[str, dict[str, Any]] = {}
    for result in measured:
        for outcome in result.outcomes:
            entry = questions.setdefault(
                outcome.question,
                {
                    "id": outcome.question,
                    "category": outcome.category,
                    "labels": outcome.labels,
                    "stems": outcome.stems,
                    "runs": {},
                },
            )
            entry["runs"].setdefault(result.run.name, {})[outcome.way.key] = {
                "found": outcome.found,
                "stood": outcome.stood,
                "memories": outcome.memories,
                "tokens": outcome.tokens,
            }
    return list(questions.values())
