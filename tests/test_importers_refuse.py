"""Importers of what is wrong: rows of another form, files that are no JSON, any JSON at all."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retentive import InvalidInputError
from retentive.importers import chatgpt, langchain_messages, mem0, openai_messages, sharegpt

READERS = [openai_messages, chatgpt, sharegpt, langchain_messages, mem0]
SHAPES = {
    openai_messages: [
        {"role": "user"},
        {"messages": {}},
        {"content": "x"},
        {"role": 1},
        {"role": "user", "content": 1},
    ],
    chatgpt: [{"mapping": None}, {"mapping": {"a": 1}, "current_node": "a"}],
    sharegpt: [{"text": "x"}, {"conversations": "x"}, {"conversations": [1]}, {"conversations": [{"value": "x"}]}],
    langchain_messages: [{"role": "user", "content": "x"}, {"lc": 1, "id": ["x"]}, {"type": "chat", "content": "x"}],
    mem0: [{"text": None}, {"memory": "x", "metadata": "y"}, {"memory": "x", "created_at": []}],
}


@pytest.mark.parametrize(("reader", "row"), [(reader, row) for reader, rows in SHAPES.items() for row in rows[1:]])
def test_rows_of_another_form_are_named(reader, row):
    with pytest.raises(InvalidInputError, match=r"\[0\]"):
        list(reader([row]))


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
        (b'{"a": 1}\n{', "line 2"),
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
