"""Plain callables that wait, in a thread of the pool, for twins of the same collection: more of them than threads."""

import asyncio
import threading

import pytest

from retentive import CallableEmbedder, Collection, ConversationMemory, HashEmbedder
from retentive._pool import THREADS

HASH = HashEmbedder(64)


def in_a_loop_of_its_own(coroutine, loop):
    return asyncio.run(coroutine)


def on_the_callers_loop(coroutine, loop):
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result(60)


@pytest.mark.parametrize("wait_for", [in_a_loop_of_its_own, on_the_callers_loop])
def test_a_judge_that_waits_for_a_twin_stops_nobody(wait_for):
    async def use():
        loop, together = asyncio.get_running_loop(), threading.Barrier(THREADS)

        def judge(text, candidates):
            together.wait(60)  # every thread of the pool is taken
            found = wait_for(db.arecall("the office", session="s", min_relevance=None), loop)
            return [candidate in found.texts for candidate in candidates]

        async with Collection("c", embedder=HASH) as db:
            await db.aremember("The office is in Lyon", kind="fact", session="s")
            db.memory = ConversationMemory(db, judge=judge)
            calls = [db.aremember(f"The office is in Paris {n}", kind="fact", session="s") for n in range(THREADS)]
            async with asyncio.timeout(30):
                assert len(await asyncio.gather(*calls)) == THREADS

    asyncio.run(use())


def test_an_embedder_that_waits_for_a_twin_of_another_collection_that_waits_for_this_one():
    async def use():
        def deep(texts):
            if texts[0].startswith("deep"):
                asyncio.run(other.aremember(f"other {texts[0]}"))
            return HASH.embed_documents(texts)

        def back(texts):
            if texts[0].startswith("other"):
                assert asyncio.run(db.acount()) >= 0
            return HASH.embed_documents(texts)

        async with (
            Collection("a", embedder=CallableEmbedder("deep", 64, deep)) as db,
            Collection("b", embedder=CallableEmbedder("back", 64, back)) as other,
        ):
            async with asyncio.timeout(30):
                await asyncio.gather(*[db.aremember(f"deep {n}") for n in range(4 * THREADS)])
            assert (await db.acount(), await other.acount()) == (4 * THREADS, 4 * THREADS)

    asyncio.run(use())


def test_threads_of_nested_calls_end_with_them():
    async def use():
        def embed(texts):
            if texts[0].startswith("deep"):
                asyncio.run(db.acount())
            return HASH.embed_documents(texts)

        async with Collection("c", embedder=CallableEmbedder("nested", 64, embed)) as db:
            before = threading.active_count()
            for number in range(20):
                await db.aremember(f"deep {number}")
            assert threading.active_count() <= before + THREADS + 1  # one may be about to end

    asyncio.run(use())
