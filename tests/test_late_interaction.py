"""Late interaction: the words of the best memories, one by one, say whether anything is relevant."""

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retentive import CallableEmbedder, Collection, EmbedderError, HashEmbedder
from retentive.embedders import StaticEmbedder

OUTSIDE = Path(__file__).resolve().parent.parent / "scripts" / "outside_questions.txt"
QUERY = "Who painted the ceiling?"
HASH = HashEmbedder(32)
WORDS = st.lists(st.sampled_from(["dog", "puppy", "the", "kitchen", "unbelievableness", "42", ",", "我"]), max_size=9)


class Late(CallableEmbedder):
    """Tells what it is told to, and remembers what it was asked."""

    def __init__(self, told=0.0, floor=1.5, **options):
        super().__init__("late-32", 32, HASH.embed_documents, **options)
        self.told, self.late_interaction_floor, self.asked = told, floor, []

    def late_interaction(self, query, texts):
        self.asked.append((query, texts))
        return self.told if isinstance(self.told, list) else [self.told] * len(texts)


class AsyncLate(Late):
    """The same behind an await."""

    async def late_interaction(self, query, texts):
        await asyncio.sleep(0)
        return super().late_interaction(query, texts)


def opened(embedder):
    db = Collection("late", embedder=embedder)
    db.remember_many([{"text": f"Note {number} about the garden", "session": "a"} for number in range(20)])
    return db


def naive(query, text):
    """From the formula, of the vectors that `query_terms` tells."""
    asked, held = (StaticEmbedder().query_terms(each)[0].astype(float) for each in (query, text))
    weights = (asked**2).sum(axis=1)
    cosines = (asked @ held.T) / np.sqrt(np.outer(weights, (held**2).sum(axis=1)))
    return float(weights @ cosines.max(axis=1) / weights.sum())


@settings(deadline=None)  # the first example loads the model
@given(WORDS, st.lists(WORDS, max_size=4))
def test_static_model_tells_what_the_formula_says(query, texts):
    query, texts = " ".join(query), [" ".join(text) for text in texts]
    assert StaticEmbedder().late_interaction(query, texts) == pytest.approx(
        [naive(query, text) for text in texts], abs=1e-4
    )


def test_words_of_the_question_count_and_a_shared_name_alone_does_not():
    about, named = StaticEmbedder().late_interaction(
        "Which violin does Caroline play?", ["The violin that Caroline plays is old", "Caroline: see you tomorrow"]
    )
    assert about > 0.7 > 0.3 > named


@pytest.mark.parametrize(("told", "found"), [(0.0, 0), (-1.0, 0), (1.0, 10), ([0.0, 0.0, 0.0, 0.0, 1.0], 10)])
def test_late_interaction_with_the_best_five_decides(told, found):
    embedder = Late(told)
    with opened(embedder) as db:
        assert len(db.recall(QUERY, session="a")) == found
        assert len(db.context(QUERY, session="a", recent_turns=0, excerpt=None).retrieved) == found
    assert [(query, len(texts)) for query, texts in embedder.asked] == [(QUERY, 5)] * 2


def test_a_turn_is_looked_at_with_those_said_before_and_after_it_and_their_speakers():
    embedder = Late()
    said = [{"text": f"Number {number}", "session": "a", "name": "Ada" if number % 2 else None} for number in range(20)]
    with Collection("late", embedder=embedder) as db:
        ids = db.remember_many([*said, {"text": "A fact", "session": "a", "kind": "fact"}])
        db.forget(ids[3])
        db.recall(QUERY, session="a")
    shown = ["A fact", *(("Ada: " if number % 2 else "") + f"Number {number}" for number in range(20) if number != 3)]
    of_turns = [*zip(["", *shown[1:-1]], shown[1:], [*shown[2:], ""], strict=True)]
    windows = [{"A fact"}, *({line for line in window if line} for window in of_turns)]
    ((_, texts),) = embedder.asked
    assert len(texts) == 5
    assert all(set(text.split("\n")) in windows for text in texts)


def test_what_stands_next_to_the_thread_of_another_session_is_not_looked_at():
    embedder = Late()
    with opened(embedder) as db:
        db.remember_many([{"text": f"Private {number}", "session": "b"} for number in range(20)])
        db.recall(QUERY, session="a")
    assert not any("Private" in text for _, texts in embedder.asked for text in texts)


def test_an_answer_is_ranked_as_without():
    with opened(Late(1.0)) as db:
        ids = [[hit.id for hit in db.recall(QUERY, session="a", min_relevance=least)] for least in ("auto", None)]
    assert ids[0] == ids[1]


def test_context_keeps_pinned_and_recent_where_nothing_is_relevant():
    with opened(Late()) as db:
        db.remember("Speaks French", session="a", pinned=True)
        block = db.context(QUERY, session="a", recent_turns=2)
    assert (len(block.pinned), len(block.recent), len(block.retrieved)) == (1, 2, 0)


@pytest.mark.parametrize(
    ("query", "options"),
    [
        (QUERY, {"min_relevance": None}),
        (QUERY, {"min_relevance": -1.0}),
        (QUERY, {"mode": "lexical"}),
        ("What happened last week?", {}),
        ("Note 7 about the garden", {}),
    ],
    ids=["never", "number", "words", "date", "certain"],
)
def test_it_is_asked_only_where_it_decides(query, options):
    embedder = Late()
    with opened(embedder) as db:
        db.recall(query, session="a", now=datetime(2026, 3, 15, tzinfo=UTC), **options)
    assert embedder.asked == []


def test_what_no_late_interaction_could_save_is_refused_without_asking():
    embedder = Late(1.0, floor=9.0)
    with opened(embedder) as db:
        assert not db.recall(QUERY, session="a").items
    assert embedder.asked == []


def test_fewer_than_ten_memories_answer_without_asking():
    embedder = Late()
    with Collection("late", embedder=embedder) as db:
        db.remember_many([{"text": f"Note {number}", "session": "a"} for number in range(9)])
        assert len(db.recall(QUERY, session="a")) == 9
    assert embedder.asked == []


def test_a_measured_floor_is_for_evidence_without_it():
    embedder = Late()
    with opened(embedder) as db:
        measured = db.calibrate([f"note {number} of the garden" for number in range(60)])
        assert measured.refusal_floor is not None
        db.recall(QUERY, session="a")
    assert embedder.asked == []


def test_a_floor_without_late_interaction_and_the_other_way_round_leave_the_old_rule():
    lone = CallableEmbedder("late-32", 32, HASH.embed_documents, refusal_floor=9.0)
    lone.late_interaction_floor = -9.0
    with opened(lone) as db:
        assert not db.recall(QUERY, session="a").items
    unmeasured = Late(1.0, floor=None, refusal_floor=9.0)
    with opened(unmeasured) as db:
        assert not db.recall(QUERY, session="a").items
    assert unmeasured.asked == []


@pytest.mark.parametrize(
    "told",
    [[], [0.5], [2.0] * 5, [float("nan")] * 5, ["x"] * 5, [[0.5]] * 5],
    ids=["none", "count", "large", "nan", "text", "nested"],
)
def test_a_wrong_answer_is_an_error_that_names_the_method(told):
    with opened(Late(told)) as db, pytest.raises(EmbedderError, match=re.escape("late-32.late_interaction")):
        db.recall(QUERY, session="a")


def test_async_late_interaction_is_awaited():
    async def use(told):
        async with Collection("late", embedder=AsyncLate(told)) as db:
            await db.aremember_many([{"text": f"Note {number}", "session": "a"} for number in range(20)])
            return len(await db.arecall(QUERY, session="a")), len((await db.acontext(QUERY, session="a")).retrieved)

    assert asyncio.run(use(0.0)) == (0, 0)
    assert asyncio.run(use(1.0))[0] == 10


def test_other_domains_are_refused_and_own_questions_answered(shared):
    """Whole conversations of LoCoMo, through the public interface; questions of dates count as answered."""
    outside = [line for line in OUTSIDE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    refused = {"own": [], "outside": []}
    for sample in json.loads((shared / "data" / "locomo-dev.json").read_text(encoding="utf-8")):
        said = [turn for session in sample["conversation"].values() if isinstance(session, list) for turn in session]
        captions = [f" [{turn['blip_caption']}]" if turn.get("blip_caption") else "" for turn in said]
        turns = [f"{turn['speaker']}: {turn['text']}{caption}" for turn, caption in zip(said, captions, strict=True)]
        own = [item["question"] for item in sample["qa"] if item["category"] != 5][::4]
        with Collection("talk") as db:
            db.remember_many([{"text": text} for text in turns])
            for kind, questions in (("own", own), ("outside", outside[::2])):
                refused[kind] += [not db.recall(question, limit=1).items for question in questions]
    assert np.mean(refused["outside"]) >= 0.95
    assert np.mean(refused["own"]) <= 0.02
