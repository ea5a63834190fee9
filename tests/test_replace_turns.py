"""Other turns in a session's place."""

import threading

import pytest

from retentive import Collection, ConflictError, EmbedderError, InvalidInputError
from retentive.embedders import CallableEmbedder, HashEmbedder


def texts(db, session, **where):
    return [turn.text for turn in db.turns(session, **where)]


def test_the_session_has_the_new_turns_and_everything_else_stays(memory_db):
    db = memory_db
    db.remember("old turn", session="a")
    db.remember("a fact", session="a", kind="fact", key="plan")
    db.remember("of somebody", session="a", user="u")
    db.remember("elsewhere", session="b")
    ids = db.replace_turns(
        "a", [{"text": "first", "timestamp": "2026-03-01T10:00"}, {"text": "second", "role": "assistant", "name": "Al"}]
    )
    turns = db.turns("a")
    assert [turn.id for turn in turns] == ids
    assert [(turn.text, turn.role, turn.name) for turn in turns] == [
        ("first", "user", None),
        ("second", "assistant", "Al"),
    ]
    assert turns[0].timestamp.isoformat() == "2026-03-01T10:00:00+00:00"
    assert db.fact("plan", session="a").text == "a fact"
    assert texts(db, "b") == ["elsewhere"]
    assert texts(db, "a", user="u") == ["of somebody"]
    assert "old turn" not in db.search("old turn", session="a").texts


def test_numbers_go_on_and_no_items_empty_the_session(memory_db):
    memory_db.remember("old", session="a")
    memory_db.replace_turns("a", [{"text": "new"}])
    assert [turn.turn for turn in memory_db.turns("a")] == [1]
    assert memory_db.replace_turns("a", []) == []
    assert memory_db.turns("a") == []
    assert memory_db.replace_turns("never seen", []) == []


def test_an_old_id_may_be_given_again(memory_db):
    old = memory_db.remember("helo", session="a")
    assert memory_db.replace_turns("a", [{"text": "hello", "id": old}]) == [old]
    assert texts(memory_db, "a") == ["hello"]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ("a text", "expected mappings"),
        ([{"text": "x"}, {"text": " "}], r"items\[1\]"),
        ([{"text": "x"}, "y"], r"items\[1\]"),
        ([{"text": "x", "session": "b"}], "has a session"),
        ([{"text": "x", "user": "b"}], "has a user"),
        ([{"text": "x", "kind": "fact"}], "a fact, expected a turn"),
        ([{"text": "x", "check": True}], "has a check"),
    ],
)
def test_wrong_items_change_nothing(memory_db, items, message):
    memory_db.remember("old", session="a")
    with pytest.raises(InvalidInputError, match=message):
        memory_db.replace_turns("a", items)
    assert texts(memory_db, "a") == ["old"]


def test_a_session_is_needed(memory_db):
    with pytest.raises(InvalidInputError, match="session is None"):
        memory_db.replace_turns(None, [])


def test_what_fails_changes_nothing(tmp_path):
    def embed(batch):
        if any("fails" in text for text in batch):
            raise RuntimeError("out of order")
        return HashEmbedder(16).embed_documents(batch)

    with Collection("chat", tmp_path, embedder=CallableEmbedder("flaky", 16, embed)) as db:
        db.remember("old", session="a")
        taken = db.remember("a fact", session="a", kind="fact")
        with pytest.raises(EmbedderError, match="out of order"):
            db.replace_turns("a", [{"text": "new"}, {"text": "this fails"}])
        with pytest.raises(ConflictError):
            db.replace_turns("a", [{"text": "new"}, {"text": "newer", "id": taken}])
        assert texts(db, "a") == ["old"]


def test_no_reader_sees_it_half_way(tmp_path):
    db = Collection("chat", tmp_path, embedder=HashEmbedder(16))
    sizes = {7, 12}
    db.replace_turns("a", [{"text": f"turn {n}"} for n in range(7)])
    seen, done = set(), threading.Event()

    def watch():
        while not done.is_set():
            seen.add(len(db.turns("a")))

    watcher = threading.Thread(target=watch)
    watcher.start()
    for number in range(40):
        db.replace_turns("a", [{"text": f"turn {n}"} for n in range(12 if number % 2 else 7)])
    done.set()
    watcher.join()
    db.close()
    assert seen <= sizes
    assert seen
