"""Results and context blocks as small tables for a notebook: stored text is text there, no markup or script."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retentive._context import ContextBlock
    from retentive._results import Result, Results

ROWS = 50
CHARACTERS = 300

# Notebooks typeset what looks like TeX, which can hold links of its own: these classes tell MathJax 2 and 3 not to.
_TABLE = '<table class="tex2jax_ignore mathjax_ignore">'
_LEFT = ' style="text-align: left; white-space: pre-wrap"'


def of_results(results: Results) -> str:
    """Return a table of `Results`, one row each."""
    rows = [[f"{item.score:.3f}", item.text, _who(item), f"{item.timestamp:%Y-%m-%d %H:%M}"] for item in results]
    query = "" if results.query is None else f" for {results.query[:CHARACTERS]}"
    cut = f", {results.cut_count} cut" if results.cut_count else ""
    caption = f"{len(results)} of {results.mode} search{query}{cut}, {results.time_ms:.1f} ms"
    return _table(caption, ("score", "text", "of", "said"), rows)


def of_block(block: ContextBlock) -> str:
    """Return a table of a `ContextBlock`'s parts, in the order in which they are in the text."""
    sections = (("pinned", block.pinned), ("recent", block.recent), ("retrieved", block.retrieved))
    rows = [
        [section, item.excerpt or item.text, _who(item), f"{item.timestamp:%Y-%m-%d %H:%M}"]
        for section, items in sections
        for item in items
    ]
    cut = f", {block.cut_count} cut" if block.cut_count else ""
    caption = f"{block.token_estimate} of {block.token_budget} tokens for {block.query[:CHARACTERS]}{cut}"
    return _table(caption, ("section", "text", "of", "said"), rows)


def _who(item: Result) -> str:
    kind = item.kind or "document"
    return ", ".join(part for part in (kind, item.name or item.role, item.key, item.session, item.user) if part)


def _table(caption: str, head: Iterable[str], rows: Sequence[Iterable[str]]) -> str:
    lines = [_TABLE, f"<caption{_LEFT}>{_cell(caption)}</caption>", _row("th", head)]
    lines += [_row("td", row) for row in rows[:ROWS]]
    if len(rows) > ROWS:
        lines.append(_row("td", (f"and {len(rows) - ROWS} more",)))
    return "\n".join([*lines, "</table>"])


def _row(tag: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag}{_LEFT}>{_cell(cell)}</{tag}>" for cell in cells) + "</tr>"


def _cell(text: str) -> str:
    """Return a text escaped, in a direction of its own, so that it turns nothing around it."""
    short = text if len(text) <= CHARACTERS else text[: CHARACTERS - 1] + "…"
    return f"<bdi>{escape(short)}</bdi>"
