"""A file that a caller names: none that is open as a collection is read here, none of a collection is written over."""

import contextlib
import hashlib
import io
import json
import os
import socket
import stat
from pathlib import Path

import pytest

from retentive import Collection, HashEmbedder, InvalidInputError, importers
from retentive._errors import RetentiveError
from retentive.assistant import MemoryManager, SessionFileError
from retentive.embedders import OnnxEmbedder
from retentive.evaluate.__main__ import main as evaluate
from retentive.repair import repair

pytestmark = pytest.mark.skipif(os.name == "nt", reason="hard links, pipes and devices with names are POSIX's")

EMBEDDER = HashEmbedder(8)
IMPORTERS = {
    "openai": lambda path: importers.openai_messages(path, session="s"),
    "chatgpt": importers.chatgpt,
    "sharegpt": importers.sharegpt,
    "langchain": lambda path: importers.langchain_messages(path, session="s"),
    "mem0": importers.mem0,
    "chroma": importers.chroma,
}
OPEN = ["own.db", "own.db-wal", "own.db-shm", "other.db", "other.db-wal", "other.db-shm"]


@pytest.fixture
def folder(tmp_path):
    """A folder with two open collections, and a closed one."""
    with Collection("closed", tmp_path, embedder=EMBEDDER) as closed:
        closed.remember("precious", session="s")
    with (
        Collection("own", tmp_path, embedder=EMBEDDER) as own,
        Collection("other", tmp_path, embedder=EMBEDDER) as other,
        MemoryManager("s", collection=own) as manager,
    ):
        manager.record("user", "I cannot eat peanuts at all")
        other.remember("hello", session="s")
        yield Named(tmp_path, own, manager)
        assert own.verify().ok
        assert other.verify().ok


class Named:
    def __init__(self, path, db, manager):
        self.path, self.db, self.manager = path, db, manager

    def readers(self):
        """Everything that opens a file of somebody's."""

        def model(path):
            (self.path / "model").mkdir(exist_ok=True)
            for name in ("model.onnx", "tokenizer.json"):
                (self.path / "model" / name).unlink(missing_ok=True)
                os.link(path, self.path / "model" / name)
            OnnxEmbedder(self.path / "model")

        return {
            "import_": self.db.import_,
            "load": self.manager.conversation.load,
            "model": model,
            "evaluate": lambda path: evaluated("cannot read the data", "--data", str(path)),
            **{name: lambda path, read=read: list(read(path)) for name, read in IMPORTERS.items()},
        }

    def writers(self):
        """Everything that writes a file of text somewhere."""
        data = self.path / "data.json"
        data.write_text("[]")

        def figures(option):
            return lambda path: evaluated(f"{option}: ", "--data", str(data), option, str(path), "--budget", "9", "99")

        return {
            "export": self.db.export,
            "save": self.manager.conversation.save,
            "json": figures("--json"),
            "markdown": figures("--markdown"),
            "plot": figures("--plot"),
        }


def evaluated(refusal, *options):
    """Run the command; its refusal as an error."""
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        code = evaluate(["locomo", *options])
    if refusal in told.getvalue():
        assert code == 2
        raise InvalidInputError(told.getvalue())


def locks(folder):
    """SQLite's locks of this process on the files of a folder, as the system lists them."""
    held = Path("/proc/locks")
    if not held.exists():
        return None
    numbers = {found.stat().st_ino: found.name for found in folder.iterdir() if found.name in OPEN}

    def own():
        fields = [line.split() for line in held.read_text().splitlines() if "->" not in line]
        found = [(int(of[5].rpartition(":")[2]), of[3], of[6], of[7]) for of in fields if int(of[4]) == os.getpid()]
        return {(numbers[number], *rest) for number, *rest in found if number in numbers}

    # A reading of the list is not of one moment: where other processes lock and unlock, a line can be missing.
    return set().union(*(own() for _ in range(30)))


READERS = ["import_", "load", "model", "evaluate", *IMPORTERS]


@pytest.mark.parametrize("reader", READERS)
def test_a_hard_link_to_what_is_open_is_not_read_and_no_lock_goes(folder, reader):
    read, before = folder.readers()[reader], locks(folder.path)
    for number, name in enumerate(OPEN):
        link = folder.path / f"link-{number}.json"
        os.link(folder.path / name, link)
        with pytest.raises((InvalidInputError, SessionFileError), match="a database that is open"):
            read(link)
        assert locks(folder.path) == before
    folder.manager.record("user", "I cannot drink milk either")


@pytest.mark.parametrize("reader", [name for name in READERS if name != "model"])
def test_what_is_open_is_not_read_by_its_name_or_by_a_link(folder, reader):
    read, before = folder.readers()[reader], locks(folder.path)
    for number, name in enumerate(OPEN):
        link = folder.path / f"link-{number}.json"
        link.symlink_to(name)
        for path in (folder.path / name, link):
            with pytest.raises((InvalidInputError, SessionFileError), match="a database that is open"):
                read(path)
            assert locks(folder.path) == before


def test_a_file_that_took_the_name_of_an_open_one_does_not_hide_it(folder):
    link = folder.path / "link.json"
    os.link(folder.path / "other.db", link)
    kept = folder.path / "kept"
    (folder.path / "other.db").rename(kept)
    with pytest.raises(SessionFileError, match="a database that is open"):
        folder.manager.conversation.load(link)
    kept.rename(folder.path / "other.db")


def test_a_closed_collections_file_is_only_no_export(folder):
    link = folder.path / "link.json"
    os.link(folder.path / "closed.db", link)
    with pytest.raises(SessionFileError, match=r"not UTF-8|start with a list"):
        folder.manager.conversation.load(link)
    with pytest.raises(RetentiveError, match="not an export"):
        folder.db.import_(link)


WRITERS = ["export", "save", "json", "markdown", "plot"]


@pytest.mark.parametrize("writer", WRITERS)
def test_nothing_is_written_over_a_collection(folder, writer):
    write = folder.writers()[writer]
    os.link(folder.path / "own.db", folder.path / "link.json")
    (folder.path / "symbolic.json").symlink_to("closed.db")
    names = [*OPEN, "closed.db", "link.json", "symbolic.json"]
    before = [(name, (folder.path / name).lstat().st_ino) for name in names]
    for name in names:
        with pytest.raises(InvalidInputError):
            write(folder.path / name)
    assert [(name, (folder.path / name).lstat().st_ino) for name in names] == before
    with Collection("closed", folder.path, embedder=EMBEDDER) as closed:
        assert closed.turns("s")[0].text == "precious"
    assert folder.manager.record("user", "stored after that") in folder.manager.conversation.turns


@pytest.mark.parametrize("name", ["notes.db", "closed.db.json", "notes.jsonl"])
@pytest.mark.parametrize("writer", ["export", "save"])
def test_what_was_written_before_is_replaced_whatever_it_is_called(folder, writer, name):
    write, place = folder.writers()[writer], folder.path / name
    place.touch()
    for text in ("first", "second"):
        folder.manager.record("user", text)
        write(place)
        assert text in place.read_text()


@pytest.mark.parametrize("writer", WRITERS)
def test_a_database_of_any_name_and_a_damaged_one_are_left(folder, writer):
    write, content = folder.writers()[writer], (folder.path / "closed.db").read_bytes()
    kinds = {
        "copy.json": content,
        "copy": content[:100],
        "cut.json": content[:10],
        "damaged.db": b"\xff" * 100 + content[100:],
        "zeroes.db": bytes(4_096),
    }
    for name, written in kinds.items():
        (folder.path / name).write_bytes(written)
        with pytest.raises(InvalidInputError, match="nothing was written there"):
            write(folder.path / name)
        assert (folder.path / name).read_bytes() == written


KEPT = ["closed.db-wal", "closed.db-shm", "closed.db-journal", "free.db-wal", "free.db-shm", "free.db-journal"]
UNFINISHED = ["closed.db.12-0.part", "out.jsonl.12-0.part", ".out.json.0123abcd.0123456789ab.tmp"]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_free_name_that_belongs_to_another_file_is_refused(folder, writer):
    write = folder.writers()[writer]
    before = sorted(found.name for found in folder.path.iterdir())
    for name in KEPT + UNFINISHED:
        with pytest.raises(InvalidInputError):
            write(folder.path / name)
    assert sorted(found.name for found in folder.path.iterdir()) == before
    with Collection("closed", folder.path, embedder=EMBEDDER) as closed:
        assert closed.verify().ok


def test_no_backup_and_no_repair_takes_such_a_name(folder):
    before = sorted(found.name for found in folder.path.iterdir())
    for name in KEPT:
        for write in (folder.db.backup, lambda path: repair(folder.path / "closed.db", path)):
            with pytest.raises(InvalidInputError):
                write(folder.path / name)
    assert sorted(found.name for found in folder.path.iterdir()) == before


@pytest.mark.parametrize("verb", ["export", "backup", "save", "checkpoint", "repair"])
def test_a_link_that_is_called_like_an_unfinished_file_costs_no_lock(folder, verb):
    """What removes such files opens them, to see whether somebody holds them."""
    manager, path, before = folder.manager, folder.path, locks(folder.path)
    place = path / "out.json"
    if verb == "checkpoint":
        manager.checkpoint()
        (place,) = path.glob("session_*.json")
    hashed = hashlib.blake2b(place.name.encode(), digest_size=4).hexdigest()
    called = {"export": "out.json.12-{}.part", "backup": "out.db.12-{}.part", "repair": ".repair-{}/lock"}
    links = [path / called.get(verb, f".{place.name}.{hashed}.0123456789a{{}}.tmp").format(i) for i in range(6)]
    for name, link in zip(OPEN, links, strict=True):
        link.parent.mkdir(exist_ok=True)
        os.link(path / name, link)
    {
        "export": lambda: folder.db.export(place),
        "backup": lambda: folder.db.backup(path / "out.db"),
        "save": lambda: manager.conversation.save(place),
        "checkpoint": manager.checkpoint,
        "repair": lambda: repair(path / "closed.db", path / "repaired.db"),
    }[verb]()
    assert all(link.exists() for link in links)
    assert locks(path) == before


@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_no_regular_file_is_left_alone(folder, writer, monkeypatch):
    write = folder.writers()[writer]
    monkeypatch.chdir(folder.path)  # the name of a socket is short
    os.mkfifo("pipe")
    names = ["pipe", "socket", "to-pipe"]
    Path("to-pipe").symlink_to("pipe")
    try:
        os.mknod("device", 0o600 | stat.S_IFCHR, os.makedev(1, 3))  # never a device of the system's: it could be lost
        names.append("device")
    except PermissionError:  # nobody but root makes one
        pass
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        before = [(name, Path(name).lstat().st_mode, Path(name).lstat().st_ino) for name in names]
        for name in names:
            with pytest.raises(InvalidInputError):
                write(folder.path / name)
        assert [(name, Path(name).lstat().st_mode, Path(name).lstat().st_ino) for name in names] == before


def test_a_session_is_saved_where_a_link_leads(folder):
    real, link = folder.path / "real.json", folder.path / "link.json"
    real.write_text("[]")
    link.symlink_to(real)
    assert folder.manager.conversation.save(link) == link
    assert link.is_symlink()
    assert json.loads(real.read_text())[0]["content"] == "I cannot eat peanuts at all"
    assert folder.manager.conversation.load(link) == 1
