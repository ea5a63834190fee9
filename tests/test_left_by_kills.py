"""What a killed process left beside a file that it was writing goes with the next one that writes it."""

import signal
import subprocess
import sys
import time

import pytest

from retentive import Collection
from retentive.assistant import MemoryManager
from retentive.repair import repair

KILLED_CHECKPOINT = """
import os, sys
from retentive.assistant import MemoryManager

memory = MemoryManager("u", path=sys.argv[1])
memory.record("user", "a secret of old")
os.fsync = lambda handle: os.kill(os.getpid(), 9)
memory.checkpoint()
"""


KILLED_EXPORT = """
import resource, signal, sys
from retentive import Collection, HashEmbedder

db = Collection("killed", embedder=HashEmbedder(8))
db.remember_many([{"text": f"a secret of old {n} " + "x" * 2_000} for n in range(1_100)])
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
db.export(sys.argv[1])
"""


def left(folder, ending):
    return [path for path in folder.iterdir() if path.name.endswith(ending)]


def test_a_killed_checkpoint_leaves_nothing_behind_the_next_one(tmp_path):
    subprocess.run([sys.executable, "-c", KILLED_CHECKPOINT, str(tmp_path)], check=False, timeout=60)
    assert len(left(tmp_path, ".tmp")) == 1
    with MemoryManager("u", path=tmp_path, max_turns=1) as memory:
        memory.record("user", "something else")
        memory.checkpoint()
    assert left(tmp_path, ".tmp") == []


@pytest.mark.parametrize("verb", ["export", "backup"])
def test_a_killed_export_leaves_nothing_behind_the_next_one_to_that_place(tmp_path, verb, embedder):
    """The system ends it in the middle of a write: at the first one over a megabyte."""
    pytest.importorskip("resource")
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember("something", session="s")
        command = [sys.executable, "-c", KILLED_EXPORT, str(tmp_path / "out.db")]
        assert subprocess.run(command, check=False, timeout=60).returncode == -signal.SIGXFSZ
        (dead,) = left(tmp_path, ".part")
        assert b"a secret of old" in dead.read_bytes()
        others = [
            tmp_path / name for name in ("out.db.x-0.part", "out.db.1-.part", "other.db.1-0.part", "out.db.1-0.json")
        ]
        for other in others:
            other.write_text("somebody else's")
        getattr(db, verb)(tmp_path / "out.db")
        assert not dead.exists()
        assert all(other.exists() for other in others)


def test_a_part_that_is_being_written_stays(tmp_path, embedder):
    """Its writer holds a lock on it."""
    fcntl = pytest.importorskip("fcntl")
    alive = tmp_path / "out.jsonl.123-0.part"
    with alive.open("w") as file, Collection("test", path=tmp_path, embedder=embedder) as db:
        fcntl.flock(file, fcntl.LOCK_EX)
        db.remember("something", session="s")
        db.export(tmp_path / "out.jsonl")
        assert alive.exists()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


KILLED_REPAIR = """
import os, sys
from retentive import _core, repair

_core.repair = lambda *arguments: os.kill(os.getpid(), 9)
repair.repair(sys.argv[1] + "/test.db", sys.argv[1] + "/saved.db")
"""


def test_a_killed_repair_leaves_nothing_behind_the_next_one_of_the_folder(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember("a secret of old", session="s")
    others = [
        tmp_path / name for name in (".repair-notes", ".repair-mine", ".repair-mine/copy.db", "saved.db.x-0.part")
    ]
    others[1].mkdir()
    for other in (others[0], *others[2:]):
        other.write_text("somebody else's")
    (tmp_path / ".repair-empty").mkdir()
    (tmp_path / "saved.db.123-0.part").write_text("a secret of old")
    before = names(tmp_path)
    subprocess.run([sys.executable, "-c", KILLED_REPAIR, str(tmp_path)], check=False, timeout=60)
    (left,) = set(names(tmp_path)) - set(before)
    assert "copy.db" in names(tmp_path / left)
    assert repair(tmp_path / "test.db", tmp_path / "saved.db").complete
    assert names(tmp_path) == sorted([".repair-mine", ".repair-notes", "saved.db", "saved.db.x-0.part", "test.db"])
    assert all(other.exists() for other in others)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM")
def test_a_repair_that_is_ended_has_made_no_collection(tmp_path, embedder):
    """At the moment when the new one is being written; what it had so far goes with the next."""
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember_many([{"text": f"number {i} " + "and so on " * 30, "session": "s"} for i in range(3_000)])
    command = [
        sys.executable,
        "-m",
        "retentive.repair",
        str(tmp_path / "test.db"),
        "--into",
        str(tmp_path / "saved.db"),
    ]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not left(tmp_path, ".part") and child.poll() is None and time.monotonic() < until:
        time.sleep(0.001)
    child.terminate()
    assert child.wait(timeout=60) in (-15, 0)
    assert (tmp_path / "saved.db").exists() == (child.returncode == 0)
    (tmp_path / "saved.db").unlink(missing_ok=True)
    report = repair(tmp_path / "test.db", tmp_path / "saved.db")
    assert report.rows_saved["memory"] == 3_000
    assert names(tmp_path) == ["saved.db", "test.db"]


def test_the_copy_of_a_repair_that_goes_on_stays(tmp_path, embedder):
    fcntl = pytest.importorskip("fcntl")
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember("something", session="s")
    alive = tmp_path / ".repair-alive"
    alive.mkdir()
    (alive / "copy.db").write_text("in use")
    with (alive / "lock").open("w") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        repair(tmp_path / "test.db", tmp_path / "saved.db")
        assert names(alive) == ["copy.db", "lock"]
    repair(tmp_path / "test.db", tmp_path / "again.db")
    assert not alive.exists()
