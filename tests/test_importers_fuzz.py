"""Importers of any bytes, and of real files with something changed: read whole, or refused with nothing stored."""

import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retentive import Collection, HashEmbedder, InvalidInputError, RetentiveError
from retentive.importers import _json_text, chatgpt, chroma, langchain_messages, mem0, openai_messages, sharegpt
from retentive.importers._json_text import JsonText

SOAK = bool(os.environ.get("RETENTIVE_SOAK"))
EXAMPLES = 10_000 if SOAK else 60
READERS = [openai_messages, chatgpt, sharegpt, langchain_messages, mem0, chroma]
FILES = sorted((Path(__file__).parent / "data" / "importers").glob("*.json*"))
REAL = {file.name: file.read_bytes() for file in FILES}
OF_PROGRAM = {
    "openai": openai_messages,
    "sharegpt": sharegpt,
    "langchain": langchain_messages,
    "mem0": mem0,
    "chroma": chroma,
}
EVERY = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))

# What tears JSON apart, and what is valid and odd.
TEARS = b'{ } [ ] , : " \\ \\ud800 null NaN - 1e999 "id":1, {} []'.split()
PIECES = st.sampled_from(
    [
        *TEARS,
        b"",
        b"\0",
        b"\r",
        b"\n",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xe2\x80\xa8",
        b"\x1f\x8b",
        b"9" * 5_000,
        b"[" * 2_000,
    ]
)


@st.composite
def changed(draw, data):
    """Bytes with some of them cut out, replaced, or there twice."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.sampled_from([0, 1, 2, 7, 60, 10_000])))
        middle = draw(PIECES | st.binary(max_size=6) | st.just(data[start:end] * 2))
        data = data[:start] + middle + data[end:]
    return data


def read_or_refused(reader, data, file):
    """Whole, or nothing and an error that says why; whatever it was, the collection is whole and can be filled."""
    file.write_bytes(data)
    with Collection("log", embedder=HashEmbedder(3)) as db:
        try:
            report = db.import_items(reader(file))
        except RetentiveError as error:
            said, imported = str(error), 0
        else:
            said, imported = "", report.imported
        assert len(said) < 2_000
        assert db.count() == imported
        assert db.verify().ok


@EVERY
@given(data=st.data(), name=st.sampled_from(sorted(REAL)))
def test_real_files_with_something_changed_are_read_or_refused(tmp_path_factory, data, name):
    reader = OF_PROGRAM[name.partition("-")[0].partition(".")[0]]
    file = tmp_path_factory.getbasetemp() / f"changed{Path(name).suffix}"
    read_or_refused(reader, data.draw(changed(REAL[name])), file)


@EVERY
@given(content=st.binary(max_size=60) | st.lists(PIECES, max_size=12).map(b"".join), reader=st.sampled_from(READERS))
@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_any_bytes_are_read_or_refused(tmp_path_factory, content, reader, suffix):
    read_or_refused(reader, content, tmp_path_factory.getbasetemp() / f"any{suffix}")


def whole(data):
    """What Python's own reader makes of it, as far as it is a list."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) else None


def piecewise(data):
    text = JsonText(io.BytesIO(data), Path("x"))
    try:
        items = list(text.items())
        text.expect_end()
    except InvalidInputError:
        return None
    return items


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@settings(EVERY, max_examples=EXAMPLES * 3)
@given(
    data=st.data(),
    values=st.lists(JSON, max_size=5),
    ascii=st.booleans(),
    piece=st.integers(1, 9),
    broken=st.booleans(),
)
def test_values_read_piece_by_piece_are_those_of_the_whole(data, values, ascii, piece, broken):
    text = json.dumps(values, ensure_ascii=ascii, indent=data.draw(st.sampled_from([None, 1])))
    content = text.encode("utf-8", "surrogatepass")
    if broken:
        content = data.draw(changed(content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_json_text, "PIECE", piece)
        assert repr(piecewise(content)) == repr(whole(content))


def test_a_value_that_is_too_long_is_refused_before_all_of_it_is_read(monkeypatch):
    monkeypatch.setattr(_json_text, "LONGEST_VALUE", 1_000)
    monkeypatch.setattr(_json_text, "PIECE", 100)
    data = io.BytesIO(b'["' + b"x" * 100_000 + b'"]')
    with pytest.raises(InvalidInputError, match="longer than 1,000 characters"):
        list(JsonText(data, Path("x")).items())
    assert data.tell() < 10_000


@pytest.mark.parametrize(
    ("data", "line"),
    [(b"[1e]", 1), (b"[1,\n2,\n\n 3 4]", 4), (b"[\n\n1,\n tru]", 4), (b'[1,\n"abc', 2), (b"[1]\n\n x", 3)],
)
@pytest.mark.parametrize("piece", [1, 3, 1 << 16])
def test_what_is_no_json_is_named_by_its_line(monkeypatch, data, line, piece):
    monkeypatch.setattr(_json_text, "PIECE", piece)

    def read(text):
        list(text.items())
        text.expect_end()

    with pytest.raises(InvalidInputError, match=f"x, line {line}: it is not JSON"):
        read(JsonText(io.BytesIO(data), Path("x")))
