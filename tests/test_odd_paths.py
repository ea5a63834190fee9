"""Paths that lead nowhere, in a ring, through a file, or are none: the system's own error or the typed one, at once."""

import errno
import os
import pickle
import socket
import sys

import pytest

from retentive import Collection, CorruptError, HashEmbedder, InvalidInputError, StoreError, importers
from retentive.assistant import MemoryManager
from retentive.repair import repair

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")
HASH = HashEmbedder(16)
SOAK = bool(os.environ.get("RETENTIVE_SOAK"))
LONG = "n" * 300


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with every odd thing in it, and a collection, its export and a damaged one."""
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    (tmp_path / "file").write_text("a diary\n" * 200)
    (tmp_path / "ring").symlink_to("other-end")
    (tmp_path / "other-end").symlink_to("ring")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "to-file").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    with Collection("good", tmp_path, embedder=HASH) as db:
        db.remember("said", session="s")
        db.export("good.jsonl")
    return tmp_path


# Where it leads, and what the system says of it.
WRONG = {
    "ring": errno.ELOOP,
    "ring/x": errno.ELOOP,
    "dangling": errno.ENOENT,
    "dangling/x/y": errno.ENOENT,
    "missing/x": errno.ENOENT,
    "file/x": errno.ENOTDIR,
    "to-file/x/y": errno.ENOTDIR,
    "pipe/x": errno.ENOTDIR,
    LONG: errno.ENAMETOOLONG,
    f"{LONG}/x": errno.ENAMETOOLONG,
}
NO_FOLDERS = dict.fromkeys(["file", "to-file", "pipe", "socket", "/dev/null"], errno.ENOTDIR)
NO_UTF8 = os.fsdecode(b"caf\xe9")
NO_PATHS = ["", "a\0b", "a\ud800", b"bytes", 3, NO_UTF8]


def expect(number, path, call):
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the number says which
        call()
    assert caught.value.errno == number, caught.value
    assert os.path.basename(str(path).partition("/")[0]) in caught.value.filename  # noqa: PTH119
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (type(caught.value), str(caught.value))
    return caught.value


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("path", [*WRONG, *NO_FOLDERS], ids=lambda path: path[:20])
def test_a_collections_folder_that_is_none_is_the_systems_error(folder, path, readonly):
    number = (WRONG | NO_FOLDERS)[path]
    told = expect(number, path, lambda: Collection("c", path, embedder=HASH, readonly=readonly))
    if path == "dangling":
        assert (told.filename, told.filename2) == (str(folder / "dangling"), str(folder / "nowhere"))


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path[:20])
def test_a_file_that_cannot_be_read_or_written_is_the_systems_error(folder, path):
    with Collection("good", folder, embedder=HASH) as db:
        expect(WRONG[path], "" if path == "dangling" else path, lambda: db.import_(path))
        if path != "dangling":  # what a link leads to is written
            expect(WRONG[path], path, lambda: db.export(path))
        with pytest.raises((OSError, InvalidInputError)):
            db.backup(path)
        if "/" in path:
            expect(WRONG[path], path, lambda: db.backup(f"{path}/copy.db"))
    expect(WRONG[path], path, lambda: repair(path, "new.db"))
    if path != "dangling":
        expect(WRONG[path], path, lambda: repair("good.db", f"{path}/new.db"))


@pytest.mark.parametrize("path", ["pipe", "socket", "/dev/null", "/dev/zero"])
def test_what_is_no_regular_file_is_not_repaired_nor_written_over(folder, path):
    with pytest.raises(InvalidInputError, match="expected a regular file"):
        repair(path, "new.db")
    expect(errno.ENOTDIR, path, lambda: repair("good.db", f"{path}/new.db"))
    with Collection("good", folder, embedder=HASH) as db:
        for write in (db.export, db.backup):
            with pytest.raises(InvalidInputError, match="expected a regular file"):
                write(path)
    assert not (folder / "new.db").exists()


def test_a_folder_is_not_repaired_nor_read(folder):
    expect(errno.EISDIR, folder, lambda: repair(folder, "new.db"))
    with Collection("good", folder, embedder=HASH) as db:
        expect(errno.EISDIR, folder, lambda: db.import_(folder))
        expect(errno.EISDIR, folder, lambda: db.export(folder))


@pytest.mark.parametrize("path", NO_PATHS, ids=repr)
def test_what_is_no_path_is_refused_and_named(folder, path):
    before = sorted(folder.iterdir())
    with Collection("good", folder, embedder=HASH) as db:
        calls = {
            "path": [lambda: Collection("c", path), lambda: db.import_(path), lambda: db.backup(path)],
            "into": [lambda: repair("good.db", path)],
        }
        calls["path"] += [lambda: db.export(path), lambda: Collection("c", path, readonly=True)]
        if path != NO_UTF8:  # Python reads and writes it
            calls["path"] += [lambda: repair(path, "new.db")]
        for name, of_name in calls.items():
            for call in of_name:
                with pytest.raises(InvalidInputError, match=rf"^{name} is .*, expected .*(folder|file|like)"):
                    call()
    assert sorted(folder.iterdir()) == before


def test_a_name_in_another_encoding_says_what_is_wrong_with_it(folder):
    with Collection("good", folder, embedder=HASH) as db:
        for call in (lambda: db.export(NO_UTF8), lambda: db.import_(NO_UTF8), lambda: Collection("c", NO_UTF8)):
            with pytest.raises(InvalidInputError, match=r"expected .* with a name in UTF-8"):
                call()


def test_a_damaged_file_with_a_name_in_another_encoding_is_repaired(folder):
    name = os.fsdecode(b"caf\xe9.db")
    os.rename("good.db", name)  # noqa: PTH104 - bytes
    assert repair(name, "new.db").rows_saved["memory"] == 1


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may read and write everywhere")
def test_what_may_not_be_entered_is_the_systems_error(folder):
    (folder / "closed").mkdir(mode=0)
    for readonly in (False, True):
        expect(errno.EACCES, "closed", lambda readonly=readonly: Collection("c", "closed/x", readonly=readonly))
    expect(errno.EACCES, "closed", lambda: repair("closed/x.db", "new.db"))
    expect(errno.EACCES, "closed", lambda: repair("good.db", "closed/x/new.db"))
    with Collection("good", folder, embedder=HASH) as db:
        for call in (db.import_, db.export, db.backup):
            expect(errno.EACCES, "closed", lambda call=call: call("closed/x.db"))


def test_a_file_of_something_else_is_no_collection(folder):
    os.rename("file", "c.db")  # noqa: PTH104
    for readonly in (False, True):
        with pytest.raises(CorruptError, match="not a retentive collection") as caught:
            Collection("c", folder, readonly=readonly)
        assert caught.value.path == str(folder / "c.db")
    with pytest.raises(CorruptError, match="not a retentive collection"):
        repair("c.db", "new.db")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX counts a file's names")
@pytest.mark.parametrize("readonly", [False, True])
def test_a_file_with_two_names_is_not_opened(folder, readonly):
    """Each name would have a log of its own: what is written by one is not seen, and lost, by the other."""
    with Collection("good", folder, embedder=HASH) as db:
        os.link("good.db", "other.db")
        for name in ("good", "other"):
            with pytest.raises(StoreError, match=r"has other names.*remove the other names, or open a copy"):
                Collection(name, folder, embedder=HASH, readonly=readonly)
        before = db.count()
        db.remember("the handle that was open goes on", session="s")
    os.unlink("other.db")  # noqa: PTH108
    with Collection("good", folder, embedder=HASH, readonly=readonly) as db:
        assert db.count() == before + 1


@pytest.mark.parametrize("path", ["a\0b", "a\ud800", "", 3, b"bytes", None], ids=repr)
def test_importers_and_session_files_refuse_what_is_no_path(folder, path):
    readers = [importers.chatgpt, importers.sharegpt, importers.mem0, importers.chroma]
    with MemoryManager("s", embedder=HASH) as manager:
        for read in (*readers, lambda path: importers.openai_messages(path, session="s"), manager.conversation.load):
            with pytest.raises(InvalidInputError, match="expected"):
                list(read(path) or ())


@pytest.mark.parametrize(
    "path",
    [*WRONG, "file", "to-file", "pipe", "socket", "/dev/null", NO_UTF8]
    if SOAK
    else ["ring", "dangling", LONG, NO_UTF8],
    ids=lambda path: path[:20],
)
def test_the_command_line_says_it_in_a_line(folder, cli, path):
    commands = [
        ["remember", "x", "--db", f"{path}/c.db"],
        ["stats", "--db", f"{path}/c.db"],
        ["stats", "--db", path],
        ["backup", f"{path}/c.db", "--db", "good.db"],
        ["repair", f"{path}/c.db", "--into", "new.db"],
        ["repair", "good.db", "--into", f"{path}/new.db"],
        ["export", f"{path}/x", "--db", "good.db"],
        ["import", f"{path}/x", "--db", "good.db"],
    ]
    if path not in ("file", "to-file", "pipe"):
        commands.append(["import", path, "--db", "good.db"])
    for command in commands:
        done = cli(*command)
        assert (done.exit_code in (1, 2), done.stdout, done.stderr.count("\n")) == (True, "", 1), (command, done.stderr)
        assert done.stderr.startswith("retentive: ")


def test_the_command_line_says_where_a_link_leads(folder, cli):
    done = cli("remember", "x", "--db", "dangling/c.db")
    assert done.stderr == f"retentive: {folder / 'dangling'} -> {folder / 'nowhere'}: No such file or directory\n"
