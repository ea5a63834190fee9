"""Forgetting, folding, replacing and keeping for hostile names: what is another's stays as it was."""

import unicodedata

import pytest

from retentive import KINDS, Collection
from retentive.agents import Message, VectorMemory, WindowMemory
from retentive.assistant import MemoryManager

NAMES = [
    "john",
    "johnny",
    "John",
    "john ",
    " john",
    "john_doe",
    "john-doe",
    "john%",
    "j*",
    "j?hn",
    "[j]ohn",
    "_ohn",
    "%",
]
NAMES += [
    "john\0",
    "john\n",
    "john\u200b",
    "a:b",
    "a",
    "b",
    "a/b",
    "' OR 1=1 --",
    "*",
    "null",
    "None",
    "\U0001f600",
    " ",
]
NAMES += [unicodedata.normalize(form, "caf\u00e9 \u212b \ufb01") for form in ("NFC", "NFD", "NFKC", "NFKD")]
NAMES += ["K", "\u212a", "k", "stra\u00dfe", "strasse", "x" * 65_536, "x" * 65_535, "x" * 65_535 + "y"]
NAMES = list(dict.fromkeys(NAMES))


def fill(db, *, as_user=False, count=3):
    """Each name with the same words, three turns, a fact and a pinned fact."""
    for name in NAMES:
        owner = {"user": name, "session": "chat"} if as_user else {"session": name}
        db.remember_many([{"text": f"apple pie {i}", **owner} for i in range(count)])
        db.remember("apple pie is known", kind="fact", key="pie", **owner)
        db.remember("apple pie is pinned", pinned=True, **owner)


def counts(db, *, as_user=False):
    return [db.count(user=name) if as_user else db.count(session=name) for name in NAMES]


@pytest.mark.parametrize("as_user", [False, True], ids=["session", "user"])
def test_forgetting_one_after_another_takes_one_at_a_time(memory_db, as_user):
    fill(memory_db, as_user=as_user)
    expected = [5] * len(NAMES)
    for index, name in enumerate(NAMES):
        owner = {"user": name} if as_user else {"session": name}
        assert memory_db.forget(**owner, kinds=KINDS) == 5
        expected[index] = 0
        assert counts(memory_db, as_user=as_user) == expected
    assert memory_db.count() == 0


def test_forgetting_ids_in_a_session_takes_none_of_another(memory_db):
    fill(memory_db)
    every = [result.id for name in NAMES for result in memory_db.turns(name)]
    assert memory_db.forget(NAMES[0], ids=every) == 3
    assert counts(memory_db) == [2] + [5] * (len(NAMES) - 1)


def test_summarizer_sees_the_turns_of_one_session_of_one_user(memory_db):
    seen = []

    def summarize(turns):
        seen.extend(turns)
        return ["folded"]

    for number, name in enumerate(NAMES):
        memory_db.remember_many([{"text": f"session {number}", "session": name}] * 2)
        memory_db.remember_many([{"text": f"user {number}", "session": "chat", "user": name}] * 2)
    for number, name in enumerate(NAMES):
        seen.clear()
        memory_db.consolidate(name, summarize, keep_recent=0)
        memory_db.consolidate("chat", summarize, keep_recent=0, user=name)
        assert [turn["text"] for turn in seen] == [f"session {number}"] * 2 + [f"user {number}"] * 2
        assert (memory_db.count(session=name, user=None), memory_db.count(user=name)) == (1, 1)
    assert memory_db.count() == 2 * len(NAMES)


def test_replacing_the_turns_of_one_leaves_the_others(memory_db):
    fill(memory_db)
    for number, name in enumerate(NAMES):
        memory_db.replace_turns(name, [{"text": f"new {number}"}])
    assert [[turn.text for turn in memory_db.turns(name)] for name in NAMES] == [
        [f"new {i}"] for i in range(len(NAMES))
    ]
    assert counts(memory_db) == [3] * len(NAMES)


@pytest.mark.parametrize("kind", [WindowMemory, VectorMemory])
def test_threads_of_agents_are_apart(embedder, kind):
    with Collection("c", embedder=embedder) as db:
        memory = kind(collection=db, score_threshold=None) if kind is VectorMemory else kind(collection=db)
        for number, name in enumerate(NAMES):
            memory.add([Message.user(f"apple pie {number}")], thread_id=name)
        for number, name in enumerate(NAMES):
            assert [m.content for m in memory.get(thread_id=name, query="apple pie")] == [f"apple pie {number}"]
        memory.clear(thread_id=NAMES[0])
        left = [len(memory.get(thread_id=name, query="apple pie")) for name in NAMES]
        assert left == [0] + [1] * (len(NAMES) - 1)


@pytest.mark.parametrize("field", ["session_id", "user"])
def test_assistants_of_one_collection_are_apart(memory_db, field):
    managers = [
        MemoryManager(
            name if field == "session_id" else "chat",
            collection=memory_db,
            **({} if field == "session_id" else {"user": name}),
        )
        for name in NAMES
    ]
    for number, manager in enumerate(managers):
        manager.record("user", f"I like apple pie of kind {number} very much")
        manager.facts.remember("pie", f"kind {number}")
    for number, manager in enumerate(managers):
        assert [turn.content for turn in manager.conversation.turns] == [f"I like apple pie of kind {number} very much"]
        assert manager.facts.all() == {"pie": f"kind {number}"}
        found = manager.semantic.search("apple pie", k=100, max_distance=None)
        assert [hit.text for hit in found] == [f"I like apple pie of kind {number} very much"]
        assert manager.conversation.recent() in manager.context_for("which pie")
