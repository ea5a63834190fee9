"""Blocking twins of async methods: in a loop, without one, in threads, in callbacks; for anybody's memory."""

import asyncio
import contextvars
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from retentive import CallableEmbedder, Collection, HashEmbedder
from retentive._pool import THREADS
from retentive.agents import DEFAULT_THREAD, Memory, Message, VectorMemory, WindowMemory


class ListMemory(Memory):
    """A memory of somebody's own: only the async methods."""

    def __init__(self):
        self.threads = {}
        self.loops = set()

    async def aadd(self, messages, *, thread_id=DEFAULT_THREAD):
        await asyncio.sleep(0)
        self.loops.add(asyncio.get_running_loop())
        given = [messages] if isinstance(messages, Message) else list(messages)
        self.threads.setdefault(thread_id, []).extend(given)

    async def aget(self, *, thread_id=DEFAULT_THREAD, query=None, limit=None):
        await asyncio.sleep(0)
        self.loops.add(asyncio.get_running_loop())
        found = self.threads.get(thread_id, [])
        return found if limit is None else found[-limit:] if limit else []

    async def aclear(self, thread_id=None):
        await asyncio.sleep(0)
        self.threads = {} if thread_id is None else {k: v for k, v in self.threads.items() if k != thread_id}


def used(memory):
    """Add, get and clear with the blocking twins."""
    memory.add([Message.user("one"), Message.user("two")])
    memory.add(Message.user("three"), thread_id="other")
    memory.add(Message.user("four"), "other")
    got = [[m.content for m in memory.get()], [m.content for m in memory.get(thread_id="other", limit=1)]]
    memory.clear("other")
    got.append([m.content for m in memory.get(thread_id="other")])
    memory.clear()
    return [*got, memory.get()]


USED = [["one", "two"], ["four"], [], []]


@pytest.fixture(params=["own", "window"])
def memory(request, embedder):
    return ListMemory() if request.param == "own" else WindowMemory(collection=Collection("c", embedder=embedder))


def test_twins_work_without_a_loop(memory):
    assert used(memory) == USED


def test_twins_work_inside_a_running_loop(memory):
    async def main():
        return used(memory)

    assert asyncio.run(main()) == USED


def test_async_methods_do_what_the_twins_do(memory):
    async def main():
        await memory.aadd([Message.user("one"), Message.user("two")])
        await memory.aadd(Message.user("three"), thread_id="other")
        assert [m.content for m in await memory.aget()] == ["one", "two"]
        await memory.aclear("other")
        assert await memory.aget(thread_id="other") == []
        await memory.aclear()
        assert await memory.aget() == []

    asyncio.run(main())


def test_all_blocking_calls_share_one_loop_that_stays_open():
    memory = ListMemory()

    async def main():
        used(memory)

    used(memory)
    asyncio.run(main())
    (loop,) = memory.loops
    assert loop.is_running()


def test_twins_leave_the_callers_event_loop_as_it_was():
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        used(ListMemory())
        assert asyncio.get_event_loop() is loop
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def test_memory_may_call_blocking_twins_of_another_within_its_async_methods():
    class Mirror(ListMemory):
        async def aadd(self, messages, *, thread_id=DEFAULT_THREAD):
            inner.add(messages, thread_id=thread_id)

        async def aget(self, *, thread_id=DEFAULT_THREAD, query=None, limit=None):
            return inner.get(thread_id=thread_id, limit=limit)

    inner = ListMemory()
    mirror = Mirror()
    mirror.add(Message.user("hello"))
    assert [m.content for m in mirror.get()] == ["hello"]


def test_embedder_that_asks_the_memory_back_never_hangs():
    """Twice as many at once as any pool has workers."""
    real = HashEmbedder(32)
    asked = threading.Barrier(16, timeout=60)

    def embed(texts):
        if texts != [PROBE]:
            asked.wait()
            window.get()
        return real.embed_documents(texts)

    from retentive._embedding import PROBE

    db = Collection("c", embedder=CallableEmbedder("asks", 32, embed))
    window = WindowMemory(collection=db)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda i: db.remember(f"text {i}", session="default"), range(16)))
    assert len(window.get(limit=20)) == 16


def test_embedder_that_asks_the_memory_back_from_many_blocking_adds_never_hangs():
    real = HashEmbedder(32)

    def embed(texts):
        window.get()
        return real.embed_documents(texts)

    window = WindowMemory(64, collection=Collection("c", embedder=CallableEmbedder("asks", 32, embed)))
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda i: window.add(Message.user(f"text {i}")), range(64)))
    assert len(window.get()) == 64


def test_embedder_that_asks_the_memory_back_from_many_awaited_adds_never_hangs():
    real = HashEmbedder(32)

    def embed(texts):
        window.get()
        return real.embed_documents(texts)

    window = WindowMemory(64, collection=Collection("c", embedder=CallableEmbedder("asks", 32, embed)))

    async def main():
        await asyncio.gather(*[window.aadd(Message.user(f"text {i}")) for i in range(64)])

    asyncio.run(main())
    assert len(window.get()) == 64


def test_exception_of_an_async_method_reaches_the_blocking_caller():
    class Failing(ListMemory):
        async def aget(self, *, thread_id=DEFAULT_THREAD, query=None, limit=None):
            raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        Failing().get()


def test_callers_context_reaches_the_async_method():
    request = contextvars.ContextVar("request", default=None)

    class Tracing(ListMemory):
        async def aget(self, *, thread_id=DEFAULT_THREAD, query=None, limit=None):
            return [Message.user(str(await asyncio.to_thread(request.get)))]

    request.set("r7")
    assert Tracing().get()[0].content == "r7"


def test_memory_without_the_async_methods_cannot_be_made():
    class Half(Memory):
        async def aadd(self, messages, thread_id=DEFAULT_THREAD): ...

    with pytest.raises(TypeError, match="aclear"):
        Half()


def test_describe_and_name_come_with_the_class():
    assert ListMemory().describe() == {"type": "ListMemory", "name": "ListMemory"}
    assert repr(ListMemory()) == "<ListMemory 'ListMemory'>"


def test_override_of_an_async_method_is_what_the_twin_calls(embedder):
    class Shouting(WindowMemory):
        async def aget(self, *, thread_id=DEFAULT_THREAD, query=None, limit=None):
            found = await super().aget(thread_id=thread_id, query=query, limit=limit)
            return [Message(m.role, m.content.upper(), m.metadata) for m in found]

    memory = Shouting(collection=Collection("c", embedder=embedder))
    memory.add(Message.user("hello"))
    assert memory.get()[0].content == "HELLO"


def test_event_loop_runs_on_while_the_embedder_works():
    """The embedder waits for what only the running loop can do."""
    real, released = HashEmbedder(32), threading.Event()

    def embed(texts):
        assert released.wait(60), "the event loop was blocked"
        return real.embed_documents(texts)

    memory = VectorMemory(embedder=CallableEmbedder("slow", 32, embed), score_threshold=None)

    async def release():
        await asyncio.sleep(0)
        released.set()

    async def main():
        await asyncio.gather(memory.aadd(Message.user("hello")), release())
        released.clear()
        found, _ = await asyncio.gather(memory.aget(query="hello"), release())
        return found

    assert [m.content for m in asyncio.run(main())] == ["hello"]


def test_cancelled_add_is_stored_whole_or_not_at_all():
    real, entered, released = HashEmbedder(32), threading.Event(), threading.Event()

    def embed(texts):
        entered.set()
        assert released.wait(60)
        return real.embed_documents(texts)

    memory = WindowMemory(collection=Collection("c", embedder=CallableEmbedder("slow", 32, embed)))

    async def main():
        task = asyncio.create_task(memory.aadd([Message.user("one"), Message.user("two")]))
        await asyncio.to_thread(entered.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        released.set()
        await memory.aadd(Message.user("three"))

    asyncio.run(main())  # waits for the worker of the cancelled call
    contents = [m.content for m in memory.get()]
    assert sorted(contents) in (["three"], ["one", "three", "two"])


def test_two_loops_in_two_threads_use_one_memory(embedder):
    memory = WindowMemory(100, collection=Collection("c", embedder=embedder))

    async def talk(who):
        for i in range(20):
            await memory.aadd(Message.user(f"{who} {i}"))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda who: asyncio.run(talk(who)), ("a", "b")))
    contents = [m.content for m in memory.get()]
    assert [c for c in contents if c.startswith("a")] == [f"a {i}" for i in range(20)]
    assert [c for c in contents if c.startswith("b")] == [f"b {i}" for i in range(20)]


FORKED = """
import os, sys, warnings
warnings.simplefilter("ignore")
from retentive import Collection, HashEmbedder
from retentive.agents import Message, WindowMemory

memory = WindowMemory(collection=Collection("c", path=sys.argv[1], embedder=HashEmbedder(32)))
memory.add(Message.user("parent"))
child = os.fork()
if child == 0:
    memory.add(Message.user("child"))
    os._exit(0 if len(memory.get()) == 2 else 1)
assert os.waitpid(child, 0)[1] == 0
print([message.content for message in memory.get()])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_twins_work_in_a_forked_child(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['parent', 'child']"


def test_process_that_used_the_twins_ends_quietly():
    code = (
        "from retentive import Collection, HashEmbedder\n"
        "from retentive.agents import Message, WindowMemory\n"
        "memory = WindowMemory(collection=Collection('c', embedder=HashEmbedder(32)))\n"
        "memory.add(Message.user('x')); print(len(memory.get()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert (done.stdout.strip(), done.stderr) == ("1", "")


def test_number_of_threads_does_not_grow_with_calls(embedder):
    before = threading.active_count()
    memory = WindowMemory(collection=Collection("c", embedder=embedder))
    for _ in range(500):
        memory.get()
    assert threading.active_count() <= before + THREADS + 1  # the pool's, which start one by one, and the helper
