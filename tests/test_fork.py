"""A collection that is open when its process forks works on both sides."""

import os

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")

FORKS = """
import signal, warnings
warnings.simplefilter("ignore")  # later Pythons warn of forks beside threads, which is what this is about


def forked(work):
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)  # a child that hangs dies, and is counted
        code = 1
        try:
            code = 0 if work() else 2
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def ended_well(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def uses(db, word):
    id = db.remember(word, session="s")
    return db.recall(word, session="s", mode="lexical", limit=1).ids == [id] and db.context(word, "s").recent != ()


"""


def test_parent_and_child_use_what_was_open_before(run):
    told = run(
        FORKS
        + """
db = opened()
db.remember("before", session="s")
child = forked(lambda: uses(db, "child") and db.close() is None)
tell(uses(db, "parent"), ended_well(child), uses(db, "later"))
tell(sorted(turn.text for turn in db.turns("s")))
"""
    )
    assert told == ["True True True", "['before', 'child', 'later', 'parent']"]


def test_forking_while_threads_write_read_and_load_never_hangs(run):
    told = run(
        FORKS
        + """
import threading
faulthandler.dump_traceback_later(55, exit=True)
db, second = opened(durability="normal"), opened(durability="normal")
inside = Collection("inside", embedder=HashEmbedder(64))
db.remember("before", session="s")
stop, failed = threading.Event(), []


def always(job):
    def loop():
        try:
            while not stop.is_set():
                job()
        except BaseException as error:
            failed.append(error)
    return threading.Thread(target=loop)


threads = [
    always(lambda: db.remember("one thread", session="one")),
    always(lambda: second.remember("another thread", session="two")),
    always(lambda: db.remember_many([{"text": f"bulk {i}", "session": "bulk"} for i in range(100)])),
    always(lambda: second.recall("thread", session="one", limit=3)),
    always(lambda: inside.remember("kept inside", session="s")),
    always(lambda: opened().close()),
]
for thread in threads:
    thread.start()
bad = sum(not ended_well(forked(lambda: uses(db, f"child {i}") and uses(second, f"again {i}"))) for i in range(50))
stop.set()
for thread in threads:
    thread.join()
turns = [turn.turn for turn in db.turns("s")]
tell(bad, failed, turns == list(range(101)))
"""
    )
    assert told == ["0 [] True"]


def test_a_collection_in_memory_refuses_in_the_child_and_goes_on_in_the_parent(run):
    told = run(
        FORKS
        + """
db = Collection("inside", embedder=HashEmbedder(64))
id = db.remember("kept inside", session="s", kind="fact", key="k")


def refused(call):
    try:
        call()
    except StoreError as error:
        return "fork" in str(error)


calls = [
    lambda: db.remember("more"), lambda: db.recall("kept", session="s"), lambda: db.context("kept", "s"),
    lambda: db.turns("s"), lambda: db.get_one(id), lambda: db.search("kept"), lambda: db.count(),
    lambda: db.forget("s"), lambda: db.feedback(id, "useful"), lambda: db.fact("k", session="s"), lambda: db.stats(),
    lambda: db.expire(), lambda: db.add("text"), lambda: db.clear(), lambda: db.sessions(), lambda: db.history(id),
]
child = forked(lambda: all(refused(call) for call in calls) and db.close() is None)
tell(ended_well(child), uses(db, "parent"))
"""
    )
    assert told == ["True True"]


def test_forked_workers_share_a_collection_with_the_static_model(run):
    told = run("""
import multiprocessing, warnings
warnings.simplefilter("ignore")
db = Collection("static", path=folder)
db.remember("loaded before the fork", session="before")


def work(number):
    return [db.remember(f"worker {number} says {i}", session="all") for i in range(10)]


with multiprocessing.get_context("fork").Pool(4) as pool:
    ids = sum(pool.map(work, range(12)), [])
tell(len(set(ids)), [turn.turn for turn in db.turns("all")] == list(range(120)))
tell(len(db.recall("what did the worker say", session="all", limit=5)))
""")
    assert told == ["120 True", "5"]


def test_a_callable_may_fork(run):
    told = run(
        FORKS
        + """
children = []


def judge(text, candidates):
    children.append(forked(lambda: uses(db, "from the judge's child")))
    return [False] * len(candidates)


db = opened()
db.memory = ConversationMemory(db, judge=judge)
db.remember("the sky is blue", kind="fact", session="s")
db.remember("the sky is grey", kind="fact", session="s")
tell([ended_well(child) for child in children], [turn.text for turn in db.turns("s")])
"""
    )
    assert told == ['[True] ["from the judge\'s child"]']
