"""Where a text longer than a model's window is cut."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# A window has room for these, beside special tokens and prefix.
SENTENCE_TOKENS = 64
_SENTENCE_AT_LEAST = 8
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s)|[。！？]+[”’」』）]*|\n")


def sentence_borders(text: str, starts: Sequence[int]) -> list[int]:
    """Return the tokens that begin a sentence, given the character that each token starts at."""
    ends = (match.end() for match in _SENTENCE_END.finditer(text))
    return sorted({bisect_left(starts, end) for end in ends})


def windows(count: int, borders: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Yield the parts `[start, end)` of a text of `count` tokens, each of `room` at most; together they are all of it.

    Parts are about equally long, so that no part is a leftover of a few words, and begin where a sentence does. Where
    no sentence ends near enough, the next part repeats an eighth of the room, so that what was cut stands whole
    somewhere.
    """
    start = 0
    while count - start > room:
        left = count - start
        ideal = -(-left // -(-left // room))
        end = _nearest(borders, start + ideal, start + (ideal + 1) // 2, start + room)
        yield (start, end) if end is not None else (start, start + ideal)
        start = end if end is not None else start + ideal - room // 8
    yield start, count


def ends(count: int, borders: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last sentence `[start, end)` of a text of `count` tokens.

    Short sentences are taken together up to 8 tokens, long ones are cut at `SENTENCE_TOKENS`.
    """
    first = next((border for border in borders if border >= _SENTENCE_AT_LEAST), count)
    last = next((border for border in reversed(borders) if border <= count - _SENTENCE_AT_LEAST), 0)
    yield 0, min(first, SENTENCE_TOKENS)
    yield max(last, count - SENTENCE_TOKENS), count


def _nearest(borders: Sequence[int], ideal: int, lowest: int, highest: int) -> int | None:
    """Return the border between two tokens that is nearest to a third."""
    near = borders[bisect_left(borders, lowest) : bisect_right(borders, highest)]
    return min(near, key=lambda border: abs(border - ideal), default=None)
