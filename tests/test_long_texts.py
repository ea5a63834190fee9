"""Texts and queries longer than what one vector stands for."""

import pytest

from retentive import Collection

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
