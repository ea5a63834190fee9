"""Recall against budget as an SVG, written by hand: readable in black and white, the same bytes every time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from itertools import cycle
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Row = Mapping[str, Any]

WIDTH, HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 220, 56, 48
_LINES = {
    "context": ("context", "", "circle"),
    "search": ("plain search", "7 4", "square"),
    "cosine": ("exact cosine", "2 4", "triangle"),
}
_FACTS = ("context with facts", "10 3 2 3", "diamond")
_PEER_DASHES = "4 2 1 2"
_PEER_MARKS = ("cross", "plus", "hollow", "bar")
STYLE = "font-family: sans-serif; font-size: 12px"


@dataclass(frozen=True, slots=True)
class Line:
    """One call over the budgets: (budget, mean, low, high), rising."""

    label: str
    dashes: str
    mark: str
    points: tuple[tuple[int, float, float, float], ...]


def svg(result: Mapping[str, Any]) -> str | None:
    """Render evidence recall against the token budget, a panel an embedder; None where no run has two budgets."""
    panels = [(run["name"], lines) for run in _panels(result) if (lines := _lines(run, result))]
    if not panels:
        return None
    height = HEIGHT * len(panels)
    parts = []
    for index, (name, lines) in enumerate(panels):
        parts.append(f'<g transform="translate(0 {index * HEIGHT})" style="{STYLE}">')
        parts += _panel(f"{result['dataset']['name']} ({result['dataset']['file']}), {name}", lines)
        parts.append("</g>")
    return document(parts, height)


def document(parts: Sequence[str], height: int) -> str:
    """Return an SVG of the usual width with these elements on white."""
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
    return "\n".join([start, f'<rect width="{WIDTH}" height="{height}" fill="white"/>', *parts, "</svg>", ""])


def _panels(result: Row) -> list[Row]:
    compared = {comparison["run"] for comparison in result["comparisons"]}
    return [run for run in result["runs"] if run["name"] not in compared]


def _lines(run: Row, result: Row) -> list[Line]:
    lines = [Line(label, dashes, mark, _points(run, call)) for call, (label, dashes, mark) in _LINES.items()]
    peers = sorted({peer["call"] for peer in result["peers"] if peer["error"] is None})
    lines += [
        Line(call, _PEER_DASHES, mark, _points(run, call))
        for call, mark in zip(peers, cycle(_PEER_MARKS), strict=False)
    ]
    lines += [
        Line(*_FACTS, _points(other, "context"))
        for other in result["runs"]
        if other["facts"] and other["embedder"]["name"] == run["embedder"]["name"]
    ]
    return [line for line in lines if len(line.points) > 1]


def _points(run: Row, call: str) -> tuple[tuple[int, float, float, float], ...]:
    found = (
        (row["token_budget"], *(row["evidence_recall"][part] for part in ("mean", "low", "high")))
        for row in run["rows"]
        if row["call"] == call and row["token_budget"] is not None
    )
    return tuple(sorted(found))


def _panel(title: str, lines: Sequence[Line]) -> Iterator[str]:
    budgets = sorted({point[0] for line in lines for point in line.points})
    floor = math.floor(10 * min(point[2] for line in lines for point in line.points)) / 10
    first, last = math.log(budgets[0]), math.log(budgets[-1])

    def x(budget: int) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (math.log(budget) - first) / (last - first)

    def y(share: float) -> float:
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - share) / (1 - floor)

    yield f'<text x="{_LEFT}" y="22" font-weight="bold">{escape(title)}</text>'
    for tenth in range(round(10 * floor), 11):
        at = y(tenth / 10)
        yield f'<path d="M{_LEFT} {at:.1f}H{WIDTH - _RIGHT}" stroke="#ddd"/>'
        yield f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{tenth / 10:.1f}</text>'
    for budget in budgets:
        yield f'<text x="{x(budget):.1f}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle">{budget:,}</text>'
    middle = (WIDTH - _RIGHT + _LEFT) / 2
    yield f'<text x="{middle:.0f}" y="{HEIGHT - 10}" text-anchor="middle">tokens in the block</text>'
    yield f'<text x="{_LEFT - 40}" y="{_TOP - 14}">evidence recall</text>'
    for number, line in enumerate(lines):
        yield from _drawn(line, [(x(budget), y(mean), y(low), y(high)) for budget, mean, low, high in line.points])
        yield from _legend(line, _TOP + 20 + 22 * number)


def _drawn(line: Line, points: Sequence[tuple[float, float, float, float]]) -> Iterator[str]:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y, _, _ in points)
    yield f'<path d="M{path}" fill="none" stroke="black" stroke-width="1.5"{_dashed(line)}/>'
    for x, y, low, high in points:
        yield f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="#888"/>'
        yield _mark(line.mark, x, y)


def _legend(line: Line, y: float) -> Iterator[str]:
    x = WIDTH - _RIGHT + 14
    yield f'<path d="M{x} {y}H{x + 30}" stroke="black" stroke-width="1.5"{_dashed(line)}/>'
    yield _mark(line.mark, x + 15, y)
    yield f'<text x="{x + 36}" y="{y + 4}">{escape(line.label)}</text>'


def _dashed(line: Line) -> str:
    return f' stroke-dasharray="{line.dashes}"' if line.dashes else ""


def _mark(kind: str, x: float, y: float) -> str:
    shapes = {
        "circle": "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        "square": "m-4 -4h8v8h-8z",
        "triangle": "m0 -5l5 9h-10z",
        "diamond": "m0 -5l5 5l-5 5l-5 -5z",
        "hollow": "m0 -5l5 5l-5 5l-5 -5z",
        "cross": "m-4 -4l8 8m0 -8l-8 8",
        "plus": "m-5 0h10m-5 -5v10",
        "bar": "m0 -5v10",
    }
    fill = "black" if kind in {"circle", "diamond"} else "white"
    return f'<path d="M{x:.1f} {y:.1f}{shapes[kind]}" fill="{fill}" stroke="black"/>'
