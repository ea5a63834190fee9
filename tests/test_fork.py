"""A collection that is open when its process forks works on both sides."""

import os
import subprocess
import sys

import pytest

SOAK = bool(os.environ.get("RETENTIVE_SOAK"))
FORKED = 200 if SOAK else 24  # in each of two tests
SECONDS = 600 if SOAK else 120

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")

FORKS = """
import signal, warnings
warnings.simplefilter("ignore")  # later Pythons warn of forks beside threads, which is what this is about


def forked(work):
    pid = os.fork()
    if pid == 0:
        faulthandler.register(signal.SIGALRM, all_threads=True, chain=True)
        signal.alarm(20)  # a child that hangs says where, dies, and is counted
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


@pytest.mark.soak
def test_forking_while_threads_write_read_and_load_never_hangs(run, counted):
    told = run(
        FORKS
        + """
import threading
count = int(sys.argv[2])
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
bad = sum(not ended_well(forked(lambda: uses(db, f"child {i}") and uses(second, f"again {i}"))) for i in range(count))
stop.set()
for thread in threads:
    thread.join()
turns = [turn.turn for turn in db.turns("s")]
tell(bad, failed, turns == list(range(2 * count + 1)) or turns, db.verify().problems)
""",
        FORKED,
        seconds=SECONDS,
    )
    assert told == ["0 [] True ()"]
    counted(forks=FORKED)


FORKING_THREADS = """
import asyncio, threading
each = int(sys.argv[2])
db = Collection("static", path=folder, durability="normal")
db.remember("the model is loaded", session="before")
stop, failed, bad = threading.Event(), [], []


def thread(job):
    def guarded():
        try:
            job()
        except BaseException as error:
            failed.append(error)
    return threading.Thread(target=guarded)


async def chat(name):
    while not stop.is_set():
        await asyncio.gather(db.aremember(f"{name} says", session=name), db.acontext("who says what", session=name))


def write():
    while not stop.is_set():
        db.remember_many([{"text": f"bulk {i}", "session": "bulk"} for i in range(50)])
        db.forget("bulk")


async def twins(word):
    await asyncio.gather(*[db.aremember(f"{word} {i}", session="children") for i in range(3)])
    return len(await db.arecall(word, session="children", limit=3, min_relevance=None)) == 3


def work(word):
    return uses(db, word) and asyncio.run(twins(word))


def forks(number):
    for i in range(each):
        if not ended_well(forked(lambda: work(f"child{number}of{i}"))):
            bad.append((number, i))


beside = [thread(write), *[thread(lambda name=name: asyncio.run(chat(name))) for name in ("one loop", "another loop")]]
forking = [thread(lambda number=number: forks(number)) for number in range(4)]
for one in beside + forking:
    one.start()
for one in forking:
    one.join()
stop.set()
for one in beside:
    one.join()
children = [turn.turn for turn in db.turns("children")]
loops = [[turn.turn for turn in db.turns(name)] for name in ("one loop", "another loop")]
tell(bad, failed, children == list(range(4 * each * 3)), [turns == list(range(len(turns))) for turns in loops])
tell(len(db.turns("s")), db.verify().problems)
"""


@pytest.mark.soak
def test_four_threads_fork_at_once_beside_the_static_model_and_two_loops(run, counted):
    """Each child writes, reads, and awaits the twins with threads of its own; the parent's twins go on."""
    told = run(FORKS + FORKING_THREADS, FORKED // 4, seconds=SECONDS)
    assert told == ["[] [] True [True, True]", f"{FORKED} ()"]
    counted(forks=FORKED)


@pytest.mark.parametrize("module", ["numpy", "retentive.aio", "tokenizers"])
def test_a_fork_in_the_middle_of_an_import_of_ours_hangs_no_child(run, module):
    told = run(
        FORKS
        + """
import asyncio, importlib.abc, importlib.machinery, threading, time
slow, begun = sys.argv[2], threading.Event()


class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if name == slow else None
        if spec is not None:
            run = spec.loader.exec_module

            def slowly(module):
                begun.set()
                time.sleep(0.5)
                run(module)

            spec.loader.exec_module = slowly
        return spec


assert slow not in sys.modules, "it is imported when needed"
sys.meta_path.insert(0, Slow())
db = Collection("lazy", path=folder)
first = threading.Thread(target=lambda: asyncio.run(db.aremember("first", session="s")))
first.start()
assert begun.wait(20)
child = forked(lambda: asyncio.run(db.aremember("child", session="s")) is not None)
first.join()
tell(ended_well(child), sorted(turn.text for turn in db.turns("s")))
""",
        module,
    )
    assert told == ["True ['child', 'first']"]


# What the library that binds Python to Rust imports at some first use and keeps. (Modules of the standard library in C
# import too, and keep nothing behind a lock.)
KEPT_BY_BINDING = "asyncio collections.abc decimal fractions ipaddress operator pathlib types uuid weakref zoneinfo"


def test_native_code_imports_nothing_that_a_fork_does_not_wait_for(run):
    """It would keep what it found behind a lock of its own, which a child forked in that moment waits for in vain."""
    told = run(
        """
import builtins
imported, usual = set(), builtins.__import__


def noted(name, globals=None, locals=None, fromlist=(), level=0):
    if type(fromlist) is list:  # as native code asks for a module; a statement gives a tuple or None
        imported.add(name)
    return usual(name, globals, locals, fromlist, level)


builtins.__import__ = noted
from retentive import _core

db = opened()
id = db.remember("a turn", session="s")
db.remember_many([{"text": f"turn {i}", "session": "s", "metadata": {"n": i}} for i in range(100)])
db.recall("turn", session="s", filter={"n": {"$gt": 3}})
db.context("turn", "s")
db.search("turn", session="s")
db.similar(id)
db.export(folder + ".jsonl")
opened().close()
Collection("other", path=folder, embedder=HashEmbedder(64)).import_(folder + ".jsonl")
for wrong in (lambda: db.remember("", session="s"), lambda: _core.estimate_tokens(5)):
    try:
        wrong()
    except (ValueError, TypeError):
        pass
db.verify()
tell("threading" in imported, sorted(imported & set(sys.argv[2].split())))
""",
        KEPT_BY_BINDING,
    )
    assert told == ["True []"]


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
    """A worker ends after two tasks, and the pool's own thread forks the next one, while the parent writes."""
    told = run("""
import multiprocessing, threading, warnings
warnings.simplefilter("ignore")
db = Collection("static", path=folder, durability="normal")
db.remember("loaded before the fork", session="before")
stop = threading.Event()


def work(number):
    return [db.remember(f"worker {number} says {i}", session="all") for i in range(10)]


def write():
    while not stop.is_set():
        db.remember("the parent says", session="parent")


writer = threading.Thread(target=write)
writer.start()
with multiprocessing.get_context("fork").Pool(4, maxtasksperchild=2) as pool:
    ids = sum(pool.map(work, range(12), chunksize=1), [])
stop.set()
writer.join()
parent = [turn.turn for turn in db.turns("parent")]
assert parent == list(range(len(parent))), parent
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


def test_a_fork_while_another_thread_loads_the_model_hangs_no_child(run):
    """Native code makes things once a process, behind locks that a child would wait for."""
    told = run(
        FORKS
        + """
import threading, time
from retentive import _fork
from retentive.embedders import StaticEmbedder
import numpy, tokenizers

begun, ended = threading.Event(), []


def load():
    with _fork.held_back():
        begun.set()
        time.sleep(0.3)
        StaticEmbedder().embed_query("first")
        ended.append(True)


loading = threading.Thread(target=load)
loading.start()
assert begun.wait(20)
child = forked(lambda: len(StaticEmbedder().embed_query("child")) == 256)
tell(ended, ended_well(child))
loading.join()


def fork_within():
    with _fork.held_back():
        return forked(lambda: len(StaticEmbedder().embed_query("child")) == 256)


tell(ended_well(fork_within()))
"""
    )
    assert told == ["[True] True", "True"]


def test_other_threads_go_on_while_a_fork_waits_for_a_long_call(run):
    """Right before the fork nobody else can have the interpreter, so that a longer wait comes earlier."""
    told = run(
        FORKS
        + """
import threading, time

db = opened()
db.remember_many([{"text": f"number {n} of many words", "session": f"s{n % 9}"} for n in range(20_000)])
ended, beats, waits = threading.Event(), [0], []


def beat():
    while not ended.is_set():
        time.sleep(0.001)
        beats[0] += 1


def check():
    while not ended.is_set():
        db.verify()


threads = [threading.Thread(target=work) for work in (beat, check)]
for thread in threads:
    thread.start()
while len(waits) < 5:
    began, before = time.monotonic(), beats[0]
    child = forked(lambda: True)
    if time.monotonic() - began > 0.05:
        waits.append(beats[0] - before)
    assert ended_well(child)
    time.sleep(0.01)
ended.set()
for thread in threads:
    thread.join()
tell(min(sorted(waits)[1:]) > 5)
"""
    )
    assert told == ["True"]


def test_an_id_made_in_another_packages_hook_is_the_childs_own():
    """Such a hook may have been registered before those of this package, which then has not begun anew yet."""
    code = """
import os
todo = []
os.register_at_fork(after_in_child=lambda: [work() for work in todo])
from retentive._ids import memory_id
memory_id()
read, write = os.pipe()
todo.append(lambda: os.write(write, memory_id().encode()))
child = os.fork()
if child == 0:
    os._exit(0)
drawn = {memory_id()[-16:] for _ in range(64)}
os.waitpid(child, 0)
print(os.read(read, 100).decode()[-16:] in drawn)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("False\n", "")
