"""The write-ahead log, or its index, is cut, replaced or removed by another program while a collection is open."""

import contextlib
import os
import shutil
import sys

import pytest

from retentive import Collection, StoreError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows does not let go of open files")

FRAME = 24 + 4_096
SAID = [f"hello {n}" for n in range(12)]


def remove(path):
    path.unlink()


def replace(path):
    copy = path.with_name("copy")
    shutil.copyfile(path, copy)
    copy.replace(path)


def cut(length):
    return lambda path: os.truncate(path, length)


def by_one_byte(path):
    os.truncate(path, path.stat().st_size - 1)


HARMS = [
    ("-wal", cut(0)),
    ("-wal", cut(5_000)),
    ("-wal", cut(32 + 20 * FRAME)),
    ("-wal", by_one_byte),
    ("-wal", remove),
    ("-wal", replace),
    ("-shm", remove),
    ("-shm", replace),
]
IDS = [
    "emptied",
    "in its first frame",
    "in the middle",
    "last byte",
    "removed",
    "replaced",
    "shm removed",
    "shm replaced",
]


@pytest.fixture
def opened(tmp_path, embedder):
    db = Collection("test", path=tmp_path, embedder=embedder)
    for text in SAID:
        db.remember(text, session="s", id=text)
    yield db
    db.close()


@pytest.mark.parametrize(("end", "harm"), HARMS, ids=IDS)
@pytest.mark.parametrize("seen", [True, False], ids=["after a read", "without a read"])
def test_nothing_is_acknowledged_that_would_be_lost_and_what_is_left_opens(tmp_path, embedder, opened, end, harm, seen):
    harm(tmp_path / f"test.db{end}")
    if seen:
        with contextlib.suppress(StoreError):  # it reads what is no longer there
            assert [turn.text for turn in opened.turns("s", limit=50)] == SAID
    for write in (
        lambda: opened.remember("acknowledged", session="s"),
        lambda: opened.remember_many([{"text": "acknowledged", "session": "s"}]),
        lambda: opened.forget(ids=["hello 1"]),
        lambda: opened.delete(["hello 1"]),
        lambda: opened.feedback("hello 2", "useful"),
        opened.clear,
        opened.compact,
    ):
        with pytest.raises(StoreError, match=r"cut, replaced or removed by another program.*Close the collection"):
            write()
    opened.close()
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        turns = [turn.text for turn in db.turns("s", limit=50)]
        assert turns == SAID[: len(turns)]
        assert db.verify().ok
        db.remember("goes on", session="s")
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        assert db.turns("s")[-1].text == "goes on"


@pytest.mark.parametrize("ends", [("-wal",), ("-wal", "-shm")], ids=["the log", "both"])
def test_a_log_that_was_only_removed_is_saved_by_closing(tmp_path, embedder, opened, ends):
    for end in ends:
        (tmp_path / f"test.db{end}").unlink()
    with pytest.raises(StoreError, match="Close the collection"):
        opened.remember("acknowledged", session="s")
    opened.close()
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        assert [turn.text for turn in db.turns("s", limit=50)] == SAID
        assert db.verify().ok


def test_a_handle_that_only_closes_destroys_nothing(tmp_path, embedder, opened):
    os.truncate(tmp_path / "test.db-wal", 32 + 20 * FRAME)
    opened.close()
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        turns = [turn.text for turn in db.turns("s", limit=50)]
        assert turns == SAID[: len(turns)]
        assert db.verify().ok


def test_logs_that_others_empty_or_shorten_are_no_loss(tmp_path, embedder, opened):
    """Another handle empties the log and fills it again, over and over: what the rules allow is never refused."""
    with Collection("test", path=tmp_path, embedder=embedder) as other:
        for n in range(20):
            other.remember(f"private {n}", session="t")
            other.forget(session="t")
            opened.remember(f"more {n}", session="s")
            opened.compact() if n % 10 == 0 else None
        assert other.count(session="s") == len(SAID) + 20
        assert other.verify().ok
