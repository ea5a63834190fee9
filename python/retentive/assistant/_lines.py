"""Texts as lines of an assistant's block."""

from __future__ import annotations

from retentive import _lines


def indented(text: str) -> str:
    """Return a text with its own line breaks indented: none of its lines can pose as a heading or a speaker."""
    return _lines.indented(text, "  ")


def spoken(role: str, content: str) -> str:
    """Return a turn as `ROLE: content`."""
    return f"{_lines.speaker(role, None).upper()}: {indented(content)}"
