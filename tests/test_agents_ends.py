"""A memory of somebody's own that ends the call, or the event loop it runs in: the caller gets it, and work goes on."""

import asyncio
import threading
import time

import pytest

from retentive import Collection, HashEmbedder, RetentiveError
from retentive.agents import DEFAULT_THREAD, CompositeMemory, Memory, Message, WindowMemory, _blocking

pytestmark = pytest.mark.timeout(60)


class Stop(BaseException):
    """Somebody's own, as hosts have for a cancelled request."""


ENDS = [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, Stop]
METHODS = ["add", "get", "clear"]


class Doing(Memory):
    """Does something first, whatever it is asked."""

    def __init__(self, what=lambda: None):
        self.what = what

    async def aadd(self, messages, thread_id=DEFAULT_THREAD):
        await asyncio.sleep(0)
        self.what()

    async def aget(self, *, thread_id=DEFAULT_THREAD, query=None, limit=None):
        await asyncio.sleep(0)
        self.what()
        return [Message.system("a profile")]

    async def aclear(self, thread_id=None):
        await asyncio.sleep(0)
        self.what()


def raising(error):
    def what():
        raise error

    return what


def called(memory, method):
    arguments = [Message.user("hello")] if method == "add" else []
    return getattr(memory, method)(*arguments)


def within(seconds, call):
    """What a call returned or raised; a call that hangs is the failure of one test, not of the run."""
    ended = []

    def use():
        try:
            ended.append(call())
        except BaseException as error:  # a test looks at it
            ended.append(error)

    thread = threading.Thread(target=use, daemon=True)
    thread.start()
    thread.join(seconds)
    assert ended, "the call hangs"
    return ended[0]


def check_works():
    assert within(10, lambda: called(Doing(), "get")) == [Message.system("a profile")]
    with Collection("c", embedder=HashEmbedder(16)) as db:
        window = WindowMemory(collection=db)
        within(10, lambda: window.add(Message.user("hello")))
        assert [message.content for message in within(10, window.get)] == ["hello"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ENDS, ids=lambda kind: kind.__name__)
def test_what_ends_the_caller_passes_through_a_blocking_call(kind, method):
    end = kind("of the caller's")
    assert within(10, lambda: called(Doing(raising(end)), method)) is end
    check_works()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ENDS, ids=lambda kind: kind.__name__)
def test_what_ends_the_caller_passes_through_a_composite_memory(kind, method):
    end = kind("of the caller's")
    with Collection("c", embedder=HashEmbedder(16)) as db:
        together = CompositeMemory([Doing(), Doing(raising(end)), WindowMemory(collection=db)])
        given = within(10, lambda: called(together, method))
        # asyncio makes a new one of a cancelled task's
        assert type(given) is kind if kind is asyncio.CancelledError else given is end
        check_works()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ENDS, ids=lambda kind: kind.__name__)
def test_what_ends_the_caller_passes_through_a_call_within_a_memorys_work(kind, method):
    end = kind("of the caller's")
    outer = Doing(lambda: called(Doing(raising(end)), method))
    assert within(10, lambda: called(outer, method)) is end
    check_works()


@pytest.mark.parametrize("kind", [StopIteration, StopAsyncIteration], ids=lambda kind: kind.__name__)
def test_what_ends_a_loop_of_pythons_passes_through_where_python_lets_it(kind):
    """Python makes a RuntimeError of the StopIteration that leaves a coroutine; a plain function is none."""
    end = kind("of the caller's")

    class Plain(Doing):
        def aget(self, **_):
            raise end

    assert within(10, Plain().get) is end
    given = within(10, Doing(raising(end)).get)
    assert (given.__cause__ if kind is StopIteration else given) is end
    check_works()


def test_a_task_that_nobody_awaits_ends_nobodys_call():
    async def ending():
        raise SystemExit(1)

    tasks = []
    leaving = Doing(lambda: tasks.append(asyncio.get_running_loop().create_task(ending())))
    assert within(10, leaving.get) == [Message.system("a profile")]
    check_works()
    assert isinstance(tasks[0].exception(), SystemExit)


def test_a_memory_that_stops_its_loop_gets_its_answer():
    assert within(10, Doing(lambda: asyncio.get_running_loop().stop()).get) == [Message.system("a profile")]
    check_works()


def test_a_memory_cannot_close_its_loop():
    given = within(10, Doing(lambda: asyncio.get_running_loop().close()).get)
    assert isinstance(given, RuntimeError)
    check_works()


def test_calls_of_others_go_on_beside_one_that_exits():
    begun, wait = threading.Event(), threading.Event()

    class Waiting(Doing):
        async def aget(self, **_):
            begun.set()
            await asyncio.to_thread(wait.wait, 10)
            return [Message.user("late")]

    given = []
    thread = threading.Thread(target=lambda: given.append(Waiting().get()), daemon=True)
    thread.start()
    assert begun.wait(10)
    for kind in (SystemExit, KeyboardInterrupt):
        assert isinstance(within(10, CompositeMemory([Doing(raising(kind()))]).get), kind)
    wait.set()
    thread.join(10)
    assert given == [[Message.user("late")]]


def test_a_loop_that_breaks_ends_the_calls_that_wait_and_the_next_call_has_a_new_one(monkeypatch):
    """Nothing of a memory's ends the loop itself; what does, as a selector that fails, is the error of who waits."""
    broken = OSError(9, "bad descriptor")

    class Waiting(Doing):
        async def aget(self, **_):
            loop = asyncio.get_running_loop()
            monkeypatch.setattr(loop, "_run_once", raising(broken))
            await asyncio.sleep(3600)

    monkeypatch.setattr(_blocking, "_helper", _blocking._Helper())
    given = within(10, Waiting().get)
    assert isinstance(given, RetentiveError)
    assert "event loop" in str(given)
    assert given.__cause__ is broken
    check_works()


def test_a_memory_that_cancels_every_task_of_its_loop_leaves_nobody_waiting():
    """Also calls whose task has not begun."""
    gate = threading.Event()

    class Busy(Doing):
        async def aget(self, **options):
            assert gate.wait(30)  # the loop stands still, and the others' tasks wait for it
            return []

    def cancel_all():
        for task in asyncio.all_tasks():
            task.cancel()

    class Cancelling(Doing):
        async def aget(self, **options):
            cancel_all()
            return []

    ended = []

    def use(memory):
        try:
            ended.append(memory.get())
        except BaseException as error:  # a test looks at it
            ended.append(type(error))

    threads = []
    for memory in (Busy(), Cancelling(), *(Doing() for _ in range(4))):
        threads.append(threading.Thread(target=use, args=(memory,), daemon=True))
        threads[-1].start()
        while not _blocking._helper._loop or len(_blocking._helper._loop._waiting) < len(threads):
            time.sleep(0.001)
        time.sleep(0.02)  # each has asked for its task, in turn
    gate.set()
    [thread.join(20) for thread in threads]
    assert not any(thread.is_alive() for thread in threads)
    assert ended.count(asyncio.CancelledError) == 4
    assert within(20, Doing().get) == [Message.system("a profile")]
