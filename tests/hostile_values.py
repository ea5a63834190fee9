"""What hostile arguments are drawn from, and the calls that are made with them."""

import os
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from retentive import ANY, RetentiveError

SOAK = bool(os.environ.get("RETENTIVE_SOAK"))

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

# Of files in the folder that the test stands in, and of none.
FILES = ["lines", "copy.db", ".", "", "\0", "\ud800", "none/lines", "x" * 300, "/dev/null/x"]
moved = st.one_of(junk, numbers, st.sampled_from(FILES))
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
    "verify": {},
    "compact": {},
    "warmup": {},
    "calibration": {},
    "reembed": {"embedder": values},
    "export": {"path": moved, "vectors": numbers},
    "import_": {"path": moved, "on_conflict": strings},
    "import_items": {
        "items": st.lists(st.fixed_dictionaries({}, optional=MEMORY | {"vector": vectors, "texts": ids}), max_size=3),
        "on_conflict": strings,
    },
    "backup": {"path": moved},
}
# What they stored before the error stays, and the error says how much: batches, and items that a judge must see.
STEPWISE = {"consolidate", "remember_many", "add", "reembed"}
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
    "reembed": {"embedder"},
    "export": {"path"},
    "import_": {"path"},
    "import_items": {"items"},
    "backup": {"path"},
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
def calls(draw, methods=METHODS, required=REQUIRED):
    names = draw(st.lists(st.sampled_from(sorted(methods)), min_size=1, max_size=8))
    return [(name, draw(arguments(methods[name], required.get(name, set())))) for name in names]


@st.composite
def new_settings(draw):
    return draw(arguments(SETTINGS, set()))


def drawn(most):
    """Settings of a test: so many examples, always the same; with RETENTIVE_SOAK a hundred times as many others."""
    count = int(os.environ.get("RETENTIVE_SOAK_ARGUMENTS", most * 100)) if SOAK else most
    return settings(
        max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), derandomize=not SOAK, database=None
    )


def outcome(call):
    """Call; a typed error with a short message is as good as an answer, and anything else is not caught. Was it one?"""
    try:
        call()
    except (RetentiveError, OSError) as caught:
        error = caught
    else:
        return False
    assert str(error)
    assert len(str(error)) < 2_000
    return True


def contents(db):
    """What is stored, live or not."""
    kinds = {name: count for name, count in db.stats().items() if name in {"count", "kinds", "superseded"}}
    return kinds, sorted(db.search(limit=10_000, user=ANY).ids)


def called(db, owner, method, given):
    """Call a method of `db` or of something over it; an error has stored nothing."""
    before = contents(db)
    failed = outcome(lambda: getattr(owner, method)(**given))
    if failed and method not in STEPWISE:
        assert contents(db) == before, (method, given)
