"""Chat logs and memories of other programs: each importer on a file of its kind."""

import json
import sys
import types
from datetime import UTC, datetime

import numpy as np
import pytest

from retentive import ConflictError, InvalidInputError, importers
from retentive.importers import chatgpt, chroma, langchain_messages, mem0, openai_messages, sharegpt

NINE = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)


def saved(tmp_path, name, value):
    file = tmp_path / name
    if name.endswith("l"):
        file.write_text("".join(json.dumps(row) + "\n" for row in value), "utf-8")
    else:
        file.write_text(json.dumps(value, indent=1), "utf-8")
    return file


def told(turns):
    return [(turn.role, turn.name, turn.text) for turn in turns]


OPENAI = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "name": "Ann", "content": "As a PDF, please", "timestamp": NINE.timestamp()},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "render", "arguments": '{"kind": "pdf"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "report.pdf"},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "Here it is."}, {"type": "refusal", "refusal": "No more."}],
    },
    {
        "role": "user",
        "content": [{"type": "text", "text": "And this?"}, {"type": "image_url", "image_url": {"url": "data:,"}}],
    },
    {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}]},
    {"role": "assistant", "content": ""},
]


def test_openai_messages_become_turns(db, tmp_path):
    file = saved(tmp_path, "messages.json", OPENAI)
    db.remember_many(list(openai_messages(file, session="u42", user="ann")))
    turns = db.turns("u42", user="ann")
    assert told(turns) == [
        ("developer", None, "Be brief."),
        ("user", "Ann", "As a PDF, please"),
        ("assistant", None, 'render({"kind": "pdf"})'),
        ("tool", None, "report.pdf"),
        ("assistant", None, "Here it is.\nNo more."),
        ("user", None, "And this?"),
        ("user", None, "[input_audio]"),
    ]
    assert turns[1].timestamp == NINE
    assert turns[2].metadata["tool_calls"] == [{"id": "c1", "name": "render", "arguments": '{"kind": "pdf"}'}]
    assert turns[3].metadata["tool_call_id"] == "c1"
    assert turns[5].metadata["parts"] == ["image_url"]


@pytest.mark.parametrize("whole", [OPENAI, {"messages": OPENAI}, iter(OPENAI), tuple(OPENAI)])
def test_openai_messages_may_be_loaded_already(whole):
    assert {item["session"] for item in openai_messages(whole, session="u42")} == {"u42"}


def test_openai_conversation_in_a_file_is_one_session(tmp_path):
    file = saved(tmp_path, "conversation.json", {"messages": OPENAI})
    assert {item["session"] for item in openai_messages(file, session="u42")} == {"u42"}


def test_openai_training_files_have_a_conversation_a_line(db, tmp_path):
    rows = [{"messages": OPENAI[:2]}, {"id": "own", "messages": OPENAI[3:5]}, {"messages": OPENAI[:1]}]
    db.remember_many(openai_messages(saved(tmp_path, "training.jsonl", rows), session="t"))
    assert sorted(db.sessions()) == ["own", "t-0", "t-2"]


def test_openai_messages_of_some_roles_alone():
    assert [item["role"] for item in openai_messages(OPENAI, roles=["tool"])] == ["tool"]


def test_old_function_calls_are_calls():
    message = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    (item,) = openai_messages([message, {"role": "function", "name": "f", "content": ""}])
    assert item["text"] == "f({})"


def test_calls_of_custom_tools_keep_name_and_input():
    """In the form of a chat, among the parts of a content, and in that of the Responses API."""
    call = {"id": "c2", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}
    rows = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"type": "custom_tool_call", "call_id": "c2", "name": "shell", "input": "ls -l"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c2", "name": "shell", "input": "ls -l"}]},
    ]
    for item in openai_messages(rows):
        assert item["text"] == "shell(ls -l)"
        assert item["metadata"]["tool_calls"] == [{"id": "c2", "name": "shell", "arguments": "ls -l"}]
    (item,) = langchain_messages([{"type": "ai", "content": "", "additional_kwargs": {"tool_calls": [call]}}])
    assert item["text"] == "shell(ls -l)"


def conversation(id, title, nodes, current):
    mapping = {"root": {"id": "root", "message": None, "parent": None, "children": ["sys"]}}
    for name, parent, role, content in nodes:
        mapping[name] = {
            "id": name,
            "parent": parent,
            "children": [other for other, up, *_ in nodes if up == name],
            "message": {
                "id": name,
                "author": {"role": role, "name": None, "metadata": {}},
                "create_time": NINE.timestamp() + len(mapping),
                "content": content,
                "status": "finished_successfully",
                "weight": 1.0,
                "metadata": {"model_slug": "gpt-x"} if role == "assistant" else {},
                "recipient": "all",
            },
        }
    return {"id": id, "conversation_id": id, "title": title, "mapping": mapping, "current_node": current}


def said(text):
    return {"content_type": "text", "parts": [text]}


CHATGPT = [
    conversation(
        "conv-1",
        "A trip",
        [
            ("sys", "root", "system", said("")),
            ("q", "sys", "user", said("Where to in May?")),
            ("a1", "q", "assistant", said("Lisbon.")),
            ("a2", "q", "assistant", said("Vienna.")),
            ("thought", "a2", "assistant", {"content_type": "thoughts", "thoughts": []}),
            (
                "pic",
                "thought",
                "user",
                {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}, "Here?"]},
            ),
            ("code", "pic", "assistant", {"content_type": "code", "language": "python", "text": "print(1)"}),
            ("out", "code", "tool", {"content_type": "execution_output", "text": "1"}),
        ],
        "out",
    ),
    conversation("conv-2", None, [("sys", "root", "user", said("Hello")), ("a", "sys", "assistant", said("Hi"))], None),
]


def test_chatgpt_conversations_are_sessions_as_last_seen(db, tmp_path):
    file = saved(tmp_path, "conversations.json", CHATGPT)
    db.remember_many(list(chatgpt(file, user="ann")))
    turns = db.turns("conv-1", user="ann")
    assert told(turns) == [
        ("user", None, "Where to in May?"),
        ("assistant", None, "Vienna."),
        ("user", None, "Here?"),
        ("assistant", None, "print(1)"),
    ]
    assert turns[1].metadata["title"] == "A trip"
    assert turns[1].metadata["model"] == "gpt-x"
    assert turns[0].timestamp < turns[1].timestamp
    assert turns[2].metadata["parts"] == ["image_asset_pointer"]
    assert [turn.text for turn in db.turns("conv-2", user="ann")] == ["Hello", "Hi"]
    with pytest.raises(ConflictError):
        db.remember_many(list(chatgpt(file, user="ann")))
    assert [item["role"] for item in chatgpt(file, roles=None)].count("tool") == 1


def test_chatgpt_hidden_messages_and_rings(tmp_path):
    hidden = json.loads(json.dumps(CHATGPT[1]))
    hidden["mapping"]["a"]["message"]["metadata"]["is_visually_hidden_from_conversation"] = True
    assert [item["text"] for item in chatgpt([hidden])] == ["Hello"]
    ring = json.loads(json.dumps(CHATGPT[1]))
    ring["mapping"]["root"]["parent"] = "a"
    with pytest.raises(InvalidInputError, match="ring"):
        list(chatgpt([ring]))


SHAREGPT = [
    {
        "id": "first",
        "system": "Be brief.",
        "conversations": [
            {"from": "human", "value": "How tall is it?"},
            {"from": "function_call", "value": '{"name": "look_up"}'},
            {"from": "observation", "value": "324 m"},
            {"from": "gpt", "value": "324 metres."},
        ],
    },
    {"conversations": [{"from": "human", "value": "Hello"}, {"from": "gpt", "value": ""}]},
]


@pytest.mark.parametrize("name", ["sharegpt.json", "sharegpt.jsonl"])
def test_sharegpt_rows_are_sessions(db, tmp_path, name):
    db.remember_many(list(sharegpt(saved(tmp_path, name, SHAREGPT))))
    assert [turn.role for turn in db.turns("first")] == ["system", "user", "assistant", "tool", "assistant"]
    assert [turn.text for turn in db.turns("sharegpt-1")] == ["Hello"]


def test_json_lines_are_known_by_what_is_in_the_file_too(tmp_path):
    file = tmp_path / "rows.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in SHAREGPT), "utf-8")
    assert len(list(sharegpt(file))) == 6


# What langchain-core 1.8 makes of six messages.
BLOCKS = [
    {"type": "text", "text": "One moment"},
    {"type": "tool_use", "id": "c1", "name": "render", "input": {"kind": "pdf"}},
]
CALL = {"name": "render", "args": {"kind": "pdf"}, "id": "c1", "type": "tool_call"}
LANGCHAIN = [
    {
        "content": "Be brief",
        "additional_kwargs": {},
        "response_metadata": {},
        "type": "system",
        "name": None,
        "id": None,
    },
    {"content": "As a PDF, please", "additional_kwargs": {}, "type": "human", "name": "Ann", "id": "h1"},
    {"content": BLOCKS, "type": "ai", "name": None, "id": "run-1", "tool_calls": [CALL], "invalid_tool_calls": []},
    {"content": "done", "type": "tool", "name": "render", "id": None, "tool_call_id": "c1", "status": "success"},
    {"content": "A cat", "type": "AIMessageChunk", "name": None, "id": None, "tool_calls": [], "tool_call_chunks": []},
    {"content": "hm", "type": "chat", "name": None, "id": None, "role": "critic"},
]
CLASSES = ["SystemMessage", "HumanMessage", "AIMessage", "ToolMessage", "AIMessageChunk", "ChatMessage"]
DUMPS = {
    "messages_to_dict": [{"type": fields["type"], "data": fields} for fields in LANGCHAIN],
    "dumpd": [
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": fields}
        for name, fields in zip(CLASSES, LANGCHAIN, strict=True)
    ],
    "model_dump": LANGCHAIN,
    "state": {"messages": LANGCHAIN},
}


@pytest.mark.parametrize("dump", DUMPS.values(), ids=DUMPS.keys())
def test_langchain_messages_become_turns(db, tmp_path, dump):
    db.remember_many(list(langchain_messages(saved(tmp_path, "messages.json", dump), session="u42")))
    turns = db.turns("u42")
    assert told(turns) == [
        ("system", None, "Be brief"),
        ("user", "Ann", "As a PDF, please"),
        ("assistant", None, "One moment"),
        ("tool", "render", "done"),
        ("assistant", None, "A cat"),
        ("critic", None, "hm"),
    ]
    assert turns[1].metadata["message_id"] == "h1"
    assert turns[2].metadata["tool_calls"] == [{"id": "c1", "name": "render", "arguments": {"kind": "pdf"}}]


def test_langchain_messages_themselves_and_what_was_removed():
    class Message:
        def model_dump(self):
            return LANGCHAIN[1]

    items = list(langchain_messages([Message(), {"type": "remove", "content": "", "id": "h1"}]))
    assert [item["text"] for item in items] == ["As a PDF, please"]


def test_calls_as_providers_gave_them_are_calls():
    extra = {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}, "type": "function"}]}
    (item,) = langchain_messages([{"type": "ai", "content": "", "additional_kwargs": extra, "tool_calls": []}])
    assert item["text"] == "f({})"


MEM0 = {
    "results": [
        {
            "id": "9c1f7a52-0000-4000-8000-000000000001",
            "memory": "Likes hiking on Sundays",
            "hash": "f3a1",
            "metadata": {"category": "hobbies"},
            "created_at": "2026-05-01T02:30:00.000000-07:00",
            "updated_at": None,
            "user_id": "ann",
            "run_id": "trip",
            "agent_id": "guide",
        },
        {"id": "2", "memory": "Is vegetarian", "created_at": "2026-05-01T09:30:00Z", "metadata": None},
        {"id": "3", "memory": "Was in Rome", "expiration_date": "2020-01-01"},
        {"id": "4", "memory": "Is in Vienna", "created_at": "2026-05-01T09:30:00Z", "expiration_date": "2999-01-01"},
    ],
    "relations": [],
}


def test_mem0_memories_become_facts(db, tmp_path):
    file = saved(tmp_path, "mem0.json", MEM0)
    db.remember_many(list(mem0(file, user="bob")))
    hiking = db.get_one(MEM0["results"][0]["id"])
    assert (hiking.text, hiking.kind, hiking.user, hiking.session) == ("Likes hiking on Sundays", "fact", "ann", "trip")
    assert hiking.timestamp == NINE
    assert hiking.metadata["category"] == "hobbies"
    assert hiking.metadata["agent_id"] == "guide"
    assert db.get_one("2").user == "bob"
    assert db.get_one("3") is None
    assert abs(db.get_one("4").expires_at - datetime(2999, 1, 2, tzinfo=UTC)).total_seconds() < 0.001
    with pytest.raises(ConflictError):
        db.remember_many(list(mem0(file)))


def test_mem0_lists_of_older_versions(db):
    assert len(db.remember_many(list(mem0(MEM0["results"][:2])))) == 2


# What chromadb 1.5 returns from `get`.
CHROMA = {
    "ids": ["a", "b", "c"],
    "embeddings": np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    "documents": ["one", "two", "three"],
    "uris": None,
    "included": ["documents", "metadatas", "embeddings"],
    "data": None,
    "metadatas": [{"p": 1}, {"p": 2}, None],
}


class FakeCollection:
    """As `chromadb.Collection.get` answers: pages, and None for what was not asked for."""

    def __init__(self):
        self.asked = []

    def get(self, include, limit, offset):
        self.asked.append((tuple(include), limit, offset))
        rows = slice(offset, offset + limit)
        return {
            "ids": CHROMA["ids"][rows],
            **{
                name: CHROMA[name][rows] if name in include else None
                for name in ("documents", "metadatas", "embeddings")
            },
        }


@pytest.mark.parametrize("source", [CHROMA, FakeCollection()], ids=["get", "collection"])
def test_chroma_documents_keep_ids_and_metadata(db, source):
    for _ in range(2):
        for batch in chroma(source):
            db.add(**batch)
    assert db.count() == 3
    assert [(hit.id, hit.text, hit.metadata.get("p")) for hit in db.get(["a", "c"])] == [
        ("a", "one", 1),
        ("c", "three", None),
    ]


def test_chroma_vectors_come_along(memory_db, monkeypatch):
    monkeypatch.setattr("retentive.importers._chroma.BATCH", 2)
    source = FakeCollection()
    batches = list(chroma(source, vectors=True))
    assert [len(batch["ids"]) for batch in batches] == [2, 1]
    assert source.asked[-1] == (("documents", "metadatas", "embeddings"), 2, 3)
    from retentive import Collection

    with Collection("docs") as db:
        for batch in batches:
            db.add(**batch)
        assert db.search(vector=[5.0, 6.0], limit=1).ids == ["c"]


def test_a_folder_of_chroma_is_opened_by_chromadb(tmp_path, monkeypatch):
    opened = []

    class Client:
        def __init__(self, path):
            opened.append(path)

        def get_collection(self, name):
            opened.append(name)
            return FakeCollection()

    (tmp_path / "chroma.sqlite3").touch()
    monkeypatch.setitem(sys.modules, "chromadb", types.SimpleNamespace(PersistentClient=Client))
    (batch,) = chroma(tmp_path, collection="notes")
    assert batch["ids"] == ["a", "b", "c"]
    assert opened == [str(tmp_path), "notes"]
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(Exception, match="pip install chromadb"):
        chroma(tmp_path, collection="notes")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"ids": [["a"]], "documents": [["one"]]}, "query"),
        ({"ids": ["a"], "documents": None}, "no documents"),
        ({"ids": ["a"], "documents": [None]}, "have no document"),
        ({"documents": ["one"]}, "expected what collection.get"),
        (3, "expected what collection.get"),
    ],
)
def test_what_chroma_does_not_return_is_refused(source, message):
    with pytest.raises(InvalidInputError, match=message):
        list(chroma(source))


def test_every_importer_is_exported_and_documented():
    assert importers.__all__ == sorted(importers.__all__)
    assert all(getattr(importers, name).__doc__ for name in importers.__all__)
