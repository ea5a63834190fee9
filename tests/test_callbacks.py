"""Callables that raise, answer junk, sleep, use the collection, start threads or close it, while 16 threads work."""

import asyncio
import contextlib
import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from retentive import (
    CallableEmbedder,
    ClosedError,
    Collection,
    ConversationMemory,
    CounterError,
    EmbedderError,
    HashEmbedder,
    SummarizeError,
)

INNER = HashEmbedder(32)
TRIGGER = "trigger"
ROUNDS = 5  # of each of the 16 threads


pytestmark = pytest.mark.timeout(120)  # a deadlock fails, with every thread's stack: see `watchdog.py`


def use(db):
    """What a callable may do with the collection that called it."""
    session = f"inside {threading.get_ident()}"
    new = db.remember("from inside", session=session, kind="fact", check=False)
    db.feedback(new, "corrected", correction="from further inside")
    db.recall("inside", session=session, min_relevance=None)
    db.context("inside", session=session)
    db.search("inside", session=session)
    db.stats()
    db.expire()
    db.forget(session=session, kinds=("fact",))


def use_until_closed(db):
    with contextlib.suppress(ClosedError):
        use(db)


def in_threads(job, count=3):
    threads = [threading.Thread(target=job) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def raises(db):
    raise RuntimeError("the callable failed")


ACTS = {
    "raises": raises,
    "junk": lambda db: None,
    "sleeps": lambda db: time.sleep(0.05),
    "calls back": use,
    "starts threads": lambda db: in_threads(lambda: use(db)),
    "starts a thread that goes on": lambda db: threading.Thread(target=use_until_closed, args=(db,)).start(),
    "opens another": lambda db: Collection("other", embedder=INNER).remember("x"),
    "collects": lambda db: gc.collect(),
}
FAILS = ("raises", "junk")


class Acting:
    """The four callables of a collection; each does what it is told when its text says so, and never within itself."""

    def __init__(self, act):
        self.act, self.db = act, None
        self.asked = []
        self._inside = threading.local()

    def about(self, what, text, answer):
        if TRIGGER not in text or getattr(self._inside, "busy", False) or self.db is None:
            return answer()
        self.asked.append(what)
        self._inside.busy = True
        try:
            ACTS[self.act](self.db)
        finally:
            self._inside.busy = False
        return object() if self.act == "junk" else answer()

    def embed(self, texts):
        wanted = "of the embedder" in " ".join(texts)
        return self.about("embedder", TRIGGER * wanted, lambda: INNER.embed_documents(texts))

    def count(self, text):
        return self.about("counter", TRIGGER * ("of the counter" in text), lambda: len(text) // 4 + 1)

    def judge(self, new, candidates):
        return self.about("judge", new, lambda: [False] * len(candidates))

    def summarize(self, turns):
        return self.about("summarizer", TRIGGER, lambda: [turns[0]["text"]])

    def opened(self, path=None):
        db = Collection("acting", path, embedder=CallableEmbedder("acting", 32, self.embed), token_counter=self.count)
        db.memory = ConversationMemory(db, judge=self.judge)
        db.remember("known", session="judged", kind="fact", check=False)
        db.remember("of the counter", session="counted")
        db.remember_many([{"text": f"turn {i}", "session": "folded"} for i in range(8)])
        self.db = db
        return db


def work(db, number, failures):
    """What the other threads do meanwhile."""
    try:
        for i in range(ROUNDS):
            db.remember(f"said {i} by {number}", session=f"work {number % 4}")
            assert db.recall("said", session=f"work {number % 4}", min_relevance=None)
            db.context("said", session=f"work {number % 4}", token_budget=100)
            db.remember(f"fact {i} of {number}", session="facts", kind="fact", check=False)
    except Exception as error:
        failures.append(error)


def while_16_work(db, job):
    """Run `job` in this thread beside 16 others, which must come to the right end."""
    failures = []
    with ThreadPoolExecutor(16) as pool:
        others = [pool.submit(work, db, number, failures) for number in range(16)]
        answer = job()
        for other in others:
            other.result(60)
    assert failures == []
    assert sum(db.count(session=f"work {n}") for n in range(4)) == 16 * ROUNDS == db.count(session="facts")
    return answer


def expect(act, error, call):
    """Call, and expect the typed error of what fails."""
    if act not in FAILS:
        return call()
    with pytest.raises(error) as caught:
        call()
    assert (caught.value.__cause__ is not None) == (act == "raises")
    return None


@pytest.mark.parametrize("act", ACTS)
def test_blocking_calls_end_right_whatever_a_callable_does(tmp_path, act):
    acting = Acting(act)
    with acting.opened(tmp_path) as db:

        def calls():
            expect(act, EmbedderError, lambda: db.remember("of the embedder", session="embedded"))
            expect(act, EmbedderError, lambda: db.recall("of the embedder", session="judged"))
            judged = db.remember(f"{TRIGGER} a fact", session="judged", kind="fact")
            verdict = db.get_one(judged).metadata["_vx_judge"]
            assert verdict == ("failed" if act in FAILS else "ok")
            expect(act, CounterError, lambda: db.context("x", session="counted"))
            expect(act, CounterError, lambda: db.recall("of", session="counted", token_budget=50, min_relevance=None))
            report = expect(act, SummarizeError, lambda: db.consolidate("folded", acting.summarize, keep_recent=2))
            assert act in FAILS or report.turns_removed == 6

        while_16_work(db, calls)
        assert set(acting.asked) == {"embedder", "counter", "judge", "summarizer"}
        assert db.count(session="embedded") == (act not in FAILS)
        assert len(db.turns("folded")) == (8 if act in FAILS else 2)
        assert len(db.search(filter={"_vx_session": "judged"})) == 2


@pytest.mark.parametrize("act", ACTS)
def test_awaited_calls_end_right_whatever_a_callable_does(tmp_path, act):
    acting = Acting(act)

    async def awaited(error, call):
        if act not in FAILS:
            return await call
        with pytest.raises(error):
            await call
        return None

    async def calls(db):
        first = awaited(EmbedderError, db.aremember("of the embedder", session="embedded"))
        second = awaited(CounterError, db.acontext("x", session="counted"))
        third = db.aremember(f"{TRIGGER} a fact", session="judged", kind="fact")
        fourth = awaited(SummarizeError, db.aconsolidate("folded", acting.summarize, keep_recent=2))
        await asyncio.wait_for(asyncio.gather(first, second, third, fourth), 60)

    with acting.opened(tmp_path) as db:
        while_16_work(db, lambda: asyncio.run(calls(db)))
        assert set(acting.asked) == {"embedder", "counter", "judge", "summarizer"}
        assert db.count(session="embedded") == (act not in FAILS)
        assert len(db.turns("folded")) == (8 if act in FAILS else 2)
        assert len(db.search(filter={"_vx_session": "judged"})) == 2


@pytest.mark.parametrize("what", ["embedder", "judge", "summarizer"])
def test_a_cancelled_call_leaves_nothing_half_done_while_16_work(tmp_path, what):
    """The coroutine of the caller's is cancelled where it waits; the collection goes on."""
    waits = asyncio.Event()

    async def embed(texts):
        if what == "embedder" and TRIGGER in texts[0]:
            waits.set()
            await asyncio.sleep(3_600)
        return INNER.embed_documents(texts)

    async def judge(new, candidates):
        if what == "judge" and TRIGGER in new:
            waits.set()
            await asyncio.sleep(3_600)
        return [False] * len(candidates)

    async def summarize(turns):
        waits.set()
        await asyncio.sleep(3_600)

    async def working(db, number):
        for i in range(ROUNDS):
            await db.aremember(f"said {i} by {number}", session="work")
            assert await db.arecall("said", session="work", min_relevance=None)

    async def main():
        async with Collection("c", tmp_path, embedder=CallableEmbedder("c", 32, embed)) as db:
            db.memory = ConversationMemory(db, judge=judge)
            await db.aremember("known", session="s", kind="fact", check=False)
            await db.aremember_many([{"text": f"turn {i}", "session": "s"} for i in range(8)])
            calls = {"summarizer": lambda: db.aconsolidate("s", summarize, keep_recent=0)}
            plain = calls.get(what, lambda: db.aremember(f"{TRIGGER} a fact", session="s", kind="fact"))
            call = asyncio.ensure_future(plain())
            others = asyncio.gather(*[working(db, number) for number in range(16)])
            await waits.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await others
            assert (await db.acount(session="s"), await db.acount(session="work")) == (9, 16 * ROUNDS)

    asyncio.run(asyncio.wait_for(main(), 60))


@pytest.mark.parametrize("what", ["embedder", "counter", "judge", "summarizer"])
def test_a_callable_may_close_the_collection(tmp_path, what):
    """What the call would have done is a `ClosedError`; what was stored before stays."""

    def closing(answer):
        db.close()
        return answer

    def embed(texts):
        vectors = INNER.embed_documents(texts)
        return closing(vectors) if what == "embedder" and TRIGGER in texts[0] else vectors

    def count(text):
        return closing(3) if what == "counter" else 3

    db = Collection("c", tmp_path, embedder=CallableEmbedder("c", 32, embed), token_counter=count)
    db.memory = ConversationMemory(db, judge=lambda new, old: closing([False] * len(old)))
    db.remember("known", session="s", kind="fact", check=False)
    db.remember("a turn", session="s")
    calls = {
        "embedder": lambda: db.remember(TRIGGER, session="s"),
        "judge": lambda: db.remember("a fact", session="s", kind="fact"),
        "summarizer": lambda: db.consolidate("s", lambda turns: closing(["x"]), keep_recent=0),
    }
    if what == "counter":  # packing touches the store no more
        assert db.context("x", session="s", token_budget=100).recent
    else:
        with pytest.raises(ClosedError):
            calls[what]()
    assert db.closed
    with Collection("c", tmp_path, embedder=CallableEmbedder("c", 32, INNER.embed_documents)) as again:
        assert again.count() == 2


NO_BOOLS = [
    np.array([[True, False]]),
    [np.array([True])],
    [np.array([True, False])],
    [1],
    ["yes"],
    [None],
    {"a": True},
    "y",
    b"y",
    True,
    3.5,
    int,
    iter([]),
]


@pytest.mark.parametrize("verdicts", NO_BOOLS, ids=lambda value: f"{type(value).__name__} {value!r}"[:40])
def test_a_judge_that_answers_no_bools_loses_nothing(memory_db, verdicts):
    old = memory_db.remember("I love cilantro", kind="fact")
    memory_db.memory.judge = lambda new, candidates: verdicts
    new = memory_db.remember("I hate cilantro", kind="fact")
    assert memory_db.get_one(new).metadata["_vx_judge"] == "failed"
    assert memory_db.get_one(old).superseded_by is None


@pytest.mark.parametrize("returned", [int, float, np.array([3, 4]), np.array([]), [3], 3.0, np.float32(3), "3", 10**30])
def test_a_counter_that_answers_no_number_is_named(embedder, returned):
    with Collection("c", embedder=embedder, token_counter=lambda text: returned) as db:
        db.remember("apple pie", session="a")
        with pytest.raises(CounterError):
            db.context("apple", session="a")


NO_VECTORS = [None, 3, "text", b"text", [], {}, set(), int, object(), [[]], [[None] * 32], [["1"] * 32], [[1.0] * 31]]
NO_VECTORS += [
    [[10**400] * 32],
    [[1e39] * 32],
    [[True] * 32],
    [[1j] * 32],
    [[[1.0] * 32]],
    np.ones(32),
    np.ones((1, 1, 32)),
]
NO_VECTORS += [np.ones((2, 32)), np.full((1, 32), None), np.full((1, 32), "x"), np.full((1, 32), np.inf), iter([1.0])]
NO_VECTORS += [[{1.0}], [[1.0] * 32, [1.0]], [{"a": 1.0}], np.zeros((1, 32)), memoryview(b"x")]


@pytest.mark.parametrize("returned", NO_VECTORS, ids=range(len(NO_VECTORS)))
def test_an_embedder_that_answers_no_vectors_is_named_and_nothing_is_stored(returned):
    with Collection("c", embedder=CallableEmbedder("junk", 32, lambda texts: returned)) as db:
        for call in (lambda: db.remember("x"), lambda: db.add("x"), lambda: db.search("x"), lambda: db.recall("x")):
            with pytest.raises(EmbedderError, match="junk"):
                call()
        assert db.count() == 0


NO_FACTS = [
    None,
    "text",
    b"text",
    3,
    object(),
    int,
    [None],
    [3],
    [[]],
    [{}],
    [{"text": None}],
    [{"text": ""}],
    {"text": "x"},
]
NO_FACTS += [
    [{"text": "x", "turns": [99]}],
    [{"text": "x", "turns": "0"}],
    [{"text": "x", "turns": [-1]}],
    [" "],
    ["\ud800"],
]
NO_FACTS += [
    [{"text": "x", "key": ""}],
    [{"text": "x", "pinned": 1}],
    [{"text": "x", "turns": [0.5]}],
    ["x" * 5_000_000],
]
NO_FACTS += [
    [{"text": "x", "turns": [True]}],
    [{"text": "x", "turns": None, "other": 1}],
    [{"text": "x", "key": 3}],
    [b"x"],
]


@pytest.mark.parametrize("returned", NO_FACTS, ids=range(len(NO_FACTS)))
def test_a_summarizer_that_answers_no_facts_is_named_and_the_turns_stay(memory_db, returned):
    memory_db.remember("a turn", session="s")
    with pytest.raises(SummarizeError) as caught:
        memory_db.consolidate("s", lambda turns: returned, keep_recent=0)
    assert caught.value.report.turns_removed == 0
    assert (memory_db.count(), len(memory_db.turns("s"))) == (1, 1)


def test_objects_whose_end_touches_the_collection_never_hang(tmp_path):
    """`__del__` runs wherever the last reference goes, within a call of the collection too, and in any thread."""
    done = []

    class Last:
        def __init__(self, db):
            self.db = db
            self.me = self  # a cycle: it goes when the collector runs, within whatever runs then

        def __del__(self):
            self.db.remember("at the end", session="ends")
            self.db.recall("the end", session="ends", min_relevance=None)
            done.append(threading.current_thread())

    acting = Acting("collects")
    threshold = gc.get_threshold()
    with acting.opened(tmp_path) as db:
        gc.set_threshold(200, 5, 5)
        try:

            def ends():
                for i in range(15):
                    Last(db)
                    db.remember(f"turn {i} of the embedder", session="s")
                    db.context("of the counter", session="counted")

            while_16_work(db, ends)
        finally:
            gc.set_threshold(*threshold)
            gc.collect()
        assert len(done) == 15 == db.count(session="ends")
