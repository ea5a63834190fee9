"""Which of the answer's words stand in what memory hands back: labels alone can be gamed, words cannot."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

SHORT_ANSWER = 5
"""Stems of an answer that still counts as short: a longer one is worded freely, and its words prove little."""

_WORD = re.compile(r"[^\W_]+")
_STOP = frozenset(
    _WORD.findall(
        "a about above after again all also am an and any are as at be because been before being below between both "
        "but by can could d did do does doing don down during each few for from further had has have having he her "
        "here hers him his how i if in into is it its just ll m me more most my no nor not now of off on once only or "
        "other our ours out over own re s same she should so some such t than that the their theirs them then there "
        "these they this those through to too under until up ve very was we were what when where which while who whom "
        "why will with would you your yours"
    )
)
_VOWEL = re.compile(r"[aeiouy]")
_DOUBLE = re.compile(r"([^aeiouylsz])\1$")


def answer_stems(question: str, answer: str) -> frozenset[str]:
    """Return the stems of a gold answer that are not in its question, stop words left out.

    Examples:
        >>> sorted(answer_stems("What did Ada paint?", "Ada painted two kayaks"))
        ['kayak', 'two']
    """
    return frozenset(stems(answer) - stems(question))


def stems(text: str) -> set[str]:
    """Return the stems of a text's words, without stop words.

    Examples:
        >>> sorted(stems("The hobbies she's had: painting, £800"))
        ['800', 'hobbi', 'paint']
    """
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return {stem(word) for word in words if word not in _STOP}


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return a word without its inflection: Porter's step 1, then his last e (Program 14(3), 1980), for any letters.

    Examples:
        >>> [stem(word) for word in ("movies", "movie", "hopping", "created", "create", "2023")]
        ['movi', 'movi', 'hop', 'creat', 'creat', '2023']
    """
    if len(word) < 4 or not word.isalpha():
        return word
    word = _without_past(_without_plural(word))
    if word.endswith("y") and _VOWEL.search(word[:-1]):
        word = f"{word[:-1]}i"
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us")) else word


def _without_past(word: str) -> str:
    for ending in ("ing", "ed"):
        if word.endswith(ending) and _VOWEL.search(word.removesuffix(ending)):
            word = word.removesuffix(ending)
            return word[:-1] if _DOUBLE.search(word) else word
    return word
