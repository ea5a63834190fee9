"""Texts, roles and names as lines of a prompt that pose as nothing else; the core's `pack/render.rs` in Python."""

from __future__ import annotations

import re
import unicodedata

# Every character that some reader takes for the end of a line.
_BREAKS = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Orders the reading direction of what follows, also beyond the text; the letters themselves know.
_DIRECTIONS = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_NOT_IN_A_SPEAKER = re.compile(r"[:\x00-\x08\n-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

# The roles of chat APIs: a name that reads as one of them is shown behind the role that spoke.
_ROLES = ("user", "assistant", "system", "tool", "developer")
_UNNAMED = "note"


def indented(text: str, indent: str) -> str:
    """Return a text with its own line breaks indented: none of its lines can pose as a heading or a speaker.

    Control characters are shown as U+FFFD, and what orders the reading direction is left out.
    """
    return _CONTROLS.sub("\ufffd", _DIRECTIONS.sub("", _BREAKS.sub(f"\n{indent}", text)))


def speaker(role: str, name: str | None) -> str:
    """Return who speaks: the name where there is one, else the role, on one line and without a colon."""
    shown_name, shown_role = _shown(name or ""), _shown(role)
    # As a reader sees it, who sees nothing of zero width and no difference between letters that fold to the same.
    read = "".join([char for char in unicodedata.normalize("NFKC", shown_name) if char.isalnum()])
    if read.lower() in _ROLES:
        return f"{shown_role} {shown_name}".strip()
    return shown_name or shown_role or _UNNAMED


def label(key: str) -> str:
    """Return the key of a fact on one line and without a colon: what stands behind the first colon is the value."""
    return _NOT_IN_A_SPEAKER.sub(" ", key).strip() or _UNNAMED


def _shown(said_by: str) -> str:
    shown = _NOT_IN_A_SPEAKER.sub(" ", said_by)
    start = next((index for index, char in enumerate(shown) if char.isalnum()), len(shown))
    return shown[start:].rstrip()
