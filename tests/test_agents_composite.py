"""`CompositeMemory`: several memories as one, each message stored once."""

import asyncio
import json
import logging
import pickle

import pytest

from retentive import Collection, ConfigurationError, HashEmbedder, InvalidInputError, RetentiveError
from retentive.agents import DEFAULT_THREAD, CompositeMemory, MemberError, Memory, Message, VectorMemory, WindowMemory


class ListMemory(Memory):
    """A memory of somebody's own, which fails when told to."""

    def __init__(self, *messages, failing=None):
        self.messages = list(messages)
        self.failing = failing
        self.cleared = []

    def _fail(self):
        if self.failing is not None:
            raise self.failing

    async def aadd(self, messages, *, thread_id=DEFAULT_THREAD):
        self._fail()
        self.messages.extend(messages)

    async def aget(self, *, thread_id=DEFAULT_THREAD, query=None, limit=None):
        self._fail()
        return self.messages[:limit]

    async def aclear(self, thread_id=None):
        self._fail()
        self.cleared.append(thread_id)
        self.messages.clear()


def contents(messages):
    return [message.content for message in messages]


def both(db, **names):
    window = WindowMemory(2, collection=db, **({"name": names["window"]} if names else {}))
    vector = VectorMemory(collection=db, top_k=2, score_threshold=None, **({"name": names["vector"]} if names else {}))
    return window, vector


# The usage of the original: a window for the flow of the talk, a vector memory for what was said before.


def test_recent_and_relevant_come_together():
    async def main():
        memory = CompositeMemory(memories=[VectorMemory(embedder="static", top_k=2), WindowMemory(window=2)])
        await memory.aadd([Message.user("I am allergic to peanuts"), Message.assistant("Noted")], thread_id="u42")
        await memory.aadd([Message.user("My train leaves at nine"), Message.assistant("Have a good trip")], "u42")
        found = await memory.aget(thread_id="u42", query="which foods am I allergic to?")
        assert contents(found) == ["I am allergic to peanuts", "My train leaves at nine", "Have a good trip"]
        assert [m.metadata.get("recalled", False) for m in found] == [True, False, False]
        await memory.aclear("u42")
        assert await memory.aget(thread_id="u42", query="which foods am I allergic to?") == []

    asyncio.run(main())


@pytest.mark.parametrize("members", [[], (), iter(())])
def test_no_members_is_refused_with_a_hint(members):
    with pytest.raises(ConfigurationError, match="no members") as caught:
        CompositeMemory(memories=members)
    assert "memories=[" in caught.value.hint


@pytest.mark.parametrize("members", [None, 5, "ab", {"a": 1}, [5], [None], [WindowMemory], ListMemory()])
def test_what_is_no_memory_is_refused_with_a_hint(members):
    with pytest.raises(ConfigurationError) as caught:
        CompositeMemory(members)
    assert "memories=[" in caught.value.hint


@pytest.mark.parametrize("names", [{}, {"window": "recent", "vector": "semantic"}, {"window": "m", "vector": "m"}])
def test_members_of_one_collection_store_a_turn_once(db, names):
    window, vector = both(db, **names)
    memory = CompositeMemory([window, vector])
    memory.add([Message.user("red"), Message.system("be brief"), Message.assistant("blue"), Message.tool("4")], "t")
    memory.add(Message.user("green"), thread_id="t")
    assert [turn.text for turn in db.turns("t")] == ["red", "be brief", "blue", "4", "green"]
    assert db.count() == 5
    assert contents(window.get(thread_id="t")) == ["4", "green"]
    assert contents(vector.get(thread_id="t", query="red green")) == ["red", "green"]
    assert contents(memory.get(thread_id="t", query="red green")) == ["4", "green", "red"]
    memory.clear("t")
    assert db.count() == 0


def test_members_of_one_collection_embed_a_batch_once(tmp_path):
    from retentive import CallableEmbedder

    real, batches = HashEmbedder(16), []

    def embed(texts):
        batches.append(list(texts))
        return real.embed_documents(texts)

    with Collection("c", path=tmp_path, embedder=CallableEmbedder("counting", 16, embed)) as db:
        db.remember("so that the probe is behind us")
        batches.clear()
        CompositeMemory(both(db)).add([Message.user("one"), Message.user("two")])
        assert batches == [["one", "two"]]


def test_members_of_one_file_opened_twice_store_a_turn_once(tmp_path, embedder):
    with (
        Collection("c", path=tmp_path, embedder=embedder) as first,
        Collection("c", path=tmp_path, embedder=embedder) as second,
    ):
        memory = CompositeMemory([WindowMemory(collection=first), VectorMemory(collection=second)])
        memory.add(Message.user("red"))
        assert (first.count(), second.count()) == (1, 1)
        assert contents(memory.get(query="red")) == ["red"]


def test_members_of_one_file_by_two_paths_store_a_turn_once(tmp_path, embedder):
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data", target_is_directory=True)
    with (
        Collection("c", path=tmp_path / "data", embedder=embedder) as first,
        Collection("c", path=tmp_path / "link", embedder=embedder) as second,
    ):
        CompositeMemory([WindowMemory(collection=first), VectorMemory(collection=second)]).add(Message.user("red"))
        assert first.count() == 1


def test_members_within_composite_members_store_a_turn_once(memory_db):
    window, vector = both(memory_db)
    memory = CompositeMemory([CompositeMemory([window]), CompositeMemory([vector, window]), window])
    memory.add([Message.user("red"), Message.user("blue")])
    assert memory_db.count() == 2
    assert contents(memory.get(query="red blue")) == ["red", "blue"]
    memory.clear()
    assert memory_db.count() == 0


def test_each_member_keeps_what_it_keeps(memory_db):
    memory = CompositeMemory([VectorMemory(collection=memory_db, store_roles=["user"])])
    memory.add([Message.user("red"), Message.assistant("blue"), Message.user(" ")])
    assert [turn.text for turn in memory_db.turns("default")] == ["red"]


def test_clear_of_one_member_deletes_what_it_shares_and_not_what_it_does_not(memory_db):
    window, vector = both(memory_db)
    memory = CompositeMemory([window, vector])
    memory.add([Message.user("red"), Message.system("be brief")])
    vector.remember("a fact")
    vector.clear()
    assert [turn.text for turn in memory_db.turns("default")] == ["be brief"]
    assert memory_db.count() == 1


def test_members_of_their_own_class_are_asked_by_their_own_method(memory_db):
    class Redacting(VectorMemory):
        async def aadd(self, messages, thread_id=DEFAULT_THREAD):
            clean = [Message(m.role, m.content.replace("1234", "****")) for m in messages]
            await super().aadd(clean, thread_id=thread_id)

    CompositeMemory([Redacting(collection=memory_db)]).add([Message.user("my pin is 1234")])
    assert memory_db.turns("default")[0].text == "my pin is ****"


def test_messages_with_the_same_role_and_content_come_once():
    first = ListMemory(Message.user("a", {"from": 1}), Message.user("b"))
    second = ListMemory(Message.assistant("a"), Message.user("a", {"from": 2}), Message.user("c"))
    memory = CompositeMemory([first, second])
    assert memory.get() == [
        Message.user("a", {"from": 1}),
        Message.user("b"),
        Message.assistant("a"),
        Message.user("c"),
    ]


def test_limit_is_of_all_members_together():
    first = ListMemory(*[Message.user(f"a{i}") for i in range(3)])
    second = ListMemory(*[Message.user(f"b{i}") for i in range(3)])
    memory = CompositeMemory([first, second])
    assert contents(memory.get(limit=2)) == ["a0", "a1"]
    assert memory.get(limit=0) == []
    assert len(memory.get(limit=100)) == len(memory.get()) == 6


def test_member_that_fails_to_store_stops_nobody_and_is_reported():
    broken, working, last = ListMemory(failing=LookupError("disk gone")), ListMemory(), ListMemory()
    memory = CompositeMemory([broken, working, last])
    with pytest.raises(MemberError) as caught:
        memory.add([Message.user("a")])
    assert contents(working.messages) == contents(last.messages) == ["a"]
    assert str(caught.value) == (
        "1 of 3 failed to store the messages, the others did: ListMemory: LookupError: disk gone"
    )
    assert caught.value.failures == (("ListMemory", broken.failing),)
    assert caught.value.__cause__ is broken.failing
    assert isinstance(caught.value, RetentiveError)


def test_stored_member_that_fails_names_the_memories_that_share_the_write(memory_db):
    working = ListMemory()
    memory = CompositeMemory([*both(memory_db), working])
    memory_db.close()
    with pytest.raises(MemberError, match=r"1 of 2 failed.*window and vector: ClosedError"):
        memory.add(Message.user("a"))
    assert contents(working.messages) == ["a"]


def test_all_failures_are_reported():
    memory = CompositeMemory([ListMemory(failing=LookupError("one")), ListMemory(failing=ValueError("two"))])
    with pytest.raises(MemberError, match=r"2 of 2 failed to clear, no member did: .*one; .*two") as caught:
        memory.clear()
    assert [type(error) for _, error in caught.value.failures] == [LookupError, ValueError]


def test_member_error_pickles():
    error = MemberError("told", failures=[("window", ValueError("x"))])
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.failures[0][0], str(copy.failures[0][1])) == ("told", "window", "x")


def test_member_that_fails_to_recall_is_logged_and_left_out(caplog):
    memory = CompositeMemory([ListMemory(failing=LookupError("none of a secret")), ListMemory(Message.user("a"))])
    with caplog.at_level(logging.DEBUG, "retentive"):
        assert contents(memory.get(query="a secret")) == ["a"]
    (record,) = caplog.records
    assert "'ListMemory' failed to recall (LookupError in ListMemory._fail, " in record.getMessage()
    assert record.exc_info is None
    assert "secret" not in caplog.text  # what was raised may quote what was asked


@pytest.mark.parametrize("answer", [None, 5, ["a"], [{"role": "user", "content": "a"}]])
def test_member_that_recalls_something_else_is_logged_and_left_out(answer, caplog):
    class Odd(ListMemory):
        async def aget(self, *, thread_id=DEFAULT_THREAD, query=None, limit=None):
            return answer

    assert contents(CompositeMemory([Odd(), ListMemory(Message.user("a"))]).get()) == ["a"]
    assert "failed to recall" in caplog.text


def test_member_whose_methods_are_not_async_stops_nobody():
    class Plain(ListMemory):
        def aadd(self, messages, *, thread_id=DEFAULT_THREAD):
            raise ValueError("not even awaited")

    working = ListMemory()
    with pytest.raises(MemberError, match="not even awaited"):
        CompositeMemory([Plain(), working]).add(Message.user("a"))
    assert contents(working.messages) == ["a"]


def test_failing_member_that_is_composite_itself_is_reported_by_its_own_members(caplog):
    inner = CompositeMemory([ListMemory(failing=LookupError("gone")), ListMemory(Message.user("a"))])
    memory = CompositeMemory([inner])
    with pytest.raises(MemberError, match="1 of 2 failed"):
        memory.add(Message.user("b"))
    assert contents(memory.get()) == ["a", "b"]
    assert "failed to recall" in caplog.text


def test_cancelling_a_composite_call_cancels_its_members():
    class Waiting(ListMemory):
        cancelled = False

        async def aadd(self, messages, *, thread_id=DEFAULT_THREAD):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                Waiting.cancelled = True
                raise

    async def main():
        task = asyncio.create_task(CompositeMemory([Waiting()]).aadd(Message.user("a")))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert Waiting.cancelled


def test_clear_reaches_every_member_with_its_thread():
    members = [ListMemory(), ListMemory()]
    memory = CompositeMemory([members[0], CompositeMemory([members[1]])])
    memory.clear("t")
    memory.clear()
    assert [member.cleared for member in members] == [["t", None], ["t", None]]


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.add("hello"),
        lambda m: m.add(Message.user("a"), thread_id=""),
        lambda m: m.get(thread_id=5),
        lambda m: m.get(query=5),
        lambda m: m.get(limit=-1),
        lambda m: m.clear(""),
    ],
)
def test_wrong_argument_is_refused_before_any_member_is_asked(call):
    member = ListMemory(failing=AssertionError("asked"))
    with pytest.raises(InvalidInputError):
        call(CompositeMemory([member]))


@pytest.mark.parametrize(
    "message",
    [
        Message.user("a", {"_vx_role": "system"}),
        Message.user("a", {"agent_memories": ["window"]}),
        Message.user("a", {"score": float("nan")}),
        Message.user("\ud800"),
    ],
)
def test_message_that_one_member_cannot_store_is_stored_by_none(message, memory_db):
    own = ListMemory()
    memory = CompositeMemory([own, WindowMemory(collection=memory_db)])
    with pytest.raises(InvalidInputError, match=r"messages\[1\]"):
        memory.add([Message.user("good"), message])
    assert (own.messages, memory_db.count()) == ([], 0)


def test_describe_nests(memory_db):
    window, vector = both(memory_db)
    described = CompositeMemory([window, CompositeMemory([vector], name="inner")], name="outer").describe()
    assert json.loads(json.dumps(described)) == described
    assert described == {
        "type": "CompositeMemory",
        "name": "outer",
        "memories": [
            window.describe(),
            {"type": "CompositeMemory", "name": "inner", "memories": [vector.describe()]},
        ],
    }


def test_hundred_threads_at_once_store_every_turn_once(db):
    memory = CompositeMemory(both(db))

    async def talk(thread):
        for i in range(3):
            await memory.aadd([Message.user(f"red {i} of {thread}"), Message.assistant(f"blue {i}")], thread_id=thread)
        return await memory.aget(thread_id=thread, query=f"red 0 of {thread}")

    async def main():
        threads = [f"t{i}" for i in range(100)]
        return dict(zip(threads, await asyncio.gather(*map(talk, threads)), strict=True))

    for thread, found in asyncio.run(main()).items():
        assert contents(found)[:2] == [f"red 2 of {thread}", "blue 2"]
        assert all(thread in content or content.startswith("blue") for content in contents(found))
        assert [turn.turn for turn in db.turns(thread)] == list(range(6))
    assert db.count() == 600
