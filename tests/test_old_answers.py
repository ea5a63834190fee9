"""What recency and feedback can do, and what they cannot: the topic comes first."""

import pytest

from retentive import Collection

NOISE = [
    "the weather is nice",
    "see you tomorrow",
    "thanks a lot",
    "the train is late",
    "my cat sleeps",
    "lunch was good",
    "that song again",
    "the printer is out of paper",
    "call me later",
    "it rained all day",
]


@pytest.fixture
def talk():
    with Collection("talk") as db:  # the default model
        yield db


def test_a_year_old_exact_answer_comes_before_1000_turns_of_noise_a_minute_old(talk):
    talk.remember("My passport number is X1234567", session="s", id="answer", timestamp="2025-11-30")
    talk.remember_many(
        [
            {
                "text": f"{NOISE[i % 10]} {i}",
                "session": "s",
                "timestamp": f"2026-11-30T11:{i // 60 % 60:02}:{i % 60:02}",
            }
            for i in range(1_000)
        ]
    )
    found = talk.recall("what is my passport number", session="s", now="2026-11-30T12:00")
    assert found.top.id == "answer"
    assert "X1234567" in talk.context("what is my passport number", session="s", now="2026-11-30T12:00").text


def test_reading_does_not_lower_or_lift(talk):
    talk.remember("The report is a PDF", session="s", id="pdf")
    talk.remember("The report is a spreadsheet", session="s", id="sheet")
    talk.feedback("pdf", "dead_end", timestamp="2026-11-01")
    first = talk.recall("format of the report", session="s", now="2026-11-02", min_relevance=None)
    for _ in range(50):
        again = talk.recall("format of the report", session="s", now="2026-11-02", min_relevance=None)
    assert (again.ids, again.scores) == (first.ids, first.scores)
    assert len(talk.get_one("pdf").metadata["_vx_feedback"]) == 1


def test_1000_useful_do_not_lift_what_is_off_the_topic_above_it(talk):
    talk.remember_many([{"text": text, "session": "s"} for text in NOISE])
    talk.remember("The invoice of March goes to Lyon", session="s", id="topic")
    off = talk.remember("The dog likes long walks", session="s")
    before = talk.recall("where does the invoice go", session="s", min_relevance=None)
    for _ in range(1_000):
        talk.feedback(off, "useful")
    found = talk.recall("where does the invoice go", session="s", min_relevance=None)
    assert before.top.id == found.top.id == "topic"
    assert talk.context("where does the invoice go", session="s", recent_turns=0).retrieved[0].id == "topic"
