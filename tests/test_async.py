"""A collection in an asyncio program: a small pool of its own, a loop that is never blocked, cancelling, forks."""

import asyncio
import contextvars
import gc
import logging
import sys
import threading
import time
import weakref

import pytest

from retentive import ClosedError, Collection, InvalidInputError, NotFoundError
from retentive._pool import THREADS
from retentive.embedders import CallableEmbedder, HashEmbedder

PATIENCE_S = 30
HASH = HashEmbedder(64)


def threads_of(db):
    return [thread for thread in threading.enumerate() if thread.name.startswith(f"retentive-{db.name}_")]


async def until(condition):
    """Wait until something that a thread does has happened."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - threads set no asyncio events
            await asyncio.sleep(0.005)


class Gate:
    """A plain embedder that stands still in its thread until it is opened."""

    def __init__(self):
        self.open = threading.Event()
        self.inside = 0

    def __call__(self, texts):
        self.inside += 1
        assert self.open.wait(PATIENCE_S)
        return HASH.embed_documents(texts)


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.open.set()


@pytest.fixture
def gated(tmp_path, gate):
    """A collection whose model is bound already and whose embedder stands still from now on."""
    gate.open.set()
    with Collection("gated", path=tmp_path, embedder=CallableEmbedder("gate", 64, gate)) as db:
        db.remember("before", session="before")
        gate.open.clear()
        gate.inside = 0
        yield db
        gate.open.set()


class Longest(logging.Handler):
    """What asyncio's slow-callback check reports."""

    def __init__(self):
        super().__init__()
        self.seconds, self.callback, self.count = 0.0, "", 0

    def emit(self, record):
        if str(record.msg).startswith("Executing"):
            callback, seconds = record.args
            self.count += 1
            if seconds > self.seconds:
                self.seconds, self.callback = seconds, callback


def longest_callback(work):
    """Run `work()` on a loop of its own; return what its callbacks took."""
    longest = Longest()
    logger = logging.getLogger("asyncio")

    async def checked():
        loop = asyncio.get_running_loop()
        loop.set_debug(True)
        loop.slow_callback_duration = 0  # report all of them
        await asyncio.sleep(0)  # the callback under way is not checked yet
        await work()

    logger.addHandler(longest)
    propagate, logger.propagate = logger.propagate, False
    try:
        asyncio.run(checked())
    finally:
        logger.removeHandler(longest)
        logger.propagate = propagate
    return longest


def test_the_longest_callback_is_a_fraction_of_one_blocking_call(tmp_path, capsys):
    """Best of three: other programs of the machine may hold up a callback, but not in every run."""
    nap_s = 0.2

    def slow(texts):
        time.sleep(nap_s)
        return HASH.embed_documents(texts)

    async def with_twins():
        await asyncio.gather(*[db.aremember(f"number {n}", session=f"s{n % 3}") for n in range(12)])
        await asyncio.gather(*[db.acontext("which number", session=f"s{n}") for n in range(3)])

    async def without():
        db.remember("number 1", session="s")

    with Collection("slow", path=tmp_path, embedder=CallableEmbedder("slow", 64, slow)) as db:
        runs = [longest_callback(with_twins) for _ in range(3)]
        blocked = longest_callback(without)
    best = min(runs, key=lambda run: run.seconds)
    with capsys.disabled():
        sys.stdout.write(
            f"longest callback {best.seconds * 1e3:.2f} ms, of a blocking call {blocked.seconds * 1e3:.0f} ms "
        )
    assert min(run.count for run in runs) > 30
    assert blocked.seconds >= nap_s
    assert best.seconds < nap_s / 10, best.callback


def test_opening_starts_no_thread_and_the_pool_stays_small(gated, gate):
    async def chats():
        assert threads_of(gated) == []
        calls = [asyncio.create_task(gated.aremember(f"number {n}", session="s")) for n in range(40)]
        await until(lambda: gate.inside == THREADS)
        assert len(threads_of(gated)) == THREADS
        gate.open.set()
        assert len(set(await asyncio.gather(*calls))) == 40
        assert len(threads_of(gated)) == THREADS

    asyncio.run(chats())
    assert [turn.turn for turn in gated.turns("s")] == list(range(40))


@pytest.mark.parametrize("close", ["aclose", "close", "drop"])
def test_closing_or_dropping_ends_the_threads(close):
    db = Collection(f"ends-{close}", embedder=HASH)

    async def use(db):
        await db.aremember("hello")
        assert len(threads_of(db)) == 1
        if close == "aclose":
            await db.aclose()
            await db.aclose()
        elif close == "close":
            db.close()

    asyncio.run(use(db))
    threads = threads_of(db)
    del db
    gc.collect()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def gone_within(seconds, alive):
    deadline = time.monotonic() + seconds
    while alive() is not None and time.monotonic() < deadline:
        time.sleep(0.001)
    return alive() is None


def test_an_error_keeps_no_collection_alive():
    """As with the blocking methods: a frame that holds an error that holds the frame waits for the collector."""

    async def fails(db):
        with pytest.raises(InvalidInputError):
            await db.aremember("")
        with pytest.raises(NotFoundError):
            await db.afeedback("mem_unknown", "useful")

    gc.disable()
    try:
        db = Collection("dropped", embedder=HASH)
        asyncio.run(fails(db))
        alive = weakref.ref(db)
        del db
        # The pool's thread lets go of its last call a moment after that call was answered.
        assert gone_within(5, alive)
    finally:
        gc.enable()


def test_async_with_closes_also_when_its_body_raises(tmp_path):
    async def fails():
        async with Collection("block", path=tmp_path, embedder=HASH) as db:
            await db.aremember("hello")
            raise KeyError(db)

    with pytest.raises(KeyError) as raised:
        asyncio.run(fails())
    assert raised.value.args[0].closed


def test_a_closed_collection_says_so(memory_db):
    async def use():
        await memory_db.aclose()
        for call in (
            memory_db.aremember("a"),
            memory_db.arecall("a"),
            memory_db.acount(),
            memory_db.memory.aturns("s"),
        ):
            with pytest.raises(ClosedError, match="open it again"):
                await call

    asyncio.run(use())


def test_closing_under_calls_ends_each_well_or_as_closed(gated, gate):
    async def use():
        calls = [asyncio.create_task(gated.aremember(f"number {n}")) for n in range(20)]
        await until(lambda: gate.inside == THREADS)
        gated.close()  # all threads stand in the embedder, so `aclose` would queue behind them
        gate.open.set()
        answers = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), PATIENCE_S)
        assert {type(answer) for answer in answers} == {ClosedError}

    asyncio.run(use())


def test_errors_are_those_of_the_blocking_methods(memory_db):
    async def wrong():
        with pytest.raises(InvalidInputError, match="session"):
            await memory_db.aremember("text", session=7)
        with pytest.raises(NotFoundError):
            await memory_db.afeedback("mem_unknown", "useful")
        with pytest.raises(TypeError, match="unexpected keyword"):
            await memory_db.acontext("text", nonsense=1)
        with pytest.raises(InvalidInputError, match="expected mappings"):
            await memory_db.aremember_many({"text": "a mapping"})

    asyncio.run(wrong())


def test_two_loops_one_after_the_other_use_one_collection(memory_db):
    for n in range(3):
        asyncio.run(memory_db.aremember(f"loop {n}", session="s"))
    assert [turn.text for turn in memory_db.turns("s")] == ["loop 0", "loop 1", "loop 2"]


def test_two_loops_in_two_threads_use_one_collection(db):
    async def chat(name):
        await asyncio.gather(*[db.aremember(f"{name} {n}", session="s") for n in range(50)])

    threads = [threading.Thread(target=lambda name=name: asyncio.run(chat(name))) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    turns = db.turns("s")
    assert sorted(turn.text for turn in turns) == sorted(f"{name} {n}" for name in "ab" for n in range(50))
    assert [turn.turn for turn in turns] == list(range(100))


def test_context_variables_reach_the_callables(tmp_path):
    request = contextvars.ContextVar("request")
    seen = []

    def embed(texts):
        seen.append((threading.current_thread() is threading.main_thread(), request.get()))
        return HASH.embed_documents(texts)

    async def one(db, number):
        request.set(number)
        await db.aremember(f"number {number}")
        assert request.get() == number

    async def use():
        async with Collection("context", path=tmp_path, embedder=CallableEmbedder("seen", 64, embed)) as db:
            await asyncio.gather(*[one(db, number) for number in range(10)])

    asyncio.run(use())
    assert {number for _, number in seen} == set(range(10))
    assert not any(in_main for in_main, _ in seen)


def test_a_forked_child_has_a_pool_of_its_own(run):
    told = run("""
import asyncio, os, signal, warnings
warnings.simplefilter("ignore")
db = opened()


async def uses(word):
    ids = await asyncio.gather(*[db.aremember(f"{word} {n}", session=word) for n in range(20)])
    return len(await db.aturns(word)) == len(set(ids)) == 20


tell(asyncio.run(uses("before")))
child = os.fork()
if child == 0:
    signal.alarm(30)
    fine = asyncio.run(uses("child"))
    asyncio.run(db.aclose())
    os._exit(0 if fine and db.closed else 1)
tell(asyncio.run(uses("parent")), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
tell(sorted(db.sessions()))
""")
    assert told == ["True", "True 0", "['before', 'child', 'parent']"]


def test_a_program_ends_though_nobody_closed(run):
    assert run('import asyncio\ndb = opened()\nasyncio.run(db.aremember("hello"))\ntell(db.count())') == ["1"]


class TestCancelling:
    def test_a_call_that_waits_for_a_thread_never_starts(self, gated, gate):
        async def use():
            running = [asyncio.create_task(gated.aremember(f"number {n}", session="s")) for n in range(THREADS)]
            await until(lambda: gate.inside == THREADS)
            waiting = asyncio.create_task(gated.aremember("never", session="s"))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            gate.open.set()
            await asyncio.gather(*running)
            await gated.aremember("after", session="s")
            assert len(await gated.aturns("s")) == THREADS + 1

        asyncio.run(use())

    def test_a_write_under_way_is_stored_whole(self, gated, gate):
        async def use():
            call = asyncio.create_task(gated.aremember("under way", session="s"))
            await until(lambda: gate.inside == 1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert await gated.aturns("s") == []
            gate.open.set()
            await until(lambda: gated.count(session="s") == 1)
            (hit,) = await gated.arecall("under way", session="s")
            assert hit.text == "under way"

        asyncio.run(use())

    def test_a_write_outlives_its_loop_without_a_word(self, gated, gate, caplog):
        async def use():
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(gated.aremember("late", session="s"), 0.05)

        asyncio.run(use())
        gate.open.set()
        asyncio.run(until(lambda: gated.count(session="s") == 1))
        assert caplog.records == []

    def test_a_bulk_write_stops_at_the_next_transaction(self, gated, gate):
        ended = threading.Event()

        def items():
            try:
                for n in range(5_000):
                    yield {"text": f"number {n}", "session": "s"}
            finally:
                ended.set()

        async def use():
            call = asyncio.create_task(gated.aremember_many(items()))
            await until(lambda: gate.inside == 1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            gate.open.set()
            assert await asyncio.to_thread(ended.wait, PATIENCE_S)
            assert await gated.acount(session="s") == 1_000

        asyncio.run(use())

    def test_a_storm_of_cancelled_calls_leaves_whole_memories_and_a_working_collection(self, db, caplog):
        complaints = []

        async def use():
            asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
            for wave in range(10):
                calls = [asyncio.create_task(db.aremember(f"{wave} {n}", session="s")) for n in range(30)]
                calls += [asyncio.create_task(db.acontext("wave", session="s")) for _ in range(10)]
                await asyncio.sleep(0.002 * wave)
                for call in calls[::2]:
                    call.cancel()
                answers = await asyncio.gather(*calls, return_exceptions=True)
                assert all(isinstance(a, asyncio.CancelledError) for a in answers if isinstance(a, BaseException))
            await db.aremember("after", session="s")

        asyncio.run(use())
        gc.collect()
        turns = db.turns("s")
        assert [turn.turn for turn in turns] == list(range(len(turns)))
        assert len({turn.text for turn in turns}) == len(turns) >= 10 * 15 + 1
        assert {turn.id for turn in turns} == {
            hit.id for hit in db.search("after", None, session="s", token_budget=10**6)
        }
        assert (complaints, caplog.records) == ([], [])
