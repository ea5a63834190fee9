"""An answer that never ends is read as far as one can be right, and is junk like any other."""

import asyncio
import logging
from collections import UserList

import numpy as np
import pytest

from retentive import (
    Collection,
    ConversationMemory,
    EmbedderError,
    HashEmbedder,
    JudgeError,
    SummarizeError,
)
from retentive.agents import CompositeMemory, Memory, Message

HASH = HashEmbedder(16)

pytestmark = pytest.mark.timeout(60)


class Counted:
    """Gives one thing for ever, and fails the test where too much of it is read."""

    def __init__(self, item, most):
        self.item, self.most, self.read = item, most, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.read += 1
        assert self.read <= self.most, "read on and on"
        return self.item


class Longer(UserList):
    """Has more than it says."""

    def __iter__(self):
        return Counted(self.data[0], 10)


@pytest.fixture
def db():
    with Collection("c", embedder=HASH) as db:
        for number in range(3):
            db.remember(f"the sky is blue {number}", session="s", kind="fact", check=False)
            db.remember(f"turn {number}", session="s")
        yield db


@pytest.mark.parametrize("item", [True, np.True_], ids=["bool", "numpy"])
@pytest.mark.parametrize("asks", ["blocking", "async"])
def test_an_endless_answer_of_a_judge_is_a_failed_one(db, item, asks):
    answer = Counted(item, 4)

    async def judged(text, candidates):
        return answer

    judge = judged if asks == "async" else lambda text, candidates: answer
    db.memory = ConversationMemory(db, judge=judge, on_judge_error="raise")
    fact = {"text": "the sky is green", "session": "s", "kind": "fact"}
    with pytest.raises(JudgeError, match="more than 3 of them, expected 3 bools"):
        asyncio.run(db.aremember(**fact)) if asks == "async" else db.remember(**fact)
    assert answer.read == 4
    db.memory = ConversationMemory(db, judge=lambda text, candidates: Counted(item, 4))
    assert db.get_one(db.remember(**fact)).metadata["_vx_judge"] == "failed"


def test_an_answer_of_a_judge_may_be_an_iterator_that_ends(db):
    db.memory = ConversationMemory(db, judge=lambda text, candidates: (True for _ in candidates))
    new = db.remember("the sky is green", session="s", kind="fact")
    assert len(db.history(new)) > 1


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        (lambda: Counted(0, 4), "more than 3 indexes"),
        (lambda: iter(range(10)), "index 3"),
        (lambda: [0, 1, 2, 0], "more than 3 indexes"),
    ],
    ids=["one", "counting", "list"],
)
def test_more_turns_than_were_shown_are_a_summarize_error(db, turns, says):
    with pytest.raises(SummarizeError, match=says):
        db.consolidate("s", lambda shown: [{"text": "a fact", "turns": turns()}], keep_recent=0)
    assert len(db.turns("s")) == 3


def test_turns_of_a_fact_may_be_an_iterator_that_ends(db):
    report = db.consolidate("s", lambda shown: [{"text": "a fact", "turns": iter(range(3))}], keep_recent=0)
    assert len(report.turn_ids) == 3


def test_a_list_of_facts_that_goes_on_is_a_summarize_error(db):
    with pytest.raises(SummarizeError, match="more than the 2 that it has by its length"):
        db.consolidate("s", lambda shown: Longer(["a fact", "another"]), keep_recent=0)
    assert len(db.turns("s")) == 3


class Raising(UserList):
    def __iter__(self):
        raise self.data[0]


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), StopIteration("x")], ids=lambda error: type(error).__name__)
def test_a_list_of_facts_that_raises_is_a_summarize_error(db, error):
    for answer in (Raising([error]), [{"text": "a fact", "turns": Raising([error])}]):
        with pytest.raises(SummarizeError, match=type(error).__name__) as caught:
            db.consolidate("s", lambda shown, answer=answer: answer, keep_recent=0)
        assert caught.value.__cause__ is error


class Endless(HashEmbedder):
    """Its optional methods never end."""

    def __init__(self, where):
        super().__init__(16)
        if where == "embed_parts":
            self.embed_parts = lambda texts: Counted(np.ones((1, 16), np.float32), len(texts) + 1)
        else:
            self.query_terms = lambda text: (np.ones((2, 16), np.float32), Counted((0, 1), 3))


def test_endless_parts_and_terms_are_embedder_errors():
    with Collection("c", embedder=Endless("embed_parts")) as db, pytest.raises(EmbedderError, match="more than 1"):
        db.remember("hello", session="s")
    with Collection("c", embedder=Endless("query_terms")) as db:
        db.remember("hello", session="s")
        with pytest.raises(EmbedderError, match="more than 2 spans"):
            db.recall("hello", session="s")


class Talking(Memory):
    async def aadd(self, messages, thread_id="default"):
        pass

    async def aget(self, *, thread_id="default", query=None, limit=None):
        return Counted(Message.user("on and on"), 10)

    async def aclear(self, thread_id=None):
        pass


def test_a_member_whose_answer_never_ends_is_left_out(caplog):
    with caplog.at_level(logging.WARNING, "retentive"):
        assert CompositeMemory([Talking()]).get() == []
    assert "InvalidInputError" in caplog.text
