"""Many threads on one collection: one order, one tip, no deadlock, nothing left behind."""

import faulthandler
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from retentive import ClosedError, Collection, ConflictError, ConversationMemory
from retentive.embedders import CallableEmbedder, HashEmbedder


@pytest.fixture(autouse=True)
def watchdog():
    """A deadlock ends the run with every thread's stack, not with silence."""
    faulthandler.dump_traceback_later(200, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def at_once(count, job):
    """Run `job(number)` in threads that begin together; return the answers."""
    barrier = threading.Barrier(count)

    def begin(number):
        barrier.wait()
        return job(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))


def correct(db, first, text):
    try:
        return db.feedback(first, "corrected", correction=text)
    except ConflictError:
        return None


@pytest.mark.parametrize("kind", ["fact", "turn"])
def test_32_threads_correcting_one_memory_leave_one_tip(db, kind):
    first = db.remember("the first", session="s", kind=kind)
    made = [new for new in at_once(32, lambda n: correct(db, first, f"correction {n}")) if new]
    chain = db.history(first)
    assert chain[0].id == first
    assert sorted(memory.id for memory in chain[1:]) == sorted(made)
    assert [memory.superseded_by for memory in chain] == [*[memory.id for memory in chain[1:]], None]
    assert db.recall("the first correction", session="s", limit=50, min_relevance=None).ids == [chain[-1].id]


def test_processes_correcting_one_memory_leave_one_tip(db, start):
    first = db.remember("the first", session="s", kind="fact")
    code = """
db, made = opened(), 0
for i in range(8):
    try:
        made += db.feedback(sys.argv[2], "corrected", correction=f"{sys.argv[3]} {i}") is not None
    except ConflictError:
        pass
tell(made)
"""
    children = [start(code, first, f"process {i}") for i in range(4)]
    made = sum(int(child.communicate(timeout=60)[0]) for child in children)
    chain = db.history(first)
    assert len(chain) == 1 + made
    assert [memory.superseded_by for memory in chain] == [*[memory.id for memory in chain[1:]], None]
    assert len(db.recall("the first process", session="s", limit=50, min_relevance=None)) == 1


def test_one_key_set_by_many_threads_holds_one_value(db):
    at_once(16, lambda n: db.remember(f"value {n % 4}", user="u", kind="fact", key="k"))
    assert len(db.facts(user="u")) == 1
    live = db.recall("value", user="u", limit=50, min_relevance=None)
    assert live.ids == [db.fact("k", user="u").id]


def test_turns_of_one_millisecond_keep_the_order_of_insertion(db):
    moment = "2024-05-01T10:00:00+00:00"
    db.remember_many([{"text": f"batch {i}", "session": "s", "timestamp": moment} for i in range(1_000)])
    assert [turn.text for turn in db.turns("s")] == [f"batch {i}" for i in range(1_000)]
    at_once(8, lambda n: [db.remember(f"{n} says {i}", session="t", timestamp=moment) for i in range(125)])
    turns = db.turns("t")
    assert [turn.turn for turn in turns] == list(range(1_000))
    for n in range(8):
        assert [turn.text for turn in turns if turn.text.startswith(f"{n} ")] == [f"{n} says {i}" for i in range(125)]


def test_callables_that_use_the_collection_sleep_raise_and_start_threads_never_deadlock(tmp_path):
    inner = HashEmbedder(64)
    calls = {"judge": 0, "count": 0}

    def in_a_thread(job):
        thread = threading.Thread(target=job)
        thread.start()
        thread.join()

    def embed(texts):
        if "inner" not in texts[0]:
            in_a_thread(lambda: db.recall("inner query", session="facts", mode="lexical", limit=1))
        return inner.embed_documents(texts)

    def judge(text, candidates):
        calls["judge"] += 1
        in_a_thread(lambda: db.remember("inner turn", session="judged"))
        if calls["judge"] % 3 == 0:
            raise ValueError("no verdict")
        return [False] * len(candidates)

    def count(text):
        calls["count"] += 1
        if calls["count"] % 50 == 0:
            in_a_thread(db.count)
        return len(text) // 4 + 1

    def summarize(turns):
        db.remember("inner turn", session="while summarizing")
        return [turns[0]["text"]]

    db = Collection("test", path=tmp_path, embedder=CallableEmbedder("inner", 64, embed), token_counter=count)
    db.memory = ConversationMemory(db, judge=judge)

    def work(number):
        for i in range(4):
            db.remember(f"turn {i} of {number}", session=f"s{number % 4}")
            db.remember(f"fact {i} of {number}", session="facts", kind="fact")
            db.context("what was said", session=f"s{number % 4}", token_budget=200)
            if number % 4 == 0:
                db.consolidate(f"s{number % 4}", summarize, keep_recent=2, batch_turns=3)
        return number

    with db:
        assert at_once(16, work) == list(range(16))
        assert db.count(session="facts") == 64
        assert calls["judge"] > 10


def test_closing_while_others_work_answers_or_says_closed(tmp_path, embedder):
    for number in range(5):
        db = Collection(f"c{number}", path=tmp_path, embedder=embedder)
        db.remember("here", session="s")

        def work(number, db=db):
            if number == 0:
                db.close()
                return 0
            done = 0
            try:
                for i in range(200):
                    db.remember(f"{number} says {i}", session="s")
                    done += 1
                    db.recall("here", session="s", limit=2)
            except ClosedError:
                return done
            return done

        stored = sum(at_once(6, work))
        with Collection(f"c{number}", path=tmp_path, embedder=embedder) as again:
            assert stored + 1 == again.count()


@pytest.mark.parametrize("ending", ["", "db.close()", "del db", "sys.exit(0)", "db.__exit__(None, None, None)"])
def test_the_interpreter_ends_with_an_open_collection_and_running_threads(run, ending):
    run(
        """
import threading, time
faulthandler.dump_traceback_later(30, exit=True)


class Last:
    def __init__(self, db):
        self.db = db

    def __del__(self):
        self.db.count()
        self.db.close()


def work(db):
    while True:
        try:
            db.remember("said", session="s")
            db.recall("said", session="s", limit=2)
        except ClosedError:
            return


db, inside = opened(), Collection("inside", embedder=HashEmbedder(64))
last = Last(opened())
for i in range(6):
    threading.Thread(target=work, args=[[db, inside][i % 2]], daemon=True).start()
time.sleep(0.2)
"""
        + ending
    )


@pytest.mark.skipif(sys.platform != "linux", reason="counts by /proc")
def test_reading_2000_times_leaves_no_thread_descriptor_or_socket(run):
    told = run("""
import socket, threading


def refuse(*arguments, **options):
    raise AssertionError("no network")


socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
static = Collection("static", path=folder)
db = opened()
for collection in (db, static):
    collection.remember_many([{"text": f"said {i} of this", "session": "s"} for i in range(50)])


def counts():
    open_now = [f"/proc/self/fd/{descriptor}" for descriptor in os.listdir("/proc/self/fd")]
    links = [os.readlink(link) for link in open_now if os.path.lexists(link)]
    return threading.active_count(), len(os.listdir("/proc/self/task")), len(links), sum("socket" in x for x in links)


def recalls(count):
    for i in range(count):
        (db, static)[i % 2].recall(f"said {i}", session="s", limit=3)
        if i % 10 == 0:
            db.context("said", session="s", token_budget=100)


recalls(20)
before = counts()
recalls(2000)
tell(before == counts(), before[0], before[3])
""")
    assert told == ["True 1 0"]
