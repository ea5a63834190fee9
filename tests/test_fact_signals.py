"""What a fact has of each signal from the turns it came from, beside its naive twin in numpy."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from retentive import Collection
from retentive.embedders import HashEmbedder
from retentive.tokens import estimate_tokens

TURNS = 30
NOW = datetime(2023, 10, 2, 12, tzinfo=UTC)
WORDS = ["zorb", "plim", "quax", "drov", "fint", "gamb", "jirt", "wost", "kelm", "brux"]
QUERIES = [
    "when did Anna zorb plim",
    "who is Bert quax drov",
    "what of zorb fint last week",
    "Anna kelm in August 2023",
]
BLENDED = {"relevance", "relevance_norm", "recency", "feedback"}
ALWAYS = {"limit": None, "token_budget": 10**9, "min_relevance": None, "now": NOW, "session": "s"}


class Talk:
    """A conversation, and facts of a turn, of two, and of all of it: with the links to their turns, or without."""

    def __init__(self, seed, linked):
        rng = np.random.default_rng(seed)
        self.db = Collection("signals", embedder=HashEmbedder(32))
        self.times, at = [], datetime(2023, 8, 20, 9, tzinfo=UTC)
        for _ in range(TURNS):
            self.times.append(at)
            at += [timedelta(seconds=30), timedelta(minutes=40), timedelta(hours=3), timedelta(days=4)][rng.choice(4)]
        self.ids = self.db.remember_many(
            {"text": words(rng), "session": "s", "name": str(rng.choice(["Anna", "Bert"])), "timestamp": at}
            for at in self.times
        )
        self.cited = [[0], [3], [1, 2], list(range(TURNS)), *[[int(turn)] for turn in rng.choice(TURNS, 6)]]
        texts = [words(rng) for _ in self.cited]
        self.tokens = np.array([estimate_tokens(text) for text in texts], float)
        self.ids += self.consolidated(texts) if linked else self.apart(texts)

    def consolidated(self, texts):
        facts = [{"text": text, "turns": turns} for text, turns in zip(texts, self.cited, strict=True)]
        return self.db.consolidate(
            "s", lambda turns: facts, keep_recent=0, batch_turns=TURNS, delete=False, now=NOW
        ).fact_ids

    def apart(self, texts):
        return self.db.remember_many(
            {"text": text, "kind": "fact", "session": "s", "timestamp": self.times[max(turns)]}
            for text, turns in zip(texts, self.cited, strict=True)
        )

    def parts(self, query):
        """The weighted parts of the turns, then of the facts: they are asked for alone, else they give way to turns."""
        scoring = {}
        for kind in ("turn", "fact"):
            for hit in self.db.recall(query, kinds=(kind,), **ALWAYS):
                scoring[hit.id] = hit.metadata["_vx_scoring"]
        return {name: np.array([scoring[memory][name] for memory in self.ids]) for name in scoring[self.ids[0]]}

    def sittings(self):
        sittings = [[0]]
        for turn in range(1, TURNS):
            if self.times[turn] - self.times[turn - 1] > timedelta(hours=1):
                sittings.append([])
            sittings[-1].append(turn)
        return sittings + [[TURNS + fact] for fact in range(len(self.cited))]


def words(rng):
    more = ["", " yesterday", " in Lisbon", " ok?"][rng.choice(4)]
    return " ".join(str(word) for word in rng.choice(WORDS, rng.integers(2, 12))) + more


def mm(values):
    return (values - values.min()) / (values.max() - values.min())


def near(got, expected):
    np.testing.assert_allclose(got, expected, atol=2e-3)


def with_turns(talk, own, turns):
    """The parts with what turns lend their facts: `own` are those without links, `turns` those of turns with them."""

    def lent(name, of_fact):
        mean = np.array([turns[name][cited].mean() for cited in talk.cited])
        return np.concatenate([turns[name], np.maximum(of_fact, mean)])

    parts = {name: np.concatenate([turns[name], own[name][TURNS:]]) for name in ("dense", "lexical", "role")}
    for name in ("window", "sitting_words", "named", "date", "cues"):
        parts[name] = lent(name, own[name][TURNS:])
    x = parts["dense"] + parts["lexical"] + parts["window"]
    parts["neighbours"] = lent("neighbours", 0.55 * np.minimum(1, 80 / talk.tokens) * x[TURNS:])

    x += parts["neighbours"]
    best = np.zeros(len(x))
    for rows in talk.sittings():
        best[rows] = np.sort(x[rows])[-3:].mean()
    alone = 0.1 * min(1, (len(talk.sittings()) - 1) / 10) * mm(best)
    near(turns["sitting"], alone[:TURNS])
    parts["sitting"] = lent("sitting", alone[TURNS:])
    return parts


def leaning(talk, parts):
    """The parts once each fact above the best of its turns has lost 0.3 of the difference, and how many did."""
    total, moved, facts = sum(parts.values()), {name: part.copy() for name, part in parts.items()}, 0
    for fact, cited in enumerate(talk.cited, TURNS):
        best = max(cited, key=lambda turn: total[turn])
        if total[fact] > total[best]:
            facts += 1
            for name, part in parts.items():
                moved[name][fact] = 0.7 * part[fact] + 0.3 * part[best]
    return moved, facts


@pytest.mark.parametrize("seed", range(4))
def test_fact_has_the_larger_of_its_own_and_the_mean_of_its_turns_and_leans_on_the_best(seed):
    talk, apart, leant = Talk(seed, linked=True), Talk(seed, linked=False), 0
    for query in QUERIES:
        got, own = talk.parts(query), apart.parts(query)
        turns = {name: part[:TURNS] for name, part in got.items() if name not in BLENDED}
        for name in turns.keys() - {"neighbours", "sitting"}:
            near(turns[name], own[name][:TURNS])
        expected, facts = leaning(talk, with_turns(talk, own, turns))
        leant += facts
        for name, part in expected.items():
            near(got[name], part)
    assert 0 < leant < len(QUERIES) * len(talk.cited)
