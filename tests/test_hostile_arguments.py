"""Any arguments to any method: an answer or a typed error, never another exception, a panic or a broken collection.

`RETENTIVE_SOAK=1` draws a hundred times as many, `RETENTIVE_SOAK_ARGUMENTS` as many as it says.
"""

import tempfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile_values import (
    arguments,
    called,
    calls,
    drawn,
    junk,
    new_settings,
    numbers,
    outcome,
    strings,
    values,
)
from retentive import ANY, Collection, ConversationMemory, HashEmbedder, InvalidInputError

# A long string that is drawn has a long repr, of which hypothesis warns.
pytestmark = [
    pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning"),
    pytest.mark.usefixtures("in_a_folder_of_its_own"),
]


@st.composite
def options(draw):
    return draw(arguments(OPTIONS, set()))


@pytest.mark.soak
@drawn(200)
@given(calls())
def test_any_arguments_are_answered_or_refused_with_a_typed_error(counted, sequence):
    counted(hostile_calls=len(sequence))
    with Collection("c", embedder=HashEmbedder(16)) as db:
        db.remember_many([{"text": "apple pie", "session": "a", "id": "a", "metadata": {"n": 1}}])
        db.remember("apple pie is good", kind="fact", id="b", key="k")
        for method, given_arguments in sequence:
            called(db, db, method, given_arguments)
        fine = db.remember("fine after all that", session="fine")
        assert db.get_one(fine).text == "fine after all that"
        assert [turn.id for turn in db.turns("fine")][-1] == fine
        assert db.count() == len(db.search(limit=10_000, user=ANY))


@pytest.mark.soak
@drawn(200)
@given(new_settings(), strings)
def test_any_settings_are_taken_or_refused_with_a_typed_error(counted, chosen, text):
    counted(hostile_calls=1)
    with Collection("c", embedder=HashEmbedder(16)) as db:

        def use():
            db.memory = ConversationMemory(db, **chosen)
            db.remember("a fact", kind="fact")
            db.remember(text, session="s")
            db.recall("a fact")
            db.context("a fact", session="s")

        outcome(use)
        assert db.count() == len(db.search(limit=10, user=ANY))


OPTIONS = {
    "path": st.one_of(junk, st.sampled_from(["\0", "\ud800", "", ":memory:", "/dev/null/x", "x" * 300])),
    "embedder": values,
    "token_counter": values,
    "durability": strings,
    "language": strings,
    "cache_mb": numbers,
    "busy_timeout_s": numbers,
    "readonly": numbers,
}


@pytest.mark.soak
@drawn(200)
@given(st.one_of(st.just("c"), values), options())
def test_any_options_open_a_collection_or_are_refused_with_a_typed_error(counted, name, options):
    counted(hostile_calls=1)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.chdir(folder)
        outcome(lambda: Collection(name, **options).close())


HUGE = [("sitting_gap_hours", 1e308), ("recall_min_words", 2**62), ("max_turns", 2**62), ("judge_candidates", 2**62)]


@pytest.mark.parametrize(("setting", "value"), HUGE)
def test_a_setting_beyond_all_bounds_is_taken(memory_db, setting, value):
    setattr(memory_db.memory, setting, value)
    memory_db.memory.judge = lambda new, old: [False] * len(old)
    memory_db.remember("apple pie", kind="fact")
    memory_db.remember("apple pie is good", kind="fact")
    assert len(memory_db.recall("apple pie", min_relevance=None)) == 2


def test_an_age_and_numbers_beyond_all_bounds_are_taken(memory_db):
    memory_db.remember("apple pie", session="s", ttl_days=1e308)
    assert memory_db.forget("s", older_than=1e308) == 0
    assert len(memory_db.recall("pie", "s", limit=2**62, token_budget=2**62, min_relevance=None)) == 1
    assert memory_db.context("pie", "s", 2**62, 2**62, 2**62, excerpt=2**62).recent


CLASSES = [("recall", {"limit": int}), ("recall", {"kinds": [np.array([1, 2])]}), ("recall", {"score_gap": float})]
CLASSES += [("recall", {"min_relevance": np.array([1, 2])}), ("context", {"excerpt": np.array([1, 2])})]
CLASSES += [("remember", {"turn": np.array([1, 2])}), ("remember", {"ttl_days": np.array([1.0, 2.0])})]


@pytest.mark.parametrize(("method", "wrong"), CLASSES, ids=repr)
def test_a_class_or_an_array_where_a_value_is_expected_is_refused(memory_db, method, wrong):
    with pytest.raises(InvalidInputError):
        getattr(memory_db, method)("x", session="s", **wrong)
