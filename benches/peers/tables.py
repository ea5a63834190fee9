"""The figures as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from questions import QUESTIONS, Answer, Question, answers

Result = Mapping[str, Any]


def markdown(result: Result, plots: str) -> str:
    """The libraries, a section a question with its plot from the folder `plots`, and what failed."""
    return "\n".join(
        [*_setting(result), *_libraries(result), *_sections(result, plots), *_behind(result), *_failures(result)]
    )


def _setting(result: Result) -> Iterator[str]:
    machine, settings = result["machine"], result["settings"]
    before, after = result["load_average"]
    yield (
        f"retentive {result['retentive']['version']}, commit {(result['retentive']['commit'] or 'unknown')[:12]}, "
        f"{result['measured'][:10]}; {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, "
        f"{machine['system']}; load average {before:.1f} at the start, {after:.1f} at the end; "
        f"sessions of {settings['per_session']}, {settings['dimension']} dimensions."
    )
    yield ""


def _libraries(result: Result) -> Iterator[str]:
    rows = [[peer["name"], _version(peer), peer["mode"], peer["scope"], peer["durable"]] for peer in result["peers"]]
    ours = result["retentive"]
    first = ["retentive", ours["version"], ours["mode"], ours["scope"], ours["durable"]]
    yield from _grid(["library", "version", "recall is", "scoped by", "a write is"], [first, *rows])


def _version(peer: Mapping[str, Any]) -> str:
    return str(peer["version"] or ", ".join(peer["requirements"]))


def _sections(result: Result, plots: str) -> Iterator[str]:
    for question in QUESTIONS:
        found = answers(result, question)
        if not found:
            continue
        yield from (f"### {question.asks}", "", f"![{question.asks}]({plots}/peers-{question.measure}.svg)", "")
        yield from _table(question, found, result["settings"]["sizes"])


def _table(question: Question, found: list[Answer], sizes: list[int]) -> Iterator[str]:
    libraries = list(dict.fromkeys(answer.library for answer in found))
    by_place = {(answer.library, answer.memories): answer for answer in found}
    tails = any(answer.tail for answer in found)
    unit = f"{question.unit}: median / p95 / p99" if tails else question.unit
    heads = [unit, *(f"{size:,} memories" for size in sizes)]
    rows = [[library, *(_cell(by_place.get((library, size))) for size in sizes)] for library in libraries]
    yield from _grid(heads, rows)


def _cell(answer: Answer | None) -> str:
    if answer is None:
        return "–"
    if answer.value is None:
        return answer.reason
    numbers = " / ".join(number(value) for value in (answer.value, *(answer.tail or ())))
    factor = f" ({number(answer.factor)}x)" if answer.factor is not None else ""
    return f"{numbers}{factor}" + (f", stopped {answer.reason}" if answer.reason else "")


def number(value: float) -> str:
    """Three digits, or all of a large one's."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.{1 if value >= 10 else 2}f}" if value >= 1 else f"{value:.3f}"


def _behind(result: Result) -> Iterator[str]:
    yield from ("### Where retentive is behind", "")
    lines = []
    for peer in result["peers"]:
        for case in peer["cases"]:
            lost = [f"{measure} {number(factor)}x" for measure, factor in case["factor"].items() if factor < 1]
            if lost:
                lines.append(f"- {peer['name']}, {case['memories']:,} memories: {', '.join(lost)}")
    yield from lines or ["Nowhere in this run."]
    yield ""


def _failures(result: Result) -> Iterator[str]:
    found = list(failures(result))
    yield from ("### What failed or was stopped", "")
    yield from found or ["Nothing."]
    yield ""


def failures(result: Result) -> Iterator[str]:
    """One line for each failure and each library that was stopped."""
    for peer in result["peers"]:
        if peer["error"]:
            yield f"- {peer['name']}: {peer['error']}"
        for case in peer["cases"]:
            stopped = [f"stopped {case['stopped']}"] if case["stopped"] else []
            for said in case["failures"] + stopped:
                yield f"- {peer['name']}, {case['memories']:,} memories: {said}"


def _grid(heads: list[str], rows: list[list[str]]) -> Iterator[str]:
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    yield from ("| " + " | ".join(row) + " |" for row in cells)
    yield ""
