"""Another file is put in the place of an open collection's, while the log of the first is still beside it."""

import os
import shutil
import sys

import pytest

from retentive import Collection, CorruptError, StoreError
from retentive.embedders import HashEmbedder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows does not let go of open files")

SAID = r"another file was put in its place.*Close the collection in every process"
OTHER = "another collection's"


@pytest.fixture(params=["an older backup", "another collection"])
def new_file(request, tmp_path, run):
    """A file to put in the place of `test.db`, and what it holds."""
    if request.param == "another collection":
        run("with Collection('other', path=folder, embedder=HashEmbedder(64)) as db: db.remember(sys.argv[2])", OTHER)
        return tmp_path / "other.db", [OTHER]
    run("with opened() as db: db.remember('early', session='s')")
    run("with opened() as db: db.backup(f'{folder}/older.db')")
    return tmp_path / "older.db", ["early"]


@pytest.fixture
def replaced(tmp_path, embedder, new_file):
    """A handle whose log has commits, its file replaced; the bytes and the texts of the new file."""
    path, texts = new_file
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        for n in range(20):
            db.remember(f"late {n}", session="s", id=str(n))
        assert (tmp_path / "test.db-wal").stat().st_size > 0
        content = path.read_bytes()
        path.replace(tmp_path / "test.db")
        yield db, content, texts


def everything(db):
    return [result.text for result in db.search(limit=100)]


def expect_new_file_whole(tmp_path, embedder, content, texts):
    """Closing took the old log away, and nothing of it came into the new file."""
    assert (tmp_path / "test.db").read_bytes() == content
    assert sorted(path.name for path in tmp_path.glob("test.db*")) == ["test.db"]
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        assert everything(db) == texts
        assert db.verify().ok
        db.remember("goes on", session="s")
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        assert sorted(everything(db)) == sorted([*texts, "goes on"])
        assert db.verify().ok


CALLS = [
    lambda db: db.remember("lost?", session="s"),
    lambda db: db.remember_many([{"text": "lost?", "session": "new"}]),
    lambda db: db.add(["lost?"]),
    lambda db: db.forget(ids=["1"]),
    lambda db: db.feedback("2", "useful"),
    lambda db: db.clear(),
    lambda db: db.compact(),
    lambda db: db.turns("s"),
    lambda db: db.recall("late", session="s"),
    lambda db: db.context("late", session="s"),
    lambda db: db.count(),
    lambda db: db.verify(),
    lambda db: db.backup(db.path.parent / "copy.db"),
]


def test_every_call_is_refused_and_nothing_comes_into_the_new_file(tmp_path, embedder, replaced):
    db, content, texts = replaced
    for _ in range(2):
        for call in CALLS:
            with pytest.raises(StoreError, match=SAID):
                call(db)
    db.close()
    expect_new_file_whole(tmp_path, embedder, content, texts)


def test_a_handle_that_only_closes_changes_nothing(tmp_path, embedder, replaced):
    db, content, texts = replaced
    db.close()
    expect_new_file_whole(tmp_path, embedder, content, texts)


def test_so_is_a_handle_that_is_opened_meanwhile_in_this_process(tmp_path, embedder, replaced):
    db, content, texts = replaced
    (tmp_path / "link.db").symlink_to(tmp_path / "test.db")
    for name in ("test", "link"):
        with pytest.raises(StoreError, match=SAID):
            Collection(name, path=tmp_path, embedder=embedder)
    with pytest.raises(StoreError, match=SAID):
        Collection("test", path=tmp_path, embedder=embedder, readonly=True)
    db.close()
    expect_new_file_whole(tmp_path, embedder, content, texts)


@pytest.mark.parametrize("options", [{}, {"readonly": True}], ids=["writing", "reading"])
def test_handles_of_other_processes_and_readers_are_refused(tmp_path, embedder, start, new_file, options):
    path, texts = new_file
    child = start("db = opened(); db.remember('late', session='s'); tell('open'); wait()")
    assert child.stdout.readline() == "open\n"
    with Collection("test", path=tmp_path, embedder=embedder, **options) as db:
        assert "late" in everything(db)
        content = path.read_bytes()
        path.replace(tmp_path / "test.db")
        for call in CALLS[:1] * (not options) + CALLS[7:10]:
            with pytest.raises(StoreError, match=SAID):
                call(db)
    child.communicate("\n")
    assert child.returncode == 0
    expect_new_file_whole(tmp_path, embedder, content, texts)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("before", [True, False], ids=["replaced before", "replaced after"])
def test_a_forked_child_is_refused_too(tmp_path, run, before):
    told = run(
        """
def put():
    os.replace(f"{folder}/other.db", f"{folder}/test.db")

def refused(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except StoreError as error:
        return "another file" in str(error)

with Collection("other", path=folder, embedder=HashEmbedder(64)) as other:
    other.remember("another")
db = opened()
db.remember("late", session="s")
before = sys.argv[2] == "True"
if before:
    put()
child = os.fork()
if child == 0:
    if not before:
        put()
    tell(refused(db.remember, "lost?", session="s"), refused(db.turns, "s"))
    os._exit(0)
os.waitpid(child, 0)
tell(refused(db.turns, "s"), refused(db.remember, "lost?", session="s"))
db.close()
""",
        before,
    )
    assert told == ["True True", "True True"]
    for end in ("-wal", "-shm"):  # as the error says: a fork closes what could have emptied them
        (tmp_path / f"test.db{end}").unlink(missing_ok=True)
    with Collection("test", path=tmp_path, embedder=HashEmbedder(64)) as db:
        assert everything(db) == ["another"]
        assert db.verify().ok


def test_a_file_that_was_moved_aside_has_what_its_log_had(tmp_path, embedder, new_file):
    """The last to close takes the log along into the file that it belongs to."""
    with Collection("mine", path=tmp_path, embedder=embedder) as db:
        for n in range(5):
            db.remember(f"mine {n}", session="s")
        (tmp_path / "mine.db").rename(tmp_path / "aside.db")
        new_file[0].rename(tmp_path / "mine.db")
    with Collection("aside", path=tmp_path, embedder=embedder) as db:
        assert len(everything(db)) == 5
        assert db.verify().ok
    with Collection("mine", path=tmp_path, embedder=embedder) as db:
        assert everything(db) == new_file[1]


def test_a_file_that_was_moved_away_has_what_its_log_had(tmp_path, embedder):
    """Also where nothing takes its place; the name is free again then."""
    with Collection("mine", path=tmp_path, embedder=embedder) as db:
        for n in range(5):
            db.remember(f"mine {n}", session="s")
        (tmp_path / "mine.db").rename(tmp_path / "aside.db")
        with pytest.raises(CorruptError, match="moved or deleted"):
            Collection("mine", path=tmp_path, embedder=embedder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["aside.db"]
    with Collection("aside", path=tmp_path, embedder=embedder) as db:
        assert len(everything(db)) == 5
        assert db.verify().ok
    with Collection("mine", path=tmp_path, embedder=embedder) as db:
        assert everything(db) == []


@pytest.mark.parametrize("readonly", [False, True])
def test_a_log_whose_file_is_not_there_is_not_thrown_away(tmp_path, start, readonly):
    """The process was killed, and the file alone was moved."""
    child = start("""
db = opened()
for n in range(5):
    db.remember(f"mine {n}", session="s")
tell("stored")
wait()
""")
    assert child.stdout.readline() == "stored\n"
    child.kill()
    child.wait()
    file, log = tmp_path / "test.db", tmp_path / "test.db-wal"
    file.rename(tmp_path / "aside")
    before = log.read_bytes()
    for _ in range(2):
        with pytest.raises(CorruptError, match=r"there is no such file, but its log .*Put the file back") as caught:
            Collection("test", path=tmp_path, embedder=HashEmbedder(64), readonly=readonly)
    assert caught.value.path == str(file)
    assert log.read_bytes() == before
    (tmp_path / "aside").rename(file)
    with Collection("test", path=tmp_path, embedder=HashEmbedder(64), readonly=readonly) as db:
        assert len(everything(db)) == 5


def test_a_file_put_back_is_used_again(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember("here", session="s")
        shutil.copyfile(tmp_path / "test.db", tmp_path / "copy")
        (tmp_path / "test.db").rename(tmp_path / "aside")
        (tmp_path / "copy").replace(tmp_path / "test.db")
        with pytest.raises(StoreError, match=SAID):
            db.remember("lost?", session="s")
        (tmp_path / "aside").replace(tmp_path / "test.db")
        db.remember("goes on", session="s")
        assert [turn.text for turn in db.turns("s")] == ["here", "goes on"]
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        assert [turn.text for turn in db.turns("s")] == ["here", "goes on"]
        assert db.verify().ok


def test_a_moved_folder_and_a_new_one_in_its_place_are_no_mixture(tmp_path, embedder, run):
    (tmp_path / "in").mkdir()
    with Collection("test", path=tmp_path / "in", embedder=embedder) as db:
        db.remember("moved along", session="s")
        (tmp_path / "in").rename(tmp_path / "out")
        with pytest.raises(OSError, match=r"test\.db"):
            db.remember("lost?", session="s")
        (tmp_path / "in").mkdir()
        run("with Collection('test', path=f'{folder}/in', embedder=HashEmbedder(64)) as db: db.remember('new')")
        assert everything(db) == ["new"]
        db.remember("followed")
    for folder, texts in (("in", ["followed", "new"]), ("out", ["moved along"])):
        with Collection("test", path=tmp_path / folder, embedder=embedder) as db:
            assert sorted(everything(db)) == texts
            assert db.verify().ok
