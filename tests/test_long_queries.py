"""Queries of any length: by a stated rule, in proportion to their length, and Ctrl-C is heard."""

import re
import signal
import time

import numpy as np
import pytest

from retentive import CallableEmbedder, Collection, _parts
from retentive.embedders import HashEmbedder, StaticEmbedder

FILLER = "The weather was fine. " * 600
ASKED = "Where did granny hide her ring?"

# What ranking reads in a query: words, terms of several kinds, dates, sentence marks, talk, and none of them.
SHAPES = {
    "distinct words": lambda n: " ".join(f"word{i}" for i in range(n // 9)),
    "one word": lambda n: "q " * (n // 2),
    "one long word": lambda n: "a" * n,
    "one identifier": lambda n: "a.b/" * (n // 4),
    "dates": lambda n: "two weeks before May 2021 " * (n // 26),
    "talk": lambda n: "did " + "the " * (n // 4) + "you",
    "marks": lambda n: "!" * n + "a",
    "closed marks": lambda n: "!)" * (n // 2) + "a",
    "sentences": lambda n: "one. " * (n // 5),
    "characters without spaces": lambda n: "\u4e2d" * (n // 3),
    "blank": lambda n: "a" + " " * n + "b",
}


@pytest.fixture(scope="module")
def static():
    with Collection("static") as db:
        db.remember_many([{"text": f"chat about word{i} and stuff, q you", "session": "s"} for i in range(50)])
        db.remember("My grandmother's ring is beneath the kitchen floorboards.", session="s", id="ring")
        db.recall("warm", session="s")
        yield db


def seconds(call, *arguments, **options):
    """The least of three, of processor time: others' work is not in it."""

    def once():
        start = time.thread_time()
        call(*arguments, **options)
        return time.thread_time() - start

    return min(once() for _ in range(3))


def expect_proportion(ask, make, length):
    """Four times as long takes less than eight times the time: with the square it would be sixteen."""
    for _ in range(3):  # on a machine that does other work too
        short, long = (seconds(ask, make(size), session="s") for size in (length, 4 * length))
        if long < 8 * short + 0.01:
            return
    pytest.fail(f"{short:.3f} s, and {long:.3f} s for four times as much")


@pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("call", ["recall", "context"])
def test_the_time_of_a_query_is_in_proportion_to_its_length(static, call, make):
    expect_proportion(getattr(static, call), make, 30_000)


@pytest.mark.parametrize("shape", ["du ", "a Sie ", "du mir "])
def test_so_it_is_where_a_verb_may_stand_anywhere_behind_its_subject(shape):
    with Collection("german", embedder=HashEmbedder(8), language="german") as db:
        db.remember("du Sie", session="s")
        expect_proportion(db.recall, lambda n: shape * (n // len(shape)), 15_000)


@pytest.mark.parametrize("query", [ASKED + "\n" + FILLER, FILLER + ASKED], ids=["in front", "behind"])
@pytest.mark.parametrize("call", ["recall", "context"])
def test_what_is_asked_before_or_behind_a_long_text_is_found_by_its_meaning(static, query, call):
    options = {"recent_turns": 0} if call == "context" else {}
    found = getattr(static, call)(query, session="s", limit=3, mode="dense", min_relevance=None, **options)
    assert "ring" in [memory.id for memory in (found if call == "recall" else found.retrieved)]


def test_a_long_query_is_looked_for_by_the_tokens_of_its_first_and_its_last_sentence(static):
    """The same as if there were nothing between."""
    plain, long = (f"granny's ring. {filler}Is it hidden?" for filler in ("", FILLER))
    first, second = (
        static.recall(query, session="s", limit=100, mode="dense", min_relevance=None) for query in (plain, long)
    )
    assert first.ids == second.ids
    np.testing.assert_allclose(first.scores, second.scores, atol=0.02)


def test_query_terms_are_asked_for_both_ends_alone_and_stand_where_they_are_in_the_query():
    asked = []

    class Weighted:
        name, dimension, window = "weighted", 256, 64
        embed_documents, embed_query = StaticEmbedder().embed_documents, StaticEmbedder().embed_query

        def query_terms(self, text):
            asked.append(text)
            return StaticEmbedder().query_terms(text)

    with Collection("c", embedder=Weighted()) as db:
        db.remember("anything", session="s")
        db.recall("a short one", session="s")
        db.recall("First of all. " + FILLER + "And last?", session="s")
    assert asked == ["a short one", "First of all. ", "And last?"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")
@pytest.mark.parametrize("embedder", [None, HashEmbedder(8)], ids=["static", "hash"])
@pytest.mark.parametrize("shape", ["distinct words", "one word", "sentences"])
def test_an_interrupt_in_a_query_of_megabytes_is_heard(alarms, embedder, shape):
    class StopError(BaseException):  # as Ctrl-C: an embedder's own exceptions are wrapped
        pass

    def stop(number, frame):
        raise StopError

    query = SHAPES[shape](3_400_000)
    with Collection("c", **({} if embedder is None else {"embedder": embedder})) as db:
        db.remember("word7 q one", session="s")
        db.recall("warm", session="s")
        start = time.perf_counter()
        alarms(0.1, stop, once=True)
        with pytest.raises(StopError):
            db.recall(query, session="s")
        assert time.perf_counter() - start < 4
        assert db.recall("word7", session="s").texts


OLD_SENTENCE = re.compile(r".+?(?:[.!?。！？…]+[\"'”’)\]]*(?=\s)|\n|$)\s*", re.DOTALL)


def test_sentences_are_those_of_one_expression():
    """Which is slow where marks follow marks, and says what a sentence is."""
    draw = np.random.default_rng(1)
    for _ in range(20_000):
        text = "".join(draw.choice(list("a.!?\"' )\n\x0b…。"), draw.integers(0, 14)))
        found = [text[start:end] for start, end in _parts._sentences(text)]
        assert found == [match.group() for match in OLD_SENTENCE.finditer(text)], repr(text)


def test_a_long_text_of_marks_is_stored_in_time_that_grows_with_it():
    with Collection("c", embedder=CallableEmbedder("m", 2, lambda texts: [[1.0, 2.0]] * len(texts), window=16)) as db:
        short, long = (seconds(db.remember, SHAPES["marks"](size)) for size in (50_000, 100_000))
    assert long < 3 * short + 0.05
