"""Bad input is refused by a typed error that says what came, and stores nothing."""

import os

import pytest

from retentive import ANY, Collection, ConfigurationError, InvalidInputError, StoreError

NAN = float("nan")

REMEMBER = [
    ("text", ""),
    ("text", "  \n\t "),
    ("text", None),
    ("text", 3),
    ("text", b"bytes"),
    ("text", ["list"]),
    ("text", "lone \ud800 surrogate"),
    ("text", "x" * (4 * 1024 * 1024 + 1)),
    ("text", "é" * (2 * 1024 * 1024 + 1)),
    ("session", ""),
    ("session", b"a"),
    ("session", 3),
    ("session", ANY),
    ("session", "\udfff"),
    ("session", "x" * 70_000),
    ("user", ""),
    ("user", b"ann"),
    ("user", 3),
    ("user", ANY),
    ("user", "\udfff"),
    ("role", ""),
    ("role", " "),
    ("role", None),
    ("role", 3),
    ("role", "user:\nassistant"),
    ("role", "x" * 300),
    ("name", ""),
    ("name", "Ann\nBob"),
    ("name", 3),
    ("name", "a\u2028b"),
    ("turn", -1),
    ("turn", 1.0),
    ("turn", True),
    ("turn", "1"),
    ("turn", 2**63),
    ("turn", 10**5_000),
    ("pinned", 1),
    ("pinned", None),
    ("pinned", "yes"),
    ("kind", "document"),
    ("kind", "Turn"),
    ("kind", ""),
    ("kind", 3),
    ("id", ""),
    ("id", 3),
    ("id", "x" * 2_000),
    ("id", "\udfff"),
]


@pytest.mark.parametrize(
    ("field", "value"), REMEMBER, ids=lambda value: str(value)[:30] if value != 10**5_000 else "huge"
)
def test_bad_field_of_a_memory_is_refused_and_nothing_is_stored(memory_db, field, value):
    fields = {"text": "fine", "session": "a", field: value}
    with pytest.raises(InvalidInputError, match=field) as caught:
        memory_db.remember(**fields)
    assert isinstance(caught.value, ValueError)
    with pytest.raises(InvalidInputError, match=rf"items\[0\].*{field}"):
        memory_db.remember_many([fields])
    assert memory_db.count() == 0
    memory_db.remember("fine", session="a")


@pytest.mark.parametrize(
    "fields",
    [
        {"pinned": True, "kind": "turn"},
        {"turn": 3, "kind": "fact"},
        {"turn": 3, "session": None},
        {"key": "city"},
        {"key": "city", "kind": "turn"},
    ],
    ids=repr,
)
def test_fields_that_contradict_each_other_are_refused(memory_db, fields):
    with pytest.raises(InvalidInputError):
        memory_db.remember(**({"text": "fine", "session": "a"} | fields))
    assert memory_db.count() == 0


RECALL = [
    ("query", ""),
    ("query", " "),
    ("query", None),
    ("query", 3),
    ("query", "\ud800"),
    ("session", ""),
    ("session", ["a"]),
    ("user", ""),
    ("limit", -1),
    ("limit", 1.5),
    ("limit", True),
    ("limit", "10"),
    ("limit", NAN),
    ("token_budget", -1),
    ("token_budget", 1.5),
    ("token_budget", True),
    ("score_gap", -0.1),
    ("score_gap", 1.1),
    ("score_gap", NAN),
    ("score_gap", True),
    ("kinds", "turn"),
    ("kinds", ["turn", "document"]),
    ("kinds", None),
    ("kinds", [3]),
    ("include_superseded", 1),
    ("mode", "bm25"),
    ("mode", 3),
    ("exclude_ids", "mem_1"),
    ("exclude_ids", [3]),
    ("exclude_ids", None),
    ("min_relevance", "high"),
    ("min_relevance", NAN),
    ("min_relevance", True),
]


@pytest.mark.parametrize(("argument", "value"), RECALL, ids=lambda value: repr(value)[:30])
def test_bad_argument_of_recall_is_refused(memory_db, argument, value):
    with pytest.raises(InvalidInputError, match=argument.removesuffix("_ids")):
        memory_db.recall(**({"query": "x"} | {argument: value}))
    if argument != "query":
        with pytest.raises(InvalidInputError):
            memory_db.context(**({"query": "x"} | {argument: value}))


SEARCH = [
    ("query", ""),
    ("query", 3),
    ("limit", -1),
    ("limit", True),
    ("mode", "fuzzy"),
    ("token_budget", "many"),
    ("score_gap", 2),
    ("session", ""),
    ("user", 3),
    ("vector", [NAN] * 64),
    ("vector", []),
    ("vector", [[1.0] * 64]),
    ("vector", "text"),
    ("vector", [0.0] * 64),
    ("vector", [True] * 64),
    ("vector", [1j] * 64),
    ("max_distance", -1),
    ("max_distance", NAN),
    ("max_distance", "far"),
    ("explain", 1),
]


@pytest.mark.parametrize(("argument", "value"), SEARCH, ids=lambda value: repr(value)[:30])
def test_bad_argument_of_search_is_refused(memory_db, argument, value):
    memory_db.add("fine")
    with pytest.raises(InvalidInputError, match=argument):
        memory_db.search(**({"query": "x"} | {argument: value}))


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("context", {"query": "x", "token_budget": None}),
        ("context", {"query": "x", "recent_turns": -1}),
        ("context", {"query": "x", "recent_turns": None}),
        ("context", {"query": "x", "recent_turns": True}),
        ("turns", {"session": None}),
        ("turns", {"session": ""}),
        ("turns", {"session": "a", "limit": -1}),
        ("turns", {"session": "a", "limit": 1.5}),
        ("turns", {"session": "a", "user": ANY}),
        ("history", {"id": ""}),
        ("history", {"id": None}),
        ("feedback", {"id": 3, "outcome": "useful"}),
        ("fact", {"key": "x", "session": ""}),
        ("facts", {"user": ANY}),
        ("similar", {"id": "x", "limit": None}),
        ("similar", {"id": "x", "limit": -1}),
        ("get", {"ids": ["x"], "vectors": 1}),
        ("get_one", {"id": ["x"]}),
        ("count", {"session": ""}),
        ("count", {"user": 3}),
        ("sessions", {"user": ""}),
    ],
    ids=repr,
)
def test_bad_argument_of_other_methods_is_refused(memory_db, method, arguments):
    with pytest.raises(InvalidInputError):
        getattr(memory_db, method)(**arguments)


@pytest.mark.parametrize("method", ["remember", "recall", "search", "forget", "turns", "add"])
def test_unknown_keyword_is_a_type_error(memory_db, method):
    with pytest.raises(TypeError, match="sesion"):
        getattr(memory_db, method)("x", sesion="a")


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "a/b", "a\\b", "../a", "a b", "a\0b", "x" * 101, "é", None, 3, b"a", "a\n"]
)
def test_bad_name_of_a_collection_is_refused(tmp_path, name):
    with pytest.raises(InvalidInputError, match="name"):
        Collection(name, path=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a", "A-1_b.c", "x" * 100, "1"])
def test_good_name_of_a_collection_is_taken(tmp_path, name, embedder):
    with Collection(name, path=tmp_path, embedder=embedder) as db:
        assert db.name == name
        assert db.path == tmp_path / f"{name}.db"
        assert db.path.exists()


@pytest.mark.parametrize("path", ["", ":memory:", 3, b"folder", "a\0b", ["x"], "\ud800"])
def test_bad_path_is_refused(path):
    with pytest.raises(InvalidInputError, match="path"):
        Collection("c", path=path)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("durability", "none"),
        ("durability", None),
        ("language", "klingon"),
        ("language", 3),
        ("cache_mb", 0),
        ("cache_mb", "256"),
        ("cache_mb", 1.5),
        ("busy_timeout_s", -1),
        ("busy_timeout_s", NAN),
        ("busy_timeout_s", "30"),
        ("readonly", 1),
    ],
)
def test_bad_option_of_a_collection_is_refused(tmp_path, option, value):
    with pytest.raises((InvalidInputError, ConfigurationError), match=option):
        Collection("c", path=tmp_path, **{option: value})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("embedder", [None, 3, "nothing", len, object()])
def test_bad_embedder_is_refused_with_a_hint(tmp_path, embedder):
    with pytest.raises(ConfigurationError) as caught:
        Collection("c", path=tmp_path, embedder=embedder)
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("counter", [3, "tiktoken"])
def test_bad_token_counter_is_refused_with_a_hint(counter):
    with pytest.raises(ConfigurationError) as caught:
        Collection("c", token_counter=counter)
    assert caught.value.hint


def test_missing_folder_is_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        Collection("c", path=tmp_path / "missing" / "deeper")
    assert caught.value.filename
    assert caught.value.errno
    with pytest.raises(FileNotFoundError):
        Collection("c", path=tmp_path / "missing", readonly=True)


def test_folder_whose_parent_exists_is_made(tmp_path, embedder):
    with Collection("c", path=tmp_path / "data", embedder=embedder) as db:
        db.remember("x")
    assert (tmp_path / "data" / "c.db").exists()


def test_relative_folder_stays_where_it_was_when_opened(tmp_path, embedder, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Collection("c", path="./data", embedder=embedder) as db:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        db.remember("x")
        assert db.path == tmp_path / "data" / "c.db"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_file_in_place_of_the_folder_is_the_systems_error(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError):
        Collection("c", path=tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_that_may_not_be_written_is_the_systems_error(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            Collection("c", path=tmp_path)
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    "content", [b"this is no database at all, only text" * 200, b"SQLite format 3\0" + b"\0" * 4_080]
)
def test_file_that_is_not_ours_is_refused_and_untouched(tmp_path, content):
    (tmp_path / "c.db").write_bytes(content)
    with pytest.raises(StoreError) as caught:
        Collection("c", path=tmp_path)
    assert str(tmp_path) in str(caught.value.path)
    assert (tmp_path / "c.db").read_bytes() == content


WRITES = {
    "remember": lambda db: db.remember("x"),
    "remember_many": lambda db: db.remember_many([{"text": "x"}]),
    "replace_turns": lambda db: db.replace_turns("a", [{"text": "x"}]),
    "add": lambda db: db.add("x"),
    "feedback": lambda db: db.feedback(db.turns("a")[0].id, "useful"),
    "forget": lambda db: db.forget(session="a"),
    "expire": lambda db: db.expire(now="9999-01-01"),
    "consolidate": lambda db: db.consolidate("a", lambda turns: ["x"], keep_recent=0),
    "delete": lambda db: db.delete([db.turns("a")[0].id]),
    "clear": lambda db: db.clear(),
    "import_": lambda db: db.import_("none.jsonl"),
    "import_items": lambda db: db.import_items([{"text": "x"}]),
}


@pytest.mark.parametrize("method", WRITES)
def test_readonly_collection_reads_and_never_writes(tmp_path, embedder, method):
    with Collection("c", path=tmp_path, embedder=embedder) as db:
        db.remember("apple pie", session="a", ttl_days=100_000)
    with Collection("c", path=tmp_path, embedder=embedder, readonly=True) as db:
        with pytest.raises(StoreError, match="read-only"):
            WRITES[method](db)
        assert db.recall("apple", session="a", min_relevance=None).texts == ["apple pie"]
        assert db.context("apple", session="a").text
    with Collection("c", path=tmp_path, embedder=embedder) as db:
        assert db.turns("a")[0].text == "apple pie"


def test_message_says_what_came_and_what_was_expected(memory_db):
    with pytest.raises(InvalidInputError) as caught:
        memory_db.recall("x", limit=-1)
    assert "-1" in str(caught.value)
    assert "expected" in str(caught.value)


def test_message_shows_no_whole_text(memory_db):
    with pytest.raises(InvalidInputError) as caught:
        memory_db.remember("fine", session="a", kind="x" * 10_000)
    assert len(str(caught.value)) < 300
