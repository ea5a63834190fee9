"""`compact`: the file becomes smaller, everything in it stays, and whoever else has it open goes on."""

import os
import signal
import sqlite3
import threading

import pytest

from retentive import ANY, BusyError, Collection, StoreError
from retentive.embedders import HashEmbedder


def texts(db):
    return {row.id: (row.text, row.turn, row.vector.tobytes()) for row in db.get(everything(db), vectors=True)}


def everything(db):
    return db.search(limit=10_000, user=ANY).ids


def fill(db, count=600):
    ids = db.remember_many([{"text": f"number {i} " + "and so on " * 20, "session": f"s{i % 5}"} for i in range(count)])
    db.feedback(ids[1], "corrected", correction="no, another one")
    db.remember("Rome", session="s1", kind="fact", key="city")
    db.add(["a document"], ids=["d1"])
    db.delete(ids[10 : count * 3 // 4])
    db.forget("s4")
    return ids


@pytest.mark.parametrize("in_memory", [True, False])
def test_it_gives_space_back_and_keeps_everything(tmp_path, embedder, in_memory):
    with Collection("test", path=None if in_memory else tmp_path, embedder=embedder) as db:
        ids = fill(db)
        before, size = texts(db), db.stats()["file_bytes"]
        turn = db.get_one(db.remember("the next one", session="s1")).turn
        before = texts(db)
        given_back = db.compact()
        assert given_back > size / 2
        assert db.stats()["file_bytes"] <= size - given_back + 4_096
        assert (db.stats()["erased"], db.stats()["free_bytes"], db.stats()["erasure_pending"]) == (0, 0, False)
        assert texts(db) == before
        assert len(db.history(ids[1])) == 2
        assert db.fact("city", session="s1").text == "Rome"
        assert db.get_one(db.remember("and on", session="s1")).turn == turn + 1
        assert db.verify().ok, db.verify().problems
        assert db.compact() <= 8 * 4_096  # nothing is left to give back but what the last write made loose
    if not in_memory:
        assert [found.name for found in tmp_path.iterdir()] == ["test.db"]
        with Collection("test", path=tmp_path, embedder=embedder) as db:
            assert db.verify().ok
            assert before.items() <= texts(db).items()


def test_a_move_to_other_vectors_gives_its_space_back(db):
    db.remember_many([{"text": f"number {i}", "session": "s"} for i in range(300)])
    db.reembed(HashEmbedder(512))
    vectors = {row.id: row.vector.tobytes() for row in db.get(everything(db), vectors=True)}
    assert db.compact() > 300 * 64 * 4
    assert {row.id: row.vector.tobytes() for row in db.get(everything(db), vectors=True)} == vectors
    assert db.verify().ok


def test_handles_of_one_file_that_compact_at_once_do_not_take_each_others_spare_file(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder) as one, Collection("test", path=tmp_path) as other:
        fill(one)
        before, failed = texts(one), []

        def compacts(db):
            for _ in range(40):
                try:
                    db.compact()
                except Exception as error:
                    failed.append(error)

        threads = [threading.Thread(target=compacts, args=(db,)) for db in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert texts(one) == before
        assert one.verify().ok
    assert [found.name for found in tmp_path.iterdir()] == ["test.db"]


def test_a_link_in_the_folder_gets_no_copy(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        fill(db)
        elsewhere = tmp_path / "elsewhere"
        (tmp_path / f"test.db-compact-{os.getpid()}").symlink_to(elsewhere)
        db.compact()
        assert not elsewhere.exists()


def test_what_is_forgotten_afterwards_leaves_no_copy(db, found):
    ids = fill(db)
    db.compact()
    secret = db.remember("a violet walrus", session="s0")
    db.remember_many([{"text": "something else", "session": "s1"}] * 50)
    db.delete([secret, *ids[:5]])
    assert not found(["violet walrus", "number 3 "])
    db.compact()
    assert not found(["violet walrus", "number 3 "])
    assert db.verify().ok


def test_other_handles_and_processes_go_on(db, tmp_path, embedder, start):
    ids = fill(db)
    child = start(
        """
db = opened()
tell(db.count())
wait()
tell(db.count(), db.get_one(sys.argv[2]).text[:8], db.verify().ok)
db.remember("from the other one", session="s0")
wait()
tell(db.count(), db.verify().ok, db.recall("from the other one", session="s0")[0].text)
""",
        ids[0],
    )
    count = db.count()
    assert child.stdout.readline() == f"{count}\n"
    with Collection("test", path=tmp_path, embedder=embedder) as second:
        assert second.count() == count
        db.compact()
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == f"{count} number 0 True\n"
        assert second.get_one(ids[0]).text.startswith("number 0 ")
        second.remember("from the second one", session="s1")
        second.compact()
        told = child.communicate("\n", timeout=60)[0]
        assert told == f"{count + 2} True from the other one\n"
        assert db.recall("from the second one", session="s1")[0].text == "from the second one"
        assert db.verify().ok


def test_writers_and_readers_of_this_process_go_on(db):
    fill(db)
    stop = threading.Event()
    errors = []

    def use(name):
        try:
            while not stop.is_set():
                stored = db.remember("something to say", session=name)
                assert db.get_one(stored).text == "something to say"
                db.delete([stored])
        except Exception as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=use, args=(f"t{i}",)) for i in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            db.compact()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors
    assert db.verify().ok


@pytest.mark.parametrize("holding", ["BEGIN IMMEDIATE", "BEGIN; SELECT count(*) FROM memory"])
def test_somebody_who_holds_the_file_is_a_busy_error(tmp_path, embedder, start, holding):
    with Collection("test", path=tmp_path, embedder=embedder, busy_timeout_s=0.3) as db:
        fill(db)
        child = start(
            """
import sqlite3
held = sqlite3.connect(f"{folder}/test.db", isolation_level=None)
for statement in sys.argv[2].split(";"):
    held.execute(statement).fetchall()
tell("held")
wait()
""",
            holding,
        )
        assert child.stdout.readline() == "held\n"
        if "SELECT" in holding:
            db.remember("in the log", session="s0")
        before = texts(db)
        with pytest.raises(BusyError):
            db.compact()
        assert texts(db) == before
        child.communicate("\n", timeout=60)
        assert db.compact() > 0
        assert texts(db) == before


def test_a_read_only_collection_is_refused(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        fill(db, 20)
    with (
        Collection("test", path=tmp_path, embedder=embedder, readonly=True) as db,
        pytest.raises(StoreError, match="read-only"),
    ):
        db.compact()


FULL = """
import resource
db = opened()
db.remember_many([{"text": f"number {i} " + "and so on " * 20, "session": "s"} for i in range(600)])
db.delete(db.search(limit=10_000).ids[:100])
count = db.count()
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    db.compact()
    tell("compacted")
except FullError as error:
    tell("full", db.count() == count, db.verify().ok)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
tell(db.compact() > 0, db.count() == count, db.verify().ok)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs a limit on the size of files")
@pytest.mark.parametrize("limit", [8_192, 200_000])
def test_a_full_disk_leaves_the_file_whole(run, limit):
    assert run(FULL, limit) == ["full True True", "True True True"]


KILLED = """
db = opened()
if not db.count():
    db.remember_many([{"text": f"number {i} " + "and so on " * 20, "session": "s"} for i in range(2_000)])
    db.delete(db.search(limit=10_000).ids[:500])
tell(db.count())
while True:
    db.compact()
    db.delete([db.remember("one", session="t")])
"""


def test_a_kill_at_any_moment_leaves_the_file_whole(start, tmp_path, embedder):
    for attempt in range(6):
        child = start(KILLED)
        assert child.stdout.readline() == "1500\n"
        threading.Event().wait(0.02 + 0.03 * attempt)
        child.kill()
        child.communicate()
        with Collection("test", path=tmp_path, embedder=embedder) as db:
            db.delete(db.search(limit=10, user=ANY, filter={"_vx_session": "t"}).ids)
            report = db.verify()
            assert report.ok, report.problems
            assert db.count() == 1_500
    left = [found.name for found in tmp_path.iterdir() if found.stat().st_size]
    assert left == ["test.db"]


INTERRUPTED = """
import signal
db = opened()
db.remember_many([{"text": f"number {i} " + "and so on " * 20, "session": "s"} for i in range(5_000)])
try:
    tell("filled")
    while True:
        db.compact()
except KeyboardInterrupt:
    tell("interrupted", db.count(), db.verify().ok)
"""


def test_ctrl_c_leaves_the_file_whole(start):
    child = start(INTERRUPTED)
    assert child.stdout.readline() == "filled\n"
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0] == "interrupted 5000 True\n"


def test_a_damaged_row_is_kept_and_still_found(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        fill(db, 40)
    other = sqlite3.connect(tmp_path / "test.db")
    other.execute("UPDATE content SET head = zeroblob(length(head)), body = zeroblob(length(body)) WHERE seq = 3")
    other.commit()
    other.close()
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.compact()
        found = [(problem.table, problem.row) for problem in db.verify().problems]
    assert ("content", 3) in found
