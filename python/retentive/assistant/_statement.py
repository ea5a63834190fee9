"""What a statement is: what the user said, in at least four words."""

from __future__ import annotations

import re

MIN_WORDS = 4

# Scripts without spaces between words: each character counts as one, as in the core's own count.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    r"|[^\W_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
    r"+(?:['\u2019.][^\W_]+)*"
)
_USERS = {"user", "human"}


def is_statement(role: str, content: str) -> bool:
    """Return whether what was said is made searchable. A question counts: it often tells something."""
    return role.casefold() in _USERS and len(_WORD.findall(content)) >= MIN_WORDS
