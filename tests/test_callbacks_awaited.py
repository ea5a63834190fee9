"""Async callables that raise, answer junk, sleep, use the collection, start tasks or threads; plain ones cancelled."""

import asyncio
import itertools
import threading

import pytest

from retentive import (
    CallableEmbedder,
    Collection,
    ConversationMemory,
    EmbedderError,
    HashEmbedder,
    SummarizeError,
)

INNER = HashEmbedder(32)
TRIGGER = "trigger"
NUMBERS = itertools.count()
WORKING = 8  # coroutines beside the call
ROUNDS = 3

pytestmark = pytest.mark.timeout(120)  # a deadlock fails, with every thread's stack: see `watchdog.py`


async def use(db):
    """What a callable may await of the collection that awaits it."""
    inside = f"inside {next(NUMBERS)}"  # another task's facts are not forgotten here
    new = await db.aremember("from inside", session=inside, kind="fact", check=False)
    await db.afeedback(new, "corrected", correction="from further inside")
    await db.arecall("inside", session=inside, min_relevance=None)
    await db.acontext("inside", session=inside)
    await db.aforget(session=inside, kinds=("fact",))


async def raises(db):
    raise RuntimeError("the callable failed")


async def starts_tasks(db):
    await asyncio.gather(*[use(db) for _ in range(3)])


async def starts_threads(db):
    def job():
        db.recall("inside", session="inside", mode="lexical")  # a blocking method cannot await the embedder
        db.stats()

    await asyncio.gather(*[asyncio.to_thread(job) for _ in range(3)])


async def waits_for_a_task(db):
    await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(use(db))), 30)


async def cancels_what_it_started(db):
    tasks = [asyncio.ensure_future(use(db)) for _ in range(3)]
    await asyncio.sleep(0.001)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


ACTS = {
    "raises": raises,
    "junk": lambda db: asyncio.sleep(0),
    "sleeps": lambda db: asyncio.sleep(0.05),
    "calls back": use,
    "starts tasks": starts_tasks,
    "starts threads": starts_threads,
    "waits for a task": waits_for_a_task,
    "cancels what it started": cancels_what_it_started,
}
FAILS = ("raises", "junk")


class Acting:
    """Three async callables; each does what it is told when its text says so, and never within itself."""

    def __init__(self, act):
        self.act, self.db, self.asked = act, None, []

    async def about(self, what, wanted, answer):
        if not wanted or what in self.asked:
            return answer
        self.asked.append(what)
        await ACTS[self.act](self.db)
        return object() if self.act == "junk" else answer

    async def embed(self, texts):
        return await self.about("embedder", "of the embedder" in texts, INNER.embed_documents(texts))

    async def judge(self, new, candidates):
        return await self.about("judge", TRIGGER in new, [False] * len(candidates))

    async def summarize(self, turns):
        return await self.about("summarizer", True, [turns[0]["text"]])


async def work(db, number):
    for i in range(ROUNDS):
        await db.aremember(f"said {i} by {number}", session=f"work {number % 4}")
        assert await db.arecall("said", session=f"work {number % 4}", min_relevance=None)


@pytest.mark.parametrize("act", ACTS)
def test_calls_end_right_whatever_an_async_callable_does(tmp_path, act):
    acting = Acting(act)

    async def awaited(error, call):
        if act not in FAILS:
            return await call
        with pytest.raises(error) as caught:
            await call
        assert (caught.value.__cause__ is not None) == (act == "raises")
        return None

    async def main():
        async with Collection("c", tmp_path, embedder=CallableEmbedder("c", 32, acting.embed)) as db:
            db.memory = ConversationMemory(db, judge=acting.judge)
            await db.aremember("known", session="judged", kind="fact", check=False)
            await db.aremember_many([{"text": f"turn {i}", "session": "folded"} for i in range(8)])
            acting.db = db
            _, fact, _, *_ = await asyncio.gather(
                awaited(EmbedderError, db.aremember("of the embedder", session="embedded")),
                db.aremember(f"{TRIGGER} a fact", session="judged", kind="fact"),
                awaited(SummarizeError, db.aconsolidate("folded", acting.summarize, keep_recent=2)),
                *[work(db, number) for number in range(WORKING)],
            )
            verdict = (await db.aget_one(fact)).metadata["_vx_judge"]
            assert verdict == ("failed" if act in FAILS else "ok")
            assert set(acting.asked) == {"embedder", "judge", "summarizer"}
            assert await db.acount(session="embedded") == (act not in FAILS)
            assert len(await db.aturns("folded")) == (8 if act in FAILS else 2)
            assert await db.acount(session="judged") == 2
            assert sum([await db.acount(session=f"work {n}") for n in range(4)]) == WORKING * ROUNDS
            assert (await db.averify()).ok

    asyncio.run(asyncio.wait_for(main(), 60))


@pytest.mark.parametrize("what", ["embedder", "counter", "judge", "summarizer"])
def test_a_call_cancelled_while_a_plain_callable_runs_ends_at_once_and_stores_all_or_nothing(tmp_path, what):
    """The callable cannot be stopped: it stands in a thread, and its answer is for nobody, or for a whole write."""
    inside, go = threading.Event(), threading.Event()

    def stands(which, answer):
        if which == what and threading.current_thread() is not threading.main_thread():
            inside.set()
            assert go.wait(60)
        return answer

    def embed(texts):
        return stands("embedder" if TRIGGER in texts[0] else "", INNER.embed_documents(texts))

    def count(text):
        return stands("counter", len(text))

    async def main():
        async with Collection("c", tmp_path, embedder=CallableEmbedder("c", 32, embed), token_counter=count) as db:
            db.memory = ConversationMemory(db, judge=lambda new, old: stands("judge", [False] * len(old)))
            db.remember("known", session="s", kind="fact", check=False)
            db.remember_many([{"text": f"turn {i}", "session": "s"} for i in range(4)])
            calls = {
                "embedder": lambda: db.aremember(TRIGGER, session="s"),
                "counter": lambda: db.acontext("x", session="s"),
                "judge": lambda: db.aremember("a fact", session="s", kind="fact"),
                "summarizer": lambda: db.aconsolidate("s", lambda turns: stands("summarizer", ["x"]), keep_recent=0),
            }
            task = asyncio.create_task(calls[what]())
            assert await asyncio.to_thread(inside.wait, 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(task, 30)  # though the callable goes on
            assert len(await db.aturns("s")) == 4
            go.set()
            await asyncio.gather(*[db.aremember(f"after {i}", session="t") for i in range(20)])
            assert [turn.turn for turn in await db.aturns("t")] == list(range(20))
        left = {"embedder": {5, 6}, "counter": {5}, "judge": {5, 6}, "summarizer": {5, 2}}  # nothing, or the whole
        with Collection("c", tmp_path, embedder=CallableEmbedder("c", 32, INNER.embed_documents)) as again:
            assert again.count(session="s") in left[what]
            assert again.verify().ok

    asyncio.run(asyncio.wait_for(main(), 100))
