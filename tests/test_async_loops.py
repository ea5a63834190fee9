"""Two event loops, each in a thread of its own, on one collection: nothing lost, nothing mixed, nothing hung."""

import asyncio
import contextlib
import os
import random
import threading

import pytest

from retentive import CallableEmbedder, Collection, ConflictError, ConversationMemory, HashEmbedder

SOAK = bool(os.environ.get("RETENTIVE_SOAK"))
CALLS = 1_500 if SOAK else 60  # of each coroutine
TALKERS = 4  # coroutines a loop
HASH = HashEmbedder(32)

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1_500 if SOAK else 120)]


class Talker:
    """A coroutine with a fixed number of calls, a sixth of which it cancels; it knows what must be there."""

    def __init__(self, db, label, target, seed):
        self.db, self.label, self.target = db, label, target
        self.random = random.Random(seed)
        self.kept, self.maybe, self.corrections = [], set(), []

    async def talk(self):
        for i in range(CALLS):
            await self.random.choice((self.says, self.says, self.cancels, self.reads, self.corrects, self.forgets))(i)

    async def says(self, i):
        session = self.random.choice((self.label, "all"))
        self.kept.append(await self.db.aremember(f"{self.label} says {i}", session=session))

    async def cancels(self, i):
        given = f"{self.label} maybe {i}"
        call = asyncio.create_task(self.db.aremember(f"{self.label} says maybe {i}", session=self.label, id=given))
        await asyncio.sleep(self.random.choice((0, 0.001)))
        call.cancel()
        try:
            self.kept.append(await call)
        except asyncio.CancelledError:
            self.maybe.add(given)

    async def reads(self, i):
        found = await self.db.arecall(f"says {i}", session=self.label, limit=5, min_relevance=None)
        assert all(row.text.startswith(f"{self.label} says") for row in found), found
        turns = [turn.turn for turn in await self.db.aturns("all")]
        assert turns == sorted(set(turns)), turns

    async def corrects(self, i):
        with contextlib.suppress(ConflictError):
            made = await self.db.afeedback(self.target, "corrected", correction=f"{self.label} corrects {i}")
            self.corrections.append(made)

    async def forgets(self, i):
        if self.kept:
            forgotten = self.kept.pop(self.random.randrange(len(self.kept)))
            assert await self.db.aforget(ids=[forgotten]) == 1


def test_two_loops_lose_nothing_and_mix_nothing(tmp_path, counted):
    loops = {}

    async def embed(texts):  # awaited on the loop of whoever calls
        assert loops[threading.current_thread()] is asyncio.get_running_loop()
        await asyncio.sleep(0)
        return HASH.embed_documents(texts)

    async def judge(new, candidates):
        assert loops[threading.current_thread()] is asyncio.get_running_loop()
        await asyncio.sleep(0)
        return [False] * len(candidates)

    async def main(talkers):
        loops[threading.current_thread()] = asyncio.get_running_loop()
        await asyncio.gather(*[talker.talk() for talker in talkers])

    failed, plain = [], CallableEmbedder("c", 32, HASH.embed_documents)

    def run(talkers):
        try:
            asyncio.run(main(talkers))
        except BaseException as error:
            failed.append(error)

    with Collection("c", tmp_path, embedder=CallableEmbedder("c", 32, embed), durability="normal") as db:
        with Collection("c", tmp_path, embedder=plain) as other:
            target = other.remember("what all of them correct", session="corrected", kind="fact")
        db.memory = ConversationMemory(db, judge=judge)
        talkers = [Talker(db, f"loop {n % 2} talker {n // 2}", target, n) for n in range(2 * TALKERS)]
        threads = [threading.Thread(target=run, args=(talkers[n::2],)) for n in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
    kept, maybe, made = (
        set().union(*[getattr(talker, what) for talker in talkers]) for what in ("kept", "maybe", "corrections")
    )
    with Collection("c", tmp_path, embedder=plain) as db:  # what was cancelled is stored by now, or never
        there = {row.id for row in db.get([*kept, *maybe, *made, target])}
        assert kept | made | {target} <= there
        assert db.count() == len(there)
        for talker in talkers:
            turns = db.turns(talker.label)
            assert all(turn.text.startswith(f"{talker.label} says") for turn in turns)
            assert [turn.turn for turn in turns] == sorted({turn.turn for turn in turns})
        chain = db.history(target)
        assert {row.id for row in chain} == {target, *made}
        assert [row.superseded_by for row in chain] == [*[row.id for row in chain[1:]], None]
        assert db.verify().ok
    counted(operations_compared=2 * TALKERS * CALLS)
