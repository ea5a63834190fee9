"""What returned is stored: after a kill, an exit without close, a full disk, in a folder that cannot be written."""

import random
import signal
import sys
import time

import pytest

from retentive import Collection

WRITER = """
db = opened()
for i in range(100_000):
    tell(db.remember(f"said {i}", session="s", metadata={"i": i}))
"""


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_loses_nothing_that_returned(start, tmp_path, embedder, seed):
    child = start(WRITER)
    told = [child.stdout.readline().strip()]
    time.sleep(random.Random(seed).uniform(0.02, 0.4))
    child.send_signal(signal.SIGKILL)
    told += child.stdout.read().split()
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        turns = db.turns("s")
        assert [turn.id for turn in turns][: len(told)] == told
        assert len(turns) <= len(told) + 1
        assert [(turn.turn, turn.text, turn.metadata["i"]) for turn in turns] == [
            (i, f"said {i}", i) for i in range(len(turns))
        ]
        assert db.recall(turns[-1].text, session="s", mode="lexical", limit=1).ids == [turns[-1].id]
        db.remember("goes on", session="s")
        assert db.turns("s", limit=1)[0].turn == len(turns)


def test_an_exit_without_close_loses_nothing(run, db):
    told = run("""
db = opened()
tell(db.remember("said", session="s"), db.remember("a fact", kind="fact", key="k", user="u"))
os._exit(0)
""")
    turn, fact = told[0].split()
    assert [found.id for found in db.turns("s")] == [turn]
    assert db.fact("k", user="u").id == fact


def test_a_kill_in_a_bulk_write_leaves_whole_transactions_in_order(start, tmp_path, embedder):
    child = start("""
items = [{"text": f"said {i}", "session": "s"} for i in range(200_000)]
opened().remember_many(items, progress=lambda stored, total: tell(stored))
""")
    child.stdout.readline()
    time.sleep(0.1)
    child.send_signal(signal.SIGKILL)
    told = [1_000, *map(int, child.stdout.read().split())]
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        count = db.count()
        assert count % 1_000 == 0
        assert told[-1] <= count <= told[-1] + 1_000
        assert [turn.text for turn in db.turns("s")] == [f"said {i}" for i in range(count)]


def test_a_kill_in_a_consolidation_folds_no_turn_twice(start, tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember_many([{"text": f"turn {i}", "session": "s"} for i in range(60)])
        child = start("""
import time
def summarize(turns):
    tell(turns[0]["text"])
    time.sleep(0.02)
    return [" + ".join(turn["text"] for turn in turns)]
opened().consolidate("s", summarize, keep_recent=0, batch_turns=5)
""")
        for _ in range(5):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        child.wait()
        db.consolidate("s", lambda turns: [" + ".join(turn["text"] for turn in turns)], keep_recent=0, batch_turns=5)
        facts = db.recall("turn", session="s", kinds=("fact",), limit=100, min_relevance=None)
        folded = [text for fact in facts for text in fact.text.split(" + ")]
        assert sorted(folded) == sorted(f"turn {i}" for i in range(60))
        assert db.turns("s") == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_is_an_error_that_leaves_the_old_data_readable_and_passes(run):
    told = run("""
import resource
db = opened()
first = db.remember("stored before", session="s")
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, most))
stored = [first]
try:
    for i in range(2_000):
        stored.append(db.remember(f"turn {i} " + "x" * 500, session="s"))
except FullError as error:
    says = ["nothing of that write is stored" in str(error), "unknown" in str(error)]
    tell("full", error.path == f"{folder}/test.db", *says)
tell([turn.id for turn in db.turns("s")] == stored, db.recall("stored before", session="s", limit=1).ids == [first])
try:
    db.remember_many([{"text": "y" * 9_000, "session": "s"} for _ in range(100)])
except FullError as error:
    tell("full again", error.stored, str(error))
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
stored.append(db.remember("room again", session="s"))
tell([turn.id for turn in db.turns("s")] == stored)
db.close()
tell([turn.id for turn in opened().turns("s")] == stored)
""")
    assert told == ["full True True False", "True True", told[2], "True", "True"]
    assert told[2].startswith("full again 0 ")
    assert "nothing of that write is stored. Free some space and try again" in told[2]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_collection_that_nobody_has_open_is_read_on_a_full_disk_and_written_once_there_is_room(run):
    """SQLite makes a file of 32 KB beside the one that it reads, which does not fit."""
    told = run("""
import resource
with opened() as db:
    first = db.remember("stored before", session="s")
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
for room in (0, 1, 4_096, 20_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, most))
    with opened() as db, opened(readonly=True) as reader:
        seen = [one.recall("stored", session="s", limit=1).ids == [first] for one in (db, reader)]
        seen += [one.context("stored", "s").recent[0].id == first for one in (db, reader)]
        try:
            db.remember("no room", session="s")
        except FullError as error:
            seen.append(error.path == f"{folder}/test.db")
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        second = db.remember("room again", session="s")
        seen += [one.turns("s")[-1].id == second for one in (db, reader)]
        db.forget(ids=[second])
    tell(room, seen)
""")
    assert told == [f"{room} {[True] * 7}" for room in (0, 1, 4_096, 20_000)]


def test_a_collection_that_a_full_disk_did_not_let_be_made_is_made_once_there_is_room(run):
    """Wherever it fails: with no byte, with a header alone, with tables and no memory."""
    told = run("""
import resource
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
sizes = [0, 1, 512, 4_095, 4_096, 4_200, 8_192, 20_000, 40_000, 80_000, 120_000, 200_000, 400_000]
for room in sizes:
    stored = None
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, most))
    try:
        with Collection(f"t{room}", path=folder, embedder=HashEmbedder(64)) as db:
            stored = db.remember("the first", session="s")
    except FullError:
        pass
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    size = os.path.getsize(f"{folder}/t{room}.db")
    with Collection(f"t{room}", path=folder, embedder=HashEmbedder(64)) as db:
        second = db.remember("the second", session="s")
        assert db.verify().ok
        assert [turn.id for turn in db.turns("s")] == [stored, second][stored is None :], room
    tell(room, size, stored is not None)
""")
    figures = [line.split() for line in told]
    assert figures[0] == ["0", "0", "False"]
    assert len({size for _, size, _ in figures}) > 2, figures
    assert figures[-1][2] == "True"


UNWRITABLE = """
with Collection("warm", embedder=HashEmbedder(64)) as warm:  # imports everything as long as that is allowed
    warm.remember("warm", session="s")
    warm.recall("warm", session="s")
os.chmod(folder, 0o755)
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
else:
    os.chmod(folder, 0o555)
tell("may not write")
"""

READER = (
    UNWRITABLE
    + """
def answer(call):
    try:
        return call()
    except (RetentiveError, OSError) as error:
        return type(error).__name__
db = opened(busy_timeout_s=1)
while wait().strip():
    texts = answer(lambda: db.recall("turn", session="s", limit=50, min_relevance=None).texts)
    tell(answer(lambda: len(db.turns("s"))), len(texts) if isinstance(texts, list) else texts)
tell(answer(lambda: db.remember("refused")), answer(lambda: db.forget("s")))
"""
)


@pytest.fixture
def open_folder(tmp_path):
    """A folder that another user of the machine can reach."""
    parents = [parent for parent in tmp_path.parents if not parent.stat().st_mode & 0o001]
    modes = [parent.stat().st_mode for parent in parents]
    for parent in parents:
        parent.chmod(0o755)
    yield tmp_path
    for parent, mode in zip(parents, modes, strict=True):
        parent.chmod(mode)
    tmp_path.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="needs permissions of folders")
def test_a_folder_that_cannot_be_written_is_read_and_shows_later_changes(start, open_folder, embedder):
    def ask(line):
        reader.stdin.write(line)
        reader.stdin.flush()
        return reader.stdout.readline().split()

    with Collection("test", path=open_folder, embedder=embedder) as db:
        db.remember_many([{"text": f"turn {i}", "session": "s"} for i in range(20)])
    reader = start(READER)
    assert reader.stdout.readline() == "may not write\n"
    assert ask("count\n") == ["20", "20"]
    open_folder.chmod(0o755)
    with Collection("test", path=open_folder, embedder=embedder) as db:
        db.remember("turn 20", session="s")
    assert ask("count\n") == ["21", "21"]
    with Collection("test", path=open_folder, embedder=embedder) as db:
        db.forget("s")
        db.remember("turn 21", session="s")
    assert ask("count\n") == ["1", "1"]
    assert ask("\n") == ["StoreError", "StoreError"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs permissions of folders")
def test_commits_that_could_not_be_seen_are_an_error(run, start, open_folder):
    run("db = opened(); db.remember('only in the log', session='s'); os._exit(0)")
    told = run(
        UNWRITABLE
        + """
try:
    tell(opened().count())
except StoreError as error:
    tell(error.path == f"{folder}/test.db", "-wal" in str(error))
"""
    )
    assert told in (["may not write", "True True"], ["may not write", "1"])


WRITTEN_AGAIN = """
with Collection("warm", embedder=HashEmbedder(64)) as warm:  # imports everything as long as that is allowed
    warm.remember("warm", session="s")
    warm.recall("warm", session="s")
with opened() as db:
    db.remember("before", session="s")
if os.geteuid() == 0:
    for path in (folder, *(f"{folder}/{name}" for name in os.listdir(folder))):
        os.chown(path, 65534, 65534)
    os.setgid(65534)
    os.setuid(65534)
protected = f"{folder}/test.db" if sys.argv[2] == "file" else folder
mode = os.stat(protected).st_mode
os.chmod(protected, mode & ~0o222)
db = opened(readonly=sys.argv[3] == "readonly")
tell([turn.text for turn in db.turns("s")], db.stats()["readonly"])


def answer(call):
    try:
        return bool(call())
    except StoreError as error:
        return "nothing was stored" in str(error) and type(error).__name__


CALLS = [
    lambda: db.remember("stored", session="s"),
    lambda: db.remember_many([{"text": "many", "session": "s"}]),
    lambda: db.forget("nobody") + 1,
    lambda: db.compact() + 1,
]
tell(*[answer(call) for call in CALLS])
os.chmod(protected, mode)
tell([turn.text for turn in db.turns("s")], *[answer(call) for call in CALLS])
tell([turn.text for turn in db.turns("s")], db.recall("stored", session="s", limit=1, mode="lexical").texts)
tell(db.verify().ok, db.stats()["readonly"])
with opened() as other:
    other.remember("by another", session="s")
tell([turn.text for turn in db.turns("s")])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs permissions of folders")
@pytest.mark.parametrize("protected", ["file", "folder"])
def test_what_could_not_be_written_is_written_by_the_same_handle_once_it_can_be(run, open_folder, protected):
    told = run(WRITTEN_AGAIN, protected, "")
    assert told[0] == "['before'] True"
    assert told[1].split() == ["StoreError"] * 4
    assert told[2:5] == ["['before'] True True True True", "['before', 'stored', 'many'] ['stored']", "True False"]
    assert told[5] == "['before', 'stored', 'many', 'by another']"


@pytest.mark.skipif(sys.platform == "win32", reason="needs permissions of folders")
@pytest.mark.parametrize("beside", [False, True])
def test_reading_a_protected_file_leaves_nothing_that_keeps_writers_out(run, open_folder, beside):
    """SQLite makes the `-shm` with the file's mode, and never changes it. Older releases left one."""
    told = run(
        """
with opened() as db:
    db.remember("before", session="s")
if os.geteuid() == 0:
    for path in (folder, f"{folder}/test.db"):
        os.chown(path, 65534, 65534)
    os.setgid(65534)
    os.setuid(65534)
os.chmod(f"{folder}/test.db", 0o444)
if sys.argv[2] == "True":
    for name in ("test.db-wal", "test.db-shm"):
        with open(f"{folder}/{name}", "wb"):
            os.chmod(f"{folder}/{name}", 0o444)
else:
    for readonly in (False, True):
        with opened(readonly=readonly) as db:
            tell([turn.text for turn in db.turns("s")], sorted(os.listdir(folder)))
os.chmod(f"{folder}/test.db", 0o644)
with opened() as db:
    db.remember("after", session="s")
    tell([turn.text for turn in db.turns("s")])
tell(sorted(os.listdir(folder)))
""",
        beside,
    )
    assert told == [*["['before'] ['test.db']"] * (0 if beside else 2), "['before', 'after']", "['test.db']"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs permissions of folders")
@pytest.mark.parametrize("protected", ["file", "folder"])
def test_a_handle_that_was_asked_to_be_read_only_stays_so(run, open_folder, protected):
    told = run(WRITTEN_AGAIN, protected, "readonly")
    refused = ["StoreError"] * 4
    assert told[2] == " ".join(["['before']", *refused])
    assert told[4:] == ["True True", "['before', 'by another']"]


def test_a_folder_that_was_moved_away_and_back_is_written_on(tmp_path, embedder):
    (tmp_path / "in").mkdir()
    with Collection("test", path=tmp_path / "in", embedder=embedder) as db:
        db.remember("before", session="s")
        (tmp_path / "in").rename(tmp_path / "out")
        for call in (lambda: db.remember("lost?", session="s"), lambda: db.turns("s"), db.verify):
            with pytest.raises(FileNotFoundError):
                call()
        (tmp_path / "out").rename(tmp_path / "in")
        db.remember("after", session="s")
        assert [turn.text for turn in db.turns("s")] == ["before", "after"]
        assert db.verify().ok


def test_a_folder_that_is_removed_is_an_error_and_takes_no_writes(tmp_path, embedder, run):
    folder = tmp_path / "inner"
    folder.mkdir()
    with Collection("test", path=folder, embedder=embedder) as db:
        db.remember("here", session="s")
        run("import shutil; shutil.rmtree(f'{folder}/inner')")
        for call in (lambda: db.remember("lost?", session="s"), lambda: db.turns("s"), lambda: db.forget("s")):
            with pytest.raises(FileNotFoundError) as caught:
                call()
            assert caught.value.filename == str(folder / "test.db")
        with Collection("test", path=folder, embedder=embedder) as new:  # makes the folder anew
            assert new.count() == 0
            new.remember("after", session="s")
            assert [turn.text for turn in db.turns("s")] == ["after"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_an_erasure_on_a_full_disk_is_pending_and_the_next_call_with_room_completes_it(start, tmp_path):
    """Nobody reads; the log cannot be copied into the file, so the text stays in the log, and `stats` says so."""
    child = start("""
import resource
with opened() as db:
    db.remember_many([{"text": f"kept {i} " + "x" * 1_000, "session": "s"} for i in range(300)])
db = opened()
db.remember("TheSecretText", session="s", id="secret")
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, most))
tell(db.forget(ids=["secret"]), db.get_one("secret"), db.stats()["erasure_pending"])
wait()
tell(db.count(), db.stats()["erasure_pending"])
wait()
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
tell(db.count(), db.stats()["erasure_pending"])
wait()
""")

    def holds_secret():
        return any(b"TheSecretText" in path.read_bytes() for path in tmp_path.glob("test.db*"))

    for said, is_left in (("1 None True", True), ("300 True", True), ("300 False", False)):
        assert (child.stdout.readline().strip(), holds_secret()) == (said, is_left)
        child.stdin.write("\n")
        child.stdin.flush()
    child.communicate()
    assert child.returncode == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks how much memory the process has")
@pytest.mark.parametrize("room_mb", [8, 24])
def test_a_call_that_memory_does_not_suffice_for_costs_nothing_that_is_stored(start, db, room_mb):
    """The core cannot go on without memory: the process ends, unless Python notices first."""
    child = start(
        """
import resource
db = opened()
db.remember("stored before", session="s", id="before")
many = [{"text": f"turn {i} " + "words " * 160, "session": "s", "vector": [1.0 + i] * 64} for i in range(20_000)]
tell("ready")
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv[2]) << 20),) * 2)
db.remember_many(many)
""",
        room_mb,
    )
    told, error = child.communicate(timeout=60)
    assert told == "ready\n"
    assert child.returncode != 0, "the limit is too high to show anything"
    assert db.verify().ok
    assert (db.get_one("before").text, db.count()) == ("stored before", 1), error
