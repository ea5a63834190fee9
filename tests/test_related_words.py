"""Who asks about a pet finds the dog: related words, beside their naive twin in numpy."""

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import retentive
from retentive import Collection, ConversationMemory, HashEmbedder

MODEL = Path(retentive.__file__).parent / "models" / "static"
START = datetime(2023, 5, 8, tzinfo=UTC)
ALWAYS = {"limit": None, "token_budget": 10**9, "min_relevance": None, "now": START + timedelta(days=60)}
WORDS = ["pet", "dog", "vet", "doctor", "physician", "concert", "song", "music", "town", "street", "book", "novel"]
"""Words that are their own stems; of the vocabulary only their plurals have the same."""
SEEDS = range(6)


@pytest.fixture(scope="module")
def directions():
    """The static model's vector of each word of its vocabulary, at length 1."""
    vocabulary = json.loads((MODEL / "tokenizer.json").read_text())["model"]["vocab"]
    vectors = np.load(MODEL / "vectors.npy").astype(np.float32)
    words = {word: vectors[row] for word, row in vocabulary.items()}
    return {word: vector / np.linalg.norm(vector) for word, vector in words.items() if vector.any()}


def weight(directions, asked, term):
    """By how much the nearest form of a term is over a cosine of 0.5; 0 where none is."""
    forms = [form for form in (term, f"{term}s", f"{term}'s") if form in directions]
    return max(0.0, *(float(directions[asked] @ directions[form]) - 0.5 for form in forms))


def mm(values):
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def spoken(seed):
    """Facts, which have no neighbours, of one to three of the words."""
    rng = np.random.default_rng(seed)
    texts = [list(rng.choice(WORDS, rng.integers(1, 4), replace=False)) for _ in range(25)]
    return texts, [str(word) for word in rng.choice(WORDS, 2, replace=False)]


def windows(said, query, language="english", **options):
    with Collection("related", embedder=HashEmbedder(16), language=language) as db:
        ids = db.remember_many([{"text": text, "session": "s", **options} for text in said])
        db.memory = ConversationMemory(db)
        scoring = {hit.id: hit.metadata["_vx_scoring"] for hit in db.recall(query, session="s", **ALWAYS)}
        return np.array([scoring[memory]["window"] for memory in ids])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_related_word_counts_by_its_cosine_over_a_half(seed, directions):
    said, asked = spoken(seed)
    n, lengths = len(said), np.array([len(words) for words in said], float)
    score = np.zeros(n)
    for term in asked:
        held = np.array([float(term in words) for words in said])
        near = np.array([max(weight(directions, term, word) for word in words) for words in said])
        df = np.count_nonzero(held)
        tf = np.where(held > 0, held, near)
        idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
        score += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * lengths / lengths.mean()))
    got = windows([" ".join(words) for words in said], " ".join(asked), kind="fact")
    np.testing.assert_allclose(got, 0.4 * mm(score), atol=4e-3)  # a weight is kept in steps of 1/510


def test_the_dog_answers_who_asks_about_a_pet():
    said = ["The dog is asleep", "The invoice is paid", "My pet is asleep", "The train is late"]
    dog, invoice, pet, train = windows(said, "Which pets do I have?", kind="fact")
    assert pet > dog > invoice
    assert invoice == train == 0


def test_the_turn_beside_a_related_word_has_its_share():
    turns = ["The invoice is paid", "Fine", "The dog is asleep", "Good", "See you", "The train is late"]
    got = windows(turns, "pet", timestamp=START)
    assert got[2] > got[3] > got[4] > got[5] == 0
    assert got[1] == pytest.approx(got[3], abs=1e-3)


def test_only_a_language_with_a_table_has_related_words():
    said = ["The dog is asleep", "My pet is asleep"]
    assert windows(said, "pet", language="none", kind="fact")[0] == 0
    assert windows(said, "pet", language="german", kind="fact")[0] == 0


def test_a_plain_search_looks_for_the_words_alone():
    with Collection("plain", embedder=HashEmbedder(16)) as db:
        db.add(["The dog is asleep", "The invoice is paid"])
        assert not db.search("pet", mode="lexical")
        assert db.search("dogs", mode="lexical").texts == ["The dog is asleep"]
