"""The figures of a run: as JSON, complete, and as a table to read."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retentive.evaluate.conversations import Dataset
    from retentive.evaluate.measure import Outcome, Way


def figures(
    dataset: Dataset,
    rows: Sequence[Way],
    outcomes: Sequence[Outcome],
    surroundings: Mapping[str, Any],
) -> dict[str, Any]:
    """Return everything that was measured, ready for JSON.

    Questions appear by their id, never by their text: the data sets have licences of their own.

    Args:
        dataset: what was asked.
        rows: the ways it was asked in.
        outcomes: what `measure` returned.
        surroundings: the parts that describe the run (version, embedder, machine, settings), taken over as they are.
    """
    return {
        "dataset": {
            "name": dataset.name,
            "file": dataset.file,
            "sha256": dataset.sha256,
            "conversations": len(dataset.conversations),
            "turns": dataset.turns,
            "questions": dataset.questions,
            "skipped": dict(dataset.skipped),
        },
        **surroundings,
        "rows": [_row(way, [outcome for outcome in outcomes if outcome.way == way]) for way in rows],
        "questions": _by_question(outcomes),
    }


def table(result: Mapping[str, Any]) -> str:
    """Render what `figures` returned as Markdown: every row, then the evidence by category."""
    dataset = result["dataset"]
    rows = result["rows"]
    asked = f"{dataset['questions']:,} questions with labelled evidence"
    conversations = "conversation" if dataset["conversations"] == 1 else "conversations"
    over = f"{dataset['conversations']:,} {conversations}, {dataset['turns']:,} turns"
    embedder = f"{result['embedder']['name']} ({result['embedder']['dimension']} dimensions)"
    lines = [
        f"{dataset['name']} ({dataset['file']}): {asked}, {over}",
        f"embedder {embedder}, retentive {result['retentive']['version']}",
        "",
        *_grid(
            ["size", "call", "evidence recall", "memories", "tokens", "ms a call"],
            [[*_place(row), *_numbers(row)] for row in rows],
        ),
        "",
        *_grid(
            ["category", "questions", *(row["key"] for row in rows)],
            [_category(name, rows) for name in rows[0]["by_category"]],
        ),
    ]
    return "\n".join(lines)


def _row(way: Way, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    categories = sorted({outcome.category for outcome in outcomes})
    return {
        "key": way.key,
        "call": way.method,
        "limit": way.limit,
        "token_budget": way.token_budget,
        **_means(outcomes),
        "by_category": {
            category: _means([outcome for outcome in outcomes if outcome.category == category])
            for category in categories
        },
    }


def _means(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "questions": len(outcomes),
        "evidence_recall": fmean(outcome.evidence for outcome in outcomes),
        "memories": fmean(outcome.memories for outcome in outcomes),
        "tokens": fmean(outcome.tokens for outcome in outcomes),
        "milliseconds": 1000 * fmean(outcome.seconds for outcome in outcomes),
    }


def _by_question(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    questions: dict[str, dict[str, Any]] = {}
    for outcome in outcomes:
        entry = questions.setdefault(
            outcome.question,
            {"id": outcome.question, "category": outcome.category, "labels": outcome.labels, "rows": {}},
        )
        entry["rows"][outcome.way.key] = {
            "found": outcome.found,
            "memories": outcome.memories,
            "tokens": outcome.tokens,
        }
    return list(questions.values())


def _place(row: Mapping[str, Any]) -> list[str]:
    size = f"{row['limit']:,} memories" if row["token_budget"] is None else f"{row['token_budget']:,} tokens"
    return [size, row["call"]]


def _numbers(row: Mapping[str, Any]) -> list[str]:
    return [
        f"{row['evidence_recall']:.3f}",
        f"{row['memories']:.1f}",
        f"{row['tokens']:,.0f}",
        f"{row['milliseconds']:.2f}",
    ]


def _category(name: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    values = [row["by_category"][name] for row in rows]
    return [name, str(values[0]["questions"]), *(f"{value['evidence_recall']:.3f}" for value in values)]


def _grid(head: list[str], body: Sequence[list[str]]) -> list[str]:
    """A Markdown table whose columns line up in a terminal as well; numbers stand to the right."""
    widths = [max(len(line[column]) for line in [head, *body]) for column in range(len(head))]
    right = [all(line[column][:1].isdigit() for line in body) for column in range(len(head))]
    right[0] = False

    def render(cells: list[str]) -> str:
        padded = (
            cell.rjust(width) if side else cell.ljust(width)
            for cell, width, side in zip(cells, widths, right, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    rule = "|".join(f"{'-' * (width + 1)}{':' if side else '-'}" for width, side in zip(widths, right, strict=True))
    return [render(head), f"|{rule}|", *(render(line) for line in body)]
