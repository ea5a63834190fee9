"""Nothing relevant is an answer: `min_relevance="auto"`, from two memories to a conversation."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from retentive import Collection

ROOT = Path(__file__).resolve().parent.parent
UNRELATED = (
    "How does the garbage collector of a Java virtual machine choose its generations?",
    "What is the orbital period of Ganymede?",
    "Which isotope is used for radiocarbon dating?",
    "How long is the statute of limitations for breach of contract?",
    "Who succeeded Charlemagne as emperor?",
)


@pytest.fixture
def first_try():
    """What the guide stores first."""
    with Collection("chat") as db:
        db.remember("I'd like the report as a PDF", session="u42", role="user")
        db.remember("Customer is on the annual plan", session="u42", pinned=True)
        yield db


@pytest.fixture(scope="module")
def sixty():
    """The first sixty turns of one session of the demo's conversation."""
    sittings = json.loads((ROOT / "examples" / "conversation.json").read_text(encoding="utf-8"))["sittings"]
    turns = [
        {"text": text, "role": role, "session": "kitchen", "timestamp": datetime.fromisoformat(sitting["at"])}
        for sitting in sittings
        if sitting["session"] == "maya-kitchen"
        for role, text in sitting["turns"]
    ]
    with Collection("chat") as db:
        db.remember_many(turns[:60])
        yield db


@pytest.mark.parametrize("query", ["what format did they want", "Can you send that report over now?"])
def test_first_questions_of_the_guide_are_answered(first_try, query):
    hits = first_try.recall(query, session="u42", token_budget=300)
    assert hits.top.text == "I'd like the report as a PDF"
    assert "PDF" in first_try.context(query, session="u42", recent_turns=0).text


@pytest.mark.parametrize("count", [1, 2, 9])
def test_fewer_than_ten_memories_are_never_refused(count):
    with Collection("chat") as db:
        db.remember_many([{"text": f"I'm allergic to peanuts, said {number} times"} for number in range(count)])
        assert len(db.recall("Which foods should I avoid?")) == count
        assert len(db.recall("What is the orbital period of Ganymede?")) == count


@pytest.mark.parametrize("query", UNRELATED)
def test_unrelated_question_is_refused_by_a_conversation(sixty, query):
    assert not sixty.recall(query, session="kitchen").items
    assert sixty.context(query, session="kitchen", recent_turns=2).retrieved == ()


@pytest.mark.parametrize("query", UNRELATED)
def test_unrelated_question_is_answered_where_nothing_is_to_be_refused(sixty, query):
    assert len(sixty.recall(query, session="kitchen", min_relevance=None)) == 10


@pytest.mark.parametrize(
    "query",
    [
        "how big is the kitchen",
        "who does the wiring",
        "gas or induction",
        "what material is the worktop",
        "my daughter",
    ],
)
def test_own_question_is_answered_by_a_conversation(sixty, query):
    assert sixty.recall(query, session="kitchen").items


@pytest.mark.parametrize(
    "query",
    [
        "Which isotope came up last week?",
        "orbital periods, 2026-03-09",
        "What did you tell me about Charlemagne?",
        "Remind me of the statute of limitations",
    ],
)
def test_question_for_a_date_or_earlier_talk_is_never_refused(sixty, query):
    assert sixty.recall(query, session="kitchen", now=datetime(2026, 3, 15, tzinfo=UTC)).items


def test_same_memory_is_refused_in_a_large_scope_and_answered_in_a_small_one(sixty):
    query = "Who succeeded Charlemagne as emperor?"
    assert not sixty.recall(query).items
    with Collection("chat") as db:
        for memory in sixty.recall(query, limit=2, min_relevance=None):
            db.remember(memory.text)
        assert len(db.recall(query)) == 2


def test_embedder_without_a_floor_never_refuses(memory_db):
    memory_db.remember_many([{"text": f"note {number} about the garden"} for number in range(60)])
    assert memory_db.recall("orbital period of Ganymede").items
