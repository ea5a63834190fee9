"""How a memory turned out."""

from datetime import UTC, datetime

import pytest

from retentive import OUTCOMES, InvalidInputError, NotFoundError, feedback_score

ALL = {"min_relevance": None}


def test_outcomes_are_the_three():
    assert OUTCOMES == ("useful", "dead_end", "corrected")


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_feedback_is_kept_with_its_time(memory_db, outcome):
    stored = memory_db.remember("x", session="a")
    assert memory_db.feedback(stored, outcome, timestamp="2026-05-01T12:00:00+02:00") is None
    assert memory_db.get_one(stored).metadata["_vx_feedback"] == [
        {"outcome": outcome, "ts": "2026-05-01T10:00:00+00:00"}
    ]


def test_useful_lifts_and_dead_end_lowers(memory_db):
    ids = [memory_db.remember("the plan is annual", kind="fact", timestamp="2026-01-01") for _ in range(3)]
    memory_db.feedback(ids[0], "useful")
    memory_db.feedback(ids[2], "dead_end")
    assert memory_db.recall("annual plan", **ALL).ids == ids
    parts = [r.metadata["_vx_scoring"]["feedback"] for r in memory_db.recall("annual plan", **ALL)]
    assert parts[0] > 0 == parts[1] > parts[2]


def test_feedback_is_bounded(memory_db):
    good = memory_db.remember("the plan is annual", kind="fact")
    off_topic = memory_db.remember("bananas are yellow fruit", kind="fact")
    for _ in range(100):
        memory_db.feedback(off_topic, "useful")
    assert memory_db.recall("the plan is annual", **ALL).ids[0] == good


def test_corrected_without_text_only_lowers(memory_db):
    stored = memory_db.remember("x", kind="fact")
    assert memory_db.feedback(stored, "corrected") is None
    assert memory_db.get_one(stored).superseded_by is None
    assert memory_db.count() == 1


@pytest.mark.parametrize("kind", ["fact", "pinned"])
def test_correction_supersedes_and_keeps_the_kind(memory_db, kind):
    old = memory_db.remember("The office is in Lyon", session="a", user="ann", kind=kind, key="office")
    new = memory_db.feedback(old, "corrected", correction="The office is in Paris")
    result = memory_db.get_one(new)
    assert (result.text, result.kind, result.session, result.user, result.key) == (
        "The office is in Paris",
        kind,
        "a",
        "ann",
        "office",
    )
    assert (result.supersedes, memory_db.get_one(old).superseded_by) == (old, new)
    assert result.metadata["_vx_supersedes"] == old
    assert memory_db.get_one(old).metadata["_vx_superseded_by"] == new
    assert memory_db.fact("office", user="ann").id == new


def test_correction_of_a_turn_is_a_fact_and_the_turn_stays(memory_db):
    turn = memory_db.remember("I live in Lyon", session="a")
    new = memory_db.feedback(turn, "corrected", correction="Lives in Paris")
    assert memory_db.get_one(new).kind == "fact"
    assert [(r.id, r.superseded_by) for r in memory_db.turns("a")] == [(turn, new)]
    assert memory_db.recall("lives in", session="a", **ALL).ids == [new]


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_what_was_superseded_takes_up_no_place(memory_db, mode):
    query = "apple pie recipe with butter"
    old = memory_db.remember(query, session="a", kind="fact")
    live = memory_db.remember("apple pie", session="a")
    new = memory_db.feedback(old, "corrected", correction="the recipe was lost")
    for found in (
        memory_db.recall(query, session="a", limit=1, mode=mode, exclude_ids=[new], **ALL),
        memory_db.search(query, limit=1, mode=mode, filter={"_vx_supersedes": {"$exists": False}}),
    ):
        assert found.ids == [live]


def test_new_wording_is_found_and_the_old_is_not(memory_db):
    old = memory_db.remember("The office is in Lyon", kind="fact")
    new = memory_db.feedback(old, "corrected", correction="Headquarters moved to Paris")
    for query in ("office in Lyon", "headquarters Paris"):
        assert memory_db.recall(query, **ALL).ids == [new]
        assert memory_db.search(query).ids == [new]
    assert [r.id for r in memory_db.history(old)] == [r.id for r in memory_db.history(new)] == [old, new]


def test_chain_of_five_shows_only_its_tip(memory_db):
    ids = [memory_db.remember("value 0", kind="fact")]
    for i in range(1, 5):
        ids.append(memory_db.feedback(ids[-1], "corrected", correction=f"value {i}"))
    assert memory_db.recall("value", **ALL).ids == [ids[-1]]
    for stored in ids:
        assert [r.id for r in memory_db.history(stored)] == ids


def test_correction_of_a_superseded_memory_moves_the_tip(memory_db):
    first = memory_db.remember("value 0", kind="fact")
    second = memory_db.feedback(first, "corrected", correction="value 1")
    third = memory_db.feedback(first, "corrected", correction="value 2")
    assert [r.id for r in memory_db.history(first)] == [first, second, third]
    assert memory_db.recall("value", **ALL).ids == [third]


def test_correction_back_to_the_first_text_is_no_cycle(memory_db):
    first = memory_db.remember("A", kind="fact")
    second = memory_db.feedback(first, "corrected", correction="B")
    third = memory_db.feedback(second, "corrected", correction="A")
    assert len({first, second, third}) == 3
    assert [r.text for r in memory_db.history(second)] == ["A", "B", "A"]


@pytest.mark.parametrize("correction", [None, "something"])
def test_unknown_id_is_not_found(memory_db, correction):
    with pytest.raises(NotFoundError) as caught:
        memory_db.feedback("mem_nothing", "corrected", correction=correction)
    assert caught.value.id == "mem_nothing"
    assert memory_db.count() == 0


def test_forgotten_id_is_not_found(memory_db):
    stored = memory_db.remember("x", kind="fact")
    memory_db.forget(ids=[stored])
    with pytest.raises(NotFoundError):
        memory_db.feedback(stored, "useful")


@pytest.mark.parametrize("outcome", ["good", "", None, 1, "USEFUL"])
def test_unknown_outcome_is_refused(memory_db, outcome):
    stored = memory_db.remember("x")
    with pytest.raises(InvalidInputError, match="outcome"):
        memory_db.feedback(stored, outcome)
    assert "_vx_feedback" not in memory_db.get_one(stored).metadata


@pytest.mark.parametrize("outcome", ["useful", "dead_end"])
def test_correction_comes_only_with_corrected(memory_db, outcome):
    stored = memory_db.remember("x")
    with pytest.raises(InvalidInputError, match="corrected"):
        memory_db.feedback(stored, outcome, correction="y")


@pytest.mark.parametrize("correction", ["", "  ", 3, "\ud800"])
def test_bad_correction_is_refused_and_nothing_recorded(memory_db, correction):
    stored = memory_db.remember("x")
    with pytest.raises(InvalidInputError, match="correction"):
        memory_db.feedback(stored, "corrected", correction=correction)
    assert "_vx_feedback" not in memory_db.get_one(stored).metadata


def test_reading_changes_no_feedback(memory_db):
    stored = memory_db.remember("the plan is annual", kind="fact")
    memory_db.feedback(stored, "dead_end")
    before = memory_db.get_one(stored)
    for _ in range(20):
        memory_db.recall("annual plan")
    assert memory_db.get_one(stored) == before


def test_feedback_score_halves_each_half_life(memory_db):
    stored = memory_db.remember("x", kind="fact")
    memory_db.feedback(stored, "useful", timestamp="2026-01-01")
    memory_db.feedback(stored, "useful", timestamp="2026-01-31")
    meta = memory_db.get_one(stored).metadata
    now = datetime(2026, 1, 31, tzinfo=UTC)
    assert feedback_score(meta, now, 30) == pytest.approx(1.5)
    assert feedback_score(meta, now, 15) == pytest.approx(1.25)


def test_feedback_score_of_nothing_is_0():
    assert feedback_score({}, "2026-01-01", 30) == 0.0


@pytest.mark.parametrize(
    ("meta", "now", "days"),
    [
        (None, "2026-01-01", 30),
        ({"_vx_feedback": ["useful"]}, "2026-01-01", 30),
        ({"_vx_feedback": [{"outcome": "good", "ts": "2026-01-01"}]}, "2026-01-01", 30),
        ({}, "yesterday", 30),
        ({}, "2026-01-01", 0),
        ({}, "2026-01-01", float("nan")),
    ],
)
def test_feedback_score_refuses_bad_input(meta, now, days):
    with pytest.raises(InvalidInputError):
        feedback_score(meta, now, days)
