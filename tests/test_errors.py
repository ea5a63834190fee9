"""Every error: its place in the tree, its attributes, how it comes about."""

import os
import pickle
import sqlite3
import subprocess
import sys

import pytest

import retentive
from retentive import (
    BusyError,
    CallableEmbedder,
    ClosedError,
    Collection,
    ConfigurationError,
    ConflictError,
    ConsolidationReport,
    CorruptError,
    CounterError,
    DimensionError,
    EmbedderError,
    FingerprintError,
    FullError,
    HashEmbedder,
    InvalidInputError,
    JudgeError,
    NotFoundError,
    RetentiveError,
    StoreError,
    SummarizeError,
    VersionError,
)

TREE = {
    InvalidInputError: (RetentiveError, ValueError),
    DimensionError: (InvalidInputError, ValueError),
    NotFoundError: (RetentiveError, LookupError),
    ConflictError: (RetentiveError,),
    ClosedError: (RetentiveError, RuntimeError),
    ConfigurationError: (RetentiveError,),
    EmbedderError: (RetentiveError,),
    JudgeError: (RetentiveError,),
    SummarizeError: (RetentiveError,),
    CounterError: (RetentiveError,),
    StoreError: (RetentiveError,),
    BusyError: (StoreError,),
    CorruptError: (StoreError,),
    VersionError: (StoreError,),
    FingerprintError: (StoreError,),
    FullError: (StoreError,),
}
ATTRIBUTES = {
    DimensionError: {"expected": 3, "got": 4},
    NotFoundError: {"id": "mem_1"},
    ConfigurationError: {"hint": "do this"},
    SummarizeError: {"report": ConsolidationReport("a", ("t",), ("f",), 1)},
    StoreError: {"path": "x.db"},
    BusyError: {"path": "x.db"},
    CorruptError: {"path": "x.db"},
    VersionError: {"path": "x.db", "found": 9, "supported": 1},
    FingerprintError: {"path": "x.db"},
    FullError: {"path": "x.db"},
}


def test_tree_is_complete():
    exported = {item for name in retentive.__all__ if isinstance(item := getattr(retentive, name), type)}
    assert {cls for cls in exported if issubclass(cls, Exception)} == {RetentiveError, *TREE}


@pytest.mark.parametrize(("cls", "bases"), TREE.items(), ids=lambda item: getattr(item, "__name__", ""))
def test_error_stands_in_its_place(cls, bases):
    assert all(issubclass(cls, base) for base in bases)
    assert not issubclass(cls, OSError)
    assert cls.__doc__


@pytest.mark.parametrize("cls", TREE, ids=lambda cls: cls.__name__)
def test_error_survives_pickling_with_its_attributes(cls):
    attributes = ATTRIBUTES.get(cls, {})
    error = pickle.loads(pickle.dumps(cls("what came", **attributes)))
    assert type(error) is cls
    assert str(error).startswith("what came")
    assert {name: getattr(error, name) for name in attributes} == attributes


@pytest.mark.parametrize("cls", TREE, ids=lambda cls: cls.__name__)
def test_attributes_are_none_where_not_given(cls):
    error = cls("message")
    assert all(getattr(error, name) is None for name in ATTRIBUTES.get(cls, {}))
    assert str(error) == "message"


def test_invalid_input_error(memory_db):
    with pytest.raises(InvalidInputError):
        memory_db.remember("")


def test_dimension_error(memory_db):
    memory_db.add("x")
    with pytest.raises(DimensionError) as caught:
        memory_db.add("y", vectors=[[1.0, 2.0, 3.0]])
    assert (caught.value.expected, caught.value.got) == (64, 3)


def test_not_found_error(memory_db):
    for call in (memory_db.history, memory_db.similar, lambda stored: memory_db.feedback(stored, "useful")):
        with pytest.raises(NotFoundError) as caught:
            call("mem_nothing")
        assert caught.value.id == "mem_nothing"


def test_conflict_error(memory_db):
    memory_db.remember("x", id="one")
    with pytest.raises(ConflictError, match="one"):
        memory_db.remember("y", id="one")


CALLS = {
    "remember": lambda db: db.remember("x"),
    "remember_many": lambda db: db.remember_many([{"text": "x"}]),
    "replace_turns": lambda db: db.replace_turns("a", []),
    "recall": lambda db: db.recall("x"),
    "context": lambda db: db.context("x"),
    "feedback": lambda db: db.feedback("x", "useful"),
    "forget": lambda db: db.forget(session="a"),
    "expire": lambda db: db.expire(),
    "consolidate": lambda db: db.consolidate("a", lambda turns: []),
    "turns": lambda db: db.turns("a"),
    "history": lambda db: db.history("x"),
    "fact": lambda db: db.fact("x"),
    "facts": lambda db: db.facts(),
    "add": lambda db: db.add("x"),
    "search": lambda db: db.search("x"),
    "get": lambda db: db.get(["x"]),
    "get_one": lambda db: db.get_one("x"),
    "similar": lambda db: db.similar("x"),
    "delete": lambda db: db.delete(["x"]),
    "count": lambda db: db.count(),
    "sessions": lambda db: db.sessions(),
    "users": lambda db: db.users(),
    "clear": lambda db: db.clear(),
    "reembed": lambda db: db.reembed("static"),
    "calibrate": lambda db: db.calibrate(),
    "calibration": lambda db: db.calibration(),
    "uncalibrate": lambda db: db.uncalibrate(),
    "stats": lambda db: db.stats(),
    "verify": lambda db: db.verify(),
    "compact": lambda db: db.compact(),
    "warmup": lambda db: db.warmup(),
    "export": lambda db: db.export("x.jsonl"),
    "import_": lambda db: db.import_("x.jsonl"),
    "import_items": lambda db: db.import_items([{"text": "x"}]),
    "backup": lambda db: db.backup("x.db"),
}


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize("in_memory", [True, False])
def test_closed_error(tmp_path, embedder, method, in_memory):
    db = Collection("c", path=None if in_memory else tmp_path, embedder=embedder)
    db.remember("x", session="a")
    db.close()
    db.close()
    assert db.closed
    with pytest.raises(ClosedError):
        CALLS[method](db)


def test_closed_error_covers_every_method():
    methods = {name for name in dir(Collection) if not name.startswith("_")}
    twins = {f"a{name}" for name in methods} & methods  # in test_async_twins.py
    assert methods - twins - {"close", "closed", "embedder", "memory", "name", "path"} == CALLS.keys()


def test_configuration_error():
    with pytest.raises(ConfigurationError) as caught:
        Collection("c", embedder=lambda texts: None)
    assert "CallableEmbedder" in caught.value.hint
    assert caught.value.hint in str(caught.value)


def test_embedder_error():
    def failing(texts):
        raise OSError("no model")

    with Collection("c", embedder=CallableEmbedder("failing", 4, failing)) as db:
        for call in (db.remember, db.recall, db.search, db.add):
            with pytest.raises(EmbedderError, match="failing") as caught:
                call("x")
            assert isinstance(caught.value.__cause__, OSError)
        assert db.count() == 0


def test_judge_error(memory_db):
    memory_db.remember("x y", kind="fact")
    memory_db.memory.judge = lambda new, candidates: None
    memory_db.memory.on_judge_error = "raise"
    with pytest.raises(JudgeError, match="NoneType"):
        memory_db.remember("x z", kind="fact")


def test_summarize_error(memory_db):
    memory_db.remember("x", session="a")
    with pytest.raises(SummarizeError) as caught:
        memory_db.consolidate("a", lambda turns: None, keep_recent=0)
    assert caught.value.report == ConsolidationReport("a", (), (), 0)


def test_counter_error(embedder):
    with Collection("c", embedder=embedder, token_counter=lambda text: 1.5) as db:
        db.remember("x", session="a")
        with pytest.raises(CounterError, match=r"1\.5"):
            db.recall("x", token_budget=10)


def test_store_error_names_the_path(tmp_path):
    (tmp_path / "c.db").write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(StoreError) as caught:
        Collection("c", path=tmp_path)
    assert caught.value.path.endswith("c.db")


def test_busy_error(tmp_path, embedder):
    Collection("c", path=tmp_path, embedder=embedder).close()
    code = (
        "import sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute('BEGIN IMMEDIATE')\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with Collection("c", path=tmp_path, embedder=embedder, busy_timeout_s=0.2) as db:
        with subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "c.db")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as other:
            other.stdout.readline()
            with pytest.raises(BusyError) as caught:
                db.remember("x")
            other.stdin.close()
        assert caught.value.path.endswith("c.db")
        assert db.count() == 0
        db.remember("x")


def test_corrupt_error(tmp_path, embedder):
    with Collection("c", path=tmp_path, embedder=embedder) as db:
        stored = db.remember("unmistakable words of this text", session="a")
    file = tmp_path / "c.db"
    content = file.read_bytes()
    assert content.count(b"unmistakable") == 1
    file.write_bytes(content.replace(b"unmistakable", b"unmistakeble"))
    with Collection("c", path=tmp_path, embedder=embedder) as db, pytest.raises(CorruptError) as caught:
        db.get_one(stored)
    assert caught.value.path.endswith("c.db")


def test_version_error(tmp_path, embedder):
    Collection("c", path=tmp_path, embedder=embedder).close()
    other = sqlite3.connect(tmp_path / "c.db")
    other.execute("PRAGMA user_version = 999")
    other.commit()
    other.close()
    with pytest.raises(VersionError) as caught:
        Collection("c", path=tmp_path, embedder=embedder)
    assert caught.value.found == 999
    assert caught.value.supported < 999
    assert caught.value.path.endswith("c.db")


def test_version_error_of_somebody_elses_database(tmp_path):
    other = sqlite3.connect(tmp_path / "c.db")
    other.execute("CREATE TABLE theirs (x)")
    other.commit()
    other.close()
    with pytest.raises(VersionError):
        Collection("c", path=tmp_path)


def test_fingerprint_error(tmp_path):
    with Collection("c", path=tmp_path, embedder=HashEmbedder(8)) as db:
        db.remember("x")
    renamed = CallableEmbedder("other", 8, HashEmbedder(8).embed_documents)
    with Collection("c", path=tmp_path, embedder=renamed) as db:
        with pytest.raises(FingerprintError) as caught:
            db.recall("x")
        assert caught.value.path.endswith("c.db")
        with pytest.raises(FingerprintError):
            db.remember("y")
        assert db.count() == 1


FULL = """
import resource, signal, sys
from retentive import Collection, FullError, HashEmbedder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
db = Collection("c", path=sys.argv[1], embedder=HashEmbedder(8))
db.remember("kept", session="a")
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    for i in range(100):
        db.remember("text " * 2_000, session="a")
except Exception as error:
    print(type(error).__name__, error)
print(db.turns("a")[0].text)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs resource limits")
def test_full_error(tmp_path):
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True)
    error, kept = done.stdout.strip().split("\n")[0], done.stdout.strip().split("\n")[-1]
    assert error.startswith(("FullError", "StoreError", "OSError")), done.stdout
    assert kept == "kept"
    with Collection("c", path=tmp_path, embedder=HashEmbedder(8)) as db:
        assert db.turns("a")[0].text == "kept"
        db.remember("room again", session="a")
