"""Any arguments to any method: an answer or a typed error, never another exception, a panic or a broken collection.

`RETENTIVE_SOAK=1` draws a hundred times as many, `RETENTIVE_SOAK_ARGUMENTS` as many as it says.
"""

import os
import tempfile
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retentive import ANY, Collection, ConversationMemory, HashEmbedder, InvalidInputError, RetentiveError

SOAK = bool(os.environ.get("RETENTIVE_SOAK"))
# A long string that is drawn has a long repr, of which hypothesis warns.
pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")
SEQUENCES = int(os.environ.get("RETENTIVE_SOAK_ARGUMENTS", "20000" if SOAK else "200"))

strings = st.one_of(
    st.sampled_from(["a", "b", "apple pie", "", " ", "\0", "\ud800", "x\udfff", "\u202e", "' OR 1=1", "%"]),
    st.sampled_from(
        ["\n", "_vx_kind", "$ne", "turn", "fact", "pinned", "hybrid", "lexical", "useful", "auto", "mem_0"]
    ),
    st.text(max_size=12),
    st.sampled_from([257, 1_025]).map(lambda length: "a" * length),
    st.text(st.characters(codec=None), max_size=6),  # surrogates too
)
numbers = st.one_of(
    st.integers(-3, 12),
    st.sampled_from([2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**400, -1, 0]),
    st.floats(),
    st.sampled_from([True, False, 1e308, -0.0, 5e-324, Decimal("NaN"), Decimal(1), Fraction(1, 3), Fraction(10**400)]),
    st.sampled_from([1j, np.int8(3), np.uint64(2**64 - 1), np.float32("inf"), np.float16(1), np.bool_(True)]),
)
times = st.one_of(
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
    st.sampled_from([datetime.min.replace(tzinfo=timezone(timedelta(hours=23))), date(2026, 1, 1)]),
    st.sampled_from(
        [
            datetime.max.replace(tzinfo=timezone(timedelta(hours=-23))),
            timedelta(1),
            datetime(2026, 1, 1, tzinfo=UTC, fold=1),
        ]
    ),
    st.sampled_from(
        ["2026-01-01", "2026-W01-1", "9999-12-31T24:00", "0001-01-01T00:00+23:59", "2026-13-01", "now", "1"]
    ),
)
junk = st.sampled_from(
    [None, ANY, int, str, object(), b"x", [], {}, set(), (), [None], {"a": None}, np.array([1, 2]), len]
)
scalars = st.one_of(strings, numbers, times, junk)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(strings, inner, max_size=3)),
    max_leaves=8,
)
metadata = st.one_of(st.dictionaries(st.one_of(strings, numbers), values, max_size=4), values)
operators = st.sampled_from(
    [
        "$eq",
        "$ne",
        "$gt",
        "$gte",
        "$lt",
        "$lte",
        "$in",
        "$nin",
        "$exists",
        "$contains",
        "$and",
        "$or",
        "$not",
        "$no",
        "a",
    ]
)
filters = st.one_of(
    metadata,
    st.recursive(
        st.dictionaries(
            st.one_of(operators, st.sampled_from(["n", "_vx_session", "_vx_ts", "_vx_kind"])), values, max_size=3
        ),
        lambda inner: st.one_of(
            st.dictionaries(operators, inner, max_size=2),
            st.dictionaries(operators, st.lists(inner, max_size=2), max_size=2),
            st.dictionaries(st.just("n"), inner, max_size=2),
        ),
        max_leaves=5,
    ),
)
vectors = st.one_of(
    st.lists(st.floats(width=32), min_size=16, max_size=16),
    st.lists(st.floats(-1, 1), min_size=16, max_size=16).map(lambda row: np.array(row, np.float32)),
    values,
    st.sampled_from(
        [np.ones(16), np.zeros(16), np.ones((16, 1)), np.ones(15), np.ones(16, complex), np.ones(0), [10**400] * 16]
    ),
)
kinds = st.one_of(st.lists(st.sampled_from(["turn", "fact", "pinned"]), max_size=3), values)
ids = st.one_of(st.lists(strings, max_size=3), values)

names = st.one_of(strings, st.just(70_000).map(lambda length: "a" * length))
TEXT = {"text": names, "session": names, "user": names}
MEMORY = TEXT | {"role": strings, "turn": numbers, "timestamp": times, "pinned": numbers, "kind": strings}
MEMORY |= {"metadata": metadata, "id": strings, "ttl_days": numbers, "check": numbers, "key": strings, "name": strings}
SCOPE = {"session": names, "user": names}
READ = SCOPE | {"query": strings, "limit": numbers, "token_budget": numbers, "score_gap": numbers, "filter": filters}
RECALL = READ | {"kinds": kinds, "include_superseded": numbers, "mode": strings, "now": times, "exclude_ids": ids}
RECALL |= {"min_relevance": numbers, "as_of": times}
METHODS = {
    "remember": MEMORY,
    "remember_many": {"items": st.lists(st.fixed_dictionaries({}, optional=MEMORY | {"vector": vectors}), max_size=3)},
    "replace_turns": SCOPE
    | {"items": st.lists(st.fixed_dictionaries({}, optional=TEXT | {"id": strings}), max_size=3)},
    "recall": RECALL,
    "context": RECALL | {"recent_turns": numbers, "excerpt": numbers},
    "feedback": {"id": strings, "outcome": strings, "correction": strings, "timestamp": times},
    "forget": SCOPE
    | {"kinds": kinds, "older_than": numbers, "ids": ids, "superseded": numbers, "now": times, "all": numbers},
    "expire": {"now": times},
    "consolidate": SCOPE
    | {
        "summarize": values.map(lambda answer: lambda turns: answer),
        "keep_recent": numbers,
        "older_than": numbers,
        "batch_turns": numbers,
        "delete": numbers,
        "pinned": numbers,
        "now": times,
    },
    "turns": SCOPE | {"limit": numbers},
    "history": {"id": strings},
    "fact": SCOPE | {"key": strings},
    "facts": SCOPE,
    "add": {
        "texts": st.one_of(strings, ids),
        "metadata": metadata,
        "ids": ids,
        "vectors": st.one_of(st.lists(vectors, max_size=2), vectors),
    },
    "search": READ | {"mode": strings, "vector": vectors, "max_distance": numbers, "explain": numbers},
    "get": {"ids": ids, "vectors": numbers},
    "get_one": {"id": strings},
    "similar": {"id": strings, "limit": numbers},
    "delete": {"ids": ids},
    "count": SCOPE | {"filter": filters},
    "sessions": {"user": strings},
    "clear": {},
    "users": {},
    "stats": {},
    "calibrate": {"queries": ids, "related": values, "unrelated": values},
    "uncalibrate": {},
}
REQUIRED = {
    "remember": {"text"},
    "remember_many": {"items"},
    "replace_turns": {"session", "items"},
    "recall": {"query"},
    "context": {"query"},
    "feedback": {"id", "outcome"},
    "consolidate": {"session", "summarize"},
    "turns": {"session"},
    "history": {"id"},
    "fact": {"key"},
    "add": {"texts"},
    "get": {"ids"},
    "get_one": {"id"},
    "similar": {"id"},
    "delete": {"ids"},
}
SETTINGS = {
    "half_life_days": numbers,
    "recency_weight": numbers,
    "feedback_weight": numbers,
    "feedback_half_life_days": numbers,
    "ttl_days": st.one_of(numbers, metadata),
    "judge": values,
    "judge_candidates": numbers,
    "max_turns": numbers,
    "recall_roles": ids,
    "recall_min_words": numbers,
    "sitting_gap_hours": numbers,
    "signals": metadata,
    "on_judge_error": strings,
}


@st.composite
def arguments(draw, fields, required):
    """Mostly of the right kind, now and then anything."""
    drawn = {}
    for name, field in fields.items():
        if name in required or draw(st.integers(0, 3)) == 0:
            drawn[name] = draw(draw(st.sampled_from([field, field, field, junk, values])))
    return drawn


@st.composite
def calls(draw):
    methods = draw(st.lists(st.sampled_from(sorted(METHODS)), min_size=1, max_size=8))
    return [(method, draw(arguments(METHODS[method], REQUIRED.get(method, set())))) for method in methods]


@st.composite
def new_settings(draw):
    return draw(arguments(SETTINGS, set()))


@st.composite
def options(draw):
    return draw(arguments(OPTIONS, set()))


def outcome(call):
    """Call; a typed error with a short message is as good as an answer, and anything else is not caught."""
    try:
        call()
    except (RetentiveError, OSError) as caught:
        error = caught
    else:
        return
    assert str(error)
    assert len(str(error)) < 2_000


@pytest.mark.soak
@settings(max_examples=SEQUENCES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=not SOAK)
@given(calls())
def test_any_arguments_are_answered_or_refused_with_a_typed_error(counted, sequence):
    counted(hostile_calls=len(sequence))
    with Collection("c", embedder=HashEmbedder(16)) as db:
        db.remember_many([{"text": "apple pie", "session": "a", "id": "a", "metadata": {"n": 1}}])
        db.remember("apple pie is good", kind="fact", id="b", key="k")
        for method, given_arguments in sequence:
            outcome(lambda method=method, given_arguments=given_arguments: getattr(db, method)(**given_arguments))
        fine = db.remember("fine after all that", session="fine")
        assert db.get_one(fine).text == "fine after all that"
        assert [turn.id for turn in db.turns("fine")][-1] == fine
        assert db.count() == len(db.search(limit=10_000, user=ANY))


@pytest.mark.soak
@settings(max_examples=SEQUENCES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=not SOAK)
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
@settings(max_examples=SEQUENCES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=not SOAK)
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
