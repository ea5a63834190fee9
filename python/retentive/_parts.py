"""Texts longer than a model's window, in parts that fit."""

from __future__ import annotations

import re

from retentive import _core

_SENTENCE = re.compile(r".+?(?:[.!?。！？…]+[\"'”’)\]]*(?=\s)|\n|$)\s*", re.DOTALL)
_SENTENCE_AT_MOST = 64  # tokens
_MARGIN = 0.8  # the estimate may be that much under the model's own count


def split(text: str, window: int | None, part_tokens: int | None = None) -> list[str]:
    """Return `text` whole where it fits the window, else in parts of whole sentences.

    Args:
        text: what is to be embedded.
        window: tokens that one vector stands for well; None for any number.
        part_tokens: about how many tokens a part has at most; None for the window's.
    """
    if window is None or len(text) <= window * _MARGIN:
        return [text]
    if _core.estimate_tokens(text) <= max(int(window * _MARGIN), 1):
        return [text]
    room = max(int(min(window, part_tokens or window) * _MARGIN), 1)
    parts: list[str] = []
    part, used = "", 0
    for piece in _pieces(text, room):
        tokens = _core.estimate_tokens(piece)
        if part and used + tokens > room:
            parts.append(part)
            part, used = "", 0
        part += piece
        used += tokens
    parts.append(part)
    return [part for part in parts if not part.isspace()]


def ends(text: str, window: int | None) -> list[str]:
    """Return the first and the last sentence of a text longer than the window, or the whole text.

    What is asked stands before or behind what is pasted. The mean of all parts finds no more than chance does.
    """
    if len(split(text, window)) == 1 or window is None:
        return [text]
    pieces = _pieces(text, max(min(int(window * _MARGIN), _SENTENCE_AT_MOST), 1))
    return [_sentence(pieces), _sentence(pieces[::-1])]


def _sentence(pieces: list[str]) -> str:
    """Return the first piece that is not blank."""
    return next(piece for piece in pieces if not piece.isspace())


def _pieces(text: str, room: int) -> list[str]:
    """Return sentences, and of those that are too long on their own, slices."""
    pieces: list[str] = []
    for match in _SENTENCE.finditer(text):
        sentence = match.group()
        tokens = _core.estimate_tokens(sentence)
        if tokens <= room:
            pieces.append(sentence)
            continue
        step = max(len(sentence) * room // tokens, 1)
        pieces += [sentence[start : start + step] for start in range(0, len(sentence), step)]
    return pieces
