"""A judge settles contradictions on write."""

import logging

import numpy as np
import pytest

from retentive import ConfigurationError, InvalidInputError, JudgeError

ALL = {"min_relevance": None}


class Judge:
    """Says the same to everything, and remembers what it was shown."""

    def __init__(self, verdict=True):
        self.verdict = verdict
        self.shown = []

    def __call__(self, new, candidates):
        self.shown.append((new, sorted(candidates)))
        return [self.verdict] * len(candidates)


@pytest.fixture
def judge(memory_db):
    memory_db.memory.judge = Judge()
    return memory_db.memory.judge


def test_contradiction_is_superseded_and_both_are_in_the_history(memory_db, judge):
    old = memory_db.remember("I love cilantro", session="a", kind="fact")
    new = memory_db.remember("I hate cilantro", session="a", kind="fact")
    assert judge.shown == [("I hate cilantro", ["I love cilantro"])]
    assert memory_db.recall("cilantro", session="a", **ALL).ids == [new]
    assert [r.id for r in memory_db.history(old)] == [old, new]
    assert memory_db.get_one(new).metadata["_vx_judge"] == "ok"


def test_no_keeps_both(memory_db, judge):
    judge.verdict = False
    ids = {memory_db.remember(text, kind="fact") for text in ("I love cilantro", "I also love basil")}
    assert set(memory_db.recall("love", **ALL).ids) == ids


def test_pinned_facts_are_judged_and_candidates(memory_db, judge):
    old = memory_db.remember("I love cilantro", session="a", pinned=True)
    new = memory_db.remember("I hate cilantro", session="a", pinned=True)
    assert [r.id for r in memory_db.context("x", session="a").pinned] == [new]
    assert memory_db.get_one(old).superseded_by == new


def test_turns_are_not_judged_unless_asked_for(memory_db, judge):
    memory_db.remember("I love cilantro", session="a", kind="fact")
    memory_db.remember("I hate cilantro", session="a")
    assert judge.shown == []
    memory_db.remember("I really hate cilantro", session="a", check=True)
    assert [new for new, _ in judge.shown] == ["I really hate cilantro"]


def test_check_false_asks_nobody(memory_db, judge):
    memory_db.remember("I love cilantro", kind="fact")
    memory_db.remember("I hate cilantro", kind="fact", check=False)
    assert judge.shown == []


def test_candidates_are_of_the_same_owner_and_session(memory_db, judge):
    memory_db.remember("likes tea", session="a", kind="fact")
    memory_db.remember("likes tea a lot", session="b", kind="fact")
    memory_db.remember("likes tea too", session="a", user="ann", kind="fact")
    memory_db.remember("likes tea in the evening", user="ben", kind="fact")
    judge.shown.clear()
    memory_db.remember("dislikes tea", session="a", kind="fact")
    assert judge.shown == [("dislikes tea", ["likes tea"])]


def test_fact_without_session_is_judged_against_all_the_user_has(memory_db, judge):
    judge.verdict = False
    memory_db.remember("likes tea", session="a", user="ann", kind="fact")
    memory_db.remember("likes green tea", user="ann", kind="fact")
    judge.shown.clear()
    memory_db.remember("dislikes tea", user="ann", kind="fact")
    assert judge.shown == [("dislikes tea", ["likes green tea", "likes tea"])]


def test_turns_and_the_identical_text_are_no_candidates(memory_db, judge):
    memory_db.remember("likes tea", session="a")
    memory_db.remember("dislikes tea", session="a", kind="fact")
    memory_db.remember("dislikes tea", session="a", kind="fact")
    assert judge.shown == []


def test_superseded_facts_are_no_candidates(memory_db, judge):
    memory_db.remember("likes tea", kind="fact")
    memory_db.remember("dislikes tea", kind="fact")
    memory_db.remember("likes tea after all", kind="fact")
    assert judge.shown[-1] == ("likes tea after all", ["dislikes tea"])


def test_judge_is_shown_the_nearest_candidates_only(memory_db, judge):
    judge.verdict = False
    memory_db.memory.judge_candidates = 2
    for text in ("bananas are yellow", "likes tea", "likes tea a lot", "the sky is blue"):
        memory_db.remember(text, kind="fact", check=False)
    memory_db.remember("likes tea not at all", kind="fact")
    assert judge.shown == [("likes tea not at all", ["likes tea", "likes tea a lot"])]


def bad(new, candidates):
    raise RuntimeError(f"secret {new}")


BAD = [
    bad,
    lambda new, candidates: None,
    lambda new, candidates: True,
    lambda new, candidates: "yes",
    lambda new, candidates: [],
    lambda new, candidates: [True, True, True],
    lambda new, candidates: [1],
    lambda new, candidates: ["true"],
    lambda new, candidates: {candidates[0]: True},
]


@pytest.mark.parametrize("failing", BAD)
def test_failing_judge_loses_nothing(memory_db, failing, caplog):
    old = memory_db.remember("I love cilantro", kind="fact")
    memory_db.memory.judge = failing
    with caplog.at_level(logging.WARNING, logger="retentive"):
        new = memory_db.remember("I hate cilantro", kind="fact")
    assert memory_db.get_one(new).metadata["_vx_judge"] == "failed"
    assert set(memory_db.recall("cilantro", **ALL).ids) == {old, new}
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "cilantro" not in record.getMessage()
    assert new in record.getMessage()


@pytest.mark.parametrize("failing", BAD)
def test_on_judge_error_raise_stores_nothing(memory_db, failing):
    memory_db.remember("I love cilantro", kind="fact")
    memory_db.memory.judge = failing
    memory_db.memory.on_judge_error = "raise"
    with pytest.raises(JudgeError, match="judge") as caught:
        memory_db.remember("I hate cilantro", kind="fact")
    assert isinstance(caught.value.__cause__, RuntimeError) or failing is not bad
    assert memory_db.count() == 1


@pytest.mark.parametrize("verdicts", [(True,), np.array([True]), iter([True])])
def test_verdicts_may_be_any_bools(memory_db, verdicts):
    old = memory_db.remember("I love cilantro", kind="fact")
    memory_db.memory.judge = lambda new, candidates: verdicts
    new = memory_db.remember("I hate cilantro", kind="fact")
    assert memory_db.get_one(old).superseded_by == new


def test_judge_that_is_not_called_leaves_no_mark(memory_db, judge):
    assert "_vx_judge" not in memory_db.get_one(memory_db.remember("first", kind="fact")).metadata


def test_check_true_without_a_judge_is_refused(memory_db):
    with pytest.raises(ConfigurationError, match="judge"):
        memory_db.remember("x", check=True)
    assert memory_db.count() == 0


@pytest.mark.parametrize("check", [1, 0, "yes"])
def test_check_is_a_bool(memory_db, judge, check):
    with pytest.raises(InvalidInputError, match="check"):
        memory_db.remember("x", check=check)


def test_candidate_forgotten_during_the_verdict_is_not_superseded(memory_db):
    old = memory_db.remember("I love cilantro", kind="fact")

    def forgetting(new, candidates):
        memory_db.forget(ids=[old])
        return [True]

    memory_db.memory.judge = forgetting
    new = memory_db.remember("I hate cilantro", kind="fact")
    assert memory_db.get_one(new).supersedes is None
    assert memory_db.count() == 1


def test_corrections_are_not_judged(memory_db, judge):
    memory_db.remember("other", kind="fact", check=False)
    old = memory_db.remember("I love cilantro", kind="fact", check=False)
    memory_db.feedback(old, "corrected", correction="I hate cilantro")
    assert judge.shown == []
