"""What was deleted is in no file although other threads of the process read all the time, also after a kill right then.

Longer with `RETENTIVE_SOAK=1`.
"""

import os
import subprocess
import sys
import threading
from itertools import count

import pytest

from retentive import KINDS, Collection
from retentive.agents import Message, WindowMemory

SOAK = bool(os.environ.get("RETENTIVE_SOAK"))
ROUNDS, KILLS = (40, 20) if SOAK else (3, 1)


def mark(number):
    return f"zq{number:06}wx"


SEARCH = """
import os, sys

folder, *words = sys.argv[1:]
for name in os.listdir(folder):
    content = open(os.path.join(folder, name), "rb").read()
    for word in words:
        print(*[word] * (word.encode() in content))
"""


@pytest.fixture
def left(tmp_path):
    """Which of these words are in the files: searched by another process, since only SQLite may open them here."""

    def left(*words):
        command = [sys.executable, "-I", "-S", "-c", SEARCH, str(tmp_path), *words]
        return set(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout.split())

    return left


class Beside:
    """Threads that do the same thing over and over, until the block ends."""

    def __init__(self, *jobs):
        self._stop, self._failed = threading.Event(), []
        self._threads = [threading.Thread(target=self._go_on, args=(job,)) for job in jobs]

    def _go_on(self, job):
        try:
            while not self._stop.is_set():
                job()
        except BaseException as error:
            self._failed.append(error)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self._threads)
        assert self._failed == []


def filled(db):
    db.remember_many([{"text": f"filler {n} {'z' * 100}", "session": "f", "id": f"f{n}"} for n in range(300)])


def short_reads(db, other, folder):
    return [lambda: (db.recall("filler", session="f"), db.turns("f"))] * 3 + [lambda: other.get_one("f7")]


def long_reads(db, other, folder):
    numbers = count()
    backup = lambda: db.backup(folder / f"backup{next(numbers)}.db")  # noqa: E731
    return [lambda: db.export(folder / "of_db"), lambda: other.export(folder / "of_other"), db.verify, backup]


def other_calls(db, other, folder):
    return [db.calibrate, lambda: other.remember("w", session="w"), db.stats, lambda: db.context("filler", session="f")]


@pytest.mark.parametrize("kind", [short_reads, long_reads, other_calls])
def test_what_was_deleted_is_gone_when_the_call_returns_whatever_other_threads_do(
    db, tmp_path, tmp_path_factory, embedder, left, kind, counted
):
    filled(db)
    with Collection("test", path=tmp_path, embedder=embedder) as other:
        erase = erasures(db)
        with Beside(*kind(db, other, tmp_path_factory.mktemp("copies"))):
            for number in range(ROUNDS * 3):
                kept, verb = mark(number), list(erase)[number % len(erase)]
                erase[verb](number)
                assert left(kept) == set(), verb
                counted(memories_erased=1)
        assert not db.stats()["erasure_pending"]


def erasures(db):
    def stored(number, **fields):
        return db.remember(f"it is {mark(number)}", **({"session": "e"} | fields))

    return {
        "forget": lambda number: (stored(number), db.forget("e", kinds=KINDS)),
        "delete": lambda number: db.delete([stored(number)]),
        "replace_turns": lambda number: (stored(number), db.replace_turns("e", [{"text": "another"}])),
        "expire": lambda number: (stored(number, ttl_days=1, timestamp="2024-01-01"), db.expire()),
        "add": lambda number: (db.add(mark(number), ids=["d"]), db.add("another", ids=["d"])),
        "consolidate": lambda number: (
            stored(number, session=f"c{number}"),
            db.consolidate(f"c{number}", lambda turns: ["they talked"], keep_recent=0),
        ),
        "a window": lambda number: (
            WindowMemory(5, collection=db).add([Message.user(mark(number))], "u"),
            WindowMemory(5, collection=db).clear(),
        ),
        "superseded": lambda number: (
            stored(number, kind="fact", key="k"),
            db.remember("another", session="e", kind="fact", key="k"),
            db.forget("e", kinds=("fact",), superseded=True),
        ),
    }


KILLED = """
import signal, threading

db = opened()
def read(job):
    while True:
        job()
copy = f"{folder}/../copy{os.getpid()}"
jobs = [lambda: db.recall("filler", session="f"), lambda: db.turns("f"), lambda: db.export(copy)]
for job in jobs[:int(sys.argv[3])]:
    threading.Thread(target=read, args=(job,), daemon=True).start()
number = db.remember(f"it is {sys.argv[2]}", session="erase", user="some-user")
threading.Event().wait(0.2)
tell(db.forget(ids=[number], user="some-user"))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("readers", [2, 3])
@pytest.mark.parametrize("kill", range(KILLS))
def test_a_kill_right_after_the_call_returned_leaves_nothing_of_it(db, start, left, readers, kill):
    filled(db)
    child = start(KILLED, mark(kill), readers)
    told, error = child.communicate(timeout=60)
    assert (child.returncode, told) == (-9, "1\n"), error
    assert left(mark(kill), "some-user") == set()


def test_a_callback_of_a_long_call_can_forget(db, tmp_path_factory, left):
    filled(db)
    ids = [db.remember(f"it is {mark(number)}", session="e") for number in range(5)]

    def summarise(turns):
        db.forget(ids=ids)
        return ["they talked"]

    copy = tmp_path_factory.mktemp("copies") / "copy"
    with Beside(lambda: db.export(copy)):
        db.consolidate("f", summarise, keep_recent=0, batch_turns=500)
        assert left(*map(mark, range(5))) == set()
