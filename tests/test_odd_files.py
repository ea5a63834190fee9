"""What stands where a collection's file, its log or its shared memory should be: a typed error or a right answer."""

import errno
import os
import shutil
import sys

import pytest

from retentive import Collection, StoreError
from retentive.repair import repair

SOAK = bool(os.environ.get("RETENTIVE_SOAK"))
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")

USE = """
import stat
from retentive import InvalidInputError
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
        named = getattr(error, "path", None) or getattr(error, "filename", None)
        return type(error).__name__ if named else repr(error)


def repaired():
    try:
        return repair(f"{folder}/test.db", f"{folder}/saved.db").rows_saved.get("memory", 0)
    except (StoreError, OSError, InvalidInputError) as error:
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
    said = run(USE)[0].split()
    if put is empty:
        assert said == ["CorruptError", "0", "0"]  # a collection begins in it; what was written was forgotten again
        return
    assert [word for word in said if not word.endswith("Error")] == []
    assert (file.lstat().st_mode, file.lstat().st_ino, file.lstat().st_size) == (was.st_mode, was.st_ino, was.st_size)


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("put", INSTEAD if SOAK else [text, unreadable], ids=lambda put: put.__name__)
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "left"])
def test_what_stands_beside_a_collection_is_an_error_or_does_not_matter(run, start, tmp_path, put, end, closed):
    left(start, closed=closed)
    beside = tmp_path / f"test.db{end}"
    if beside.exists():
        beside.unlink()
    put(beside)
    said = run(USE)[0].split()
    assert len(said) == 3
    answers = {int(word) for word in said if not word.endswith("Error")}
    if closed or end != "-wal":
        assert answers <= {20}
        assert put in (fifo, device, null) or said[2] == "20"
    else:
        assert answers <= {0}  # the log was all there was


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("put", [fifo, device, folder], ids=lambda put: put.__name__)
def test_what_has_no_end_beside_a_collection_does_not_hang(run, start, tmp_path, put, end):
    left(start, closed=True)
    put(tmp_path / f"test.db{end}")
    assert set(run(USE)[0].split()) <= {"StoreError", "OSError", "20"}


def test_a_repair_without_the_log_says_so(start, tmp_path):
    left(start, closed=True)
    (tmp_path / "test.db-wal").symlink_to("/dev/zero")
    report = repair(tmp_path / "test.db", tmp_path / "saved.db")
    assert report.rows_saved["memory"] == 20
    assert [str(loss) for loss in report.lost] == [
        "sqlite_schema: missing: test.db-wal is not a file: commits that were only in the log are lost"
    ]


def test_the_log_of_another_collection_is_damage_or_brings_nothing_in(run, start, tmp_path):
    left(start, closed=False)
    log = (tmp_path / "test.db-wal").read_bytes()
    for name in ("test.db", "test.db-wal", "test.db-shm"):
        (tmp_path / name).unlink()
    run("""
with opened() as db:
    db.remember_many([{"text": f"told {i}", "session": "s"} for i in range(30)])
""")
    (tmp_path / "test.db-wal").write_bytes(log)
    told = run("""
try:
    with opened(busy_timeout_s=1) as db:
        report = db.verify()
        turns = [turn.text.split()[0] for turn in db.turns("s")]
        tell(turns == ["told"] * 30 or turns == ["said"] * 20 or not report.ok)
except StoreError as error:
    tell(error.path == f"{folder}/test.db")
""")
    assert told == ["True"]


LONGEST = 504  # bytes that SQLite opens


def folder_of(tmp_path, length):
    """A folder whose path, with `/test.db` behind it, is of so many bytes."""
    rest = length - len(os.fsencode(tmp_path)) - len("/test.db")
    folder = tmp_path.joinpath(*["d" * 100] * ((rest - 2) // 101))
    folder = folder / ("e" * (length - len(os.fsencode(folder)) - len("/test.db") - 1))
    folder.mkdir(parents=True)
    assert len(os.fsencode(folder / "test.db")) == length
    return folder


def test_a_path_longer_than_sqlite_opens_is_the_systems_error(db, tmp_path):
    db.remember("said", session="s")
    long, longer = (folder_of(tmp_path, length) for length in (LONGEST, LONGEST + 1))
    with Collection("test", path=long) as deep:
        deep.remember("deep", session="s", id="deep")
        assert deep.verify().ok
    assert Collection("test", path=long, readonly=True).get_one("deep").text == "deep"
    with pytest.raises(OSError, match="too long"):
        db.backup(longer / "test.db")
    with pytest.raises(OSError, match="too long"):
        Collection("test", path=longer)
    assert list(longer.iterdir()) == []
    shutil.copyfile(long / "test.db", longer / "test.db")
    for readonly in (False, True):
        with pytest.raises(OSError, match="too long") as caught:
            Collection("test", path=longer, readonly=readonly)
        assert (caught.value.errno, type(caught.value)) == (errno.ENAMETOOLONG, OSError)


@pytest.mark.parametrize("version", [3, 0x40, 0x7F, 0xFF])
def test_a_file_of_a_newer_sqlite_is_one_to_read_also_after_a_write_was_refused(tmp_path, embedder, version):
    """By its permissions it could be written."""
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember("here", session="s")
    file = bytearray((tmp_path / "test.db").read_bytes())
    file[18] = version  # the version that one must know to write it
    (tmp_path / "test.db").write_bytes(file)
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        for _ in range(2):
            with pytest.raises(StoreError, match="the collection is read-only"):
                db.remember("there", session="s")
            assert db.stats()["readonly"]
        assert [turn.text for turn in db.turns("s")] == ["here"]
