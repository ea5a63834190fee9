"""Importers of what is wrong: rows of another form, files that are no JSON, any JSON at all."""

import contextlib
import copy
import itertools
import json
import sys
import types

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retentive import Collection, ConflictError, HashEmbedder, InvalidInputError
from retentive.importers import chatgpt, chroma, langchain_messages, mem0, openai_messages, sharegpt

READERS = [openai_messages, chatgpt, sharegpt, langchain_messages, mem0]
SHAPES = {
    openai_messages: [
        {"role": "user"},
        {"messages": {}},
        {"content": "x"},
        {"role": 1},
        {"role": "user", "content": 1},
        {"role": "user"},
        {"role": "user", "text": "x"},
        {"role": "user", "content": "\ud800"},
        {"role": "user", "content": [{"type": [], "text": "a"}]},
        {"role": "user", "content": "x", "tool_calls": [1]},
        {"role": "user", "content": "x", "name": 1},
        {"role": "user", "content": "x", "ts": 10**400},
        {"role": "user", "content": "x", "ts": "yesterday"},
        {"role": "assistant", "content": None, "audio": {"transcript": 1}},
        {"role": "assistant", "content": None, "refusal": 1},
        {"messages": [], "id": [1]},
    ],
    chatgpt: [
        {"mapping": None},
        {"mapping": {"a": 1}, "current_node": "a"},
        {"mapping": {}, "current_node": [1]},
        {"mapping": {"a": {"parent": "b", "children": ["b"]}, "b": {"parent": "a", "children": ["a"]}}},
        {"mapping": {"a": {"parent": "a", "children": ["a"]}}, "current_node": None},
        {"mapping": {"a": None}},
        {"mapping": {"a": {"parent": [1]}}, "current_node": "a"},
        {"mapping": {"a": {"message": {"author": {"role": "user"}}}}, "current_node": "a"},
        *(
            {"mapping": {"a": {"message": {"author": {"role": "user"}, "content": {"parts": ["x"]}, **wrong}}}}
            for wrong in ({"create_time": 10**400}, {"content": {"content_type": {}, "parts": ["x"]}}, {"id": {}})
        ),
    ],
    sharegpt: [
        {"text": "x"},
        {"conversations": "x"},
        {"conversations": [1]},
        {"conversations": [{"value": "x"}]},
        {"conversations": [{"from": "human"}]},
        {"conversations": [], "id": {}},
        {"conversations": [], "system": 1},
    ],
    langchain_messages: [
        {"role": "user", "content": "x"},
        {"lc": 1, "id": ["x"]},
        {"type": "chat", "content": "x"},
        {"type": "human", "data": {}},
        {"lc": 1, "id": 5, "kwargs": {}},
        {"lc": 1, "id": {"a": 1}, "kwargs": {}},
        {"lc": 1, "id": [5], "kwargs": {}},
    ],
    mem0: [
        {"text": None},
        {"memory": "x", "metadata": "y"},
        {"memory": "x", "created_at": []},
        {"memory": " "},
        {"memory": "x", "metadata": {"_vx_kind": 1}},
        {"memory": "x", "id": "\ud800"},
        {"memory": "x", "user_id": 5},
        {"memory": "x", "user_id": ""},
        {"memory": "x", "run_id": ""},
        {"memory": "x", "user_id": "\ud800"},
        {"memory": "x", "created_at": 10**400},
        {"memory": "x", "expiration_date": -(10**400)},
    ],
}


@pytest.mark.parametrize(("reader", "row"), [(reader, row) for reader, rows in SHAPES.items() for row in rows[1:]])
def test_rows_of_another_form_are_named(reader, row):
    with pytest.raises(InvalidInputError, match=r"\[0\]"):
        list(reader([row]))


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        ({"value": 5}, ".value is 5"),
        ({"value": [5]}, ".value[0] is 5"),
        ({"value": [{"type": "tool_use", "name": 5}]}, ".value[0].name is 5"),
        ({"text": 5}, ".text is 5"),
        ({}, " has no value"),
    ],
)
def test_a_text_of_another_form_is_called_what_the_file_calls_it(turn, said):
    with pytest.raises(InvalidInputError) as refused:
        list(sharegpt([{"conversations": [{"from": "human", **turn}]}]))
    assert str(refused.value).startswith(f"[0].conversations[0]{said}, expected")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("row", [None, 3, "text", [1]])
def test_rows_that_are_no_objects_are_named(reader, row):
    with pytest.raises(InvalidInputError, match=r"\[0\]"):
        list(reader([row]))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "line 1: it is not JSON"),
        (b"\xff\xfe", "UTF-8"),
        (b"", "not JSON"),
        (b"[" * 100_000, "nested"),
        (b'{"a": 1}\n{', "line 1: the row"),
    ],
)
def test_files_that_are_no_json_are_named(tmp_path, reader, content, message):
    file = tmp_path / "log.json"
    file.write_bytes(content)
    with pytest.raises(InvalidInputError) as raised:
        list(reader(file))
    assert str(file) in str(raised.value) or "[0]" in str(raised.value)
    assert message in str(raised.value) or "[0]" in str(raised.value)


@pytest.mark.parametrize("reader", READERS)
def test_sources_that_are_nothing_are_refused(reader):
    for source in (3, None, b"[]", 1.5):
        with pytest.raises((InvalidInputError, TypeError), match="source is"):
            list(reader(source))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**18) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "type",
                    "text",
                    "name",
                    "messages",
                    "mapping",
                    "message",
                    "author",
                    "parts",
                    "parent",
                    "children",
                    "conversations",
                    "from",
                    "value",
                    "data",
                    "kwargs",
                    "lc",
                    "id",
                    "memory",
                    "user_id",
                    "created_at",
                    "timestamp",
                    "tool_calls",
                    "function",
                    "arguments",
                    "results",
                    "metadata",
                    "expiration_date",
                    "current_node",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(JSON, st.sampled_from(READERS))
def test_any_json_is_read_or_refused(value, reader):
    source = value if isinstance(value, dict | list) else [value]
    try:
        items = list(reader(source))
    except InvalidInputError:
        return
    assert all(isinstance(item["text"], str) for item in items)


SAMPLES = {
    openai_messages: [
        {"role": "user", "name": "Ann", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}], "ts": 1.7e9},
        {
            "role": "assistant",
            "content": None,
            "audio": {"id": "x", "transcript": "hello"},
            "tool_calls": [{"id": "1", "function": {"name": "render", "arguments": "{}"}}],
        },
        {"role": "assistant", "content": None, "refusal": "no", "function_call": {"name": "f", "arguments": "{}"}},
        {"id": "c", "messages": [{"role": "tool", "tool_call_id": "1", "content": "report.pdf"}]},
    ],
    sharegpt: [{"id": "c", "system": "Be kind", "conversations": [{"from": "human", "value": "hi", "ts": 1}]}],
    langchain_messages: [
        {"type": "human", "data": {"content": "hi", "id": "1", "additional_kwargs": {"tool_calls": []}}},
        {"lc": 1, "type": "constructor", "id": ["x", "HumanMessage"], "kwargs": {"content": "hi", "type": "human"}},
        {"type": "chat", "role": "x", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}]},
        {"type": "tool", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "x"}]}]},
    ],
    mem0: {
        "results": [
            {
                "id": "a",
                "memory": "x",
                "metadata": {"k": 1},
                "created_at": "2025-06-01T10:00:00Z",
                "updated_at": None,
                "user_id": "u",
                "run_id": "r",
                "categories": ["c"],
                "expiration_date": "2130-01-01",
            }
        ]
    },
    chatgpt: [
        {
            "conversation_id": "c",
            "title": "t",
            "current_node": "n",
            "mapping": {
                "n": {
                    "message": {
                        "id": "m",
                        "author": {"role": "user", "name": "Ann"},
                        "create_time": 1.2,
                        "content": {"content_type": "text", "parts": ["hello", {"content_type": "image"}]},
                        "metadata": {"model_slug": "x"},
                    },
                    "parent": "r",
                    "children": [],
                },
                "r": {"message": None, "parent": None, "children": ["n"]},
            },
        }
    ],
    chroma: {"ids": ["a"], "documents": ["d"], "metadatas": [{"x": 1}], "embeddings": [[1.0, 2.0]]},
}
VALUES = JSON | st.sampled_from([10**400, -(10**400), 1e300, "\ud800", "\0", "9999-12-31", "0001-01-01", {}, []])


def places(value, path=()):
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def changed(sample, path, value):
    if not path:
        return value
    made = copy.deepcopy(sample)
    inside = made
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return made


def stored(reader, source):
    with Collection("log", embedder=HashEmbedder(2)) as db:
        if reader is chroma:
            return [db.add(**batch) for batch in chroma(source)]
        return db.remember_many(list(reader(source)))


@pytest.mark.parametrize("reader", SAMPLES)
def test_the_samples_are_stored(reader):
    assert stored(reader, SAMPLES[reader])


@pytest.mark.parametrize("value", [[], [None], {}, {"a": 1}, 5, 10**400, True, "x", None], ids=repr)
@pytest.mark.parametrize("reader", SAMPLES)
def test_any_place_of_a_sample_may_have_another_value(reader, value):
    for path in places(SAMPLES[reader]):
        source = changed(SAMPLES[reader], path, value)
        if isinstance(source, str):
            continue  # a path
        with contextlib.suppress(InvalidInputError, ConflictError):
            stored(reader, source)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from(list(SAMPLES)), VALUES)
def test_any_json_at_any_place_of_a_sample_is_read_or_refused(data, reader, value):
    path = data.draw(st.sampled_from(list(places(SAMPLES[reader]))))
    source = changed(SAMPLES[reader], path, value)
    try:
        stored(reader, [source] if isinstance(source, str) else source)
    except (InvalidInputError, ConflictError):
        return


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ["log.jsonl", "log.json"])
def test_a_bad_row_of_json_lines_is_named_by_its_line_and_file(tmp_path, reader, name):
    file = tmp_path / name
    rows = SAMPLES[reader]["results"] if reader is mem0 else SAMPLES[reader]
    good = [json.dumps(row) for row in rows]
    file.write_text("\n".join([*good, "", '"x"', good[0], ""]), "utf-8")
    with pytest.raises(InvalidInputError) as raised:
        list(reader(file))
    assert str(raised.value).startswith(f"{file}, line {len(good) + 2}: the row is 'x'")


def test_a_bad_row_of_a_json_file_is_named_with_the_file(tmp_path):
    file = tmp_path / "log.json"
    file.write_text('[{"role": "user", "content": "a"}, {"role": 1}]', "utf-8")
    with pytest.raises(InvalidInputError) as raised:
        list(openai_messages(file))
    assert str(raised.value).startswith(f"{file}: messages[1].role is 1")


@pytest.mark.parametrize("reader", READERS)
def test_what_an_importer_gives_is_stored(reader):
    """Whatever `remember_many` would refuse is refused with its place before."""
    values = ["\ud800", "x" * 2_000, {"_vx_kind": 1}, {"a": float("nan")}, 10**400, " "]
    for path, value in itertools.product(places(SAMPLES[reader]), values):
        if not path:
            continue
        try:
            items = list(reader(changed(SAMPLES[reader], path, value)))
        except InvalidInputError:
            continue
        with Collection("log", embedder=HashEmbedder(2)) as db:
            db.remember_many(items)


def test_refusals_and_audio_are_text_and_calls_are_enough():
    said = [
        {"role": "assistant", "content": None, "refusal": "I cannot do that"},
        {"role": "assistant", "content": None, "audio": {"id": "x", "transcript": "hello there"}},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "assistant", "content": "text", "refusal": None, "audio": None},
        {"role": "assistant", "content": None},
        {"role": "user", "content": ""},
    ]
    assert [item["text"] for item in openai_messages(said)] == ["I cannot do that", "hello there", "f({})", "text"]
    refused = {"type": "ai", "data": {"content": "", "additional_kwargs": {"refusal": "I cannot do that"}}}
    assert [item["text"] for item in langchain_messages([refused])] == ["I cannot do that"]


def test_a_folder_that_is_not_chromas_stays_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "chromadb", types.SimpleNamespace())
    with pytest.raises(InvalidInputError, match=r"has no chroma\.sqlite3, expected the folder"):
        list(chroma(tmp_path, collection="notes"))
    assert list(tmp_path.iterdir()) == []


def test_a_collection_that_chroma_has_not_is_named(tmp_path, monkeypatch):
    class NotFoundError(Exception):
        pass

    class Client:
        def __init__(self, path):
            pass

        def get_collection(self, name):
            raise NotFoundError(f"Collection [{name}] does not exist")

    (tmp_path / "chroma.sqlite3").touch()
    monkeypatch.setitem(sys.modules, "chromadb", types.SimpleNamespace(PersistentClient=Client))
    with pytest.raises(InvalidInputError, match=r"no collection 'notes'.*does not exist"):
        list(chroma(tmp_path, collection="notes"))


def test_fewer_documents_than_ids_are_counted():
    with pytest.raises(InvalidInputError, match="1 documents for 2 ids"):
        list(chroma({"ids": ["a", "b"], "documents": ["x"]}))


def test_what_is_no_folder_of_chroma_is_said_to_be_what_it_is(tmp_path):
    with pytest.raises(
        InvalidInputError, match=f"collection is not given, expected the name of one in the folder {tmp_path}"
    ):
        chroma(tmp_path)
    got = tmp_path / "got.json"
    got.write_text(json.dumps({"ids": ["a"], "documents": ["x"], "metadatas": [None]}), "utf-8")
    assert [batch["ids"] for batch in chroma(got)] == [["a"]]
    with pytest.raises(InvalidInputError, match=r"collection is given, and .*got\.json is a file"):
        chroma(got, collection="notes")
    for collection in (None, "notes"):
        with pytest.raises(FileNotFoundError, match="nowhere"):
            list(chroma(tmp_path / "nowhere", collection=collection))


@pytest.mark.parametrize("reader", [chatgpt, langchain_messages, openai_messages, sharegpt])
@pytest.mark.parametrize("roles", [1, 1.5, True, "user", b"user", [1], ["user", None]], ids=repr)
def test_what_is_no_list_of_roles_is_refused(reader, roles):
    with pytest.raises(InvalidInputError, match=r"roles is .*expected a list of roles, or None for all"):
        reader([], roles=roles)


@pytest.mark.parametrize(
    "roles", [["user"], ("user",), {"user"}, dict.fromkeys(["user"])], ids=lambda roles: type(roles).__name__
)
def test_any_kind_of_list_of_roles_is_taken(roles):
    messages = [{"role": role, "content": role} for role in ("user", "system")]
    assert [item["text"] for item in openai_messages(messages, roles=roles)] == ["user"]
