"""Importers on what the programs themselves wrote; `data/importers/README.md` says which versions and how."""

from pathlib import Path

import pytest

from retentive import Collection, HashEmbedder, InvalidInputError
from retentive.importers import chroma, langchain_messages, mem0, openai_messages, sharegpt

FILES = Path(__file__).parent / "data" / "importers"


def imported(items, dimension=64):
    """A collection with nothing but these."""
    db = Collection("log", embedder=HashEmbedder(dimension))
    db.import_items(items)
    return db


def told(db, session, **owner):
    return [(turn.role, turn.name, turn.text) for turn in db.turns(session, **owner)]


TOLD = [
    ("system", None, "You answer briefly."),
    ("user", "Ann", "How much is a ticket to Évora?"),
    ("assistant", None, 'fares({"to": "Évora"})'),
    ("tool", "fares", "12.20 EUR"),
    ("assistant", None, "12.20 euros."),
    ("user", None, "And this one?"),
    ("assistant", None, "That is a tram."),
    ("tool", "lookup", "28E"),
    ("critic", None, "Fine."),
    ("assistant", None, "Good"),
    ("assistant", None, 'bye({"polite": true})'),
    ("assistant", None, 'broken({"x":)'),
]


@pytest.mark.parametrize(
    "name",
    [
        "langchain-0.1-dumps.json",
        "langchain-0.2-history.json",
        "langchain-0.3-messages-to-dict.json",
        "langchain-1.8-dumps-pretty.json",
        "langchain-1.8-messages.jsonl",
    ],
)
def test_what_langchain_wrote(name):
    db = imported(langchain_messages(FILES / name, session="u42"))
    assert told(db, "u42") == TOLD
    turns = db.turns("u42")
    assert turns[1].metadata["message_id"] == "h-1"
    assert turns[2].metadata["tool_calls"] == [{"id": "call_1", "name": "fares", "arguments": {"to": "Évora"}}]
    assert turns[5].metadata["parts"] == ["image_url"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("langchain-1.8-history-dumps.json", r"is a InMemoryChatMessageHistory .* dump its \.messages"),
        ("langchain-1.8-history-model-dump.json", r"messages\[8\]\.role is None"),  # it lost what ChatMessage adds
    ],
)
def test_what_langchain_could_not_write_is_named(name, message):
    with pytest.raises(InvalidInputError, match=message):
        imported(langchain_messages(FILES / name))


def test_what_openai_wrote():
    db = imported(openai_messages(FILES / "openai-3.57-chat.json", session="u42", user="ann"))
    assert told(db, "u42", user="ann") == [
        ("developer", None, "You answer briefly."),
        ("user", "Ann", "How much is a ticket to Évora?"),
        ("assistant", None, 'fares({"to": "Évora"})\nsql(select 1)'),
        ("tool", None, "12.20 EUR"),
        ("assistant", None, "12.20 euros."),
        ("user", None, "And this one?"),
        ("assistant", None, "I cannot help with that."),
        ("assistant", None, "Boa tarde."),
    ]
    assert db.turns("u42", user="ann")[5].metadata["parts"] == ["image_url", "file"]


def test_training_files_of_openai():
    db = imported(openai_messages(FILES / "openai-3.57-training.jsonl", session="t"))
    assert sorted(db.sessions()) == ["t-0", "t-1"]
    assert told(db, "t-1") == [
        ("system", None, "Brief."),
        ("user", None, "Question 1"),
        ("assistant", None, "Answer 1"),
    ]


def test_items_of_openais_responses():
    db = imported(openai_messages(FILES / "openai-3.57-responses.json", session="u42"))
    assert told(db, "u42") == [
        ("user", None, "How much?"),
        ("assistant", None, 'fares({"to":"Évora"})'),
        ("tool", None, "12.20 EUR"),
        ("assistant", None, "12.20 euros."),
        ("assistant", None, "No."),
    ]
    assert db.turns("u42")[2].metadata["tool_call_id"] == "call_1"


SHARED = [
    ("system", "You answer briefly."),
    ("user", "How much is a ticket to Évora?"),
    ("assistant", '{"name": "fares", "arguments": {"to": "Évora"}}'),
    ("tool", "12.20 EUR"),
    ("assistant", "12.20 euros."),
]


@pytest.mark.parametrize(
    ("name", "session"),
    [
        ("sharegpt.json", "identity_0"),
        ("sharegpt-lines.jsonl", "identity_0"),
        ("sharegpt-lists.json", "log-0"),
        ("sharegpt-turns.json", "log"),
    ],
)
def test_variants_of_sharegpt(name, session):
    db = imported(sharegpt(FILES / name, session="log"))
    assert [(role, text) for role, _, text in told(db, session)] == SHARED


def test_sharegpt_with_roles_and_a_system_text():
    db = imported(sharegpt(FILES / "sharegpt-roles.json"))
    assert [role for role, *_ in told(db, "sharegpt-0")] == ["system", "user", "assistant"]


@pytest.mark.parametrize("name", ["mem0-0.1.json", "mem0-1.0.json", "mem0-2.2.json"])
def test_what_mem0_wrote(name):
    db = imported(mem0(FILES / name))
    found = {hit.text: hit for hit in db.search(limit=100, user="ann")}
    assert {"Likes hiking on Saturdays", "Recommended the trail to Sintra"} <= found.keys()
    trail = found["Recommended the trail to Sintra"]
    assert (trail.kind, trail.role, trail.session, trail.metadata["category"]) == (
        "fact",
        "assistant",
        "trip",
        "hobbies",
    )
    assert trail.timestamp < found["Likes hiking on Saturdays"].timestamp  # it was changed since
    if "On holiday till March" in found:
        assert found["On holiday till March"].expires_at.year == 2999


@pytest.mark.parametrize("name", ["chroma-0.4.json", "chroma-0.5-vectors.json", "chroma-1.5.json"])
def test_what_chroma_gave(name):
    db = imported(chroma(FILES / name))
    first, last = db.get(["a", "d"])
    assert (first.id, first.text, last.text) == ("a", "The export button is top right.", "No metadata here.")
    assert {key: first.metadata[key] for key in ("page", "ok")} == {"page": 1, "ok": True}


def test_vectors_that_chroma_gave():
    with Collection("notes") as db:
        db.import_items(chroma(FILES / "chroma-0.5-vectors.json", vectors=True))
        assert db.search(vector=[0.0, 0.0, 1.0], limit=1).ids == ["c"]


def test_what_chromas_query_gave_is_refused():
    with pytest.raises(InvalidInputError, match="use get"):
        imported(chroma(FILES / "chroma-1.5-query.json"))
