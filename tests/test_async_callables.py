"""Async embedders, judges and summarizers: awaited on the caller's loop, refused where nobody could await them."""

import asyncio
import functools
import gc
import threading

import numpy as np
import pytest

from retentive import (
    AsyncEmbedder,
    ClosedError,
    Collection,
    ConfigurationError,
    ConversationMemory,
    EmbedderError,
    JudgeError,
    SummarizeError,
)
from retentive.embedders import CallableEmbedder, HashEmbedder

HASH = HashEmbedder(64)


@pytest.fixture(autouse=True)
def no_coroutine_is_left():
    """A coroutine that nobody awaited warns when it is collected, and a warning is an error."""
    yield
    gc.collect()


async def embed(texts):
    await asyncio.sleep(0.001)
    return HASH.embed_documents(texts)


class Remote:
    """An embedder whose methods are coroutine functions, with everything an embedder may have."""

    name, dimension = "remote", 64
    noise_floor = 0.3

    def __init__(self):
        self.loops = set()
        self.threads = set()

    def __seen(self):
        self.loops.add(asyncio.get_running_loop())
        self.threads.add(threading.current_thread())

    async def embed_documents(self, texts):
        self.__seen()
        return await embed(texts)

    async def embed_query(self, text):
        self.__seen()
        return (await embed([text]))[0]

    async def embed_parts(self, texts):
        return [rows.reshape(1, -1) for rows in await self.embed_documents(texts)]

    async def query_terms(self, text):
        return (await embed([text])), [(0, len(text))]


def open_async(tmp_path, embedder=None, **options):
    return Collection("remote", path=tmp_path, embedder=embedder or CallableEmbedder("async", 64, embed), **options)


async def never(text, candidates):
    await asyncio.sleep(0)
    return [False] * len(candidates)


async def always(text, candidates):
    await asyncio.sleep(0)
    return [True] * len(candidates)


def test_100_concurrent_calls_with_an_async_embedder(tmp_path):
    """Had a thread waited for each coroutine, four would wait and the rest of the hundred would never begin."""
    arrived, all_there = [], asyncio.Event()

    async def together(texts):
        if texts[0].startswith("number"):
            arrived.append(texts[0])
            if len(arrived) == 100:
                all_there.set()
            await all_there.wait()
        return HASH.embed_documents(texts)

    async def use():
        async with open_async(tmp_path, CallableEmbedder("together", 64, together)) as db:
            calls = [db.aremember(f"number {n}", session=f"s{n % 7}") for n in range(100)]
            ids = await asyncio.wait_for(asyncio.gather(*calls), 60)
            assert len(set(ids)) == 100
            hits = await asyncio.gather(*[db.arecall("number", session=f"s{n % 7}", limit=3) for n in range(100)])
            assert all(len(found) == 3 for found in hits)
            assert await db.acount() == 100

    asyncio.run(use())


def test_an_async_callable_may_use_the_collection(tmp_path):
    async def use():
        async with open_async(tmp_path) as db:

            async def judge(text, candidates):
                await db.arecall(text, session="s")
                await db.aremember(f"judged {text}", session="log")
                return [False] * len(candidates)

            db.memory = ConversationMemory(db, judge=judge)
            calls = [db.aremember(f"fact {n}", session="s", kind="fact") for n in range(30)]
            await asyncio.wait_for(asyncio.gather(*calls), 60)
            assert await db.acount(session="s") == 30
            assert len(await db.aturns("log")) >= 20

    asyncio.run(use())


def test_an_embedder_object_is_awaited_on_the_callers_loop(tmp_path):
    remote: AsyncEmbedder = Remote()

    async def use(db):
        await db.awarmup()
        first = await db.aremember("I'd like the report as a PDF", session="s")
        await db.aremember_many([{"text": f"number {n}", "session": "s"} for n in range(5)])
        assert (await db.arecall("the report as a PDF", session="s", limit=1)).ids == [first]
        assert "the report as a PDF" in (await db.acontext("report", session="s")).text
        await db.aadd(["a document"])
        assert (await db.asearch("a document", max_distance="auto")).texts == ["a document"]
        new = await db.afeedback(first, "corrected", correction="a spreadsheet")
        assert [memory.id for memory in await db.ahistory(first)] == [first, new]
        return asyncio.get_running_loop()

    with open_async(tmp_path, remote) as db:
        one = asyncio.run(use(db))
        assert (remote.loops, remote.threads) == ({one}, {threading.main_thread()})


def test_two_loops_in_two_threads_each_await_their_own_calls(tmp_path):
    remote = Remote()

    async def use(db, name):
        await asyncio.gather(*[db.aremember(f"{name} {n}", session=name) for n in range(20)])

    with open_async(tmp_path, remote) as db:
        threads = [threading.Thread(target=lambda name=name: asyncio.run(use(db, name))) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert remote.threads == set(threads)
        assert [len(db.turns(name)) for name in "ab"] == [20, 20]


def test_async_vectors_are_the_plain_ones(tmp_path):
    with Collection("plain", path=tmp_path, embedder=CallableEmbedder("async", 64, HASH.embed_documents)) as db:
        memory = db.remember("the same text")
        expected = db.get([memory], vectors=True)[0].vector

    async def use():
        async with Collection("plain", path=tmp_path, embedder=CallableEmbedder("async", 64, embed)) as db:
            other = await db.aremember("the same text")
            assert np.array_equal((await db.aget([other], vectors=True))[0].vector, expected)

    asyncio.run(use())


def test_an_async_judge_supersedes(memory_db):
    async def use():
        memory_db.memory = ConversationMemory(memory_db, judge=always)
        old = await memory_db.aremember("The sky is blue", kind="fact", session="s")
        new = await memory_db.aremember("The sky is grey", kind="fact", session="s")
        (newest,) = await memory_db.aremember_many([{"text": "The sky is red", "kind": "fact", "session": "s"}])
        assert [memory.id for memory in await memory_db.ahistory(old)] == [old, new, newest]

    asyncio.run(use())


def test_an_async_summarizer_consolidates(memory_db):
    async def summarize(turns):
        await asyncio.sleep(0)
        return [f"{len(turns)} turns from {turns[0]['text']!r}"]

    async def use():
        await memory_db.aremember_many([{"text": f"number {n}", "session": "s"} for n in range(20)])
        report = await memory_db.aconsolidate("s", summarize, batch_turns=7)
        assert report.turns_removed == 14
        facts = await memory_db.aget(report.fact_ids)
        assert [fact.text for fact in facts] == ["7 turns from 'number 0'", "7 turns from 'number 7'"]

    asyncio.run(use())


def test_plain_callables_work_in_the_twins_too(memory_db):
    async def use():
        memory_db.memory = ConversationMemory(memory_db, judge=lambda text, candidates: [True] * len(candidates))
        old = await memory_db.aremember("The sky is blue", kind="fact", session="s")
        await memory_db.aremember("The sky is grey", kind="fact", session="s")
        assert len(await memory_db.ahistory(old)) == 2
        await memory_db.aremember_many([{"text": f"number {n}", "session": "s"} for n in range(8)])
        done = []
        report = await memory_db.aconsolidate("s", lambda turns: ["a fact"], progress=lambda *told: done.append(told))
        assert (report.turns_removed, done) == (2, [(2, None)])

    asyncio.run(use())


class TestFailing:
    def test_errors_are_wrapped_as_those_of_plain_callables(self, tmp_path):
        async def broken(*_):
            raise OSError("no network")

        async def use():
            async with open_async(tmp_path, CallableEmbedder("broken", 64, broken)) as db:
                with pytest.raises(EmbedderError, match=r"broken\.embed_documents raised OSError") as raised:
                    await db.aremember("text")
                assert isinstance(raised.value.__cause__, OSError)
                assert await db.acount() == 0
            async with Collection("judged", embedder=HASH) as db:
                db.memory = ConversationMemory(db, judge=broken, on_judge_error="raise")
                await db.aremember("The sky is blue", kind="fact")
                with pytest.raises(JudgeError):
                    await db.aremember("The sky is grey", kind="fact")
                assert await db.acount() == 1
                db.memory.on_judge_error = "keep"
                kept = await db.aremember("The sky is grey", kind="fact")
                assert (await db.aget_one(kept)).metadata["_vx_judge"] == "failed"
                await db.aremember_many([{"text": f"number {n}", "session": "s"} for n in range(8)])
                with pytest.raises(SummarizeError) as raised:
                    await db.aconsolidate("s", broken)
                assert raised.value.report.turns_removed == 0
                assert len(await db.aturns("s")) == 8

        asyncio.run(use())

    @pytest.mark.parametrize("answer", [[[1.0]], "text", None, [[float("nan")] * 64]])
    def test_wrong_vectors_are_refused(self, tmp_path, answer):
        async def wrong(texts):
            return answer

        async def use():
            async with open_async(tmp_path, CallableEmbedder("wrong", 64, wrong)) as db:
                with pytest.raises(EmbedderError):
                    await db.aremember("text")

        asyncio.run(use())


class TestBlockingMethods:
    @pytest.mark.parametrize(
        "fn",
        [
            embed,
            lambda texts: embed(list(texts)),
            functools.partial(embed),
            type("Client", (), {"__call__": lambda self, texts: embed(texts)})(),
        ],
        ids=["function", "lambda", "partial", "object"],
    )
    def test_refuse_an_async_embedder_with_a_hint(self, tmp_path, fn):
        with open_async(tmp_path, CallableEmbedder("async", 64, fn)) as db:
            for call in (
                lambda: db.remember("text"),
                lambda: db.recall("text"),
                lambda: db.context("text", "s"),
                lambda: db.search("text"),
                lambda: db.add("text"),
                lambda: db.remember_many([{"text": "text"}]),
                db.warmup,
            ):
                with pytest.raises(ConfigurationError, match=r"async.* is an async function") as raised:
                    call()
                assert "aremember" in raised.value.hint
            assert db.count() == 0
            assert db.recall("text", mode="lexical").ids == []  # which needs no embedder

    def test_refuse_an_embedder_object_whose_methods_are_async(self, tmp_path):
        with open_async(tmp_path, Remote()) as db, pytest.raises(ConfigurationError, match=r"remote.embed_documents"):
            db.remember("text")

    @pytest.mark.parametrize("on_judge_error", ["keep", "raise"])
    def test_refuse_an_async_judge_before_anything_is_embedded_or_stored(self, tmp_path, on_judge_error):
        asked = []

        def counted(texts):
            asked.append(texts)
            return HASH.embed_documents(texts)

        with open_async(tmp_path, CallableEmbedder("counted", 64, counted)) as db:
            db.memory = ConversationMemory(db, judge=never, on_judge_error=on_judge_error)
            with pytest.raises(ConfigurationError, match="the judge never is an async function"):
                db.remember("The sky is blue", kind="fact")  # also where there is nothing to compare with
            with pytest.raises(ConfigurationError, match="the judge never"):
                db.remember_many([{"text": "The sky is blue", "kind": "fact"}])
            assert (asked, db.count()) == ([], 0)
            db.remember("a turn, which no judge sees")

    def test_refuse_a_judge_that_turns_out_to_be_async(self, memory_db):
        memory_db.remember("The sky is blue", kind="fact")
        memory_db.memory = ConversationMemory(memory_db, judge=lambda text, among: never(text, list(among)))
        with pytest.raises(ConfigurationError, match="the judge"):
            memory_db.remember("The sky is grey", kind="fact")
        items = [{"text": "a turn"}, {"text": "The sky is red", "kind": "fact"}]
        with pytest.raises(ConfigurationError) as raised:
            memory_db.remember_many(items)
        assert raised.value.stored == 1
        assert memory_db.count() == 2

    @pytest.mark.parametrize("turns", [0, 8])
    def test_refuse_an_async_summarizer(self, memory_db, turns):
        async def summarize(turns):
            return []

        memory_db.remember_many([{"text": f"number {n}", "session": "s"} for n in range(turns)])
        with pytest.raises(ConfigurationError, match=r"the summarizer .*summarize is an async function"):
            memory_db.consolidate("s", summarize)
        if turns:
            with pytest.raises(ConfigurationError, match="the summarizer"):
                memory_db.consolidate("s", lambda turns: summarize(list(turns)))
        assert len(memory_db.turns("s")) == turns


def test_what_nobody_awaits_may_not_be_async(memory_db):
    async def count(text):
        return 1

    async def progress(done, total):
        pass

    with pytest.raises(ConfigurationError, match="token_counter is an async function"):
        Collection("counted", token_counter=count)

    async def use():
        for call in (
            memory_db.aremember_many([{"text": "text"}], progress=progress),
            memory_db.aadd(["text"], progress=progress),
            memory_db.aconsolidate("s", lambda turns: [], progress=progress),
        ):
            with pytest.raises(ConfigurationError, match="progress is an async function"):
                await call
        assert await memory_db.acount() == 0

    asyncio.run(use())


class TestCancelling:
    def test_the_callers_coroutine_is_cancelled_and_nothing_is_stored(self, tmp_path):
        seen = []

        async def slow(texts):
            try:
                await asyncio.sleep(0 if texts[0].startswith("The quick") else 60)
            except asyncio.CancelledError:
                seen.append(texts)
                raise
            return HASH.embed_documents(texts)

        async def use():
            async with open_async(tmp_path, CallableEmbedder("slow", 64, slow)) as db:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.2):
                        await db.aremember("never stored", session="s")
                assert seen == [["never stored"]]
                assert await db.acount() == 0

        asyncio.run(use())

    def test_a_bulk_write_says_how_far_it_came(self, tmp_path):
        stalled = asyncio.Event()

        async def stalls(texts):
            if "number 1000" in texts:
                stalled.set()
                await asyncio.sleep(60)
            return HASH.embed_documents(texts)

        async def use():
            async with open_async(tmp_path, CallableEmbedder("stalls", 64, stalls)) as db:

                async def write():
                    try:
                        await db.aremember_many([{"text": f"number {n}"} for n in range(3_000)])
                    except asyncio.CancelledError as error:
                        return error.stored

                task = asyncio.create_task(write())
                await stalled.wait()
                task.cancel()
                assert (await task, await db.acount()) == (1_000, 1_000)

        asyncio.run(use())

    def test_a_consolidation_says_how_far_it_came(self, memory_db):
        stalled = asyncio.Event()

        async def summarize(turns):
            if turns[0]["text"] == "number 4":
                stalled.set()
                await asyncio.sleep(60)
            return [f"from {turns[0]['text']}"]

        async def use():
            await memory_db.aremember_many([{"text": f"number {n}", "session": "s"} for n in range(12)])
            task = asyncio.create_task(memory_db.aconsolidate("s", summarize, keep_recent=0, batch_turns=2))
            await stalled.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as raised:
                await task
            assert (raised.value.report.turns_removed, len(raised.value.report.fact_ids)) == (4, 2)
            assert len(await memory_db.aturns("s")) == 8

        asyncio.run(use())

    def test_what_a_step_asks_for_after_its_caller_has_gone_is_let_go(self, tmp_path):
        """The embedder is plain and stands still; the judge, which is async, would be next."""
        entered, opened, asked = threading.Event(), threading.Event(), []

        def plain(texts):
            if texts == ["The sky is grey"]:
                entered.set()
                assert opened.wait(30)
            return HASH.embed_documents(texts)

        async def judge(text, candidates):
            asked.append(text)
            return [True]

        async def use():
            async with open_async(tmp_path, CallableEmbedder("plain", 64, plain)) as db:
                await db.aremember("The sky is blue", kind="fact")
                db.memory = ConversationMemory(db, judge=judge)
                task = asyncio.create_task(db.aremember("The sky is grey", kind="fact"))
                await asyncio.to_thread(entered.wait, 30)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                opened.set()
                await asyncio.gather(*[db.acount() for _ in range(50)])
                assert (asked, await db.acount()) == ([], 1)

        asyncio.run(use())

    def test_closing_while_a_coroutine_is_awaited_ends_the_call_as_closed(self, tmp_path):
        waiting, go = asyncio.Event(), asyncio.Event()

        async def held(texts):
            if texts == ["held"]:
                waiting.set()
                await go.wait()
            return HASH.embed_documents(texts)

        async def use():
            db = open_async(tmp_path, CallableEmbedder("held", 64, held))
            task = asyncio.create_task(db.aremember("held"))
            await waiting.wait()
            await db.aclose()
            go.set()
            with pytest.raises(ClosedError):
                await task

        asyncio.run(use())
