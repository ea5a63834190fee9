"""Reads in lexical mode, which take no similarity."""

import pytest

from retentive import InvalidInputError


@pytest.fixture
def talk(memory_db):
    memory_db.remember_many([{"text": text, "session": "a"} for text in ("apple pie", "plum cake", "good morning")])
    return memory_db


@pytest.mark.parametrize("query", ["zeppelin", "*", "the of and", "NEAR(", "\0"])
def test_lexical_recall_of_words_nobody_said_is_empty(talk, query):
    assert talk.recall(query, session="a", mode="lexical").ids == []
    assert talk.context(query, session="a", mode="lexical", recent_turns=0).text == ""


def test_lexical_recall_without_a_threshold_gives_the_best_there_is(talk):
    assert len(talk.recall("zeppelin", session="a", mode="lexical", min_relevance=None)) == 3


def test_lexical_recall_of_a_word_that_was_said_finds_it(talk):
    assert talk.recall("zeppelin apple", session="a", mode="lexical").top.text == "apple pie"


def test_lexical_recall_by_date_needs_no_word(talk):
    assert talk.recall("what happened today", session="a", mode="lexical").ids


def test_threshold_of_similarity_is_refused_where_none_is_taken(talk):
    with pytest.raises(InvalidInputError, match=r"min_relevance is 0\.5"):
        talk.recall("apple", session="a", mode="lexical", min_relevance=0.5)
    with pytest.raises(InvalidInputError, match=r"min_relevance is 0\.5"):
        talk.context("apple", session="a", mode="lexical", min_relevance=0.5)
    with pytest.raises(InvalidInputError, match=r"max_distance is 0\.5"):
        talk.search("apple", session="a", mode="lexical", max_distance=0.5)
    with pytest.raises(InvalidInputError, match=r"max_distance is 0\.5"):
        talk.search(session="a", max_distance=0.5)


def test_automatic_threshold_is_none_where_no_similarity_is_taken(talk):
    assert talk.search("apple", session="a", mode="lexical", max_distance="auto").texts == ["apple pie"]
    assert len(talk.search(session="a", max_distance="auto")) == 3


def test_lexical_search_with_a_vector_takes_the_distance_from_it(talk, embedder):
    vector = embedder.embed_query("apple pie")
    hits = talk.search("apple plum", session="a", mode="lexical", vector=vector, max_distance=0.1)
    assert hits.texts == ["apple pie"]
