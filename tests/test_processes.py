"""Many processes on one file: who sees what, who waits, and what an operating system may refuse."""

import os
import sys
import time

import pytest

from retentive import BusyError, Collection

EACH = 500 if os.environ.get("RETENTIVE_SOAK") else 60  # turns of each process

OPENER = """
while not os.path.exists(f"{folder}/go"):
    pass
me, count = sys.argv[2], int(sys.argv[3])
with opened(durability="normal") as db:
    for i in range(count):
        db.remember(f"{me} says {i}", session="all")
        if i % 50 == 0:
            db.recall("who says what", session="all", limit=3)
"""

READER = """
import time
while not os.path.exists(f"{folder}/go"):
    pass
seen = 0
with opened() as db:
    while not os.path.exists(f"{folder}/written"):
        turns = [turn.turn for turn in db.turns("all")]
        assert turns == list(range(len(turns))) and len(turns) >= seen, (seen, turns)
        seen = len(turns)
        assert len(db.recall("who says what", session="all", limit=3, min_relevance=None)) == min(3, seen) or not seen
        assert db.count() >= seen
        time.sleep(0.05)  # the writers are the ones to press
    tell(db.count(session="all"))
"""

HOLDER = """
import sqlite3
held = sqlite3.connect(f"{folder}/test.db", isolation_level=None)
held.execute("BEGIN IMMEDIATE")
tell("held")
wait()
held.execute("ROLLBACK")
tell("released")
"""


@pytest.mark.soak
def test_eight_processes_open_a_new_file_at_once_and_every_turn_number_is_given_once(
    start, tmp_path, embedder, counted
):
    readers = [start(READER) for _ in range(4)]
    children = [start(OPENER, f"process {i}", EACH) for i in range(8)]
    (tmp_path / "go").touch()
    for child in children:
        _, error = child.communicate(timeout=100 + EACH)
        assert child.returncode == 0, error
    (tmp_path / "written").touch()
    for reader in readers:
        told, error = reader.communicate(timeout=100 + EACH)
        assert (reader.returncode, told.split()) == (0, [str(8 * EACH)]), error
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        turns = db.turns("all")
        assert [turn.turn for turn in turns] == list(range(8 * EACH))
        for i in range(8):
            own = [turn.text for turn in turns if turn.text.startswith(f"process {i} ")]
            assert own == [f"process {i} says {n}" for n in range(EACH)]
    counted(turns_compared=len(turns))


def test_a_reader_sees_every_commit_of_another_process_at_its_next_call(db, start):
    db.remember("the first word", session="s")
    child = start("""
db = opened()
while line := wait().strip():
    found = db.recall(line, session="s", limit=1, mode="lexical", min_relevance=None)
    tell(db.count(session="s"), [turn.text for turn in db.turns("s", limit=1)] == found.texts == [line])
""")

    def ask(line):
        child.stdin.write(f"{line}\n")
        child.stdin.flush()
        return child.stdout.readline().split()

    for i in range(2, 40):
        text = f"word{i} of many"
        db.remember(text, session="s")
        assert ask(text) == [str(i), "True"]
    db.forget("s")
    assert ask("word39 of many") == ["0", "False"]
    db.remember("and on", session="s")
    assert ask("and on") == ["1", "True"]


def test_a_file_that_another_process_holds_is_busy_after_the_timeout_and_can_be_read(tmp_path, embedder, start):
    with Collection("test", path=tmp_path, embedder=embedder, busy_timeout_s=0.3) as db:
        here = db.remember("already here", session="s")
        holder = start(HOLDER)
        assert holder.stdout.readline() == "held\n"
        writes = (
            lambda: db.remember("more", session="s"),
            lambda: db.remember_many([{"text": "more"}]),
            lambda: db.feedback(here, "useful"),
            lambda: db.forget("s"),
            lambda: db.add("a document"),
        )
        for write in writes:
            started = time.monotonic()
            with pytest.raises(BusyError) as caught:
                write()
            assert 0.3 <= time.monotonic() - started < 5
            assert caught.value.path == str(tmp_path / "test.db")
            assert db.recall("already", session="s").ids == [here]
        with Collection("test", path=tmp_path, embedder=embedder) as other:
            assert other.count() == 1
        holder.stdin.write("\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "released\n"
        db.remember("more", session="s")
        assert db.count() == 2


def test_two_handles_of_one_file_in_one_process_share_its_numbers(tmp_path, embedder):
    with (
        Collection("test", path=tmp_path, embedder=embedder) as one,
        Collection("test", path=tmp_path, embedder=embedder) as two,
    ):
        for i in range(20):
            (one if i % 2 else two).remember(f"turn {i}", session="s")
        assert [turn.turn for turn in one.turns("s")] == list(range(20))
        one.close()
        two.remember("after the other closed", session="s")
        assert len(two.turns("s")) == 21


LOCKED = """
import fcntl
with open(f"{folder}/test.db", "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        tell("free")
    except OSError:
        tell("locked")
"""


def test_closing_one_handle_does_not_let_go_of_the_others_lock(tmp_path, embedder, run):
    with Collection("test", path=tmp_path, embedder=embedder) as one:
        one.remember("mine", session="s")
        with Collection("test", path=tmp_path, embedder=embedder) as another:
            another.count()
        assert sys.platform == "win32" or run(LOCKED) == ["locked"]
        run("opened().remember('theirs', session='s')")
        assert [turn.text for turn in one.turns("s")] == ["mine", "theirs"]
    assert sys.platform == "win32" or run(LOCKED) == ["free"]


@pytest.mark.skipif(sys.platform != "linux", reason="links and limits of one kind are enough")
def test_no_descriptor_left_is_the_systems_own_error_and_passes(run):
    told = run("""
import errno, resource
with opened() as db:
    db.remember("before", session="s")
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
taken = []
try:
    while True:
        taken.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
try:
    opened()
except OSError as error:
    tell(error.errno == errno.EMFILE)
for descriptor in taken:
    os.close(descriptor)
tell(opened().count())
""")
    assert told == ["True", "1"]


def test_a_linked_file_is_the_file_it_links_to(tmp_path, embedder, start):
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "test.db").symlink_to("../test.db")
    with Collection("test", path=tmp_path / "links", embedder=embedder) as db:
        db.remember("a word", session="s")
        reader = start("""
import sqlite3
held = sqlite3.connect(f"{folder}/test.db", isolation_level=None)
held.execute("BEGIN")
held.execute("SELECT count(*) FROM memory").fetchone()
tell("reads")
wait()
""")
        reader.stdout.readline()
        db.forget("s")
        assert db.stats()["erasure_pending"]
        reader.communicate("\n")
        assert not db.stats()["erasure_pending"]


def test_a_restored_backup_is_read_and_written_by_handles_that_were_open(tmp_path, embedder, run):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember("in the backup", session="s")
    run("import shutil; shutil.copy(f'{folder}/test.db', f'{folder}/backup')")
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember("not in the backup", session="s")
        assert len(db.recall("backup", session="s", min_relevance=None)) == 2
        run("""
os.replace(f"{folder}/backup", f"{folder}/test.db")
for log in ("-wal", "-shm"):
    os.unlink(f"{folder}/test.db{log}")
""")
        assert db.recall("backup", session="s", min_relevance=None).texts == ["in the backup"]
        db.remember("written after", session="s")
        assert [turn.text for turn in db.turns("s")] == ["in the backup", "written after"]
        assert len(db.recall("backup", session="s", min_relevance=None)) == 2
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        assert [turn.text for turn in db.turns("s")] == ["in the backup", "written after"]


def test_a_file_deleted_underneath_is_an_error_and_takes_no_writes(tmp_path, embedder, run):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember("here", session="s")
        run("[os.unlink(f'{folder}/{name}') for name in os.listdir(folder) if name.startswith('test.db')]")
        for call in (lambda: db.remember("lost?", session="s"), lambda: db.turns("s"), lambda: db.recall("here")):
            with pytest.raises(FileNotFoundError):
                call()
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        assert db.count() == 0
