"""What a killed process left beside a file that it was writing goes with the next one that writes it."""

import subprocess
import sys

import pytest

from retentive import Collection
from retentive.assistant import MemoryManager

KILLED_CHECKPOINT = """
import os, sys
from retentive.assistant import MemoryManager

memory = MemoryManager("u", path=sys.argv[1])
memory.record("user", "a secret of old")
os.fsync = lambda handle: os.kill(os.getpid(), 9)
memory.checkpoint()
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
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember("something", session="s")
        dead = tmp_path / "out.db.123-0.part"
        dead.write_text("a secret of old")
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
