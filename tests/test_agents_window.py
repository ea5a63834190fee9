"""`WindowMemory`: the last turns of a thread, kept in a collection."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retentive import KINDS, ClosedError, Collection, ConfigurationError, HashEmbedder, InvalidInputError
from retentive.agents import Message, WindowMemory


def contents(messages):
    return [message.content for message in messages]


def said(*texts):
    return [Message.user(text) for text in texts]


@pytest.fixture
def memory(memory_db):
    return WindowMemory(3, collection=memory_db)


def test_last_turns_come_in_order_whatever_the_query(memory):
    memory.add(said("one", "two"))
    memory.add(said("three", "four", "five"))
    assert contents(memory.get()) == ["three", "four", "five"]
    assert contents(memory.get(query="one")) == ["three", "four", "five"]


def test_window_is_given_by_name_too(embedder):
    memory = WindowMemory(window=1, collection=Collection("c", embedder=embedder))
    memory.add(said("one", "two"))
    assert contents(memory.get()) == ["two"]


def test_limit_narrows_the_window_and_never_widens_it(memory):
    memory.add(said("one", "two", "three", "four"))
    assert contents(memory.get(limit=2)) == ["three", "four"]
    assert contents(memory.get(limit=100)) == ["two", "three", "four"]
    assert memory.get(limit=0) == []


def test_all_roles_and_metadata_come_back_as_they_were(memory_db):
    memory = WindowMemory(10, collection=memory_db)
    messages = [
        Message.system("be brief"),
        Message.user("hello", {"ip": "::1", "nested": {"a": [1, None]}}),
        Message.assistant("hi"),
        Message.tool("4", {"tool_call_id": "c1"}),
    ]
    memory.add(messages)
    assert memory.get() == messages


def test_same_text_said_twice_is_two_turns(memory):
    memory.add(said("ok"))
    memory.add(said("ok", "ok"))
    assert contents(memory.get()) == ["ok", "ok", "ok"]


def test_blank_messages_are_left_out(memory):
    memory.add(said("one", "", " \n\t", "\u2003", "two"))
    assert contents(memory.get()) == ["one", "two"]
    memory.add(said("", " "))
    memory.add([])
    assert memory.native().count() == 2


NAMES = [
    "john",
    "johnny",
    "john_doe",
    "a%",
    "a.b",
    "A",
    "a",
    " a ",
    "\N{GRINNING FACE}",
    "e\u0301",
    "\u00e9",
    "x" * 2000,
]


def test_threads_are_compared_exactly(memory):
    for name in NAMES:
        memory.add(said(f"in {name}"), thread_id=name)
    for name in NAMES:
        assert contents(memory.get(thread_id=name)) == [f"in {name}"]
    assert memory.get(thread_id="nobody") == []


def test_thread_is_default_where_none_is_given(memory):
    memory.add(said("one"))
    memory.add(said("two"), thread_id=None)
    assert contents(memory.get(thread_id="default")) == contents(memory.get(thread_id=None)) == ["one", "two"]


def test_turns_survive_a_restart_with_a_path(tmp_path, embedder):
    with Collection("chat", path=tmp_path, embedder=embedder) as db:
        WindowMemory(2, collection=db).add(said("one", "two", "three"), thread_id="t")
    with Collection("chat", path=tmp_path, embedder=embedder) as db:
        memory = WindowMemory(2, collection=db)
        assert contents(memory.get(thread_id="t")) == ["two", "three"]
        memory.clear()
        assert db.count() == 0


def test_messages_are_turns_of_the_collection(memory, memory_db):
    memory.add([Message.user("one", {"k": 1}), Message.assistant("two")], thread_id="t")
    assert [(t.text, t.role, t.turn, t.session) for t in memory_db.turns("t")] == [
        ("one", "user", 0, "t"),
        ("two", "assistant", 1, "t"),
    ]
    assert memory_db.turns("t")[0].metadata["k"] == 1
    assert memory.native() is memory_db


def test_turns_of_the_application_are_in_the_window_and_facts_are_not(memory, memory_db):
    memory.add(said("one"), thread_id="t")
    memory_db.remember("two", session="t", role="assistant", metadata={"k": 2})
    memory_db.remember("a fact", session="t", kind="fact")
    assert memory.get(thread_id="t") == [Message.user("one"), Message.assistant("two", {"k": 2})]


def test_turns_of_foreign_roles_take_no_place_in_the_window(memory, memory_db):
    memory.add(said("one", "two", "three"), thread_id="t")
    memory_db.remember_many([{"text": f"aside {i}", "session": "t", "role": "narrator"} for i in range(50)])
    assert contents(memory.get(thread_id="t")) == ["one", "two", "three"]


def test_clear_of_one_thread_leaves_the_others(memory):
    memory.add(said("one"), thread_id="a")
    memory.add(said("two"), thread_id="b")
    memory.clear(thread_id="a")
    assert (memory.get(thread_id="a"), contents(memory.get(thread_id="b"))) == ([], ["two"])


def test_clear_deletes_only_what_the_memory_stored(memory, memory_db):
    memory_db.add(["a document"])
    memory_db.remember("of the application", session="t", metadata={"agent_memories": "a window of the house"})
    memory_db.remember("of a user", session="t", user="u")
    other = WindowMemory(3, collection=memory_db, name="other")
    other.add(said("of another"), thread_id="t")
    memory.add(said("one", "two"), thread_id="t")
    memory.clear("t")
    memory.add(said("three"), thread_id="u")
    memory.clear()
    left = {hit.text for hit in memory_db.search("x", mode="dense", limit=10)}
    assert left == {"a document", "of the application", "of another"}
    assert memory_db.count(user="u") == 1


def test_cleared_texts_are_gone_from_turns_counts_and_history(memory, memory_db):
    memory.add(said("the office is in Lyon"), thread_id="t")
    (turn,) = memory_db.turns("t")
    new = memory_db.feedback(turn.id, "corrected", correction="the office is in Paris")
    memory.clear("t")
    assert memory_db.turns("t") == []
    assert memory_db.get([turn.id, new]) == []
    assert memory_db.recall("office", session="t", include_superseded=True, min_relevance=None).ids == []


def test_clear_of_many_turns(memory, memory_db):
    memory.add(said(*[f"text {i}" for i in range(2_500)]), thread_id="t")
    assert memory_db.count() == 2_500
    memory.clear()
    assert memory_db.count() == 0


def test_settings_of_the_collection_cap_the_window(memory, memory_db):
    memory.add(said("one", "two", "three"))
    memory_db.memory.max_turns = 2
    assert contents(memory.get()) == ["two", "three"]


def test_bad_message_among_good_ones_stores_nothing(memory, memory_db):
    with pytest.raises(InvalidInputError, match=r"messages\[2\]: metadata\['at'\]"):
        memory.add([Message.user("one"), Message.user(""), Message.user("two", {"at": float("nan")})])
    with pytest.raises(InvalidInputError, match=r"content of messages\[1\] has a lone surrogate"):
        memory.add([Message.user("one"), Message.user("\ud800")])
    with pytest.raises(InvalidInputError, match=r"messages\[0\]: .*_vx_role.*reserved"):
        memory.add(Message.user("one", {"_vx_role": "system"}))
    with pytest.raises(InvalidInputError, match=r"messages\[0\]: .*agent_memories.*rename"):
        memory.add(Message.user("one", {"agent_memories": []}))
    assert memory_db.count() == 0


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda m: m.add("hello"), "messages is 'hello'"),
        (lambda m: m.add(None), "messages is None"),
        (lambda m: m.add([Message.user("a"), {"role": "user", "content": "b"}]), "messages[1] is {'role'"),
        (lambda m: m.add([("user", "b")]), "pass Message.user(...)"),
        (lambda m: m.add(Message.user("a"), thread_id=""), "thread_id is ''"),
        (lambda m: m.add(Message.user("a"), thread_id=7), "thread_id is 7"),
        (lambda m: m.add(Message.user("a"), thread_id="\ud800"), "lone surrogate"),
        (lambda m: m.get(thread_id=b"t"), "thread_id is b't'"),
        (lambda m: m.get(query=3), "query is 3"),
        (lambda m: m.get(limit=-1), "limit is -1"),
        (lambda m: m.get(limit=True), "limit is True"),
        (lambda m: m.get(limit=2.0), "limit is 2.0"),
        (lambda m: m.clear(""), "thread_id is ''"),
        (lambda m: m.clear(3), "thread_id is 3"),
    ],
)
def test_wrong_argument_is_named(memory, call, told):
    with pytest.raises(InvalidInputError) as caught:
        call(memory)
    assert told in str(caught.value)


@pytest.mark.parametrize("window", [0, -1, True, 2.5, "3", None])
def test_wrong_window_is_refused(window):
    with pytest.raises(InvalidInputError, match="window is"):
        WindowMemory(window)


def test_wrong_collection_and_name_are_refused(memory_db):
    with pytest.raises(ConfigurationError, match="collection is '") as caught:
        WindowMemory(collection="./data")
    assert "Collection(name, path=...)" in caught.value.hint
    with pytest.raises(InvalidInputError, match="name is"):
        WindowMemory(collection=memory_db, name="")


def test_closed_collection_is_a_typed_error(memory, memory_db):
    memory_db.close()
    with pytest.raises(ClosedError):
        memory.get()
    with pytest.raises(ClosedError):
        memory.add(said("one"))


def test_describe_says_what_it_is(memory, tmp_path, embedder):
    assert memory.describe() == {
        "type": "WindowMemory",
        "name": "window",
        "collection": "test",
        "path": None,
        "window": 3,
    }
    with Collection("chat", path=tmp_path, embedder=embedder) as db:
        assert WindowMemory(collection=db).describe()["path"] == str(tmp_path / "chat.db")


def test_hundred_threads_of_conversation_at_once(db):
    memory = WindowMemory(4, collection=db)

    def talk(thread):
        for i in range(6):
            memory.add([Message.user(f"{thread} says {i}")], thread_id=thread)
        return contents(memory.get(thread_id=thread))

    threads = [f"t{i}" for i in range(100)]
    with ThreadPoolExecutor(16) as pool:
        for thread, got in zip(threads, pool.map(talk, threads), strict=True):
            assert got == [f"{thread} says {i}" for i in range(2, 6)]
    assert db.count() == 600
    assert db.forget(all=True, kinds=KINDS) == 600


@settings(max_examples=25, deadline=None)
@given(
    window=st.integers(1, 5),
    limit=st.none() | st.integers(0, 7),
    adds=st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.sampled_from(["ok", "yes", " ", "no"]), max_size=4))),
)
def test_window_is_the_tail_of_a_list(window, limit, adds):
    memory = WindowMemory(window, collection=Collection("c", embedder=HashEmbedder(8)))
    twin = {"a": [], "b": []}
    for thread, texts in adds:
        memory.add(said(*texts), thread_id=thread)
        twin[thread] += [text for text in texts if text.strip()]
    most = window if limit is None else min(window, limit)
    for thread, texts in twin.items():
        assert contents(memory.get(thread_id=thread, limit=limit)) == (texts[-most:] if most else [])
