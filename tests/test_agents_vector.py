"""`VectorMemory`: what a thread says about a query, by meaning."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from retentive import Collection, ConfigurationError, HashEmbedder, InvalidInputError, StaticEmbedder
from retentive._embedding import PROBE
from retentive.agents import Message, VectorMemory, WindowMemory


class Counting:
    """A `HashEmbedder` that keeps what it was asked to embed, without the collection's own probe."""

    def __init__(self, dimension=64, noise_floor=None):
        self._hash = HashEmbedder(dimension)
        self.name, self.dimension, self.noise_floor = "counting", dimension, noise_floor
        self.documents, self.queries = [], []

    def embed_documents(self, texts):
        if texts != [PROBE]:
            self.documents.append(list(texts))
        return self._hash.embed_documents(texts)

    def embed_query(self, text):
        self.queries.append(text)
        return self._hash.embed_query(text)


@pytest.fixture
def counting():
    return Counting()


@pytest.fixture
def memory(counting):
    return VectorMemory(embedder=counting, top_k=3)


def contents(messages):
    return [message.content for message in messages]


def said(*texts):
    return [Message.user(text) for text in texts]


# The usage of the original: add a conversation, ask, remember a fact, clear.


def test_conversation_is_recalled_by_meaning_with_the_default_model():
    async def main():
        memory = VectorMemory(embedder="static", top_k=3)
        await memory.aadd(
            [
                Message.user("I am allergic to peanuts; they make my throat swell"),
                Message.assistant("I will keep that in mind"),
                Message.user("My favourite coffee is a flat white"),
            ],
            thread_id="u42",
        )
        found = await memory.aget(thread_id="u42", query="which foods am I allergic to?")
        assert contents(found) == ["I am allergic to peanuts; they make my throat swell"]
        assert await memory.aget(thread_id="u42", query="orbital mechanics of Jupiter's moons") == []
        await memory.aremember("Lives in Lyon since 2020", thread_id="u42", source="profile")
        (fact,) = await memory.aget(thread_id="u42", query="who lives in Lyon?")
        assert (fact.content, fact.role, fact.metadata["source"]) == ("Lives in Lyon since 2020", "system", "profile")
        await memory.aclear("u42")
        assert await memory.aget(thread_id="u42", query="peanuts Lyon coffee") == []
        assert memory.native().count() == 0

    asyncio.run(main())


def test_neither_embedder_nor_collection_is_refused_with_what_to_pass():
    with pytest.raises(ConfigurationError) as caught:
        VectorMemory()
    assert "embedder=" in caught.value.hint
    assert "collection=" in caught.value.hint


def test_arguments_are_keyword_only():
    with pytest.raises(TypeError):
        VectorMemory("static")


def test_embedder_without_a_collection_gets_one_in_memory(memory, counting):
    assert (memory.native().path, memory.native().embedder) == (None, counting)


def test_collection_brings_its_own_embedder(memory_db):
    assert VectorMemory(collection=memory_db).native() is memory_db
    assert VectorMemory(collection=memory_db, embedder=memory_db.embedder).native() is memory_db
    with pytest.raises(ConfigurationError, match="'hash-8' is not the collection's, 'hash-64'") as caught:
        VectorMemory(collection=memory_db, embedder=HashEmbedder(8))
    assert "leave embedder out" in caught.value.hint


def test_batch_is_embedded_once(memory, counting):
    memory.add(said("one", "two", "three"))
    assert counting.documents == [["one", "two", "three"]]


def test_read_embeds_the_query_once_and_nothing_else(memory, counting):
    memory.add(said("one", "two", "three"))
    memory.get(query="two")
    assert (counting.queries, len(counting.documents)) == (["two"], 1)


@pytest.mark.parametrize("query", [None, "", "  \n"])
def test_nothing_comes_without_a_query_and_nothing_is_embedded(memory, counting, query):
    memory.add(said("one"))
    assert memory.get(query=query) == []
    assert memory.get() == []
    assert counting.queries == []


def test_blank_messages_and_other_roles_are_left_out(memory, counting):
    memory.add(
        [
            Message.system("be brief"),
            Message.user("hello world"),
            Message.user(" \n"),
            Message.tool("world 4"),
            Message.assistant("hi world"),
            Message.assistant(""),
        ]
    )
    assert counting.documents == [["hello world", "hi world"]]
    assert contents(memory.get(query="world")) == ["hello world", "hi world"]


def test_nothing_to_store_touches_nothing(memory, counting):
    memory.add([Message.system("be brief"), Message.user(" ")])
    memory.add([])
    assert (counting.documents, memory.native().count()) == ([], 0)


def test_store_roles_say_whose_messages_are_stored(counting):
    memory = VectorMemory(embedder=counting, store_roles=["tool", "tool"])
    memory.add([Message.user("the answer"), Message.tool("the answer is 4")])
    assert contents(memory.get(query="the answer")) == ["the answer is 4"]


def test_row_has_role_thread_time_and_metadata(memory):
    before = datetime.now(UTC)
    memory.add(Message.assistant("the report is done", {"model": "m1", "tags": ["a"]}), thread_id="t")
    (turn,) = memory.native().turns("t")
    assert (turn.role, turn.session, turn.kind) == ("assistant", "t", "turn")
    assert before <= turn.timestamp <= datetime.now(UTC)
    assert (turn.metadata["model"], turn.metadata["tags"]) == ("m1", ["a"])


def test_metadata_cannot_overwrite_role_thread_or_time(memory):
    lies = {"role": "system", "thread_id": "x", "session": "x", "timestamp": "1999-01-01", "time": 0, "kind": "fact"}
    memory.add(Message.user("the report", lies), thread_id="t")
    (turn,) = memory.native().turns("t")
    assert (turn.role, turn.session, turn.kind, turn.timestamp.year >= 2026) == ("user", "t", "turn", True)
    (message,) = memory.get(thread_id="t", query="the report")
    assert message.role == "user"
    assert message.metadata == {**lies, "recalled": True, "score": message.metadata["score"]}
    assert memory.get(thread_id="x", query="the report") == []


def test_recalled_messages_say_so_and_their_score(memory):
    memory.add(said("the report is late"))
    (message,) = memory.get(query="the report is late")
    assert message == Message.user("the report is late", {"recalled": True, "score": message.metadata["score"]})
    assert message.metadata["score"] == pytest.approx(1)


def test_marks_of_a_recall_are_of_this_recall_when_a_message_is_stored_again(memory):
    memory.add(Message.user("the report", {"recalled": False, "score": 7}))
    (message,) = memory.get(query="the report")
    assert message.metadata["recalled"] is True
    assert message.metadata["score"] <= 1.001


def test_metadata_of_a_message_is_json_as_it_was_given(memory):
    own = {"nested": {"a": [1, 2.5, None, True]}, "text": "ü"}
    memory.add(Message.user("the report", own))
    (message,) = memory.get(query="the report")
    assert json.loads(json.dumps(dict(message.metadata))) == message.metadata
    assert {key: message.metadata[key] for key in own} == own


def test_oldest_comes_first_whatever_is_nearest(memory):
    memory.add(said("red blue", "red blue green", "red"))
    found = memory.get(query="red blue green")
    assert contents(found) == ["red blue", "red blue green", "red"]
    scores = [message.metadata["score"] for message in found]
    assert scores[1] == max(scores)
    assert scores[2] == min(scores)


def test_turns_of_one_instant_come_as_they_stand_in_the_thread(memory):
    for name in ("c", "b", "a"):
        memory.native().remember(f"red {name}", session="default", timestamp="2026-05-01", id=name)
    assert contents(memory.get(query="red")) == ["red c", "red b", "red a"]


def test_top_k_are_the_nearest(memory):
    memory.add(said("red", "red blue", "other words here", "red blue green", "nothing alike"))
    assert set(contents(memory.get(query="red blue green"))) == {"red", "red blue", "red blue green"}


def test_limit_stands_for_top_k(memory):
    memory.add(said("red one", "red two", "red three", "red four"))
    assert len(memory.get(query="red")) == 3
    assert len(memory.get(query="red", limit=2)) == 2
    assert len(memory.get(query="red", limit=10)) == 4
    assert memory.get(query="red", limit=0) == []


def test_threads_never_see_each_other(memory):
    memory.add(said(*["red blue green"] * 200), thread_id="a")
    memory.add(said("red"), thread_id="b")
    assert contents(memory.get(thread_id="b", query="red blue green")) == ["red"]
    assert memory.get(query="red blue green") == []
    assert memory.get(thread_id="A", query="red blue green") == []


def test_number_is_the_least_similarity_literally(counting):
    scores = VectorMemory(embedder=counting, top_k=9, score_threshold=None)
    scores.add(said("red", "red blue", "red blue green", "yellow"))
    by_score = {m.content: m.metadata["score"] for m in scores.get(query="red blue green")}
    assert len(by_score) == 4
    for threshold in [*by_score.values(), 0.0, -1, 1]:
        memory = VectorMemory(collection=scores.native(), top_k=9, score_threshold=threshold)
        expected = {content for content, score in by_score.items() if score >= threshold}
        assert set(contents(memory.get(query="red blue green"))) == expected


def test_auto_is_the_noise_floor_of_the_embedder_hit_by_hit():
    texts = ("red", "red blue", "red blue green", "yellow")
    probing = VectorMemory(embedder=Counting(), top_k=9, score_threshold=None)
    probing.add(said(*texts))
    scores = sorted(m.metadata["score"] for m in probing.get(query="red blue green"))
    for below, above in pairwise(scores):
        floor = (below + above) / 2
        memory = VectorMemory(embedder=Counting(noise_floor=floor), top_k=9)
        memory.add(said(*texts))
        found = [m.metadata["score"] for m in memory.get(query="red blue green")]
        assert sorted(found) == [score for score in scores if score >= floor]


def test_auto_of_an_embedder_without_a_noise_floor_drops_nothing(memory):
    memory.add(said("red", "yellow"))
    assert len(memory.get(query="red")) == 2


def test_auto_of_the_default_model_is_its_own_floor():
    memory = VectorMemory(embedder="static", top_k=50)
    memory.add(said("I like the green tea of Kyoto", "The invoice is due on Friday", "Tea is best at 70 degrees"))
    floor = StaticEmbedder().noise_floor
    found = memory.get(query="how hot should tea be?")
    assert found
    assert all(m.metadata["score"] >= floor for m in found)
    assert "The invoice is due on Friday" not in contents(found)


def test_fact_is_remembered_and_is_no_turn(memory, counting):
    stored = memory.remember("the customer is on the annual plan", thread_id="t", source="crm", level=2)
    row = memory.native().get_one(stored)
    assert (row.kind, row.session, row.role) == ("fact", "t", "system")
    assert memory.native().turns("t") == []
    (fact,) = memory.get(thread_id="t", query="annual plan")
    assert fact.metadata == {"source": "crm", "level": 2, "recalled": True, "score": fact.metadata["score"]}
    assert counting.documents == [["the customer is on the annual plan"]]


def test_fact_goes_to_the_default_thread(memory):
    memory.remember("the plan is annual")
    assert contents(memory.get(query="annual plan")) == ["the plan is annual"]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda m: m.remember(" "), "fact is blank"),
        (lambda m: m.remember(None), "fact is None"),
        (lambda m: m.remember("x", thread_id=5), "thread_id is 5"),
        (lambda m: m.remember("x", _vx_kind="pinned"), "_vx_kind"),
        (lambda m: m.remember("x", agent_memories=[]), "agent_memories"),
        (lambda m: m.remember("x", at=datetime.now(UTC)), "isoformat"),
    ],
)
def test_wrong_fact_is_refused_and_nothing_stored(memory, call, told):
    with pytest.raises(InvalidInputError) as caught:
        call(memory)
    assert told in str(caught.value)
    assert memory.native().count() == 0


def test_correction_of_a_fact_takes_its_place(memory):
    stored = memory.remember("the office is in Lyon")
    memory.native().feedback(stored, "corrected", correction="the office is in Paris")
    assert contents(memory.get(query="the office")) == ["the office is in Paris"]
    memory.clear()
    assert memory.native().count() == 0
    assert memory.native().get([stored]) == []


def test_what_was_corrected_is_cleared_even_where_its_correction_is_gone(memory):
    memory.add(said("the office is in Lyon"))
    db = memory.native()
    db.memory.recall_roles = ("nobody",)  # settings of recall are not of clearing
    (turn,) = db.turns("default")
    fact = memory.remember("the plan is annual")
    for stored in (turn.id, fact):
        db.delete([db.feedback(stored, "corrected", correction="something else")])
    assert len(db.get([turn.id, fact])) == 2
    memory.clear("default")
    assert db.get([turn.id, fact]) == []
    assert db.turns("default") == []


def test_facts_of_the_application_are_recalled_whatever_their_role(memory):
    """Those of `consolidate` have none."""
    db = memory.native()
    memory.add(said(*[f"red {i}" for i in range(8)]), thread_id="t")
    db.consolidate("t", lambda turns: ["red was counted"], keep_recent=0)
    db.remember("red is loud", session="t", kind="fact", role="narrator")
    db.remember("red is warm", session="t", pinned=True)
    found = memory.get(thread_id="t", query="red", limit=10)
    assert {(m.role.value, m.content) for m in found} == {
        ("system", "red was counted"),
        ("system", "red is loud"),
        ("system", "red is warm"),
    }


def test_what_expired_is_not_recalled(memory):
    old = datetime.now(UTC) - timedelta(days=2)
    memory.native().remember("red blue", session="default", timestamp=old, ttl_days=1)
    memory.add(said("red"))
    assert contents(memory.get(query="red blue")) == ["red"]


def test_what_the_application_stored_in_the_thread_is_recalled_and_not_cleared(memory):
    db = memory.native()
    db.remember("red of the application", session="t", metadata={"k": 1})
    db.remember("red narrated", session="t", role="narrator")
    db.remember("red of a user", session="t", user="u")
    db.add("red of a document")
    memory.add(said("red"), thread_id="t")
    found = memory.get(thread_id="t", query="red", limit=10)
    assert contents(found) == ["red of the application", "red"]
    assert found[0].metadata["k"] == 1
    memory.clear("t")
    assert contents(memory.get(thread_id="t", query="red", limit=10)) == ["red of the application"]
    assert db.count() == 4


def test_clear_is_of_this_memory_only(memory_db):
    first, second = (VectorMemory(collection=memory_db, name=name) for name in ("first", "second"))
    for memory in (first, second):
        memory.add(said(f"red of {memory.name}"), thread_id="a")
        memory.add(said(f"red of {memory.name}"), thread_id="b")
        memory.remember(f"a fact of {memory.name}", thread_id="a")
    first.clear("a")
    assert sorted(r.text for r in memory_db.search("red fact", session="a")) == ["a fact of second", "red of second"]
    assert memory_db.count() == 4
    first.clear()
    assert memory_db.count() == 3
    second.clear()
    assert memory_db.count() == 0


def test_same_name_after_a_restart_is_the_same_memory(tmp_path, counting):
    with Collection("chat", path=tmp_path, embedder=counting) as db:
        VectorMemory(collection=db).add(said("red"))
    with Collection("chat", path=tmp_path, embedder=counting) as db:
        memory = VectorMemory(collection=db)
        assert contents(memory.get(query="red")) == ["red"]
        memory.clear()
        assert db.count() == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"top_k": 0}, "top_k is 0"),
        ({"top_k": True}, "top_k is True"),
        ({"top_k": None}, "top_k is None"),
        ({"score_threshold": 1.5}, "score_threshold is 1.5, expected a similarity of -1 to 1"),
        ({"score_threshold": "high"}, "score_threshold is 'high'"),
        ({"score_threshold": True}, "score_threshold is True"),
        ({"score_threshold": float("nan")}, "score_threshold is nan"),
        ({"store_roles": "user"}, "store_roles is 'user', expected a list"),
        ({"store_roles": ["user", "usr"]}, "a role of store_roles is 'usr'"),
        ({"store_roles": None}, "store_roles is None"),
        ({"name": "two\nlines"}, "name is"),
        ({"name": None}, "name is None"),
    ],
)
def test_wrong_setting_is_refused(embedder, options, told):
    with pytest.raises(InvalidInputError) as caught:
        VectorMemory(embedder=embedder, **options)
    assert told in str(caught.value)


@pytest.mark.parametrize("wrong", [{"collection": "chat"}, {"collection": 5}, {"embedder": 5}, {"embedder": "none"}])
def test_wrong_collection_or_embedder_is_refused_with_a_hint(wrong):
    with pytest.raises(ConfigurationError) as caught:
        VectorMemory(**wrong)
    assert caught.value.hint


def test_query_given_by_position_is_refused_rather_than_taken_for_a_thread(memory):
    with pytest.raises(TypeError):
        memory.get("what format?")


def test_describe_says_what_it_is(memory):
    described = memory.describe()
    assert json.loads(json.dumps(described)) == described
    assert described == {
        "type": "VectorMemory",
        "name": "vector",
        "collection": "vector",
        "path": None,
        "embedder": "counting",
        "top_k": 3,
        "score_threshold": "auto",
        "store_roles": ["user", "assistant"],
    }


def test_hundred_threads_at_once(db):
    """Each recalls its own, and only its own."""
    memory = VectorMemory(collection=db, top_k=10, score_threshold=None)

    async def talk(thread):
        for i in range(3):
            await memory.aadd([Message.user(f"red {i} of {thread}"), Message.assistant("blue")], thread_id=thread)
            await memory.aget(thread_id=thread, query="red")
        return await memory.aget(thread_id=thread, query=f"red of {thread}")

    async def main():
        threads = [f"t{i}" for i in range(100)]
        return dict(zip(threads, await asyncio.gather(*map(talk, threads)), strict=True))

    for thread, found in asyncio.run(main()).items():
        expected = [text for i in range(3) for text in (f"red {i} of {thread}", "blue")]
        assert contents(found) == expected
    assert db.count() == 600


def test_memories_of_two_kinds_over_one_collection_see_one_conversation(memory_db):
    vector, window = VectorMemory(collection=memory_db), WindowMemory(collection=memory_db)
    vector.add(said("red"))
    assert contents(window.get()) == ["red"]
    assert memory_db.count() == 1
