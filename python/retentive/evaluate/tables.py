"""The figures of a run as Markdown, whose columns line up in a terminal as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retentive.evaluate.words import SHORT_ANSWER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Row = Mapping[str, Any]

NOTHING = "–"
_MEASURES = {"evidence_recall": "evidence", "answer_words": "answer words", "answers_wholly": "answers wholly"}
_CALLS = {
    "context": "context, whole turns",
    "excerpts": "context, excerpts",
    "defaults": "context, defaults",
    "defaults_whole": "context, defaults, whole turns",
}
_OWN = {"recall", "search", "cosine", *_CALLS}


def markdown(result: Mapping[str, Any]) -> str:
    """Render what `figures` returned: each run, what was compared, and the peers that failed."""
    lines = [*_head(result)]
    ablations = {comparison["run"] for comparison in result["comparisons"] if _is_ablation(comparison)}
    for run in result["runs"]:
        if run["name"] not in ablations:
            lines += ["", *_run(run)]
    for against in dict.fromkeys(comparison["against"] for comparison in result["comparisons"]):
        mine = [comparison for comparison in result["comparisons"] if comparison["against"] == against]
        lines += _ablations([comparison for comparison in mine if _is_ablation(comparison)], against)
        for comparison in mine:
            if not _is_ablation(comparison):
                lines += _comparison(comparison)
    lines += _failures(result["peers"])
    return "\n".join(lines)


def _head(result: Mapping[str, Any]) -> Iterator[str]:
    dataset = result["dataset"]
    conversations = "conversation" if dataset["conversations"] == 1 else "conversations"
    over = f"{dataset['conversations']:,} {conversations}, {dataset['turns']:,} turns"
    yield f"{dataset['name']} ({dataset['file']}): {dataset['questions']:,} questions with labelled evidence, {over}."
    share = round(100 * result["intervals"]["covered"])
    yield (
        f"In brackets the {share} % interval of {result['intervals']['resamples']:,} resamples of the questions. "
        f"Answer words: answers of at most {SHORT_ANSWER} words."
    )


def _run(run: Row) -> Iterator[str]:
    embedder = run["embedder"]
    took = embedder["milliseconds"]
    embedding = "" if took is None else f", a question is embedded in {took:.2f} ms"
    facts = ", facts beside the turns" if run["facts"] else ""
    yield f"**{run['name']}** ({embedder['dimension']} dimensions{embedding}{facts})"
    yield ""
    rows = run["rows"]
    yield from grid(
        ["size", "call", *_MEASURES.values(), "memories", "tokens", "ms"],
        [[*_place(row), *_numbers(row)] for row in rows],
    )
    yield ""
    categories = list(rows[0]["by_category"])
    counts = [rows[0]["by_category"][name]["questions"] for name in categories]
    yield from grid(
        ["size", "call", *(f"{name} ({count})" for name, count in zip(categories, counts, strict=True))],
        [[*_place(row), *(_short(row["by_category"][name]["evidence_recall"]) for name in categories)] for row in rows],
    )
    if run["protocol"] is not None:
        yield from _protocol(run["protocol"])


def _place(row: Row) -> list[str]:
    call = _CALLS.get(row["call"], str(row["call"]))
    if row["token_budget"] is not None:
        return [f"{row['token_budget']:,} tokens", call]
    return ["defaults", str(row["call"])] if row["limit"] is None else [f"{row['limit']:,} memories", call]


def _numbers(row: Row) -> list[str]:
    return [
        *(with_interval(row[name]) for name in _MEASURES),
        f"{row['memories']['mean']:.1f}",
        f"{row['tokens']['mean']:,.0f}",
        f"{row['milliseconds']['mean']:.2f}" if row["call"] in _OWN else NOTHING,  # peers are asked for more
    ]


def with_interval(mean: Row | None) -> str:
    """Render a mean with its interval.

    Examples:
        >>> with_interval({"mean": 0.8123, "low": 0.79, "high": 0.8349})
        '0.812 [.79 .83]'
    """
    if mean is None:
        return NOTHING
    low, high = (f"{mean[end]:.2f}".removeprefix("0") for end in ("low", "high"))
    return f"{mean['mean']:.3f} [{low} {high}]"


def _short(mean: Row | None) -> str:
    return NOTHING if mean is None else f"{mean['mean']:.3f}"


def points(mean: Row | None) -> str:
    """Render a difference in points of a hundred, with its interval.

    Examples:
        >>> points({"mean": 0.0234, "low": -0.001, "high": 0.05})
        '+2.3 [-0.1 +5.0]'
    """
    if mean is None:
        return NOTHING
    return f"{100 * mean['mean']:+.1f} [{100 * mean['low']:+.1f} {100 * mean['high']:+.1f}]"


def _protocol(protocol: Row) -> Iterator[str]:
    yield ""
    yield f"LongMemEval's own protocol: what the user said, {protocol['questions']:,} questions whose answer is in it."
    yield ""
    calls = protocol["rows"]
    metrics = list(next(iter(calls.values())))
    yield from grid(
        ["metric", *calls], [[metric, *(with_interval(rows[metric]) for rows in calls.values())] for metric in metrics]
    )


def _is_ablation(comparison: Row) -> bool:
    return bool(comparison["run"].startswith(f"{comparison['against']} without "))


def _ablations(comparisons: Sequence[Row], against: str) -> Iterator[str]:
    if not comparisons:
        return
    yield from ["", f"One signal less, {against}: points of evidence recall.", ""]
    keys = [row["key"] for row in comparisons[0]["rows"]]
    yield from grid(
        ["without", *keys],
        [
            [
                comparison["run"].removeprefix(f"{against} without "),
                *(points(row["evidence_recall"]) for row in comparison["rows"]),
            ]
            for comparison in comparisons
        ],
    )


def _comparison(comparison: Row) -> Iterator[str]:
    yield from ["", f"{comparison['run']}, against {comparison['against']}: points.", ""]
    yield from grid(
        ["row", *_MEASURES.values()],
        [[row["key"], *(points(row[name]) for name in _MEASURES)] for row in comparison["rows"]],
    )


def _failures(peers: Sequence[Row]) -> Iterator[str]:
    for peer in peers:
        if peer["error"] is not None:
            yield ""
            yield f"{peer['name']} could not be measured: {peer['error']}"


def grid(head: list[str], body: Sequence[list[str]]) -> list[str]:
    """A Markdown table whose columns line up in a terminal as well; numbers stand to the right."""
    widths = [max(len(line[column]) for line in [head, *body]) for column in range(len(head))]
    right = [all(line[column][:1] in "+-–0123456789" for line in body) for column in range(len(head))]
    right[0] = False

    def render(cells: list[str]) -> str:
        padded = (
            cell.rjust(width) if side else cell.ljust(width)
            for cell, width, side in zip(cells, widths, right, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    rule = "|".join(f"{'-' * (width + 1)}{':' if side else '-'}" for width, side in zip(widths, right, strict=True))
    return [render(head), f"|{rule}|", *(render(line) for line in body)]
