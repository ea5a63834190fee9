"""Measure the floors of an embedder: `noise_floor` and `refusal_floor`.

    python scripts/calibrate_floors.py --locomo FILE --longmemeval FILE [--longmemeval FILE] [--write]

noise_floor: the cosine that 98 % of unrelated pairs stay below. Pairs are questions of one conversation against the
turns of others, within a data set and across, and sentences that come from neither; all of them in one pool.

refusal_floor: what the best `similarity + 0.5 * coverage` over a conversation must reach for a question to be
answered, such that at most 2 % of a conversation's own questions fall short. Fitted on every second conversation,
reported on the others. Coverage is the share of the question's idf that a memory holds; terms the conversation has
never seen count in full. Questions that name a date or earlier talk are never refused, so they are left out.
"""

# The checks run without what only training needs.
# mypy: disable-error-code="import-untyped, import-not-found"

import argparse
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import snowballstemmer

from conversations import Conversation, read_locomo, read_longmemeval
from retentive.embedders import Embedder, resolve

Floats = npt.NDArray[np.float32]
Analyse = Callable[[str], set[str]]

NOISE_SHARE = 0.98
REFUSED_SHARE = 0.02
COVERAGE_WEIGHT = 0.5
ABOUT = Path(__file__).parents[1] / "python" / "retentive" / "models" / "static" / "model.json"

# Everyday questions and remarks on unrelated subjects: any pair of one with another is noise.
OUTSIDE_QUESTIONS = (
    "Which foods am I allergic to?",
    "What is the capital of Mongolia?",
    "How do I renew my passport?",
    "When does the next train to Leeds leave?",
    "What size of tyres does my bicycle take?",
    "Did the landlord answer about the broken boiler?",
    "Which database did we settle on for the billing service?",
    "How much did the new roof cost?",
    "Who won the chess tournament last year?",
    "What colour should we paint the kitchen?",
)
OUTSIDE_REMARKS = (
    "The volcano erupted twice during the eighteenth century.",
    "Please keep the invoices in the blue folder.",
    "My sister plays the cello in a youth orchestra.",
    "Rust checks the lifetimes of references at compile time.",
    "The goalkeeper broke his wrist in the second half.",
    "We moved the meeting to Thursday at three.",
    "Honey bees tell each other about flowers by dancing.",
    "The museum is closed on public holidays.",
    "I prefer window seats on long flights.",
    "Add the flour slowly and keep stirring.",
    "Parliament rejected the bill by four votes.",
    "His grandfather repaired watches for a living.",
)
_STOP_WORDS = """
    a about after all also am an and any are as at be because been before being but by can could did do does doing
    down during each few for from further had has have having he her here hers herself him himself his how i if in into
    is it its itself just me more most my myself no nor not now of off on once only or other our ours ourselves out over
    own same she should so some such than that the their theirs them themselves then there these they this those
    through to too under until up very was we were what when where which while who whom why will with would you your
    yours yourself yourselves"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_WORD = re.compile(r"\w+")
_EXEMPT = re.compile(
    r"\b(january|february|march|april|may (?=\d)|(?<=in )may|june|july|august|september|october|november|december"
    r"|(mon|tues|wednes|thurs|fri|satur|sun)day|(19|20)\d\d|today|yesterday|tonight|last (week|month|year|night)"
    r"|(days?|weeks?|months?|years?) ago|summer|autumn|winter|remind me|you (told|recommended|suggested|mentioned)"
    r"|(our|we) (last|previous|earlier|talked|discussed|chat))",
    re.IGNORECASE,
)


def main() -> None:
    """Read the arguments, measure both floors, print them, and write them where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo", type=Path, action="append", default=[])
    parser.add_argument("--longmemeval", type=Path, action="append", default=[])
    parser.add_argument("--write", action="store_true", help="put the floors into the static model's model.json")
    arguments = parser.parse_args()
    sets = [*map(read_locomo, arguments.locomo), *map(read_longmemeval, arguments.longmemeval)]

    embedder = resolve("static")
    embedded = [[Embedded(conversation, embedder) for conversation in each] for each in sets]
    outside = Embedded(Conversation("outside", list(OUTSIDE_REMARKS), list(OUTSIDE_QUESTIONS)), embedder)
    floors = {"noise_floor": noise_floor(embedded, outside), "refusal_floor": refusal_floor(embedded, stems, outside)}
    print(json.dumps(floors))
    if arguments.write:
        ABOUT.write_text(json.dumps({**json.loads(ABOUT.read_text()), **floors}, indent=2) + "\n")


class Embedded:
    """A conversation with the vectors of its turns and questions."""

    def __init__(self, conversation: Conversation, embedder: Embedder) -> None:
        self.source, self.turns, self.questions = conversation.source, conversation.turns, conversation.questions
        self.turn_vectors = embedder.embed_documents(self.turns)
        self.question_vectors = np.stack([embedder.embed_query(text) for text in self.questions])


def noise_floor(sets: Sequence[Sequence[Embedded]], outside: Embedded) -> float:
    """Return the cosine that 98 % of the pairs stay below, and print that of each sample."""
    queries = outside.question_vectors
    every = [conversation for each in sets for conversation in each]
    samples = {"outside x outside": [queries @ outside.turn_vectors.T]}
    samples["outside x turns"] = [queries @ other.turn_vectors.T for other in every]
    for one in sets:
        for other in sets:
            label = f"{one[0].source} x {other[0].source}"
            samples[label] = [a.question_vectors @ b.turn_vectors.T for a in one for b in other if not _shared(a, b)]
    for label, cosines in samples.items():
        pairs = _flat(cosines)
        print(f"noise, {label}: {np.quantile(pairs, NOISE_SHARE):.3f} over {pairs.size:,} pairs")
    pool = _flat(cosine for cosines in samples.values() for cosine in cosines)
    return round(float(np.quantile(pool, NOISE_SHARE)), 3)


def refusal_floor(sets: Sequence[Sequence[Embedded]], analyse: Analyse, outside: Embedded) -> float:
    """Fit on every second conversation of each set, and print what it refuses in the others."""
    fitted = [support(conversation, conversation, analyse) for each in sets for conversation in each[::2]]
    floor = math.floor(float(np.quantile(_flat(fitted), REFUSED_SHARE)) * 1000) / 1000
    print(f"refusal floor {floor:.3f}, fitted on {_flat(fitted).size} questions")
    for one in sets:
        own = _flat([support(conversation, conversation, analyse) for conversation in one[1::2]])
        print(f"  refused of {one[0].source}'s own, held out: {(own < floor).mean():.3f} of {own.size}")
        for other in ([outside], *sets):
            if other is not one:
                foreign = _flat([support(b, a, analyse) for a in one for b in other if not _shared(a, b)])
                print(f"  refused of {other[0].source}, asked of {one[0].source}: {(foreign < floor).mean():.3f}")
    return floor


def support(asked: Embedded, memory: Embedded, analyse: Analyse) -> Floats:
    """Return the best `similarity + 0.5 * coverage` over the memory for each question asked that may be refused."""
    turns = [analyse(text) for text in memory.turns]
    frequency = Counter(term for terms in turns for term in terms)
    similarities = asked.question_vectors @ memory.turn_vectors.T
    best = [
        (row + COVERAGE_WEIGHT * _coverage(analyse(question), turns, frequency)).max()
        for question, row in zip(asked.questions, similarities, strict=True)
        if not _EXEMPT.search(question)
    ]
    return np.array(best, np.float32)


def stems(text: str) -> set[str]:
    """Return the text's stemmed words without stop words: near to what the product indexes."""
    return {_stem(word) for word in _WORD.findall(text.casefold()) if word not in STOP_WORDS}


@cache
def _stem(word: str) -> str:
    return str(_STEMMER.stemWord(word))


_STEMMER = snowballstemmer.stemmer("english")


def _coverage(question: set[str], turns: Sequence[set[str]], frequency: Counter[str]) -> Floats:
    idf = {term: np.log1p((len(turns) - frequency[term] + 0.5) / (frequency[term] + 0.5)) for term in question}
    total = sum(idf.values()) or 1.0
    return np.array([sum(idf[term] for term in question & terms) / total for terms in turns], np.float32)


def _flat(arrays: Iterable[Floats]) -> Floats:
    parts = [array.ravel() for array in arrays]
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def _shared(one: Embedded, other: Embedded) -> bool:
    return bool(set(one.questions) & set(other.questions))


if __name__ == "__main__":
    main()
