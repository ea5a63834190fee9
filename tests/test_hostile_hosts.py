"""Any arguments to what stands on a collection: `ConversationMemory`, the assistant, agents' memories, async twins,
embedders, repair and the functions: an answer or a typed error, and nothing stored where it is one.

`RETENTIVE_SOAK=1` draws a hundred times as many.
"""

import asyncio
import inspect
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import retentive
from hostile_values import (
    METHODS,
    arguments,
    called,
    calls,
    drawn,
    ids,
    junk,
    metadata,
    names,
    numbers,
    outcome,
    strings,
    times,
    values,
)
from retentive import CallableEmbedder, Collection, ConversationMemory, EmbedderPair, HashEmbedder, OnnxEmbedder
from retentive.agents import CompositeMemory, Message, Role, VectorMemory, WindowMemory
from retentive.assistant import MemoryManager
from retentive.repair import main, repair
from retentive.tokens import estimate_tokens

pytestmark = [
    pytest.mark.soak,
    pytest.mark.usefixtures("in_a_folder_of_its_own"),
    pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning"),
]


def filled():
    db = Collection("c", embedder=HashEmbedder(16))
    db.remember_many([{"text": "apple pie", "session": "a", "id": "a", "metadata": {"n": 1}}])
    db.remember("apple pie is good", kind="fact", id="b", key="k")
    return db


def check_usable(db):
    fine = db.remember("fine after all that", session="fine")
    assert db.get_one(fine).text == "fine after all that"
    assert db.verify().ok


# ---- every method has a test


MEMORY_METHODS = {name: METHODS[name] for name in METHODS if hasattr(ConversationMemory, name)}
WITHOUT_ARGUMENTS = {"close", "aclose"}


def public(owner):
    return {name for name, _ in inspect.getmembers(owner, callable) if not name.startswith("_")}


def test_every_public_method_is_called_with_any_arguments():
    plain = {name for name in public(Collection) if f"a{name}" in public(Collection)}
    assert plain - METHODS.keys() - WITHOUT_ARGUMENTS - {"memory"} == set()
    own = public(ConversationMemory) - {"ttl_of", "native", "bound_to"}
    assert {name for name in own if not (name.startswith("a") and name[1:] in own)} == MEMORY_METHODS.keys()
    assert public(MemoryManager) - {"close"} == MANAGER.keys() - {"semantic"}
    assert public(WindowMemory) - {"native", "keeps", "describe"} == {"add", "get", "clear", "aadd", "aget", "aclear"}


# ---- ConversationMemory and the twins


@drawn(30)
@given(calls(MEMORY_METHODS))
def test_a_memory_of_ones_own_answers_or_refuses(counted, sequence):
    counted(hostile_calls=len(sequence))
    with filled() as db:
        memory = ConversationMemory(db)
        for method, given_arguments in sequence:
            called(db, memory, method, given_arguments)
        check_usable(db)


@drawn(30)
@given(calls())
def test_the_async_twins_answer_or_refuse(counted, sequence):
    counted(hostile_calls=len(sequence))

    class Twins:
        def __init__(self, db):
            self.db = db

        def __getattr__(self, name):
            return lambda **fields: asyncio.run(awaited(getattr(self.db, f"a{name}"), fields))

    async def awaited(method, fields):
        return await method(**fields)

    with filled() as db:
        for method, given_arguments in sequence:
            called(db, Twins(db), method, given_arguments)
        check_usable(db)


# ---- the assistant


PATHS = st.one_of(values, st.sampled_from(["session.json", "none/session.json", "", "\0", "\ud800", "x" * 300, "."]))
MANAGER = {
    "record": {"role": strings, "content": names, "image_path": PATHS},
    "context_for": {"query": strings, "k_recent": numbers, "k_semantic": numbers},
    "checkpoint": {},
    "semantic": {},
}
PARTS = {
    "conversation": {
        "add": {"role": strings, "content": names, "image_path": PATHS},
        "recent": {"k": numbers},
        "prune": {"forget": numbers},
        "save": {"path": PATHS},
        "load": {"path": PATHS},
    },
    "facts": {
        "remember": {"key": strings, "value": names},
        "recall": {"key": strings},
        "history": {"key": strings},
        "all": {},
        "as_context": {},
    },
    "semantic": {
        "add": {"text": names, "doc_id": strings, "metadata": metadata},
        "search": {"query": strings, "k": numbers, "max_distance": numbers},
    },
}
HOSTED = {f"{part}.{name}": fields for part, methods in PARTS.items() for name, fields in methods.items()}
HOSTED |= {name: fields for name, fields in MANAGER.items() if name in ("record", "context_for", "checkpoint")}
NEEDED = {
    "record": {"role", "content"},
    "context_for": {"query"},
    "conversation.add": {"role", "content"},
    "conversation.save": {"path"},
    "conversation.load": {"path"},
    "facts.remember": {"key", "value"},
    "facts.recall": {"key"},
    "facts.history": {"key"},
    "semantic.add": {"text", "doc_id"},
    "semantic.search": {"query"},
}
OPTIONS = {
    "session_id": names,
    "max_turns": numbers,
    "retention_days": numbers,
    "token_budget": numbers,
    "user": names,
    "embedder": values,
    "token_counter": values,
    "collection": values,
    "path": PATHS,
}


@st.composite
def openings(draw):
    return draw(arguments(OPTIONS, set()))


class Dotted:
    """Methods of parts by one name: `facts.recall`."""

    def __init__(self, owner):
        self.owner = owner

    def __getattr__(self, name):
        part, _, method = name.rpartition(".")
        return getattr(getattr(self.owner, part) if part else self.owner, method)


@drawn(30)
@given(calls(HOSTED, NEEDED))
def test_an_assistant_answers_or_refuses(counted, sequence):
    counted(hostile_calls=len(sequence))
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder, filled() as db:
        patch.chdir(folder)
        memory = MemoryManager("a", collection=db)
        for method, given_arguments in sequence:
            called(db, Dotted(memory), method, given_arguments)
        check_usable(db)


@drawn(30)
@given(openings())
def test_an_assistant_opens_or_refuses(chosen):
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.chdir(folder)
        outcome(lambda: MemoryManager(**chosen).close())


# ---- agents


roles = st.one_of(st.sampled_from([*Role, "user", "assistant", "tool"]), strings)
messages = st.builds(lambda content, own: (content, own), names, metadata)


def message(content, own):
    try:
        return Message.user(content, own)
    except retentive.RetentiveError:
        return content


AGENT = {
    "add": {"messages": st.one_of(st.lists(messages, max_size=3), values), "thread_id": names},
    "get": {"thread_id": names, "query": strings, "limit": numbers},
    "clear": {"thread_id": names},
    "remember": {"fact": names, "thread_id": names},
    "describe": {},
}


@drawn(30)
@given(calls(AGENT, {"add": {"messages"}, "remember": {"fact"}}), st.sampled_from(["window", "vector", "both"]))
def test_agents_memories_answer_or_refuse(counted, sequence, which):
    counted(hostile_calls=len(sequence))
    with filled() as db:
        window, vector = WindowMemory(3, collection=db), VectorMemory(collection=db)
        memory = {"window": window, "vector": vector, "both": CompositeMemory([window, vector])}[which]
        for method, given_arguments in sequence:
            if isinstance(given_arguments.get("messages"), list):
                pairs = given_arguments["messages"]
                given_arguments["messages"] = [
                    message(*pair) if isinstance(pair, tuple) and len(pair) == 2 else pair for pair in pairs
                ]
            if hasattr(memory, method):
                called(db, memory, method, given_arguments)
        check_usable(db)


MAKERS = {
    Message: ({"role": roles, "content": names, "metadata": metadata}, {"role", "content"}),
    WindowMemory: ({"window": numbers, "collection": values, "name": names}, set()),
    VectorMemory: (
        {
            "embedder": values,
            "collection": values,
            "top_k": numbers,
            "score_threshold": numbers,
            "store_roles": st.one_of(st.lists(roles, max_size=3), ids),
            "name": names,
        },
        set(),
    ),
    CompositeMemory: ({"memories": values, "name": names}, {"memories"}),
    HashEmbedder: ({"dimension": st.one_of(numbers.filter(lambda number: not huge(number)), strings, junk)}, set()),
    CallableEmbedder: ({"name": names, "dimension": numbers, "fn": values}, {"name", "dimension", "fn"}),
    EmbedderPair: ({"first": values, "second": values, "dense_weights": values}, {"first", "second"}),
    OnnxEmbedder: ({"model": PATHS}, {"model"}),
    repair: ({"path": PATHS, "into": PATHS, "language": strings}, {"path", "into"}),
    estimate_tokens: ({"text": names}, {"text"}),
    retentive.feedback_score: (
        {"meta": metadata, "now": times, "half_life_days": numbers},
        {"meta", "now", "half_life_days"},
    ),
}


def huge(number):
    """A dimension that would be allocated: what a user asks for is made."""
    try:
        return number > 10_000
    except (TypeError, ArithmeticError):  # a decimal that is no number
        return False


@st.composite
def makings(draw):
    maker = draw(st.sampled_from(list(MAKERS)))
    fields, required = MAKERS[maker]
    return maker, draw(arguments(fields, required))


@drawn(200)
@given(makings())
def test_constructors_and_functions_answer_or_refuse(making):
    maker, chosen = making
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.chdir(folder)
        outcome(lambda: maker(**chosen))


texts = st.lists(names, max_size=3)


@drawn(30)
@given(texts, names)
def test_embedders_answer_or_refuse(several, one):
    for embedder in (HashEmbedder(16), retentive.StaticEmbedder()):
        for call in (
            lambda embedder=embedder: embedder.embed_documents(several),
            lambda embedder=embedder: embedder.embed_query(one),
        ):
            outcome(call)


WORDS = ["--into", "new.db", "old.db", "--language", "", "\ud800", "-x", "klingon"]


@drawn(30)
@given(st.lists(st.sampled_from(WORDS), max_size=5))
def test_the_repair_command_ends_with_a_code(words):
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.chdir(folder)
        Path("old.db").write_bytes(b"not a database" * 100)
        try:
            code = main(words)
        except SystemExit as ended:  # argparse
            code = ended.code
        assert code in (0, 1, 2)
