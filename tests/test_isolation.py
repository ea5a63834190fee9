"""Sessions and users are exact: nobody sees a sibling's row."""

import itertools

import pytest

from retentive import ANY, KINDS, Collection, InvalidInputError

ALL = {"min_relevance": None}
NAMES = [
    "john",
    "johnny",
    "john_doe",
    "john-doe",
    "a%",
    "a_",
    "a.b",
    "a:b",
    "A",
    "a",
    " a ",
    "a ",
    "None",
    "null",
    "*",
    "' OR 1=1 --",
    "x" * 10_000,
    "😀",
    "\u00e9",
    "e\u0301",
    "a\0b",
    "a\nb",
]


@pytest.fixture
def crowd(memory_db):
    memory_db.remember_many(
        [{"text": "the same words for everybody", "session": name, "id": f"s{i}"} for i, name in enumerate(NAMES)]
        + [
            {"text": "the same words for everybody", "session": "chat", "user": name, "id": f"u{i}"}
            for i, name in enumerate(NAMES)
        ]
    )
    return memory_db


@pytest.mark.parametrize("index", range(len(NAMES)))
def test_sessions_are_equal_byte_for_byte(crowd, index):
    session = NAMES[index]
    own = [f"s{index}"]
    query = "the same words for everybody"
    assert crowd.recall(query, session=session, **ALL).ids == own
    assert crowd.search(query, session=session).ids == own
    assert [turn.id for turn in crowd.turns(session)] == own
    assert [turn.id for turn in crowd.context(query, session=session).recent] == own
    assert crowd.count(session=session) == 1
    assert crowd.search(query, filter={"_vx_session": session}).ids == own


@pytest.mark.parametrize("index", range(len(NAMES)))
def test_users_are_equal_byte_for_byte(crowd, index):
    user = NAMES[index]
    own = [f"u{index}"]
    query = "the same words for everybody"
    assert crowd.recall(query, user=user, **ALL).ids == own
    assert crowd.search(query, user=user).ids == own
    assert [turn.id for turn in crowd.turns("chat", user=user)] == own
    assert [turn.id for turn in crowd.context(query, session="chat", user=user).recent] == own
    assert crowd.count(user=user) == 1
    assert crowd.sessions(user) == ["chat"]


def test_names_come_back_as_they_were(crowd):
    assert sorted(crowd.sessions()) == sorted(NAMES)
    assert sorted(crowd.users()) == sorted(NAMES)
    assert sorted(crowd.sessions(ANY)) == sorted([*NAMES, "chat"])


def test_no_user_is_no_wildcard(crowd):
    ids = crowd.recall("the same words for everybody", limit=100, **ALL).ids
    assert {stored[0] for stored in ids} == {"s"}
    every = crowd.recall("the same words for everybody", limit=100, user=ANY, **ALL).ids
    assert len(every) == 2 * len(NAMES)


def test_forgetting_one_leaves_the_others(tmp_path, embedder):
    with Collection("c", path=tmp_path, embedder=embedder) as db:
        for session, i in itertools.product(("A", "B"), range(3)):
            db.remember(f"text {i}", session=session)
        assert db.forget(session="A") == 3
        for call in (db.forget, lambda: db.forget(""), lambda: db.forget(None), lambda: db.forget(kinds=KINDS)):
            with pytest.raises(InvalidInputError):
                call()
        assert (db.count(), len(db.turns("B")), db.turns("A")) == (3, 3, [])
    with Collection("c", path=tmp_path, embedder=embedder) as db:
        assert (db.count(), len(db.turns("B")), db.turns("A")) == (3, 3, [])


def test_one_row_is_found_beside_ten_thousand_of_a_neighbour(memory_db):
    memory_db.remember_many([{"text": f"apple pie recipe {i}", "session": "A"} for i in range(10_000)])
    memory_db.remember("apple pie recipe", session="B", id="one", metadata={"n": 1})
    assert memory_db.recall("apple pie recipe", session="B", **ALL).ids == ["one"]
    assert memory_db.recall("apple pie recipe", filter={"n": 1}, **ALL).ids == ["one"]
    assert memory_db.search("apple pie recipe", filter={"n": 1}).ids == ["one"]
    assert len(memory_db.recall("apple pie recipe", session="A", limit=10, **ALL)) == 10
    assert len(memory_db.recall("apple pie recipe", session="A", limit=200, **ALL)) == 200


def test_pinned_facts_and_keys_of_others_stay_theirs(memory_db):
    memory_db.remember("ann's pin", user="ann", pinned=True, key="diet")
    memory_db.remember("of session a", session="a", pinned=True, key="diet")
    assert memory_db.context("x", session="b").pinned == ()
    assert memory_db.context("x", user="ben").pinned == ()
    assert memory_db.fact("diet") is None
    assert memory_db.fact("diet", session="a").text == "of session a"


def test_two_collections_of_one_folder_are_apart(tmp_path, embedder):
    with Collection("a", path=tmp_path, embedder=embedder) as a, Collection("b", path=tmp_path, embedder=embedder) as b:
        a.remember("x", session="s")
        assert (a.count(), b.count()) == (1, 0)


def test_two_handles_of_one_file_see_each_other(tmp_path, embedder):
    with Collection("a", path=tmp_path, embedder=embedder) as a, Collection("a", path=tmp_path, embedder=embedder) as b:
        a.remember("apple pie", session="s")
        assert b.recall("apple", session="s", **ALL).texts == ["apple pie"]
        b.forget(session="s")
        assert a.recall("apple", session="s", **ALL).texts == []
