"""What a refusal floor does to memories of every size: own questions refused, others' refused.

The evidence, with late interaction where a `Judge` has it, is computed here in numpy, from the formula of
`rust/core/src/rank/refuse.rs` and with a stemmer and stop words near to the core's, because a product call a question
and size would take an hour; `agreement` asks the product.
"""

# The checks run without what only calibration needs.
# mypy: disable-error-code="import-untyped, import-not-found"

import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import snowballstemmer

from conversations import Conversation
from retentive import Collection
from retentive._core import estimate_tokens
from retentive.embedders import CallableEmbedder, Embedder

Floats = npt.NDArray[np.float32]
LateInteraction = Callable[[str, list[str]], Sequence[float]]

# As in rust/core/src/rank/refuse.rs.
COVERAGE_WEIGHT, LENGTH = 0.5, 80.0
TURN, REFERENCE, GROWTH_BELOW, GROWTH_ABOVE, MOST, FEWEST = 40, 500, 0.1, 0.04, 10_000, 10
LOOKED_AT, LATE_GROWTH_BELOW = 5, 0.15

SIZES = (2, 5, 10, 30, 100, 500)
ALL = 0
REPEATS = 3
STOP_WORDS = Path(__file__).parents[1] / "rust" / "core" / "src" / "lexical" / "stopwords" / "english.txt"
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_CLITIC = re.compile(r"['\u2019](s|d|ll|re|ve|m|t)?$")


@dataclass(frozen=True, slots=True)
class Judge:
    """How evidence is judged: by an embedder, with or without its late interaction."""

    embedder: Embedder
    late: LateInteraction | None = None

    def shift(self, memories: int, tokens: float) -> float:
        """Return what so many memories of so many tokens in all add to the embedder's floor."""
        if memories < FEWEST:
            return -math.inf
        turns = math.sqrt(memories * tokens / TURN)
        folds = math.log(min(turns if self.late else max(memories, turns), MOST) / REFERENCE)
        below = LATE_GROWTH_BELOW if self.late else GROWTH_BELOW
        return folds * (below if folds < 0 else GROWTH_ABOVE)


class Memory:
    """A conversation, embedded and analysed, of which samples are asked."""

    def __init__(self, conversation: Conversation, embedder: Embedder) -> None:
        self.source, self.names, self.turns = conversation.source, conversation.names, conversation.turns
        self.asked = conversation.asked
        self.vectors = embedder.embed_documents(self.turns)
        self.tokens = np.array([estimate_tokens(text) for text in self.turns], np.float32)
        self.terms = [stems(text) for text in self.turns]

    def sample(self, keep: Sequence[int], size: int, chance: random.Random) -> list[int]:
        """Return the rows kept and random others, `size` in all."""
        if len(keep) >= size:
            return sorted(chance.sample(list(keep), size))
        others = sorted(set(range(len(self.turns))) - set(keep))
        return sorted([*keep, *chance.sample(others, size - len(keep))])

    def evidence(self, text: str, vector: Floats, rows: Sequence[int], late: LateInteraction | None) -> float:
        """Return the best `(similarity + 0.5 * coverage) * d` over the rows, `d = min(1, 80 / L)^(1/4)`.

        With `late`, the best `late * d` of the five rows with most of it is added, each together with the rows beside
        it, which L counts too.
        """
        query = sorted(stems(text))
        held = np.array([[term in self.terms[row] for row in rows] for term in query], np.float32)
        coverage = np.zeros(len(rows))
        if query:
            frequency = held.sum(axis=1)
            idf = np.log1p((len(rows) - frequency + 0.5) / (frequency + 0.5))
            coverage = idf @ held / idf.sum()
        discount = np.minimum(1, LENGTH / self.tokens[list(rows)]) ** 0.25
        each = (self.vectors[list(rows)] @ vector + COVERAGE_WEIGHT * coverage) * discount
        best: float = each.max()
        if late is not None:
            first = np.argsort(-each, kind="stable")[:LOOKED_AT]
            windows = [rows[max(at - 1, 0) : at + 2] for at in first]
            said = late(text, ["\n".join(self.turns[row] for row in window) for window in windows])
            lengths = np.array([self.tokens[list(window)].sum() for window in windows])
            best += max(0.0, (np.array(said) * np.minimum(1, LENGTH / lengths) ** 0.25).max())
        return best


@dataclass(frozen=True, slots=True)
class Asked:
    """One question put to one memory; `shift` is what the floor for that memory has on the embedder's."""

    source: str
    half: int
    size: int
    kind: str
    shift: float
    evidence: float

    @property
    def margin(self) -> float:
        """The embedder's floor below which this is answered."""
        return self.evidence - self.shift


@dataclass
class Trial:
    """Puts questions to samples of memories, skipping those that are never refused.

    Args:
        judge: whose floor is looked for.
        outside: questions of other domains, asked of every memory.
        pools: questions by the set they come from; a memory is asked those of the sets that are not its own.
    """

    judge: Judge
    outside: list[str]
    pools: dict[str, list[str]]
    chance: random.Random = field(default_factory=lambda: random.Random(4))  # noqa: S311 - a sample, not a secret
    vectors: dict[str, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Set up what tells which questions are never refused, and leave those out."""
        self.strict = Refusing(self.judge, ["zzz"] * FEWEST, floor=1e9)
        self.outside = [text for text in self.outside if not self.is_exempt(text)]
        self.pools = {of: [text for text in pool if not self.is_exempt(text)] for of, pool in self.pools.items()}

    def run(self, sets: Sequence[Sequence[Memory]]) -> Iterator[Asked]:
        """Yield every question at every size; the memories of a set are in two halves by turns."""
        for memories in sets:
            for at, memory in enumerate(memories):
                others = [other for other in memories if other is not memory]
                for size in (*SIZES, ALL):
                    if size < len(memory.turns):
                        yield from self._of_size(memory, others, size, half=at % 2)

    def whole(self, memory: Memory, half: int) -> Iterator[Asked]:
        """Yield every own question and every outside one, put to the whole conversation: nothing is drawn."""
        rows = range(len(memory.turns))
        own = [one.text for one in memory.asked if one.evidence and not self.is_exempt(one.text)]
        for kind, texts in (("own", own), ("outside", self.outside)):
            yield from (self._asked(memory, half, ALL, kind, text, rows) for text in texts)

    def _asked(self, memory: Memory, half: int, size: int, kind: str, text: str, rows: Sequence[int]) -> Asked:
        evidence = memory.evidence(text, self._vector(text), rows, self.judge.late)
        shift = self.judge.shift(len(rows), float(memory.tokens[list(rows)].sum()))
        return Asked(memory.source, half, size, kind, shift, evidence)

    def _of_size(self, memory: Memory, others: Sequence[Memory], size: int, half: int) -> Iterator[Asked]:
        def asked(kind: str, text: str, rows: Sequence[int]) -> Asked:
            return self._asked(memory, half, size, kind, text, rows)

        cross = [text for of, pool in self.pools.items() if of[:4] != memory.source[:4] for text in pool]
        for own in memory.asked:
            if own.evidence and not self.is_exempt(own.text):
                for _ in range(REPEATS):
                    rows = memory.sample(own.evidence, size or len(memory.turns), self.chance)
                    yield asked("own", own.text, rows)
                    yield from (asked("outside", text, rows) for text in self.chance.sample(self.outside, 3))
                    yield asked("other set", self.chance.choice(cross), rows)
                    swapped = self._swapped(memory, others)
                    if swapped:
                        yield asked("swapped", swapped, rows)

    def _swapped(self, memory: Memory, others: Sequence[Memory]) -> str | None:
        """Return another conversation's question with this one's names in it; None where it is never refused."""
        other = self.chance.choice(others)
        text = self.chance.choice(other.asked).text
        for theirs, ours in zip(other.names, memory.names, strict=True):
            text = re.sub(rf"\b{theirs}\b", ours, text)
        return None if text in {own.text for own in memory.asked} or self.is_exempt(text) else text

    def _vector(self, text: str) -> Floats:
        if text not in self.vectors:
            self.vectors[text] = self.judge.embedder.embed_query(text)
        return self.vectors[text]

    def is_exempt(self, text: str) -> bool:
        """Return whether the product answers whatever the evidence: the question names a date or earlier talk."""
        return not self.strict.refuses(text)

    def agreement(self, memories: Sequence[Memory], floor: float) -> float:
        """Return the share of the outside questions that the product and this file judge alike."""
        same = []
        for memory in memories:
            product, rows = Refusing(self.judge, memory.turns, floor), range(len(memory.turns))
            least = floor + self.judge.shift(len(rows), float(memory.tokens.sum()))
            for text in self.outside:
                here = memory.evidence(text, self._vector(text), rows, self.judge.late) < least
                same.append(product.refuses(text) == here)
        return float(np.mean(same))


class _WithFloor(CallableEmbedder):
    def __init__(self, judge: Judge, floor: float) -> None:
        embedder = judge.embedder
        super().__init__(embedder.name, embedder.dimension, embedder.embed_documents, refusal_floor=floor)
        self.late_interaction = judge.late
        self.late_interaction_floor = floor if judge.late else None


class Refusing:
    """A collection with a floor of its own."""

    def __init__(self, judge: Judge, texts: Sequence[str], floor: float) -> None:
        self.db = Collection("refusing", embedder=_WithFloor(judge, floor))
        self.db.remember_many([{"text": text, "session": "one"} for text in texts])

    def refuses(self, text: str) -> bool:
        """Return whether the product has no answer."""
        return not self.db.recall(text, limit=1, session="one").items


def stems(text: str) -> frozenset[str]:
    """Return the text's stemmed words without stop words: near to what the product indexes."""
    return frozenset(
        _stem(_CLITIC.sub("", word)) for word in _WORD.findall(text.casefold()) if word not in _stop_words()
    )


@cache
def _stem(word: str) -> str:
    return str(_STEMMER.stemWord(word))


@cache
def _stop_words() -> frozenset[str]:
    return frozenset(STOP_WORDS.read_text().split())


_STEMMER = snowballstemmer.stemmer("english")


def auc(own: Iterable[float], others: Iterable[float]) -> float:
    """Return the chance that a question of the conversation has more evidence than another."""
    a, b = np.sort(np.array(list(own))), np.array(list(others))
    return float(np.mean(1 - np.searchsorted(a, b) / len(a)))
