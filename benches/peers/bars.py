"""A plot a question: bars on a logarithmic scale, told apart by their filling, so that black and white is enough."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from questions import Answer, Question
from retentive.evaluate.plot import STYLE, WIDTH, document
from tables import number

_LEFT, _RIGHT, _TOP, _BOTTOM = 96, 170, 64, 40
_BAR, _GAP = 14, 12
_PATTERNS = (
    ("lines", ' patternTransform="rotate(45)"', '<path d="M0 0V5" stroke="black" stroke-width="2"/>'),
    ("dots", "", '<circle cx="2" cy="2" r="1" fill="black"/>'),
)
_FILLS = ("black", "url(#lines)", "white", "url(#dots)")


def svg(question: Question, answers: Sequence[Answer]) -> str:
    """Render the answers: a group of bars a library, a bar a size, value and factor beside it."""
    libraries = list(dict.fromkeys(answer.library for answer in answers))
    sizes = sorted({answer.memories for answer in answers})
    group = _BAR * len(sizes) + _GAP
    height = _TOP + group * len(libraries) + _BOTTOM
    scale = _Scale([answer.value for answer in answers if answer.value], height - _BOTTOM)
    parts = [
        f'<defs>{"".join(_pattern(*one) for one in _PATTERNS)}</defs><g style="{STYLE}">',
        *_frame(question, sizes),
        *scale.drawn(),
    ]
    for row, library in enumerate(libraries):
        top = _TOP + row * group
        middle = top + _BAR * len(sizes) / 2 + 4
        parts.append(f'<text x="{_LEFT - 8}" y="{middle:.0f}" text-anchor="end">{escape(library)}</text>')
        mine = {answer.memories: answer for answer in answers if answer.library == library}
        for place, size in enumerate(sizes):
            if size in mine:
                parts += _bar(mine[size], top + place * _BAR, _FILLS[place % len(_FILLS)], scale)
    return document([*parts, "</g>"], height)


def _pattern(name: str, turned: str, drawn: str) -> str:
    square = '<rect width="5" height="5" fill="white"/>'
    return f'<pattern id="{name}" width="5" height="5" patternUnits="userSpaceOnUse"{turned}>{square}{drawn}</pattern>'


class _Scale:
    """Powers of ten that hold all values."""

    def __init__(self, values: Sequence[float], bottom: float) -> None:
        self._bottom = bottom
        logs = [math.log10(value) for value in values] or [0.0]
        self._low = math.floor(min(logs) - 0.15)  # the shortest bar has a length too
        self._high = max(math.ceil(max(logs)), self._low + 1)

    def x(self, value: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (math.log10(value) - self._low) / (self._high - self._low)

    def drawn(self) -> Iterator[str]:
        for power in range(self._low, self._high + 1):
            at = self.x(10.0**power)
            yield f'<path d="M{at:.1f} {_TOP - 4}V{self._bottom}" stroke="#ddd"/>'
            label = f"{10.0**power:,.0f}" if power >= 0 else f"{10.0**power:g}"
            yield f'<text x="{at:.1f}" y="{self._bottom + 18}" text-anchor="middle">{label}</text>'


def _frame(question: Question, sizes: Sequence[int]) -> Iterator[str]:
    better = "more is better" if question.more_is_better else "less is better"
    yield f'<text x="12" y="22" font-weight="bold">{escape(question.asks)}</text>'
    yield f'<text x="{WIDTH - 12}" y="22" text-anchor="end">{question.unit}, {better}; x: retentive takes 1</text>'
    x = _LEFT
    for place, size in enumerate(sizes):
        fill = _FILLS[place % len(_FILLS)]
        yield f'<rect x="{x}" y="36" width="22" height="10" fill="{fill}" stroke="black"/>'
        yield f'<text x="{x + 28}" y="45">{size:,} memories</text>'
        x += 150


def _bar(answer: Answer, y: float, fill: str, scale: _Scale) -> Iterator[str]:
    if answer.value is None:
        yield f'<text x="{_LEFT + 6}" y="{y + 11:.0f}" font-style="italic">{escape(_short(answer.reason))}</text>'
        return
    end = scale.x(answer.value)
    box = f'x="{_LEFT}" y="{y + 1:.0f}" width="{end - _LEFT:.1f}" height="{_BAR - 3}"'
    yield f'<rect {box} fill="{fill}" stroke="black"/>'
    factor = f", {number(answer.factor)}x" if answer.factor is not None else ""
    stopped = ", stopped" if answer.reason else ""
    yield f'<text x="{end + 6:.1f}" y="{y + 11:.0f}">{number(answer.value)}{factor}{stopped}</text>'


def _short(reason: str) -> str:
    if reason.startswith("stopped before"):
        return "not measured: no time was left"
    return "stopped: not all was loaded in time" if reason.startswith("stopped after") else reason
