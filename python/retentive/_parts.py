"""Texts longer than a model's window, in parts that fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from retentive import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SENTENCE_END = re.compile(r"(?P<marks>[.!?。！？…]+)[\"'”’)\]]*|\n")
_SPACE = re.compile(r"\s*")
_SENTENCE_AT_MOST = 64  # tokens
_MARGIN = 0.8  # the estimate may be that much under the model's own count


def split(text: str, window: int | None, part_tokens: int | None = None) -> list[str]:
    """Return `text` whole where it fits the window, else in parts of whole sentences.

    Args:
        text: what is to be embedded.
        window: tokens that one vector stands for well; None for any number.
        part_tokens: about how many tokens a part has at most; None for the window's.
    """
    if window is None or _fits(text, window):
        return [text]
    room = max(int(min(window, part_tokens or window) * _MARGIN), 1)
    parts: list[str] = []
    part, used = "", 0
    pieces = (piece for sentence in _sentences(text) for piece in _pieces(text, sentence, room))
    for start, end in pieces:
        piece = text[start:end]
        tokens = _core.estimate_tokens(piece)
        if part and used + tokens > room:
            parts.append(part)
            part, used = "", 0
        part += piece
        used += tokens
    parts.append(part)
    return [part for part in parts if not part.isspace()]


def ends(text: str, window: int | None) -> list[tuple[int, int]]:
    """Return where the first and the last sentence of a text longer than the window stand, or `[(0, len(text))]`.

    What is asked stands before or behind what is pasted. The mean of all parts finds no more than chance does.
    """
    whole = (0, len(text))
    if window is None or _fits(text, window):
        return [whole]
    room = max(min(int(window * _MARGIN), _SENTENCE_AT_MOST), 1)
    sentences = list(_sentences(text))
    from_start = (piece for sentence in sentences for piece in _pieces(text, sentence, room))
    from_end = (piece for sentence in reversed(sentences) for piece in reversed(_pieces(text, sentence, room)))
    first, last = (
        next((piece for piece in pieces if not _is_blank(text, piece)), whole) for pieces in (from_start, from_end)
    )
    return [first, last] if first != last else [whole]


def _fits(text: str, window: int) -> bool:
    return len(text) <= window * _MARGIN or _core.estimate_tokens(text) <= max(int(window * _MARGIN), 1)


def _is_blank(text: str, piece: tuple[int, int]) -> bool:
    return text[piece[0] : piece[1]].isspace()


def _pieces(text: str, sentence: tuple[int, int], room: int) -> Sequence[tuple[int, int]]:
    """Return a sentence, or slices of one that is too long on its own."""
    start, end = sentence
    tokens = _core.estimate_tokens(text[start:end])
    if tokens <= room:
        return [sentence]
    step = max((end - start) * room // tokens, 1)
    return [(at, min(at + step, end)) for at in range(start, end, step)]


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield sentences with the white space behind them; a mark that begins one does not end it.

    Each character is looked at once: an expression for a whole sentence begins a row of marks anew at each of them.
    """
    start = 0
    for end in _SENTENCE_END.finditer(text):
        alone = end.start() == start and len(end["marks"] or "\n") == 1
        inside = end["marks"] and not text[end.end() : end.end() + 1].isspace()
        if end.start() < start or alone or inside:
            continue
        behind = cast("re.Match[str]", _SPACE.match(text, end.end())).end()
        yield start, behind
        start = behind
    if start < len(text):
        yield start, len(text)
