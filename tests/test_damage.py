"""Files that are not ours, newer, cut, or changed by others: a typed error with the path, never a wrong row."""

import random
import shutil
import sqlite3
import sys

import pytest

from retentive import Collection, CorruptError, StoreError, VersionError


def made_by(tmp_path, statements):
    file = tmp_path / "test.db"
    other = sqlite3.connect(file)
    for statement in statements:
        other.execute(statement)
    other.commit()
    other.close()
    return file.read_bytes()


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"x", CorruptError),
        (bytes(100), CorruptError),
        (bytes(8192), CorruptError),
        (b"a diary, not a database\n" * 500, CorruptError),
        (random.Random(1).randbytes(20_000), CorruptError),
        (["CREATE TABLE t(x)", "INSERT INTO t VALUES (1)"], VersionError),
        (["PRAGMA journal_mode=WAL", "CREATE TABLE t(x)"], VersionError),
        (["PRAGMA application_id=77", "PRAGMA user_version=1"], VersionError),
        (["PRAGMA application_id=0x52544E56", "PRAGMA user_version=1", "CREATE TABLE meta(x)"], CorruptError),
        (["PRAGMA application_id=0x52544E56", "PRAGMA user_version=2", "CREATE TABLE meta(x)"], VersionError),
    ],
)
def test_a_file_that_is_not_ours_is_refused_and_left_as_it_was(run, tmp_path, content, error):
    content = content if isinstance(content, bytes) else made_by(tmp_path, content)
    file = tmp_path / "test.db"
    file.write_bytes(content)
    told = run("""
for readonly in (False, True):
    try:
        opened(readonly=readonly, busy_timeout_s=1)
    except StoreError as error:
        tell(type(error).__name__, error.path)
""")
    assert told == [f"{error.__name__} {file}"] * 2
    assert file.read_bytes() == content
    # SQLite leaves its shared memory beside a file in its log mode that it read without the right to write.
    assert {found.name for found in tmp_path.iterdir() if found.stat().st_size} <= {"test.db", "test.db-shm"}


SNAPSHOT = """
NOW = "2024-06-01T00:00:00+00:00"
ALL = {"now": NOW, "limit": 50, "min_relevance": None}


def answer(call):
    try:
        return call()
    except (RetentiveError, OSError) as error:
        return None


def rows(results):
    return [(row.id, row.text, row.score, row.kind, row.session, row.user, row.turn, sorted(row.metadata.items(),
             key=str)) for row in results]


def snapshot(db, ids):
    calls = {"any": lambda: rows(db.search("cats", limit=99, user=ANY)), "count": db.count, "users": db.users,
             "sessions": lambda: db.sessions(ANY), "filter": lambda: rows(db.search(filter={"n": 3}, limit=9))}
    for s in ("alpha", "beta"):
        calls |= {("turns", s): lambda s=s: rows(db.turns(s)),
                  ("recall", s): lambda s=s: rows(db.recall("cats and birds", session=s, **ALL))}
    for u in ("ann", "bo"):
        calls |= {("facts", u): lambda u=u: rows(db.facts(user=u)),
                  ("of user", u): lambda u=u: rows(db.recall("where", user=u, **ALL))}
    for id in ids:
        calls[id] = lambda id=id: [(rows([row]), row.vector.tobytes()) for row in db.get([id], vectors=True)]
    return {name: answer(call) for name, call in calls.items()}


def missing_some(found, right):
    rest = iter(right)
    return isinstance(found, list) and all(row in rest for row in found)


def wrong(right, now, ids):
    # What a damaged index hides from a look-up by id, key or turn is found by verify(): docs/format.md.
    looked_up = {*ids, *(name for name in right if name[0] in ("turns", "facts"))}
    return [name for name in right if now[name] not in (None, right[name])
            and not (name in looked_up and missing_some(now[name], right[name]))]
"""

FILL = (
    SNAPSHOT
    + """
import pickle
then = {"timestamp": "2024-01-01T00:00:00+00:00"}
db = opened()
for s in ("alpha", "beta"):
    ids = [db.remember(f"{s} turn {i} about {['cats', 'dogs', 'birds'][i % 3]}", session=s, metadata={"n": i}, **then)
           for i in range(10)]
for u in ("ann", "bo"):
    for city in ("Paris", "Rome"):
        db.remember(f"{u} lives in {city}", user=u, kind="fact", key="city", **then)
    db.remember(f"{u} is pinned", user=u, pinned=True, **then)
    db.remember("hello there", user=u, session="s", **then)
db.feedback(ids[3], "useful", timestamp=NOW)
db.feedback(ids[4], "corrected", correction="better", timestamp=NOW)
db.add("a document about cats")
db.forget(ids=[ids[7]])
kept = db.search("cats", limit=99, user=ANY).ids
with open(f"{folder}/right", "wb") as out:
    pickle.dump((kept, snapshot(db, kept)), out)
db.close()
"""
)

FLIP = (
    SNAPSHOT
    + """
import pickle
with open(f"{folder}/right", "rb") as right:
    ids, right = pickle.load(right)
whole = open(f"{folder}/test.db", "rb").read()
opens = 0
for offset in map(int, sys.stdin.read().split()):
    tell("at", offset)  # the last one, should this process crash
    damaged = bytearray(whole)
    damaged[offset] ^= 255 if offset % 2 else 1 << offset % 8
    with open(f"{folder}/test.db", "wb") as out:
        out.write(damaged)
    db = answer(lambda: opened(busy_timeout_s=1))
    if db is not None:
        opens += 1
        found = wrong(right, snapshot(db, ids), ids)
        if found:
            tell("wrong", offset, found)
        answer(lambda: db.remember("a new one", session="alpha"))
        answer(db.close)
    for log in ("-wal", "-shm"):
        if os.path.exists(f"{folder}/test.db{log}"):
            os.unlink(f"{folder}/test.db{log}")
tell("opened", opens > 0)
"""
)


@pytest.fixture
def filled(run, tmp_path):
    run(FILL)
    return tmp_path


def told_by(child, offsets):
    told, error = child.communicate("\n".join(map(str, offsets)), timeout=200)
    assert child.returncode == 0, f"{child.returncode} after {told.splitlines()[-1:]}: {error}"
    return [line for line in told.splitlines() if not line.startswith("at ")]


def test_a_flipped_byte_anywhere_is_a_typed_error_or_changes_nothing(filled, start):
    size = (filled / "test.db").stat().st_size
    offsets = sorted({*range(0, 100, 7), *random.Random(7).sample(range(size), 160)})
    assert told_by(start(FLIP), offsets) == ["opened True"]


def test_a_file_cut_anywhere_is_a_typed_error_or_whole(filled, start):
    cut = FLIP.replace("damaged[offset] ^= 255 if offset % 2 else 1 << offset % 8", "del damaged[offset:]")
    size = (filled / "test.db").stat().st_size
    offsets = [1, 99, 511, 512, 4095, 4096, 5000, *range(8192, size, 8192 + 511), size - 4096, size - 1]
    told = told_by(start(cut), offsets)
    assert [line for line in told if line.startswith("wrong")] == []


def test_a_damaged_row_is_named_with_its_file_and_the_others_are_read(filled, embedder, run):
    content = (filled / "test.db").read_bytes()
    at = content.index(b"beta turn 5 about")
    (filled / "test.db").write_bytes(content[:at] + b"B" + content[at + 1 :])
    told = run("""
db = opened()
try:
    db.turns("beta")
except CorruptError as error:
    tell(error.path, "checksum" in str(error))
tell(len(db.turns("alpha")))
""")
    assert told == [f"{filled / 'test.db'} True", "10"]


@pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")
def test_a_damaged_log_costs_its_last_commits_and_never_consistency(run, start, tmp_path):
    run("""
db = opened()
for i in range(40):
    db.remember(f"said {i}", session="s")
os._exit(0)
""")
    whole, log = ((tmp_path / f"test.db{end}").read_bytes() for end in ("", "-wal"))
    assert log
    check = """
try:
    db = opened(busy_timeout_s=1)
    turns = [turn.text for turn in db.turns("s")]
    db.remember("goes on", session="s")
    tell(turns == [f"said {i}" for i in range(len(turns))] and db.verify().ok)
    db.close()
except StoreError as error:
    tell(error.path == f"{folder}/test.db")
"""
    for offset in random.Random(3).sample(range(len(log)), 8):
        for name in ("test.db", "test.db-wal", "test.db-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        damaged = bytearray(log)
        damaged[offset] ^= 255
        (tmp_path / "test.db").write_bytes(whole)
        (tmp_path / "test.db-wal").write_bytes(damaged)
        assert run(check) == ["True"], offset


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 37), reason="this SQLite cannot read our tables")
def test_an_index_that_leads_to_a_neighbours_rows_is_damage(tmp_path, embedder, run):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        for owner in ("ann", "bo", "cy"):
            db.remember(f"{owner} said so", session=owner)
            db.remember(f"{owner} lives in Rome", session=owner, kind="fact", key="city")
    run("""
import sqlite3
def rewrite(old, new):
    raw = sqlite3.connect(f"{folder}/test.db", isolation_level=None)
    raw.execute("PRAGMA writable_schema=ON")
    raw.execute("UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name IN ('memory_turn', 'memory_key')",
                (f"({old}", f"({new}"))
    raw.execute(f"PRAGMA schema_version={raw.execute('PRAGMA schema_version').fetchone()[0] + 1}")
    raw.close()
for column in ("scope", "partition"):
    rewrite(column, column + "+1")
raw = sqlite3.connect(f"{folder}/test.db", isolation_level=None)
raw.execute("REINDEX memory_turn")
raw.execute("REINDEX memory_key")
raw.close()
for column in ("scope", "partition"):
    rewrite(column + "+1", column)
""")
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        for call in (
            lambda: db.turns("bo"),
            lambda: db.turns("bo", limit=1),
            lambda: db.fact("city", session="bo"),
            lambda: db.facts(session="bo"),
            lambda: db.context("who said so", session="bo"),
        ):
            with pytest.raises(CorruptError):
                call()
        assert db.count() == 6


MODEL_DAMAGES = [
    "UPDATE model SET current = 0",
    "UPDATE model SET current = 2",
    "UPDATE model SET dimension = 65",
    "UPDATE model SET name = 'another'",
    "DELETE FROM model",
]


@pytest.mark.parametrize("damage", MODEL_DAMAGES)
def test_a_damaged_row_of_the_model_is_an_error_and_no_answer_without_vectors(filled, run, damage):
    raw = sqlite3.connect(filled / "test.db")
    raw.execute(damage)
    raw.commit()
    raw.close()
    told = run("""
db = opened()
calls = {
    "recall": lambda: db.recall("cats and birds", session="alpha"),
    "vectors": lambda: db.get([db.turns("alpha")[0].id], vectors=True),
    "search": lambda: db.search("cats"),
    "write": lambda: db.remember("a new one", session="alpha"),
}
before = len(db.turns("alpha"))
for name, call in calls.items():
    try:
        call()
        tell(name, "answered")
    except StoreError as error:
        tell(name, type(error).__name__)
tell(len(db.turns("alpha")) == before, db.verify().ok)
""")
    assert told == [
        "recall CorruptError",
        "vectors CorruptError",
        "search CorruptError",
        "write CorruptError",
        "True False",
    ]


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 37), reason="this SQLite cannot read our tables")
def test_stray_entries_of_an_index_of_some_rows_are_found_by_verify(filled, run):
    told = run("""
import sqlite3
def connected():
    raw = sqlite3.connect(f"{folder}/test.db", isolation_level=None)
    raw.execute("PRAGMA writable_schema=ON")
    return raw
def changed(raw):
    raw.execute(f"PRAGMA schema_version={raw.execute('PRAGMA schema_version').fetchone()[0] + 1}")
    raw.close()
raw = connected()
raw.execute("UPDATE memory SET expires = 5 WHERE seq = 3")
index = raw.execute("SELECT * FROM sqlite_schema WHERE name = 'memory_expires'").fetchone()
raw.execute("DELETE FROM sqlite_schema WHERE name = 'memory_expires'")
changed(raw)
raw = connected()
raw.execute("UPDATE memory SET expires = NULL WHERE seq = 3")
raw.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", index)
changed(raw)
db = opened()
try:
    db.count()
except CorruptError as error:
    tell(type(error).__name__)
for problem in db.verify().problems:
    tell(problem)
""")
    assert told == ["CorruptError", "memory: structure: wrong # of entries in index memory_expires"]


def test_a_copy_beside_it_is_a_collection_of_its_own(filled, run):
    shutil.copy(filled / "test.db", filled / "copy.db")
    told = run("""
copy = Collection("copy", path=folder, embedder=HashEmbedder(64))
copy.forget("alpha", kinds=KINDS)
tell(copy.count(session="alpha"), opened().count(session="alpha"))
""")
    assert told == ["0 10"]


def test_every_store_error_names_the_file(tmp_path, embedder):
    (tmp_path / "test.db").write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError) as caught:
        Collection("test", path=tmp_path, embedder=embedder)
    assert caught.value.path == str(tmp_path / "test.db")
    assert str(tmp_path / "test.db") in str(caught.value)


HALF_COPIED = """
import subprocess
START = "import sqlite3, sys; raw = sqlite3.connect(sys.argv[1]); "
READS = START + "raw.execute('BEGIN'); raw.execute('SELECT * FROM meta').fetchall(); print(1, flush=True); input()"
COPIES = START + "print(*raw.execute('PRAGMA wal_checkpoint(PASSIVE)').fetchone())"
with opened() as db:
    db.remember_many([{"text": f"old {i} " * 150, "session": "old", "id": f"old {i}"} for i in range(80)])
db = opened()
for i in range(40):
    if i == 20:
        command = [sys.executable, "-c", READS, db.path]
        reader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        reader.stdout.readline()
    db.remember(f"said {i}", session="s")
    db.feedback(f"old {2 * i}", "useful")  # pages that the log does not have yet
done = subprocess.run([sys.executable, "-c", COPIES, db.path], capture_output=True, text=True, check=True)
busy, frames, copied = map(int, done.stdout.split())
assert 0 < copied < frames, done.stdout
reader.kill()
reader.wait()
tell(copied)
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.skipif(sys.platform == "win32" or sqlite3.sqlite_version_info < (3, 37), reason="reads our tables, kills")
def test_a_damaged_log_that_was_copied_in_part_is_an_error_or_verify_says_so(run, tmp_path):
    """Pages of two moments: then a lost commit is not all, and no read has a wrong row all the same."""
    copied = int(run(HALF_COPIED)[0])
    whole, log = ((tmp_path / f"test.db{end}").read_bytes() for end in ("", "-wal"))
    check = """
try:
    with opened(busy_timeout_s=1) as db:
        turns, old = db.turns("s", limit=99), db.turns("old", limit=99)
        right = all(turn.text == f"said {turn.turn}" for turn in turns)
        right = right and all(turn.text == f"old {turn.turn} " * 150 for turn in old)
        whole = [turn.turn for turn in turns] == list(range(len(turns))) and len(old) == 80
        tell("wrong" if not right else "told" if not db.verify().ok else "whole" if whole else "silent")
except StoreError as error:
    tell("told" if error.path == f"{folder}/test.db" else "wrong")
"""
    said = set()
    for frame in (1, copied // 3, copied // 2, copied - 1, copied + 1):
        for name in ("test.db", "test.db-wal", "test.db-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        damaged = bytearray(log)
        damaged[32 + frame * (24 + 4_096) + 1_000] ^= 255
        (tmp_path / "test.db").write_bytes(whole)
        (tmp_path / "test.db-wal").write_bytes(damaged)
        said.add(run(check)[0])
    assert said == {"told", "whole"}
