"""`python -m retentive.repair`: what is left of a damaged file is in a new one, right and whole; the rest is listed."""

import contextlib
import inspect
import os
import pickle
import re
import shutil
import sqlite3
import subprocess
import sys

import pytest

from retentive import ANY, Collection, CorruptError, InvalidInputError
from retentive.embedders import HashEmbedder
from retentive.repair import main, repair

THEN = "2024-01-01T00:00:00+00:00"
PAGE = 4_096


def everything(db):
    found = {}
    ids = {row.id for tip in db.search(limit=10_000, user=ANY).ids for row in db.history(tip)}
    for row in db.get(sorted(ids), vectors=True):
        vector = None if row.vector is None else row.vector.tobytes()
        # What feedback and links say changes with a neighbour.
        own = {name: value for name, value in row.metadata.items() if not name.startswith("_vx_")}
        found[row.id] = ((row.text, row.kind, row.role, row.turn, own, row.session, row.user), vector)
    return found


SNAPSHOT = inspect.getsource(everything)
FILL = (
    SNAPSHOT
    + """
import pickle
THEN = "2024-01-01T00:00:00+00:00"
db = opened()
for s in ("alpha", "beta"):
    ids = [db.remember(f"{s} turn {i} about cats", session=s, metadata={"n": i}, timestamp=THEN) for i in range(12)]
db.forget(ids=[ids[7]])
for u in ("ann", "bo"):
    for city in ("Paris", "Rome", "Oslo"):
        db.remember(f"{u} lives in {city}", user=u, kind="fact", key="city", timestamp=THEN)
    db.remember(f"{u} is pinned", user=u, pinned=True, timestamp=THEN)
    db.remember("hello there", user=u, session="s", timestamp=THEN)
db.feedback(ids[3], "useful", timestamp=THEN)
db.feedback(ids[4], "corrected", correction="better", timestamp=THEN)
db.add(["a document about cats"], ids=["doc"])
"""
)
LEAVE = """
with open(f"{folder}/right", "wb") as out:
    pickle.dump((everything(db), db.stats()["count"]), out)
END
"""


@pytest.fixture
def damaged(run, tmp_path):
    """A closed file with everything in it, and what that was."""
    run(FILL + LEAVE.replace("END", "db.close()"))
    return tmp_path / "test.db", pickle.loads((tmp_path / "right").read_bytes())[0]


def saved(path):
    with Collection(path.stem, path=path.parent, embedder=HashEmbedder(64)) as db:
        report = db.verify()
        assert report.ok, report.problems
        return everything(db)


def change(file, statement):
    other = sqlite3.connect(file)
    other.execute(statement)
    other.commit()
    other.close()


def test_a_whole_file_is_saved_whole(damaged, tmp_path, embedder):
    file, right = damaged
    before = file.read_bytes()
    report = repair(file, tmp_path / "saved.db")
    assert report.complete, report.lost
    assert report.rows_saved["memory"] == len(right)
    assert repr(report) == f"<RepairReport: {len(right)} memories saved, 0 losses>"
    assert saved(tmp_path / "saved.db") == right
    assert file.read_bytes() == before
    assert not [name for name in tmp_path.iterdir() if name.name.startswith(".repair-")]
    with (
        Collection("test", path=tmp_path, embedder=embedder) as old,
        Collection("saved", path=tmp_path, embedder=embedder) as new,
    ):
        for session in ("alpha", "beta"):
            assert [row.id for row in new.turns(session)] == [row.id for row in old.turns(session)]
        for known in right:
            assert [row.text for row in new.history(known)] == [row.text for row in old.history(known)]
            assert new.get_one(known).metadata == old.get_one(known).metadata
        assert new.fact("city", user="ann").text == "ann lives in Oslo"
        next_turn = old.get_one(old.remember("next", session="alpha")).turn
        assert new.get_one(new.remember("next", session="alpha")).turn == next_turn
        new.remember("ann lives in Bonn", user="ann", kind="fact", key="city")
        assert new.fact("city", user="ann").text == "ann lives in Bonn"
        assert new.recall("cats", session="alpha").ids
        assert new.verify().ok


def test_paths_may_be_relative(damaged, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    relative = os.path.relpath(damaged[0])
    assert repair(relative, "saved.db").complete
    assert saved(tmp_path / "saved.db") == damaged[1]
    assert main([relative, "--into", "./again.db"]) == 0


def test_what_is_in_the_log_is_saved_too(start, tmp_path):
    child = start(FILL + LEAVE.replace("END", "tell('left'); wait()"))
    assert child.stdout.readline() == "left\n"
    child.kill()
    child.communicate()
    assert (tmp_path / "test.db-wal").stat().st_size > 0
    before = {name: (tmp_path / name).read_bytes() for name in ("test.db", "test.db-wal")}
    report = repair(tmp_path / "test.db", tmp_path / "saved.db")
    assert report.complete, report.lost
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert saved(tmp_path / "saved.db") == pickle.loads((tmp_path / "right").read_bytes())[0]


LOSSES = {
    "UPDATE content SET body = zeroblob(length(body)) WHERE seq = 3": ("content", 3, 1),
    "UPDATE content SET head = zeroblob(length(head)) WHERE seq = 3": ("content", 3, 1),
    "DELETE FROM content WHERE seq = 3": ("content", 3, 1),
    "UPDATE memory SET turn = 99 WHERE seq = 3": ("memory", 3, 1),
    "UPDATE vector SET data = zeroblob(length(data)) WHERE vid = 3": ("vector", 3, 0),
    "UPDATE feedback SET ts = 1 WHERE id = 1": ("memory", 16, 0),
    "UPDATE scope SET next_turn = 99 WHERE id = 1": ("scope", 1, 0),
    "UPDATE model SET name = 'another'": ("model", 1, 0),
    "UPDATE meta SET next_seq = 2": ("meta", 1, 0),
    "UPDATE origin SET language = 'german'": ("origin", 1, 0),
}


@pytest.mark.parametrize("damage", LOSSES)
def test_a_damaged_row_is_listed_and_the_rest_saved(damaged, tmp_path, damage, capsys):
    file, right = damaged
    change(file, damage)
    table, row, memories = LOSSES[damage]
    assert main([str(file), "--into", str(tmp_path / "saved.db")]) == 1
    told = capsys.readouterr().out
    assert f"lost: {table} row {row}" in told
    assert "turn 2 about" not in told
    now = saved(tmp_path / "saved.db")
    assert len(now) == len(right) - memories
    assert all(now[known][0] == right[known][0] for known in now)


def test_a_lost_link_of_a_chain_is_closed(damaged, tmp_path, embedder):
    file, right = damaged
    ids = {fields[0]: known for known, (fields, _) in right.items()}
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        assert len(db.history(ids["ann lives in Rome"])) == 3
    other = sqlite3.connect(file)
    (seq,) = other.execute("SELECT seq FROM memory WHERE supersedes IS NOT NULL AND superseded_by > 0").fetchone()
    other.execute("UPDATE content SET body = zeroblob(length(body)) WHERE seq = ?", [seq])
    other.commit()
    other.close()
    repair(file, tmp_path / "saved.db")
    with Collection("saved", path=tmp_path, embedder=embedder) as db:
        history = [row.text for row in db.history(ids["ann lives in Oslo"])]
        assert history == ["ann lives in Paris", "ann lives in Oslo"]
        assert db.fact("city", user="ann").text == "ann lives in Oslo"
        assert db.verify().ok


def test_lost_names_are_replaced_and_a_user_stays_a_user(damaged, tmp_path, embedder):
    file, right = damaged
    change(file, "UPDATE names SET data = zeroblob(length(data))")
    report = repair(file, tmp_path / "saved.db")
    assert {loss.table for loss in report.lost} == {"names"}
    with Collection("saved", path=tmp_path, embedder=embedder) as db:
        assert db.count(user=ANY) == len(right)
        assert all(user.startswith("recovered-user-") for user in db.users())
        assert len(db.users()) == 2
        assert all(session.startswith("recovered-") for session in db.sessions(ANY))
        assert not [row for row in db.search("lives", limit=99) if "lives" in row.text]
        assert db.verify().ok


def test_a_move_under_way_can_be_finished(tmp_path, embedder):
    class Tired(HashEmbedder):
        def embed_documents(self, texts):
            if texts and texts[-1].startswith("number 299"):
                raise OSError("tired")
            return super().embed_documents(texts)

    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember_many([{"text": f"number {i}", "session": "s"} for i in range(300)])
        with pytest.raises(Exception, match="tired"):
            db.reembed(Tired(96))
        assert db.stats()["reembedded"] == 256
    report = repair(tmp_path / "test.db", tmp_path / "saved.db")
    assert report.complete, report.lost
    with Collection("saved", path=tmp_path, embedder=embedder) as db:
        assert db.verify().ok
        assert db.reembed(HashEmbedder(96)) == 44
        assert db.verify().ok


def test_pages_that_cannot_be_read_cost_only_their_rows(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember_many([{"text": f"violet {i} " + "and so on " * 30, "session": "s"} for i in range(400)])
    file = tmp_path / "test.db"
    whole = file.read_bytes()
    leaves = [at for at in range(0, len(whole), PAGE) if b"violet" in whole[at : at + PAGE]]
    lost = sum(whole[at : at + PAGE].count(b"violet") for at in (leaves[3], leaves[9]))
    broken = bytearray(whole)
    for at in (leaves[3], leaves[9]):
        broken[at : at + PAGE] = bytes(PAGE)
    file.write_bytes(broken)
    report = repair(file, tmp_path / "saved.db")
    assert report.rows_saved["memory"] >= 400 - lost
    assert 0 < 400 - report.rows_saved["memory"] <= len(report.lost)
    assert "violet" not in str(report.lost)
    assert len(saved(tmp_path / "saved.db")) == report.rows_saved["memory"]


def test_rows_that_no_page_leads_to_are_listed(tmp_path, embedder):
    """The table's first page and one of its leaves have changed places: what is left looks whole."""
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        ids = db.remember_many([{"text": f"violet {i}", "session": "s"} for i in range(400)])
    file = tmp_path / "test.db"
    with contextlib.closing(sqlite3.connect(file)) as other:
        (root,) = other.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'memory'").fetchone()
    whole = bytearray(file.read_bytes())
    first = slice((root - 1) * PAGE, root * PAGE)
    assert whole[first.start] == 5, "a page that leads to others"
    cell = first.start + int.from_bytes(whole[first.start + 12 : first.start + 14], "big")
    leaf = int.from_bytes(whole[cell : cell + 4], "big")
    other = slice((leaf - 1) * PAGE, leaf * PAGE)
    assert whole[other.start] == 13, "a leaf"
    whole[first], whole[other] = whole[other], whole[first]
    file.write_bytes(whole)
    report = repair(file, tmp_path / "saved.db")
    kept = saved(tmp_path / "saved.db")
    assert 0 < len(kept) < 400
    assert {one.id for one in report.lost} == set(ids) - set(kept)


@pytest.mark.parametrize("page", [bytes(PAGE), b"\xff" * PAGE, b"SQLite format 3\0" + b"\x07" * (PAGE - 16)])
def test_without_its_first_page_everything_else_is_saved(damaged, tmp_path, page):
    file, right = damaged
    whole = file.read_bytes()
    file.write_bytes(page + whole[PAGE:])
    report = repair(file, tmp_path / "saved.db")
    assert report.complete, report.lost
    assert saved(tmp_path / "saved.db") == right


def test_a_file_after_compact_is_saved_without_its_first_page_too(damaged, tmp_path, embedder):
    file, right = damaged
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.compact()
    file.write_bytes(bytes(PAGE) + file.read_bytes()[PAGE:])
    assert repair(file, tmp_path / "saved.db").complete
    assert saved(tmp_path / "saved.db") == right


@pytest.mark.parametrize("content", [b"", b"x", bytes(100_000), b"a diary, not a database\n" * 500])
def test_what_is_no_collection_is_refused_and_nothing_is_left(tmp_path, content, capsys):
    file = tmp_path / "diary.db"
    file.write_bytes(content)
    with pytest.raises(CorruptError, match=r"diary\.db"):
        repair(file, tmp_path / "saved.db")
    assert main([str(file), "--into", str(tmp_path / "saved.db")]) == 2
    assert "diary.db" in capsys.readouterr().err
    assert [found.name for found in tmp_path.iterdir()] == ["diary.db"]


def test_another_programs_database_is_refused(tmp_path):
    change(tmp_path / "other.db", "CREATE TABLE t(x)")
    with pytest.raises(CorruptError, match=r"other\.db"):
        repair(tmp_path / "other.db", tmp_path / "saved.db")


def test_wrong_arguments(damaged, tmp_path, capsys):
    file, _ = damaged
    with pytest.raises(InvalidInputError, match="exists"):
        repair(file, file)
    assert main([str(file), "--into", str(file)]) == 2
    assert main([str(tmp_path / "none.db"), "--into", str(tmp_path / "saved.db")]) == 2
    assert main([str(file), "--into", str(tmp_path / "none" / "saved.db")]) == 2
    assert main([str(file), "--into", str(tmp_path / "saved.db"), "--language", "klingon"]) == 2
    assert capsys.readouterr().err.count("repair: ") == 4
    with pytest.raises(SystemExit) as wrong:
        main([str(file)])
    assert wrong.value.code == 2


@pytest.mark.parametrize(
    "name", ["saved", "my copy.db", "saved.sqlite", "saved.DB", ".hidden.db", ".db", f"{'a' * 101}.db"]
)
def test_a_name_that_nothing_opens_is_refused_before_anything_is_read(tmp_path, name, capsys, cli):
    said = "expected a file like 'chat.db', which Collection('chat', path=folder) opens"
    with pytest.raises(InvalidInputError, match=re.escape(said)):
        repair(tmp_path / "nowhere.db", tmp_path / name)
    assert main([str(tmp_path / "nowhere.db"), "--into", str(tmp_path / name)]) == 2
    assert said in capsys.readouterr().err
    refused = cli("repair", "nowhere.db", "--into", name)
    assert refused.exit_code == 2
    assert refused.stderr == f"retentive: --into is '{name}', {said}\n" or len(name) > 100
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("beside", ["saved.db", "saved.db-wal", "saved.db-shm", "saved.db-journal"])
def test_a_place_that_something_is_at_is_refused_and_left(damaged, tmp_path, beside):
    """A link that leads nowhere too; and a log beside it would be taken for the new file's."""
    (tmp_path / beside).symlink_to("nowhere")
    with pytest.raises(InvalidInputError, match=re.escape(f"{beside} exists; name a file that does not")):
        repair(damaged[0], tmp_path / "saved.db")
    assert (tmp_path / beside).is_symlink()


def test_the_command(damaged, tmp_path):
    file, right = damaged
    command = [sys.executable, "-m", "retentive.repair", str(file), "--into", str(tmp_path / "saved.db")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"saved {len(right)} memories into {tmp_path / 'saved.db'}\n"


DAMAGE = (
    SNAPSHOT
    + """
import pickle, shutil
from retentive import _core
with open(f"{folder}/right", "rb") as right:
    right, count = pickle.load(right)
name, how = sys.argv[2:4]
files = {}
for end in ("test.db", "test.db-wal"):
    if os.path.exists(f"{folder}/{end}"):
        files[end] = open(f"{folder}/{end}", "rb").read()
work = f"{folder}/tries"
tried = refused = memories = complete = 0
for offset in map(int, sys.stdin.read().split()):
    tell("at", offset)  # the last one, should this process crash
    shutil.rmtree(work, ignore_errors=True)
    os.mkdir(work)
    for end, content in files.items():
        changed = bytearray(content)
        if end == name and how == "flip":
            changed[offset] ^= 255 if offset % 2 else 1 << offset // 64 % 8
        elif end == name:
            del changed[offset:]
        with open(f"{work}/{end.replace('test', 'copy')}", "wb") as out:
            out.write(changed)
    tried += 1
    try:
        saved, lost, more = _core.repair(f"{work}/copy.db", f"{work}/new.db", "english", os.urandom(32))
    except CorruptError:
        refused += 1
        assert how == "cut", offset
        continue
    with Collection("new", path=work, embedder=HashEmbedder(64)) as db:
        report = db.verify()
        assert report.ok, (offset, report.problems)
        now = everything(db)  # without what only a lost memory would lead to
        assert len(now) <= db.stats()["count"] == saved.get("memory", 0), offset
    names = any(loss[1] in ("names", "scope") for loss in lost)
    for id, (fields, vector) in now.items():
        was, its = right[id]
        if names:
            fields, was = fields[:5], was[:5]
        assert fields == was, (offset, fields, was)
        assert vector in (its, None) or vector == b"", offset
    assert len(now) == len(right) or lost or "test.db-wal" in files, offset
    memories += saved.get("memory", 0)
    complete += not lost
tell("tried", tried, "refused", refused, "complete", complete, "saved", memories, "of", tried * len(right))
"""
)


@pytest.mark.parametrize("how", ["flip", "cut"])
@pytest.mark.parametrize("name", ["test.db", "test.db-wal"])
def test_damage_anywhere_is_repaired_to_a_right_file(start, run, tmp_path, name, how, counted):
    if name == "test.db":
        run(FILL + LEAVE.replace("END", "db.close()"))
    else:
        child = start(FILL + LEAVE.replace("END", "tell('left'); wait()"))
        assert child.stdout.readline() == "left\n"
        child.kill()
        child.communicate()
    size = (tmp_path / name).stat().st_size
    most = 64 if os.environ.get("RETENTIVE_SOAK") else size // (200 if how == "flip" else 40)
    offsets = range(0, size, max(64, most // 64 * 64))
    child = start(DAMAGE, name, how)
    told, error = child.communicate("\n".join(map(str, offsets)), timeout=1_500)
    assert child.returncode == 0, told[-300:] + error
    figures = told.splitlines()[-1].split()
    assert int(figures[1]) == len(offsets)
    counted(damaged_files=len(offsets))
    if how == "flip":
        # A flip costs at most what shares a page with it; in the log, what was committed after it.
        assert int(figures[7]) > (0.9 if name == "test.db" else 0.6) * int(figures[9])


def test_the_new_file_is_not_left_when_the_disk_is_full(damaged, tmp_path, run):
    if not hasattr(shutil, "disk_usage") or sys.platform == "win32":
        pytest.skip("needs a limit on the size of files")
    told = run("""
import resource, shutil, signal
from retentive import _core
with opened() as db:
    db.remember_many([{"text": f"number {i} " + "and so on " * 30, "session": "many"} for i in range(200)])
os.mkdir(f"{folder}/tries")
shutil.copyfile(f"{folder}/test.db", f"{folder}/tries/copy.db")
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    _core.repair(f"{folder}/tries/copy.db", f"{folder}/saved.db", "english", os.urandom(32))
    tell("saved")
except FullError as error:
    tell("full", *sorted(name for name in os.listdir(folder) if "saved" in name))
""")
    assert told == ["full"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
@pytest.mark.parametrize("room", [0, 40_000])
def test_a_full_disk_is_said_to_be_one_wherever_it_is_met(run, room):
    """While the copy is made, and while the new file is written."""
    told = run(
        """
import resource
from retentive.repair import repair
with opened() as db:
    db.remember_many([{"text": f"number {i} " + "and so on " * 30, "session": "many"} for i in range(200)])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    repair(f"{folder}/test.db", f"{folder}/saved.db")
except FullError as error:
    tell(error.path == f"{folder}/saved.db", *sorted(os.listdir(folder)))
""",
        room,
    )
    assert told == ["True test.db"]


def test_a_file_cut_in_half_still_gives_what_is_before_the_cut(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        for start in range(0, 600, 50):
            db.remember_many([{"text": f"number {start + i} " + "and so on " * 30, "session": "s"} for i in range(50)])
    file = tmp_path / "test.db"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    report = repair(file, tmp_path / "saved.db")
    assert report.rows_saved["memory"] > 200
    assert len(saved(tmp_path / "saved.db")) == report.rows_saved["memory"]
