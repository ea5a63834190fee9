"""What a fact has of each signal from its turns, and which of both is packed, beside naive twins in numpy."""

import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from retentive import Collection
from retentive.embedders import HashEmbedder
from retentive.tokens import estimate_tokens

TURNS = 30
NOW = datetime(2023, 10, 2, 12, tzinfo=UTC)
WORDS = ["zorb", "plim", "quax", "drov", "fint", "gamb", "jirt", "wost", "kelm", "brux"]
QUERIES = {
    "when did Anna zorb plim": ["anna", "zorb", "plim"],
    "who is Bert quax drov": ["bert", "quax", "drov"],
    "what of zorb fint last week": ["zorb", "fint", "last", "week"],
    "Anna kelm in August 2023": ["anna", "kelm", "august", "2023"],
}
"""With their terms."""
STOP_WORDS = {"in"}
BLENDED = {"relevance", "relevance_norm", "recency", "feedback"}
ALWAYS = {"limit": None, "token_budget": 10**9, "min_relevance": None, "now": NOW, "session": "s"}


class Talk:
    """A conversation, and facts of a turn, of two, and of all of it: with the links to their turns, or without."""

    def __init__(self, seed, linked, longest=12):
        rng = np.random.default_rng(seed)
        self.db = Collection("signals", embedder=HashEmbedder(32))
        self.times, at = [], datetime(2023, 8, 20, 9, tzinfo=UTC)
        for _ in range(TURNS):
            self.times.append(at)
            at += [timedelta(seconds=30), timedelta(minutes=40), timedelta(hours=3), timedelta(days=4)][rng.choice(4)]
        said = [(words(rng, longest), str(rng.choice(["Anna", "Bert"]))) for _ in self.times]
        self.ids = self.db.remember_many(
            {"text": text, "session": "s", "name": name, "timestamp": at}
            for (text, name), at in zip(said, self.times, strict=True)
        )
        self.cited = [[0], [3], [1, 2], list(range(TURNS)), *[[int(turn)] for turn in rng.choice(TURNS, 6)]]
        texts = [words(rng) for _ in self.cited]
        written = [f"{name}: {text}" for text, name in said] + texts
        self.tokens = np.array([estimate_tokens(text) for text in written], float)
        self.terms = [terms(text) for text in written]
        self.asks = np.array([float(text.endswith("?")) for text in written])
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
        """The turns of each sitting."""
        sittings = [[0]]
        for turn in range(1, TURNS):
            if self.times[turn] - self.times[turn - 1] > timedelta(hours=1):
                sittings.append([])
            sittings[-1].append(turn)
        return sittings

    def seats(self):
        """The sittings with each fact where the latest of its turns is."""
        sittings = self.sittings()
        for fact, cited in enumerate(self.cited, TURNS):
            next(rows for rows in sittings if max(cited) in rows).append(fact)
        return sittings

    def steps(self, a, b):
        """How many turns from one to the other; many where they are of two sittings."""
        return abs(a - b) if any(a in rows and b in rows for rows in self.sittings()) else TURNS

    def shares(self):
        """How much of each other's terms memories take."""
        short = np.minimum(1, 40 / self.tokens)
        part = np.zeros((len(short), len(short)))
        for a in range(TURNS):
            for b in range(TURNS):
                part[a, b] = share_at(self.steps(a, b))
            for fact, cited in enumerate(self.cited, TURNS):
                nearest = min(self.steps(a, turn) for turn in cited)
                part[a, fact] = part[fact, a] = share_at(nearest + 1) / len(cited)
        share = part * np.outer(short, short)
        share[share < 0.1] = 0
        np.fill_diagonal(share, 1)
        return share


def share_at(steps):
    return {0: 1, 1: 0.5, 2: 0.25}.get(steps, 0)


def terms(text):
    return [word for word in re.findall(r"\w+", text.lower()) if word not in STOP_WORDS]


def bm25(tf, lengths, n):
    """Of one term, `tf` times in each of n documents."""
    df = np.count_nonzero(tf)
    idf = np.log(1 + (n - df + 0.5) / (df + 0.5))
    return idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * lengths / lengths.mean()))


def words(rng, longest=12):
    more = ["", " yesterday", " in Lisbon", " ok?"][rng.choice(4)]
    return " ".join(str(word) for word in rng.choice(WORDS, rng.integers(2, longest))) + more


def mm(values):
    return (values - values.min()) / (values.max() - values.min())


def near(got, expected):
    np.testing.assert_allclose(got, expected, atol=2e-3)


def with_turns(talk, own, query):
    """The parts with what turns and facts have of each other; `own` are those without links."""

    def lent(values):
        means = [values[cited].mean() for cited in talk.cited]
        return np.concatenate([values[:TURNS], np.maximum(values[TURNS:], means)])

    parts = {name: own[name] for name in ("dense", "lexical", "role")}
    parts.update((name, lent(own[name])) for name in ("named", "date", "cues"))
    lengths, share = np.array([len(terms) for terms in talk.terms], float), talk.shares()
    counts = [np.array([terms.count(term) for terms in talk.terms], float) for term in QUERIES[query]]
    found = sum(bm25(share @ count, share @ lengths, len(lengths)) for count in counts)
    parts["window"] = lent(0.4 * mm(found))

    x = parts["dense"] + parts["lexical"] + parts["window"]
    parts["neighbours"] = lent(neighbours(talk, x))
    x = x + parts["neighbours"]
    seats = talk.seats()
    telling = min(1, (len(seats) - 1) / 10)
    best = np.array([np.sort(x[rows])[-3:].mean() for rows in seats])
    of_seats = np.array([lengths[rows].sum() for rows in seats])
    said = sum(bm25(np.array([count[rows].sum() for rows in seats]), of_seats, len(seats)) for count in counts)
    for name, weight, values in (("sitting", 0.1, best), ("sitting_words", 0.15, said)):
        part = np.zeros(len(x))
        for rows, value in zip(seats, weight * telling * mm(values), strict=True):
            part[rows] = value
        parts[name] = lent(part)
    return parts


def neighbours(talk, x):
    """What those around it lend each; a turn counts by a fact of k turns where that is more, by a k-th of it."""
    heard = x[:TURNS].copy()
    for fact, cited in enumerate(talk.cited, TURNS):
        heard[cited] = np.maximum(heard[cited], x[fact] / len(cited))
    lent = 0.55 * x
    for turn in range(TURNS):
        next_, after, asked = [0.0], [0.0], 0.0
        for other in range(TURNS):
            steps = talk.steps(turn, other)
            next_ += [heard[other]] * (steps == 1)
            after += [heard[other]] * (steps == 2)
            asked += talk.asks[other] * heard[other] * (steps == 1 and other < turn)
        lent[turn] = 0.25 * max(next_) + 0.1 * max(after) + 0.25 * asked
    return np.minimum(1, 80 / talk.tokens) * lent


def leaning(talk, parts):
    """The parts once each fact above the best of its turns has lost 0.2 of the difference, and how many did."""
    total, moved, facts = sum(parts.values()), {name: part.copy() for name, part in parts.items()}, 0
    for fact, cited in enumerate(talk.cited, TURNS):
        best = max(cited, key=lambda turn: total[turn])
        if total[fact] > total[best]:
            facts += 1
            for name, part in parts.items():
                moved[name][fact] = 0.8 * part[fact] + 0.2 * part[best]
    return moved, facts


@pytest.mark.parametrize("seed", range(4))
def test_fact_stands_beside_its_turns_has_what_they_have_and_leans_on_the_best(seed):
    talk, apart, leant = Talk(seed, linked=True), Talk(seed, linked=False), 0
    for query in QUERIES:
        got = talk.parts(query)
        expected, facts = leaning(talk, with_turns(talk, apart.parts(query), query))
        leant += facts
        assert expected.keys() == got.keys() - BLENDED
        for name, part in expected.items():
            near(got[name], part)
    assert 0 < leant < len(QUERIES) * len(talk.cited)


def pooled(talk, parts, budget):
    """The scores of the pool by place, best first."""
    x = sum(part for name, part in parts.items() if name not in BLENDED)
    by_relevance = sorted(range(len(x)), key=lambda row: -x[row])
    filled = 1 + int(np.searchsorted(np.cumsum(talk.tokens[by_relevance]), budget + budget // 2))
    pool = by_relevance[: max(20, filled)]
    scores = dict(zip(pool, mm(x[pool]) + 0.5 * parts["recency"][pool], strict=True))
    return {row: scores[row] for row in sorted(pool, key=lambda row: -scores[row])}


def offered(talk, scores):
    """The pool as it is offered: a turn loses 0.005 for each token that it costs more than its fact."""
    less = dict.fromkeys(scores, 0.0)
    for fact, cited in enumerate(talk.cited, TURNS):
        if all(row in scores for row in [fact, *cited]):
            for turn in cited:
                less[turn] = max(less[turn], 0.005 * (talk.tokens[turn] - talk.tokens[fact]) / len(cited))
    top, *rest = scores
    return [top, *sorted(rest, key=lambda row: less[row] - scores[row])]


def packed(talk, order, budget):
    """What is taken in that order: a fact gives way to its turns, and what does not fit is skipped."""

    def said_once(rows):
        return {row for row in rows if row < TURNS or not rows.issuperset(talk.cited[row - TURNS])}

    kept = set()
    for row in order:
        trial = said_once(kept | {row})
        if row in trial and (row == order[0] or talk.tokens[list(trial)].sum() <= budget):
            kept = trial
    return kept


@pytest.mark.parametrize("seed", range(4))
def test_turn_that_costs_more_than_its_fact_is_offered_later(seed):
    talk, moved = Talk(seed, linked=True, longest=40), 0
    for query in QUERIES:
        parts = talk.parts(query)
        for budget in (100, 200, 300, 400):
            scores = pooled(talk, parts, budget)
            hits = talk.db.recall(query, **{**ALWAYS, "token_budget": budget})
            kept = packed(talk, offered(talk, scores), budget)
            moved += kept != packed(talk, list(scores), budget)
            assert [talk.ids.index(hit.id) for hit in hits] == [row for row in scores if row in kept]
    assert moved
