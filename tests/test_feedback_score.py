"""`feedback_score`, on whatever is in the metadata."""

import math

import pytest

from retentive import InvalidInputError, feedback_score

NOW = "2026-01-31"


def test_no_feedback_is_a_plain_zero():
    assert math.copysign(1, feedback_score({}, NOW, 30)) == 1
    assert math.copysign(1, feedback_score({"_vx_feedback": []}, NOW, 30)) == 1


def test_feedback_of_the_future_counts_once(memory_db):
    stored = memory_db.remember("x")
    memory_db.feedback(stored, "useful", timestamp="2099-01-01")
    assert feedback_score(memory_db.get_one(stored).metadata, NOW, 30) == 1


@pytest.mark.parametrize("entries", [5, "useful", {"outcome": "useful"}, [5], [{"outcome": "useful"}], True])
def test_what_is_no_feedback_is_refused(entries):
    with pytest.raises(InvalidInputError):
        feedback_score({"_vx_feedback": entries}, NOW, 30)
