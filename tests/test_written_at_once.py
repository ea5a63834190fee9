"""Several calls that write one file at once: each succeeds, whole, and none removes another's unfinished file."""

import threading

import pytest

from retentive import Collection
from retentive.assistant import MemoryManager

CHILD = """
from retentive.assistant import MemoryManager

with MemoryManager("s", path=folder, embedder=HashEmbedder(64)) as manager:
    calls = {
        "save": lambda: manager.conversation.save(folder + "/out.json"),
        "checkpoint": manager.checkpoint,
        "export": lambda: manager.collection.export(folder + "/out.jsonl"),
        "backup": lambda: manager.collection.backup(folder + "/out.db"),
    }
    tell("ready")
    wait()
    for _ in range(int(sys.argv[3])):
        calls[sys.argv[2]]()
tell("done")
"""


@pytest.mark.parametrize("verb", ["save", "checkpoint", "export", "backup"])
def test_threads_that_write_one_place(tmp_path, embedder, verb):
    with MemoryManager("s", path=tmp_path, embedder=embedder) as manager:
        for number in range(20):
            manager.record("user", f"statement {number} about food")
        call = {
            "save": lambda: manager.conversation.save(tmp_path / "out.json"),
            "checkpoint": manager.checkpoint,
            "export": lambda: manager.collection.export(tmp_path / "out.jsonl"),
            "backup": lambda: manager.collection.backup(tmp_path / "out.db"),
        }[verb]
        failed = []

        def run():
            for _ in range(30):
                try:
                    call()
                except OSError as error:
                    failed.append(error)

        threads = [threading.Thread(target=run) for _ in range(6)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert failed == []
    assert [path.name for path in tmp_path.iterdir() if path.suffix in {".part", ".tmp"}] == []


@pytest.mark.parametrize("verb", ["save", "checkpoint", "export", "backup"])
def test_processes_that_write_one_place(tmp_path, start, verb, embedder):
    with Collection("assistant", path=tmp_path, embedder=embedder) as db:
        db.remember("something", session="s")
    children = [start(CHILD, verb, 60) for _ in range(2)]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    for child in children:
        told, error = child.communicate(timeout=60)
        assert told == "done\n", error
