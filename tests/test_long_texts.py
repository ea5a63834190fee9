"""Texts and queries longer than what one vector stands for."""

import pytest

from retentive import CallableEmbedder, Collection
from retentive.tokens import estimate_tokens

FILLER = "The weather was fine. " * 600
LONG = FILLER + "My grandmother's ring is hidden beneath the kitchen floorboards."


@pytest.fixture(scope="module")
def long_talk():
    """The static model over one text of about 3,000 tokens, its point in the last sentence, among short turns."""
    with Collection("long") as db:
        db.remember(LONG, session="a", id="long")
        db.remember_many([{"text": f"chat about thing {i} and stuff", "session": "a"} for i in range(50)])
        yield db


@pytest.mark.parametrize(
    "query", ["where did granny's jewellery get concealed", "which place under the kitchen did we put the ring"]
)
def test_last_sentence_of_a_long_text_is_found_in_other_words(long_talk, query):
    assert "long" in long_talk.recall(query, session="a", limit=3, min_relevance=None).ids
    assert "long" in long_talk.search(query, limit=3, mode="dense").ids


def test_long_text_has_a_vector_a_part(long_talk):
    (stored,) = long_talk.get(["long"], vectors=True)
    assert stored.vector.ndim == 2
    assert len(stored.vector) > 10
    assert stored.text == LONG


def test_query_of_twenty_thousand_tokens_is_answered(long_talk):
    query = "where is grandmother's ring hidden in the kitchen " * 2_500
    assert long_talk.recall(query, session="a", limit=1, min_relevance=None).ids == ["long"]


def test_text_that_fits_the_window_has_one_vector(long_talk):
    with Collection("short") as db:
        stored = db.remember("The weather was fine today. " * 100)
        assert db.get([stored], vectors=True)[0].vector.shape == (256,)


def test_parts_have_the_length_that_the_embedder_asks_for():
    lengths = []

    def fn(texts):
        lengths.extend(estimate_tokens(text) for text in texts)
        return [[1.0, 2.0]] * len(texts)

    with Collection("c", embedder=CallableEmbedder("m", 2, fn, window=400, part_tokens=50)) as db:
        db.remember("One short sentence. " * 60)
        fitting = max(lengths)
        lengths.clear()
        db.remember("One short sentence. " * 200)
    assert fitting > 200
    assert len(lengths) > 10
    assert max(lengths) <= 50
