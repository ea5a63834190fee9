"""`verify`: clean after everything that a collection can do, and every kind of damage is named, never a text."""

import dataclasses
import os
import signal
import sqlite3
import subprocess
import sys
import threading

import pytest

from retentive import Collection, Problem, Report
from retentive.embedders import HashEmbedder

TABLES = {"origin", "meta", "scope", "names", "memory", "content", "vector", "feedback", "tombstone", "model"}
SECRET = "violet walrus"


def fill(db):
    ids = db.remember_many([{"text": f"{SECRET} {i} of the list", "session": "s", "user": "u"} for i in range(12)])
    db.remember("far ahead", session="s", user="u", turn=40)
    db.remember("and once more there", session="s", user="u", turn=40)
    for city in ("Paris", "Rome", "Oslo"):
        db.remember(f"lives in {city}", user="u", kind="fact", key="city")
        db.remember(f"was in {city}", session="alone", kind="fact", key="city", ttl_days=1e-9)
    db.feedback(ids[2], "useful")
    db.feedback(ids[3], "corrected", correction="no, the other one")
    db.feedback(ids[4], "dead_end")
    db.add(["a document", "another one"], ids=["d1", "d2"], metadata=[{"n": 1}, {}])
    db.add(["a document, changed"], ids=["d1"])
    db.consolidate("s", lambda turns: [f"a fact of {len(turns)}"], user="u", keep_recent=4, batch_turns=3, delete=False)
    db.forget(ids=[ids[8]], user="u")
    db.expire()
    db.remember("gone soon", session="gone")
    db.forget("gone")
    return ids


@pytest.fixture(params=["file", "memory"])
def filled(request, tmp_path, embedder):
    with Collection("test", path=tmp_path if request.param == "file" else None, embedder=embedder) as db:
        db.ids = fill(db)
        yield db


def test_a_collection_is_clean_after_everything_it_can_do(filled):
    report = filled.verify()
    assert report.ok, report.problems
    assert report.rows_checked.keys() >= TABLES
    assert report.rows_checked["memory"] == filled.stats()["count"]
    assert repr(report) == f"<Report: ok, {sum(report.rows_checked.values())} rows checked>"
    filled.clear()
    assert filled.verify().ok


def test_an_empty_collection_is_clean(db):
    assert db.verify() == Report({"origin": 1, "meta": 1, "tombstone": 0}, ())


def test_it_is_clean_through_a_move_to_other_vectors(filled):
    class Tired(HashEmbedder):
        texts = 0

        def embed_documents(self, texts):
            self.texts += len(texts)
            if self.texts > 300:
                raise OSError("tired")
            return super().embed_documents(texts)

    filled.remember_many([{"text": f"number {i}", "session": "many"} for i in range(300)])
    with pytest.raises(Exception, match="tired"):
        filled.reembed(Tired(96))
    report = filled.verify()
    assert report.ok, report.problems
    assert report.rows_checked["incoming"] == 256
    filled.reembed(HashEmbedder(128))
    assert filled.verify().ok


def test_many_writers_leave_it_clean_and_are_not_stopped(db):
    stop = threading.Event()
    wrote = []

    def write(name):
        while not stop.is_set():
            wrote.append(db.remember("something to say", session=name))
            if len(wrote) % 7 == 0:
                db.forget(ids=[wrote.pop()])

    threads = [threading.Thread(target=write, args=(f"s{i}",)) for i in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            report = db.verify()
            assert report.ok, report.problems
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert db.verify().ok


DAMAGES = {
    "UPDATE memory SET tokens = tokens + 1 WHERE seq = 3": ("checksum", "memory", 3),
    "UPDATE memory SET scope = scope + 1 WHERE seq = 3": ("checksum", "memory", 3),
    "UPDATE content SET body = zeroblob(length(body)) WHERE seq = 3": ("checksum", "content", 3),
    "UPDATE content SET head = x'0102030405060708090a' WHERE seq = 3": ("checksum", "content", 3),
    "UPDATE vector SET data = CAST(x'00' || substr(data, 2) AS BLOB) WHERE vid = 2": ("checksum", "vector", 2),
    "UPDATE vector SET part = 1 WHERE vid = 2": ("checksum", "vector", 2),
    "UPDATE feedback SET outcome = 2 WHERE id = 1": ("checksum", "feedback", 1),
    "UPDATE scope SET next_turn = 99 WHERE id = 2": ("checksum", "scope", 2),
    "UPDATE names SET data = CAST(substr(data, 1, 9) || x'78' AS BLOB) WHERE scope = 2": ("checksum", "names", 2),
    "UPDATE names SET data = zeroblob(length(data)) WHERE scope = 2": ("missing", "names", 2),
    "UPDATE model SET dimension = 65": ("checksum", "model", 1),
    "UPDATE model SET current = 0": ("number", "vector", 1),
    "UPDATE model SET current = 0, incoming = 1": ("number", "vector", 1),
    "DELETE FROM memory WHERE seq = 1": ("not erased", "content", 1),
    "DELETE FROM content WHERE seq = 3": ("missing", "memory", 3),
    "DELETE FROM vector WHERE vid = 2": ("missing", "memory", 2),
    "DELETE FROM feedback WHERE id = 1": ("count", "memory", 3),
    "DELETE FROM scope WHERE id = 2": ("missing", "names", 2),
    "DELETE FROM tombstone": ("count", "scope", 1),
    "INSERT INTO incoming VALUES (3, 1, 1, 7)": ("checksum", "incoming", 3),
    "INSERT INTO calibration VALUES (1, x'0102')": ("checksum", "calibration", 1),
    "INSERT INTO calibration VALUES (8, x'0102')": ("missing", "calibration", 8),
    "DROP INDEX memory_key": ("structure", "sqlite_schema", None),
    "CREATE TABLE mine(x)": ("structure", "sqlite_schema", None),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_by_table_and_row(tmp_path, embedder, damage):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        fill(db)
    other = sqlite3.connect(tmp_path / "test.db")
    assert other.execute(damage)
    other.commit()
    other.close()
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        report = db.verify()
    assert not report.ok
    found = {(problem.kind, problem.table, problem.row) for problem in report.problems}
    assert DAMAGES[damage] in found, report.problems
    assert SECRET not in str(report.problems)


def test_many_problems_are_counted_and_a_thousand_listed(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember_many([{"text": f"number {i}", "session": "s"} for i in range(1_500)])
    other = sqlite3.connect(tmp_path / "test.db")
    other.execute("UPDATE memory SET words = words + 1")
    other.commit()
    other.close()
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        report = db.verify()
    assert (len(report.problems), report.more) == (1_000, 500)
    assert all(problem.id is not None for problem in report.problems)
    assert repr(report).startswith("<Report: 1,500 problems, ")


def test_a_problem_says_what_is_wrong_in_a_line():
    problem = Problem("checksum", "memory", 7, "mem_x", "does not match its checksum")
    assert str(problem) == "memory row 7 (mem_x): checksum: does not match its checksum"
    assert str(dataclasses.replace(problem, row=None, id=None)) == "memory: checksum: does not match its checksum"


def test_a_page_that_cannot_be_read_does_not_hide_the_others(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember_many([{"text": f"{SECRET} {i} " + "and so on " * 30, "session": "s"} for i in range(400)])
    file = tmp_path / "test.db"
    whole = file.read_bytes()
    leaves = [at for at in range(0, len(whole), 4_096) if SECRET.encode() in whole[at : at + 4_096]]
    damaged = bytearray(whole)
    for at in (leaves[3], leaves[9]):
        damaged[at : at + 8] = b"\xff" * 8
    file.write_bytes(damaged)
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        report = db.verify()
    gaps = [problem for problem in report.problems if problem.table == "content" and problem.kind == "structure"]
    assert len(gaps) == 2
    assert 400 > report.rows_checked["content"] > 370
    assert report.rows_checked["memory"] == 400
    assert SECRET not in str(report.problems)


LONG = """
import signal
db = opened()
db.remember_many([{"text": f"number {i} of a long list", "session": f"s{i % 50}"} for i in range(20_000)])
try:
    tell("filled")
    while True:
        db.verify()
except KeyboardInterrupt:
    tell("interrupted", db.count(), db.verify().ok)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or sys.platform == "win32", reason="needs signals")
def test_ctrl_c_ends_it_and_the_collection_can_be_used(start):
    child = start(LONG)
    assert child.stdout.readline() == "filled\n"
    child.send_signal(signal.SIGINT)
    try:
        assert child.communicate(timeout=60)[0] == "interrupted 20000 True\n"
    except subprocess.TimeoutExpired:
        os.kill(child.pid, signal.SIGKILL)
        raise
