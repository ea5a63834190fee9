"""Texts as lines of a prompt."""

from __future__ import annotations

import re

_BREAKS = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def indented(text: str) -> str:
    """Return a text with its own line breaks indented: none of its lines can pose as a heading or a speaker."""
    return _BREAKS.sub("\n  ", text)


def spoken(role: str, content: str) -> str:
    """Return a turn as `ROLE: content`."""
    return f"{role.upper()}: {indented(content)}"
