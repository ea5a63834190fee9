"""Each signal beside its naive twin in numpy, from the formula of the design, over small random conversations."""

import functools
import math
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from retentive import Collection, ConversationMemory
from retentive.embedders import HashEmbedder
from retentive.tokens import estimate_tokens

SEEDS = range(8)
DIMENSION = 24
NOW = datetime(2023, 10, 2, 12, tzinfo=UTC)
WORDS = ["zorb", "plim", "quax", "drov", "fint", "gamb", "jirt", "wost", "kelm", "brux", "nolt", "vask"]
NAMES = ["Anna", "Bert"]
ALWAYS = {"limit": None, "token_budget": 10**9, "min_relevance": None, "now": NOW}
"""Every memory comes back."""


def back(days):
    return lambda said: (said - timedelta(days),) * 2


def week_before(said):
    monday = said - timedelta(said.weekday() + 7)
    return monday, monday + timedelta(6)


def three_weeks_ago(said):
    return said - timedelta(24), said - timedelta(18)


# What is said, its terms, and the days that it means.
TIMES = [
    ("yesterday", ["yesterday"], back(1)),
    ("on 8 September 2023", ["8", "september", "2023"], lambda _: (date(2023, 9, 8),) * 2),
    ("in August 2023", ["august", "2023"], lambda _: (date(2023, 8, 1), date(2023, 8, 31))),
    ("last week", ["last", "week"], week_before),
    ("three weeks ago", ["three", "week", "ago"], three_weeks_ago),
    ("for two years", ["two", "year"], None),
]


@dataclass
class Memory:
    """One memory, with what the formulas need to know of it."""

    text: str
    terms: list[str]
    at: datetime
    kind: str
    role: str
    name: str | None
    asked: float
    names_proper: bool = False
    names_time: bool = False
    periods: list[tuple[date, date]] = field(default_factory=list)

    @property
    def tokens(self):
        return estimate_tokens(f"{self.name}: {self.text}" if self.name else self.text)


def sentence(rng, at):
    """A sentence, its terms, and what it marks."""
    longest = 60 if rng.random() < 0.2 else 9
    words = [str(word) for word in rng.choice(WORDS, rng.integers(1, longest))]
    terms, marks = list(words), {}
    words[0] = words[0].capitalize()
    if rng.random() < 0.3:
        words.append("Lisbon")
        terms.append("lisbon")
        marks["names_proper"] = True
    if rng.random() < 0.4:
        phrase, more, period = TIMES[rng.integers(len(TIMES))]
        words.append(phrase)
        terms += more
        marks["names_time"] = True
        marks["periods"] = [period(at.date())] if period else []
    return " ".join(words) + ("?" if rng.random() < 0.4 else "."), terms, marks


def memory(rng, at):
    sentences = [sentence(rng, at) for _ in range(rng.integers(1, 4))]
    texts = [text for text, _, _ in sentences]
    marks = [mark for _, _, mark in sentences]
    size = [len(text.replace(" ", "")) for text in texts]
    asked = sum(count for text, count in zip(texts, size, strict=True) if text.endswith("?")) / sum(size)
    name = [None, *NAMES][rng.integers(3)]
    return Memory(
        text=" ".join(texts),
        terms=([name.lower()] if name else []) + [term for _, terms, _ in sentences for term in terms],
        at=at,
        kind="fact" if rng.random() < 0.15 else "turn",
        role=str(rng.choice(["user", "assistant"])),
        name=name,
        asked=asked,
        names_proper=any("names_proper" in mark for mark in marks),
        names_time=any("names_time" in mark for mark in marks),
        periods=[period for mark in marks for period in mark.get("periods", [])],
    )


class GivenVectors:
    """Random vectors, remembered by text."""

    dimension = DIMENSION
    name = "given"

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self.vectors = {}

    def embed_query(self, text):
        if text not in self.vectors:
            self.vectors[text] = self._rng.normal(size=self.dimension).astype(np.float32)
        return self.vectors[text]

    def embed_documents(self, texts):
        return np.stack([self.embed_query(text) for text in texts])


class GivenTokens(GivenVectors):
    """A query is the mean of its words' vectors."""

    name = "given tokens"

    def query_terms(self, text):
        spans, at = [], 0
        for word in text.split(" "):
            spans.append((at, at + len(word)))
            at += len(word) + 1
        return np.stack([super(GivenTokens, self).embed_query(text[start:end]) for start, end in spans]), spans

    def embed_query(self, text):
        return self.query_terms(text)[0].mean(axis=0)

    def embed_documents(self, texts):
        return np.stack([super(GivenTokens, self).embed_query(text) for text in texts])


class Scope:
    """A stored conversation and its twin."""

    def __init__(self, seed, embedder=None, **options):
        rng = np.random.default_rng(seed)
        self.embedder = embedder or GivenVectors(seed)
        self.memories, at = [], datetime(2023, 8, 20, 9, tzinfo=UTC)
        for _ in range(40):
            self.memories.append(memory(rng, at))
            at += [timedelta(seconds=30), timedelta(minutes=40), timedelta(hours=3), timedelta(days=6)][
                rng.choice(4, p=[0.5, 0.2, 0.15, 0.15])
            ]
        self.db = Collection("signals", embedder=self.embedder, **options)
        items = [
            {"text": m.text, "kind": m.kind, "role": m.role, "name": m.name, "timestamp": m.at, "session": "s"}
            for m in self.memories
        ]
        self.ids = self.db.remember_many(items)
        self.tokens = np.array([m.tokens for m in self.memories], float)
        self.is_fact = np.array([m.kind == "fact" for m in self.memories])
        self.sittings = self._sittings()
        self.telling = min(1, (len(self.sittings) - 1) / 10)

    def _sittings(self):
        """Rows of each sitting in order; a fact is one of its own."""
        sittings, last = [], None
        for row, m in enumerate(self.memories):
            if m.kind == "fact":
                continue
            if last is None or m.at - self.memories[last].at > timedelta(hours=1):
                sittings.append([])
            sittings[-1].append(row)
            last = row
        return sittings + [[int(row)] for row in np.flatnonzero(self.is_fact)]

    def around(self, row, offset):
        """The row so many places away in the sitting, or None."""
        sitting = next(rows for rows in self.sittings if row in rows)
        at = sitting.index(row) + offset
        return sitting[at] if 0 <= at < len(sitting) and not self.is_fact[row] else None

    def recall(self, query, signals=None, **options):
        """The weighted parts by signal, one value a row."""
        self.db.memory = ConversationMemory(self.db, signals=signals)
        hits = self.db.recall(query, session="s", **ALWAYS, **options)
        assert len(hits) == len(self.ids)
        scoring = {hit.id: hit.metadata["_vx_scoring"] for hit in hits}
        return {name: np.array([scoring[memory][name] for memory in self.ids]) for name in scoring[self.ids[0]]}

    def cosine(self, vector):
        stored = self.embedder.embed_documents([f"{m.name}: {m.text}" if m.name else m.text for m in self.memories])
        return stored @ vector / np.linalg.norm(stored, axis=1) / np.linalg.norm(vector)


@functools.cache
def scope(seed):
    return Scope(seed)


def queries(seed):
    """What is asked, and its terms."""
    rng = np.random.default_rng(1000 + seed)
    words = [str(word) for word in rng.choice(WORDS, 3)]
    asked = ["when", "who", "what"][seed % 3]
    named = ["Anna", "Bert and Anna", ""][seed % 3]
    terms = words + [word.lower() for word in named.split() if word in NAMES]
    return " ".join([asked, *words, *named.split()]), terms


def mm(values):
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def bm25(documents, lengths, terms):
    """`documents`: how often each term occurs, by term; a term said twice counts twice."""
    n, mean = len(lengths), lengths.mean()
    score = np.zeros(n)
    for term in terms:
        tf = documents(term)
        df = np.count_nonzero(tf)
        idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
        score += idf * tf * (1.2 + 1) / (tf + 1.2 * (1 - 0.75 + 0.75 * lengths / mean))
    return score


def counts(scope, term):
    return np.array([m.terms.count(term) for m in scope.memories], float)


def lengths(scope):
    return np.array([len(m.terms) for m in scope.memories], float)


def near(got, expected, tolerance=1e-3):
    np.testing.assert_allclose(got, expected, atol=tolerance)


def all_seeds(test):
    return pytest.mark.parametrize("seed", SEEDS)(test)


@all_seeds
def test_dense_is_the_scaled_cosine(seed):
    query, _ = queries(seed)
    got = scope(seed).recall(query)
    near(got["dense"], 0.5 * mm(scope(seed).cosine(scope(seed).embedder.embed_query(query))), 0.02)  # int8 codes


@all_seeds
def test_dense_weights_the_tokens_by_how_rare_their_terms_are(seed):
    s = Scope(seed, GivenTokens(seed))
    query, terms = queries(seed)
    vectors, spans = s.embedder.query_terms(query)
    n = len(s.memories)
    weights = []
    for start, end in spans:
        word = query[start:end].lower()
        df = np.count_nonzero(counts(s, word)) if word in terms else n  # a stop word
        weights.append(math.log(1 + n / (1 + df)))
    got = s.recall(query)
    near(got["dense"], 0.5 * mm(s.cosine(np.array(weights) @ vectors)), 0.03)
    near(got["relevance"], s.cosine(s.embedder.embed_query(query)), 1e-4)  # what is shown stays the plain cosine


@all_seeds
def test_lexical_is_bm25(seed):
    s = scope(seed)
    query, terms = queries(seed)
    got = s.recall(query, signals={"lexical": 0.2})
    near(got["lexical"], 0.2 * mm(bm25(lambda term: counts(s, term), lengths(s), terms)))


@all_seeds
def test_window_is_bm25_of_a_turn_with_its_neighbours(seed):
    s = scope(seed)
    query, terms = queries(seed)
    n = len(s.memories)
    short = np.minimum(1, 40 / s.tokens)
    share = np.eye(n)
    for row in range(n):
        for offset, part in ((-2, 0.25), (-1, 0.5), (1, 0.5), (2, 0.25)):
            other = s.around(row, offset)
            if other is not None and part * short[row] * short[other] >= 0.1:
                share[row, other] = part * short[row] * short[other]
    expected = bm25(lambda term: share @ counts(s, term), share @ lengths(s), terms)
    near(s.recall(query)["window"], 0.4 * mm(expected))


@all_seeds
def test_neighbours_lend_and_a_question_lends_to_its_answer(seed):
    s = scope(seed)
    got = s.recall(queries(seed)[0])
    x = got["dense"] + got["lexical"] + got["window"]

    def at(row, offset):
        other = s.around(row, offset)
        return 0.0 if other is None else x[other]

    expected = np.zeros(len(x))
    for row in range(len(x)):
        if s.is_fact[row]:
            expected[row] = 0.55 * x[row]
        else:
            before = s.around(row, -1)
            asked = 0.0 if before is None else s.memories[before].asked
            expected[row] = (
                0.25 * max(at(row, -1), at(row, 1)) + 0.1 * max(at(row, -2), at(row, 2)) + 0.25 * asked * at(row, -1)
            )
    near(got["neighbours"], np.minimum(1, 80 / s.tokens) * expected, 2e-3)  # the share is stored as a byte


@all_seeds
def test_sitting_is_the_mean_of_its_three_best(seed):
    s = scope(seed)
    got = s.recall(queries(seed)[0])
    x = got["dense"] + got["lexical"] + got["window"] + got["neighbours"]
    expected = np.zeros(len(x))
    for rows in s.sittings:
        expected[rows] = np.sort(x[rows])[-3:].mean()
    near(got["sitting"], 0.1 * s.telling * mm(expected))


@all_seeds
def test_sitting_words_are_bm25_of_the_sitting_as_one_document(seed):
    s = scope(seed)
    query, terms = queries(seed)

    def summed(values):
        return np.array([values[rows].sum() for rows in s.sittings])

    of_sittings = bm25(lambda term: summed(counts(s, term)), summed(lengths(s)), terms)
    expected = np.zeros(len(s.memories))
    for rows, score in zip(s.sittings, of_sittings, strict=True):
        expected[rows] = score
    near(s.recall(query)["sitting_words"], 0.15 * s.telling * mm(expected))


@all_seeds
def test_role_is_the_users_own_words(seed):
    s = scope(seed)
    own = np.array([m.role == "user" or m.kind == "fact" for m in s.memories])
    near(s.recall(queries(seed)[0])["role"], 0.4 * own)
    near(s.recall("what zorb did you recommend")["role"], 0 * own)


@all_seeds
def test_named_is_the_one_speaker_whom_the_query_names(seed):
    s = scope(seed)
    by = {name: np.array([m.name == name for m in s.memories]) for name in NAMES}
    near(s.recall("what did Anna zorb")["named"], 0.3 * by["Anna"])
    near(s.recall("bert's zorb")["named"], 0.3 * by["Bert"])
    near(s.recall("what did Anna and Bert zorb")["named"], 0 * by["Anna"])
    near(s.recall("what zorb")["named"], 0 * by["Anna"])


# What the query names, and how much a memory counts that was said then.
ASKED = [
    ("zorb on 8 September 2023", (date(2023, 9, 8),) * 2, 1.0),
    ("zorb the week before 2023-09-20", (date(2023, 9, 13), date(2023, 9, 19)), 1.0),
    ("zorb in September 2023", (date(2023, 9, 1), date(2023, 9, 30)), 0.5),
    ("zorb in 2023", (date(2023, 1, 1), date(2023, 12, 31)), 0.3),
    ("zorb last month", (date(2023, 9, 1), date(2023, 9, 30)), 0.5),
    ("zorb last year", (date(2022, 1, 1), date(2022, 12, 31)), 0.3),
]


def level(days):
    return 1.0 if days <= 10 else 0.5 if days <= 100 else 0.3


@all_seeds
@pytest.mark.parametrize(("query", "period", "within"), ASKED)
def test_date_is_what_was_said_then_or_speaks_of_it(seed, query, period, within):
    s = scope(seed)
    first, last = period
    expected = []
    for m in s.memories:
        said, after = m.at.date(), (m.at.date() - last).days
        value = 0.0
        if first <= said <= last:
            value = within
        elif within == 1.0 and 1 <= after <= 7:
            value = 0.75 - 0.25 * (after - 1) / 6
        for start, end in m.periods:
            if start <= last and first <= end:
                value = max(value, 1.3 * min(within, level((end - start).days + 1)))
        expected.append(value)
    near(s.recall(query)["date"], 0.6 * np.array(expected))


@all_seeds
def test_cues_are_a_time_for_when_a_name_for_who_and_not_only_a_question(seed):
    s = scope(seed)
    only_asks = np.array([m.asked == 1 for m in s.memories]) & (s.tokens <= 40)
    times = np.array([m.names_time for m in s.memories])
    names = np.array([m.names_proper for m in s.memories])
    near(s.recall("when did zorb plim")["cues"], 0.15 * times - 0.1 * only_asks)
    for asked in ("who", "which", "where"):
        near(s.recall(f"{asked} did zorb plim")["cues"], 0.2 * names - 0.1 * only_asks)
    near(s.recall("what did zorb plim when they came")["cues"], -0.1 * only_asks)


@all_seeds
def test_relevance_is_the_sum_of_the_signals_scaled_over_the_pool(seed):
    s = scope(seed)
    got = s.recall(queries(seed)[0] + " on 8 September 2023")
    signals = [name for name in got if name not in {"relevance", "relevance_norm", "recency", "feedback"}]
    assert signals == [
        *("dense", "lexical", "window", "neighbours", "sitting", "sitting_words", "role", "named", "date", "cues"),
    ]
    near(got["relevance_norm"], mm(sum(got[name] for name in signals)))


@pytest.mark.parametrize(
    "name", ["dense", "lexical", "window", "neighbours", "sitting", "sitting_words", "role", "named", "date", "cues"]
)
def test_a_weight_of_zero_switches_a_signal_off(name):
    s, query = scope(1), "when did Anna zorb plim on 8 September 2023"
    assert np.any(s.recall(query, signals={name: 0.3})[name])
    off = s.recall(query, signals={name: 0})
    assert not np.any(off[name])
    assert all(np.any(off[other]) for other in ("dense", "role") if other != name)


@pytest.mark.parametrize(
    ("mode", "silent"), [("dense", {"lexical", "window", "sitting_words"}), ("lexical", {"dense"})]
)
def test_a_mode_silences_the_signals_of_the_other(mode, silent):
    got = scope(0).recall("what zorb plim", signals={"lexical": 0.2}, mode=mode)
    words = {"dense", "lexical", "window", "sitting_words"}
    assert {name for name in words if not np.any(got[name])} == silent


def test_the_cosine_weighs_what_its_embedder_says_and_words_the_same_beside_each():
    embedder = GivenVectors(3)
    embedder.dense_weight = 0.7
    strong, weak = Scope(3, embedder), scope(3)
    query, _ = queries(3)
    got, beside = strong.recall(query), weak.recall(query)
    near(got["dense"], beside["dense"] * 0.7 / 0.5, 0.02)
    near(got["window"], beside["window"])


def test_without_words_of_its_language_what_needs_them_is_silent():
    s = Scope(2, language="finnish")
    got = s.recall("when did zorb plim yesterday, as you recommended")
    assert not np.any(got["date"])
    assert np.all(got["cues"] <= 0)
    assert np.any(got["role"])
    assert np.any(s.recall("zorb 2023-09-08")["date"])


@pytest.mark.parametrize(
    "query",
    [
        "what discount did you offer me?",
        "Can you remind me which hotel it was",
        "the recipe you gave me last week",
        "which exercises had you suggested for my back",
        "In our last chat we spoke about a museum",
        "what was your advice on the contract",
        "How many steps did you list?",
        "the name of the dentist you mentioned",
    ],
)
def test_questions_for_what_the_assistant_said_lift_nobodys_words(query):
    assert not np.any(scope(0).recall(query)["role"])


@pytest.mark.parametrize(
    "query",
    [
        "what did I tell you about my dog",
        "can you recommend a hotel",
        "remind me to call mum",
        "what do you think I should cook",
        "where did we go in spring",
        "what did Anna recommend",
    ],
)
def test_other_questions_lift_the_users_words(query):
    assert np.any(scope(0).recall(query)["role"])


def test_facts_are_not_buried_under_turns():
    with Collection("facts", embedder=HashEmbedder(64)) as db:
        db.remember("the red kettle leaks", kind="fact", session="s", timestamp=NOW)
        for n in range(6):
            db.remember(
                f"the red kettle leaks {n}", role="assistant", session="s", timestamp=NOW + timedelta(seconds=n)
            )
        assert (
            db.recall("red kettle leaks", session="s", limit=1, min_relevance=None).top.text == "the red kettle leaks"
        )
