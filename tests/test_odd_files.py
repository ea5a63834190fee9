"""What stands where a collection's file, its log or its shared memory should be: a typed error or a right answer."""

import os
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")

USE = """
import stat
from retentive.repair import repair


def used(**options):
    try:
        with opened(busy_timeout_s=1, **options) as db:
            found = [turn.text for turn in db.turns("s")]
            if not options:
                db.remember("goes on", session="new")
                assert [turn.text for turn in db.turns("new")][-1] == "goes on"
                db.forget("new")
                assert db.verify().ok, db.verify().problems
            return len(found) if found == [f"said {i}" for i in range(len(found))] else found
    except (StoreError, OSError) as error:
        named = str(getattr(error, "path", None) or getattr(error, "filename", None) or "")
        return type(error).__name__ if named.startswith(folder) else repr(error)


def repaired():
    try:
        return repair(f"{folder}/test.db", f"{folder}/saved.db").rows_saved["memory"]
    except (StoreError, OSError) as error:
        return type(error).__name__


tell(used(readonly=True), used(), repaired())
"""
FILL = """
db = opened()
for i in range(20):
    db.remember(f"said {i}", session="s")
if wait().strip() == "close":
    db.close()
os._exit(0)
"""


def left(start, *, closed):
    child = start(FILL)
    _, error = child.communicate("close\n" if closed else "kill\n", timeout=60)
    assert child.returncode == 0, error


def fifo(path):
    os.mkfifo(path)


def text(path):
    path.write_text("a diary, not a database\n" * 300)


def empty(path):
    path.write_bytes(b"")


def folder(path):
    path.mkdir()


def full_folder(path):
    path.mkdir()
    (path / "inside").write_text("x")


def dangling(path):
    path.symlink_to(path.with_name("nowhere") / "file")


def ring(path):
    path.symlink_to(path.with_name("other-end"))
    path.with_name("other-end").symlink_to(path)


def device(path):
    path.symlink_to("/dev/zero")


def null(path):
    path.symlink_to("/dev/null")


def unreadable(path):
    path.write_bytes(os.urandom(40_000))


INSTEAD = [fifo, text, empty, folder, full_folder, dangling, ring, device, null, unreadable]


@pytest.mark.parametrize("put", INSTEAD, ids=lambda put: put.__name__)
def test_what_is_no_file_of_a_collection_is_refused_and_left_as_it_was(run, start, tmp_path, put):
    file = tmp_path / "test.db"
    put(file)
    was = file.lstat()
    told = run(USE)
    if put is empty:
        assert told == ["CorruptError 0 0"]  # a collection begins in it; what was written was forgotten again
        return
    for said in told[0].split():
        assert said.endswith("Error"), told
    assert (file.lstat().st_mode, file.lstat().st_ino, file.lstat().st_size) == (was.st_mode, was.st_ino, was.st_size)


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("put", INSTEAD, ids=lambda put: put.__name__)
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "left"])
def test_what_stands_beside_a_collection_is_an_error_or_does_not_matter(run, start, tmp_path, put, end, closed):
    left(start, closed=closed)
    beside = tmp_path / f"test.db{end}"
    if beside.exists():
        beside.unlink()
    put(beside)
    read, used, repaired = run(USE)[0].split()
    # With the log in the hands of something else, its commits may be gone: the rest is right.
    most = 20 if closed or end != "-wal" else 19
    for said in (read, used, repaired):
        assert said.endswith("Error") or int(said) <= max(most, 20), (read, used, repaired)
    if closed or end != "-wal":
        assert {said for said in (read, used, repaired) if not said.endswith("Error")} <= {"20"}


def test_a_log_of_another_collection_costs_nothing(run, start, tmp_path):
    left(start, closed=False)
    log = (tmp_path / "test.db-wal").read_bytes()
    for name in ("test.db", "test.db-wal", "test.db-shm"):
        (tmp_path / name).unlink()
    left(start, closed=True)
    (tmp_path / "test.db-wal").write_bytes(log)
    assert run(USE) != ["20 20 20"], "see docs/format.md: whoever restores a file also deletes its log"
