"""A block of context within a budget: known facts, what is relevant, the recent conversation."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import zip_longest
from typing import TYPE_CHECKING

from retentive.assistant import _facts
from retentive.assistant._lines import indented, spoken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from retentive._results import Result
    from retentive.assistant._semantic import Found

RELEVANT = "## Relevant memories"
RECENT = "## Recent conversation"
MARK = "..."

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
_LONGEST_TOKEN = 64  # characters; what is beyond this times the budget is cut before it is counted


class Block:
    """A block that is being packed. Nothing is taken in that the counter says is too much.

    Args:
        query: what is asked.
        facts: the known facts.
        budget: how many tokens the block has at most.
        count: `str -> int`, the tokens of a text.
    """

    def __init__(self, query: str, facts: Sequence[Result], budget: int, count: Callable[[str], int]) -> None:
        self._query = query
        self._budget = budget
        self._count = count
        self._newest_facts = sorted(facts, key=lambda fact: fact.timestamp, reverse=True)
        self._facts: Sequence[Result] = ()
        self._hits: list[str] = []
        self._turns: list[str] = []

    @property
    def text(self) -> str:
        """The block; empty where there is nothing to say."""
        return self._render(self._facts, self._hits, self._turns)

    def take_facts(self, budget: int) -> None:
        """Take in as many facts as a part of the budget holds, the newest first."""
        facts = self._newest_facts

        def tokens(number: int) -> int:
            return self._count(self._render(facts[:number], self._hits, self._turns))

        number = len(facts) if tokens(len(facts)) <= budget else bisect_right(range(len(facts)), budget, key=tokens) - 1
        if number > len(self._facts):
            self._facts = facts[:number]

    def take_turn(self, turn: Result) -> bool:
        """Take in the turn before those that are in; return whether it fitted, whole or cut at the end."""
        role = turn.role or "user"

        def lines(content: str) -> list[str]:
            return [spoken(role, content), *self._turns]

        content = self._fitting(turn.text, lambda content: self._render(self._facts, self._hits, lines(content)))
        if content is not None:
            self._turns = lines(content)
        return content is not None

    def take_hit(self, hit: Found) -> None:
        """Take in what was found, whole or from the sentence on that is nearest to the query, if it fits."""

        def lines(content: str) -> list[str]:
            return [*self._hits, _found_line(hit, content)]

        def block(content: str) -> str:
            return self._render(self._facts, lines(content), self._turns)

        content = self._fitting(hit.text, block)
        if content is not None and content != hit.text:
            content = self._fitting(self._nearest(hit.text), block)
        if content is not None:
            self._hits = lines(content)

    def _nearest(self, text: str) -> str:
        """Return a text from its nearest sentence on, with those before it as far as they have room."""
        text = text[: self._budget * _LONGEST_TOKEN]
        starts = [0, *[match.end() for match in _SENTENCE_END.finditer(text) if match.end() < len(text)]]
        ends = [*starts[1:], len(text)]
        start = starts[_nearest_index(self._query, [text[a:b] for a, b in zip(starts, ends, strict=True)])]
        for earlier in reversed(starts[: starts.index(start)]):
            if self._count(text[earlier:]) > self._share:
                break
            start = earlier
        return text if start == 0 else f"{MARK} {text[start:]}"

    @property
    def _share(self) -> int:
        """How many tokens one text may have: no long one crowds out the others."""
        return max(self._budget // 4, 1)

    def _fitting(self, text: str, block: Callable[[str], str]) -> str | None:
        """Return a text as it fits: whole, or its beginning; None where only scraps of it do."""

        def fits(content: str) -> bool:
            return self._count(content) <= self._share and self._count(block(content)) <= self._budget

        room = self._budget * _LONGEST_TOKEN
        if len(text) <= room and fits(text):
            return text
        low, high = 0, min(len(text), room)  # `low` characters fit, `high` may not
        while low < high - 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(_beginning(text, middle)) else (low, middle)
        content = _beginning(text, low)
        worth_it = content.strip(f"{MARK} \n") and self._count(content) > self._share // 4
        return content if worth_it and fits(content) else None

    @staticmethod
    def _render(facts: Sequence[Result], hits: Sequence[str], turns: Sequence[str]) -> str:
        sections = [_facts.section(facts)]
        sections += ["\n".join([RELEVANT, *hits])] * bool(hits)
        sections += ["\n".join([RECENT, *turns])] * bool(turns)
        return "\n\n".join([section for section in sections if section])


def pack(
    query: str,
    facts: Sequence[Result],
    hits: Sequence[Found],
    turns: Sequence[Result],
    budget: int,
    count: Callable[[str], int],
) -> str:
    """Return the block. Facts have half of the budget, and what the rest leaves; between, a turn and a hit in turn."""
    block = Block(query, facts, budget - 1, count)  # under the budget, not up to it
    block.take_facts(budget // 2)
    fits = True
    for turn, hit in zip_longest(reversed(turns), hits):
        if turn is not None:
            fits = fits and block.take_turn(turn)  # a conversation has no holes
        if hit is not None:
            block.take_hit(hit)
    block.take_facts(budget - 1)
    return block.text


def _found_line(hit: Found, content: str) -> str:
    said = f", {hit.timestamp:%Y-%m-%d}" if hit.metadata.get("role") else ""
    return f"- (similarity {hit.similarity:.2f}{said}) {indented(content)}"


def _beginning(text: str, characters: int) -> str:
    """Return the first characters, back to the end of a word where one is near."""
    if characters >= len(text):
        return text
    cut = text[:characters]
    space = max(cut.rfind(" "), cut.rfind("\n"))
    return f"{cut[:space] if space > characters - 30 and space > 0 else cut} {MARK}"


def _nearest_index(query: str, sentences: Sequence[str]) -> int:
    """Return which sentence is nearest to the query, by the static model: its vectors take microseconds."""
    if len(sentences) == 1:
        return 0
    from retentive.embedders import StaticEmbedder

    model = StaticEmbedder()
    return int((model.embed_documents(list(sentences)) @ model.embed_query(query)).argmax())
