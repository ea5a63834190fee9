"""`ConversationMemory`: the settings a collection remembers and recalls by."""

import inspect
import math

import pytest

from retentive import Collection, ConversationMemory, HashEmbedder, InvalidInputError

ALL = {"min_relevance": None}
DEFAULTS = {
    "half_life_days": 7.0,
    "recency_weight": 0.5,
    "feedback_weight": 0.25,
    "feedback_half_life_days": 30.0,
    "ttl_days": None,
    "judge": None,
    "judge_candidates": 5,
    "max_turns": None,
    "recall_roles": None,
    "recall_min_words": 1,
    "sitting_gap_hours": 1.0,
    "signals": None,
    "on_judge_error": "keep",
}
SIGNATURES = {
    "remember": "text, session=None, role='user', turn=None, timestamp=None, pinned=False, kind=None, metadata=None, "
    "id=None, ttl_days=None, check=None, *, user=None, key=None, name=None",
    "remember_many": "items, *, progress=None",
    "recall": "query, session=None, limit=10, token_budget=None, score_gap=None, kinds=('turn', 'fact', 'pinned'), "
    "include_superseded=False, mode=None, now=None, exclude_ids=(), *, user=None, filter=None, min_relevance='auto', "
    "as_of=None",
    "context": "query, session=None, token_budget=1500, recent_turns=6, limit=10, now=None, *, user=None, "
    "excerpt='auto', **recall_kwargs",
    "feedback": "id, outcome, correction=None, timestamp=None",
    "forget": "session=None, kinds=('turn',), older_than=None, ids=None, superseded=False, now=None, *, user=None, "
    "all=False",
    "expire": "now=None",
    "consolidate": "session, summarize, keep_recent=6, older_than=None, batch_turns=40, delete=True, pinned=False, "
    "now=None, *, user=None, progress=None",
    "turns": "session, limit=None, *, user=None",
    "history": "id",
    "fact": "key, *, session=None, user=None",
    "add": "texts, metadata=None, ids=None, vectors=None, *, progress=None",
    "search": "query=None, limit=10, mode='hybrid', filter=None, token_budget=None, score_gap=None, *, session=None, "
    "user=None, vector=None, max_distance=None, explain=False",
    "count": "filter=None, *, session=None, user=retentive.ANY",
    "sessions": "user=None",
}


def plain(function, skip=1):
    signature = inspect.signature(function)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=bare[skip:], return_annotation=inspect.Signature.empty))[1:-1]


@pytest.mark.parametrize("method", SIGNATURES)
def test_signature_is_the_contracts(method):
    assert plain(getattr(Collection, method)) == SIGNATURES[method]


def test_signature_of_a_collection_is_the_contracts():
    assert plain(Collection.__init__) == (
        "name, path=None, *, embedder='static', token_counter=None, durability='full', language='english', "
        "cache_mb=256, busy_timeout_s=30, readonly=False"
    )


def test_signature_of_the_settings_is_the_contracts():
    assert plain(ConversationMemory.__init__) == (
        "db, half_life_days=7.0, recency_weight=0.5, feedback_weight=0.25, feedback_half_life_days=30.0, "
        "ttl_days=None, judge=None, judge_candidates=5, *, max_turns=None, recall_roles=None, recall_min_words=1, "
        "sitting_gap_hours=1.0, signals=None, on_judge_error='keep'"
    )


def test_defaults(memory_db):
    settings = {name: getattr(memory_db.memory, name) for name in DEFAULTS}
    assert settings == DEFAULTS | {"signals": {}}


def test_memory_can_be_set_either_way(memory_db):
    memory_db.memory = ConversationMemory(memory_db, half_life_days=30)
    assert memory_db.memory.half_life_days == memory_db._memory.half_life_days == 30
    memory_db._memory = ConversationMemory(memory_db, half_life_days=3)
    assert memory_db.memory.half_life_days == 3


@pytest.mark.parametrize("memory", [None, 3, {"half_life_days": 3}, ConversationMemory])
def test_memory_must_be_settings(memory_db, memory):
    with pytest.raises(InvalidInputError, match="memory"):
        memory_db.memory = memory


def test_settings_are_of_a_collection():
    with pytest.raises(InvalidInputError, match="Collection"):
        ConversationMemory("chat")


def test_settings_have_the_verbs(memory_db):
    memory = ConversationMemory(memory_db, recency_weight=0)
    stored = memory.remember("apple pie", session="a")
    assert memory.recall("apple", session="a", **ALL).ids == [stored]
    assert [turn.id for turn in memory.turns("a")] == [stored]
    assert memory.context("apple", session="a").recent[0].id == stored
    assert memory.feedback(stored, "useful") is None
    assert memory.expire() == 0
    assert memory.consolidate("a", lambda turns: ["x"], keep_recent=0).turns_removed == 1
    assert memory.forget(session="a", kinds=("fact",)) == 1
    assert memory.remember_many([{"text": "x"}])


def test_own_settings_are_used_by_own_verbs(memory_db):
    brief = ConversationMemory(memory_db, max_turns=1, ttl_days=100_000)
    for _ in range(3):
        stored = brief.remember("x", session="a")
    assert len(brief.turns("a")) == 1
    assert len(memory_db.turns("a")) == 3
    assert memory_db.get_one(stored).expires_at is not None


def test_settings_of_another_collection_write_into_this_one(memory_db):
    with Collection("other", embedder=HashEmbedder(64)) as other:
        memory_db.memory = ConversationMemory(other, max_turns=1)
        memory_db.remember("x", session="a")
        memory_db.remember("y", session="a")
        assert len(memory_db.turns("a")) == 1
        assert other.count() == 0


def test_recency_weight_changes_the_order(memory_db):
    memory_db.remember("the report as a PDF file", kind="fact", timestamp="2026-01-01", id="exact")
    memory_db.remember("the report", kind="fact", timestamp="2026-03-01", id="new")
    memory_db.remember("bananas", kind="fact", timestamp="2026-02-01")
    arguments = {"now": "2026-03-01", **ALL}
    memory_db.memory.recency_weight = 0
    assert memory_db.recall("the report as a PDF file", **arguments).top.id == "exact"
    memory_db.memory.recency_weight = 50
    assert memory_db.recall("the report as a PDF file", **arguments).top.id == "new"


def test_half_life_changes_recency(memory_db):
    memory_db.remember("apple pie", kind="fact", timestamp="2026-01-01")
    parts = {}
    for days in (7, 14):
        memory_db.memory.half_life_days = days
        parts[days] = memory_db.recall("apple pie", now="2026-01-15", **ALL).top.metadata["_vx_scoring"]["recency"]
    assert parts[14] == pytest.approx(2 * parts[7])


def test_feedback_weight_0_ignores_feedback(memory_db):
    for stored in ("one", "two"):
        memory_db.remember("apple pie", kind="fact", timestamp="2026-01-01", id=stored)
    memory_db.feedback("one", "useful")
    assert memory_db.recall("apple pie", **ALL).ids == ["one", "two"]
    memory_db.memory.feedback_weight = 0
    assert memory_db.recall("apple pie", **ALL).ids == ["two", "one"]


def test_max_turns_caps_the_thread_but_not_recall(memory_db):
    memory_db.memory.max_turns = 3
    memory_db.remember_many([{"text": f"apple {i}", "session": "a"} for i in range(10)])
    assert [turn.text for turn in memory_db.turns("a")] == ["apple 7", "apple 8", "apple 9"]
    assert [turn.text for turn in memory_db.turns("a", limit=1)] == ["apple 9"]
    assert len(memory_db.turns("a", limit=8)) == 3
    assert "apple 0" in memory_db.recall("apple 0", session="a", **ALL).texts
    memory_db.memory.max_turns = 0
    assert memory_db.turns("a") == []


def test_signals_override_weights(memory_db):
    memory_db.memory.signals = {"lexical": 0, "dense": 1}
    memory_db.remember("apple pie", session="a")
    assert memory_db.recall("apple", session="a", **ALL)
    assert dict(memory_db.memory.signals) == {"lexical": 0, "dense": 1}


def test_unknown_signal_is_refused(memory_db):
    memory_db.remember("apple pie", session="a")

    def recall_with_magic():
        memory_db.memory.signals = {"magic": 1}
        memory_db.recall("apple", session="a")

    with pytest.raises(InvalidInputError, match="magic"):
        recall_with_magic()


BAD = [
    ("half_life_days", [0, -1, float("nan"), float("inf"), None, "7", True]),
    ("recency_weight", [-1, float("nan"), float("inf"), None, True, 1e6 + 1, 1.7e308]),
    ("feedback_weight", [-0.1, None, "x", 1e6 + 1, 1.7e308, 10**400]),
    ("feedback_half_life_days", [0, None]),
    ("ttl_days", [0, -1, float("nan"), "30", {"turn": 0}, {"document": 1}, {3: 1}, [30]]),
    ("judge", [3, "judge", [True]]),
    ("judge_candidates", [0, -1, 1.5, None, True]),
    ("max_turns", [-1, 1.5, True, "3"]),
    ("recall_roles", ["user", 3, [""], [3]]),
    ("recall_min_words", [-1, 1.5, None]),
    ("sitting_gap_hours", [0, -1, None]),
    ("signals", [3, ["dense"], {3: 1}, {"dense": "much"}, {"dense": float("nan")}, {"dense": 1e7}]),
    ("on_judge_error", ["ignore", None, True]),
]


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD for value in values])
def test_bad_setting_is_refused_when_made_and_when_set(memory_db, name, value):
    with pytest.raises(InvalidInputError, match=name):
        ConversationMemory(memory_db, **{name: value})
    before = getattr(memory_db.memory, name)
    with pytest.raises(InvalidInputError, match=name):
        setattr(memory_db.memory, name, value)
    assert getattr(memory_db.memory, name) == before


def test_the_largest_weights_give_finite_scores(memory_db):
    for number, outcome in enumerate(("useful", "dead_end", "corrected")):
        stored = memory_db.remember(f"apple pie number {number}", session="a")
        for _ in range(3):
            memory_db.feedback(stored, outcome)
    signals = dict.fromkeys(("dense", "lexical", "window", "neighbours", "sitting", "sitting_words", "role"), 1e6)
    settings = ConversationMemory(memory_db, recency_weight=1e6, feedback_weight=1e6, signals=signals)
    found = settings.recall("apple pie", session="a", min_relevance=None)
    assert len(found) > 1
    assert all(math.isfinite(score) for score in found.scores)
    assert found.scores == sorted(found.scores, reverse=True)


def test_settings_are_documented():
    for name in DEFAULTS:
        assert getattr(ConversationMemory, name).__doc__


def test_repr_of_collection_and_settings(memory_db):
    assert "test" in repr(memory_db)
    assert "in memory" in repr(memory_db)
    assert "half_life_days=7" in repr(memory_db.memory)


def test_sitting_gap_of_any_length_is_one_sitting(memory_db):
    memory_db.remember("the report as a PDF", session="a")
    memory_db.memory = ConversationMemory(memory_db, sitting_gap_hours=1e305)
    assert memory_db.recall("the report", session="a").texts == ["the report as a PDF"]
