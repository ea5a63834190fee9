"""`import_items`: what other programs have is stored whole or not at all, also after a kill, in little memory."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc

import pytest

from retentive import ANY, Collection, ConflictError, DimensionError, HashEmbedder, InvalidInputError
from retentive.importers import chroma, openai_messages

SOAK = bool(os.environ.get("RETENTIVE_SOAK"))
SECRET = "the secret number"


def log(path, count):
    """A file of messages of OpenAI's form, one list."""
    messages = [{"role": "user", "content": f"{SECRET} {number} and some more words"} for number in range(count)]
    path.write_text(json.dumps(messages), "utf-8")
    return path


def turns(*texts):
    return [{"text": text, "session": "s"} for text in texts]


def test_items_are_turns_facts_and_documents(db):
    told = []
    items = [
        *turns("one", "two"),
        {"text": "Vienna", "kind": "fact", "key": "city", "user": "ann", "id": "city"},
        {"texts": ["The export button"], "ids": ["d"], "metadata": [{"page": 3}]},
    ]
    report = db.import_items(items, progress=lambda done, total: told.append((done, total)))
    assert (report.imported, report.embedded, report.skipped) == (4, 4, 0)
    assert [(turn.turn, turn.text) for turn in db.turns("s")] == [(0, "one"), (1, "two")]
    assert db.fact("city", user="ann").id == "city"
    assert db.get_one("d").metadata["page"] == 3
    assert told[-1] == (4, 4)
    assert db.import_items(turns("three")).imported == 1
    assert [turn.turn for turn in db.turns("s")] == [0, 1, 2]
    assert db.verify().ok


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"session": "s"}, r"items\[600\]: the item has no text"),
        (5, r"items\[600\]: the item is 5"),
        ({"text": "x", "colour": 1}, r"items\[600\]: .*unknown field 'colour'"),
        ({"text": "x", "check": True}, r"items\[600\]: check is True, expected None or False"),
        ({"texts": ["x"], "text": "y"}, r"items\[600\]: the batch has the unknown field 'text'"),
        ({"texts": [" "]}, r"items\[600\]: texts\[0\] is blank"),
        ({"text": "x", "session": "s", "id": "first"}, r"items\[600\]: the id \"first\" is that of an earlier item"),
    ],
)
def test_a_wrong_item_is_named_and_nothing_is_stored(db, item, message):
    items = [*({"text": f"turn {n}", "session": "s", **({} if n else {"id": "first"})} for n in range(600)), item]
    for given in (items, iter(items)):
        with pytest.raises(InvalidInputError, match=message):
            db.import_items(given)
        assert (db.count(), db.sessions(ANY)) == (0, [])


@pytest.mark.parametrize("items", [None, 5, "text", b"x", {"text": "x"}])
def test_what_is_no_list_of_items_is_refused(db, items):
    with pytest.raises(InvalidInputError, match="items is"):
        db.import_items(items)


def test_a_source_that_fails_halfway_stores_nothing(db, tmp_path):
    file = log(tmp_path / "log.jsonl", 0)
    rows = [json.dumps({"role": "user", "content": f"said {number}"}) for number in range(1_500)]
    file.write_text("\n".join([*rows, "{", *rows]), "utf-8")
    with pytest.raises(InvalidInputError, match=r"log\.jsonl, line 1501: it is not JSON"):
        db.import_items(openai_messages(file))
    assert db.count() == 0


def test_conflicts_are_as_asked(db):
    db.import_items([{"text": "one", "session": "s", "id": "a"}, {"texts": ["doc"], "ids": ["d"]}])
    again = [{"text": "uno", "session": "s", "id": "a"}, {"text": "two", "session": "s", "id": "b"}]
    with pytest.raises(ConflictError, match=r"items\[0\]: the id \"a\" is in use here by a turn"):
        db.import_items(again)
    assert db.import_items(again, "skip").skipped == 1
    assert [turn.text for turn in db.turns("s")] == ["one", "two"]
    assert db.import_items(again, "replace").replaced == 2
    assert [(turn.turn, turn.text) for turn in db.turns("s")] == [(0, "uno"), (1, "two")]
    assert db.import_items([{"texts": ["new doc"], "ids": ["d"]}], "replace").replaced == 1
    with pytest.raises(ConflictError, match="Give the document another id"):
        db.import_items([{"texts": ["doc"], "ids": ["a"]}], "replace")
    assert db.verify().ok


def test_given_vectors_that_do_not_fit_leave_no_model(tmp_path):
    got = {"ids": ["a", "b"], "documents": ["one", "two"], "embeddings": [[1.0, 0.0], [1.0]]}
    with Collection("docs", path=tmp_path) as db:
        with pytest.raises((DimensionError, InvalidInputError), match="dimensions"):
            db.import_items(chroma(got, vectors=True))
        items = [{"text": "x", "session": "s", "vector": vector} for vector in ([1.0, 0.0], [1.0, 0.0, 0.0])]
        with pytest.raises(DimensionError, match="expected 2"):
            db.import_items(items)
        assert db.stats()["model"] is None
        db.import_items([{"text": "x", "session": "s", "vector": [0.0, 1.0, 0.0], "id": "v"}])
        assert db.search(vector=[0.0, 1.0, 0.0], limit=1).ids == ["v"]
        with pytest.raises(DimensionError, match="expected 3"):
            db.import_items(items[:1])


def test_the_async_twin_imports_too(db):
    report = asyncio.run(db.aimport_items(turns("one", "two")))
    assert (report.imported, db.count()) == (2, 2)


@pytest.mark.parametrize("form", ["list", "object", "lines"])
def test_a_long_log_is_read_in_little_memory(tmp_path, form):
    messages = [{"role": "user", "content": f"said {number} " * 10} for number in range(5_000)]
    file = tmp_path / "log.json"
    if form == "lines":
        file.write_text("".join(json.dumps(message) + "\n" for message in messages), "utf-8")
    else:
        file.write_text(json.dumps(messages if form == "list" else {"id": "c", "messages": messages}), "utf-8")
    del messages
    size = file.stat().st_size
    tracemalloc.start()
    count = sum(1 for _ in openai_messages(file))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 5_000
    assert peak < size / 2  # all of it, loaded, is several times its size


def test_documents_of_a_file_are_read_in_little_memory(tmp_path):
    file = tmp_path / "got.json"
    vectors = [[number / 7, 1.0, 2.0] * 8 for number in range(9_000)]
    got = {"ids": [str(n) for n in range(9_000)], "embeddings": vectors, "documents": ["some words"] * 9_000}
    file.write_text(json.dumps(got), "utf-8")
    del got, vectors
    tracemalloc.start()
    count = sum(len(batch["ids"]) for batch in chroma(file))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 9_000
    assert peak < file.stat().st_size / 2


KILLED = """
import os, signal, sys
from retentive import Collection, HashEmbedder
from retentive.importers import openai_messages
folder, file, at = sys.argv[1], sys.argv[2], int(sys.argv[3])
calls = []
class Dying(HashEmbedder):
    def embed_documents(self, texts):
        calls.append(1)
        if len(calls) == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed_documents(texts)
Collection("killed", path=folder, embedder=Dying(64)).import_items(openai_messages(file))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
def test_an_import_that_is_killed_stores_nothing_and_leaves_no_text(tmp_path):
    file, folder = log(tmp_path / "log.json", 1_500), tmp_path / "other"
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), str(file), "6"], check=False)
    assert done.returncode == -signal.SIGKILL
    assert all(SECRET.encode() not in path.read_bytes() for path in folder.iterdir())
    with Collection("killed", path=folder, embedder=HashEmbedder(64)) as target:
        assert target.count() == 0
        assert target.import_items(openai_messages(file)).imported == 1_500


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
def test_an_import_that_is_killed_at_any_time_stores_all_or_nothing(cli, tmp_path):
    """By the command line, as a person does it: nothing stands beside after the next call."""
    file = log(tmp_path / "log.json", 2_000)
    command = [sys.executable, "-m", "retentive", "import", str(file), "--from", "openai", "--db", "log"]
    start = time.perf_counter()
    subprocess.run([*command[:-1], "whole"], check=True, capture_output=True)
    whole = time.perf_counter() - start
    for part in [number / 40 for number in range(8, 40)] if SOAK else [0.85]:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            child.wait(whole * part)
        except subprocess.TimeoutExpired:
            child.kill()
        child.communicate()
        if (tmp_path / "log.db").exists():
            with Collection("log", path=tmp_path, embedder=HashEmbedder(64)) as db:
                assert db.count() in {0, 2_000}
                assert db.verify().ok
                db.clear()
        names = {path.name for path in tmp_path.iterdir()}
        assert names <= {"log.json", "whole.db", "log.db", "log.db-wal", "log.db-shm"}
