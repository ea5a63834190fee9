"""A signal handler, a finalizer or a garbage collection uses a collection in the middle of a call on it: no hang."""

import asyncio
import contextlib
import contextvars
import gc
import opcode
import signal
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from retentive import Collection, HashEmbedder, _ids
from retentive.agents import Message, WindowMemory, _blocking
from retentive.embedders import _session, _static

pytestmark = pytest.mark.timeout(60)  # a hang fails, with every thread's stack: see `watchdog.py`

SIGNALS = """
import random, signal, time
from retentive import Collection, HashEmbedder

db = Collection("x", embedder=HashEmbedder(8))
db.remember("first", session="w")
heard = 0


def handler(number, frame):
    global heard
    heard += 1
    db.remember("a signal came", session="log")


signal.signal(signal.SIGALRM, handler)
end, written = time.monotonic() + 0.7, 0
while time.monotonic() < end:
    signal.setitimer(signal.ITIMER_REAL, random.uniform(2e-5, 3e-3))
    written += len(db.remember_many([{"text": "hello", "session": "a"}] * 50))
signal.setitimer(signal.ITIMER_REAL, 0)
tell(heard > 0, db.count(session="a") == written, db.count(session="log") == heard)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")
def test_a_handler_stores_a_memory_while_memories_are_stored(run):
    assert run(SIGNALS) == ["True True True"]


def at_every_line(outer, inner):
    """Call `outer` again and again, and at its first, second, third... line of the package's Python code `inner`."""
    for wanted in range(1, 5_000):
        passed = 0

        def trace(frame, event, argument, wanted=wanted):
            nonlocal passed
            if "retentive" not in frame.f_code.co_filename:
                return None
            passed += 1
            if passed == wanted:
                sys.settrace(None)
                inner()
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            outer()
        finally:
            sys.settrace(before)
        if passed < wanted:
            return wanted - 1
    raise AssertionError("it has no end")


def test_at_every_line_of_a_write_another_one_can_be_made():
    with Collection("x", embedder=HashEmbedder(8)) as db:
        places = at_every_line(lambda: db.remember("outer", session="a"), lambda: db.remember("inner", session="b"))
        assert places > 20
        assert (db.count(session="a"), db.count(session="b")) == (places + 1, places)


def test_at_every_line_of_making_an_id_another_one_is_made_and_all_differ():
    inner, outer = [], []
    places = at_every_line(lambda: outer.append(_ids.memory_id()), lambda: inner.append(_ids.memory_id()))
    assert len({*inner, *outer}) == len(inner) + len(outer) == 2 * places + 1
    assert inner == sorted(inner)
    assert outer == sorted(outer)


@pytest.mark.parametrize("make", [_static._SharedModel, lambda: _session.PerProcess(object)], ids=["static", "onnx"])
def test_at_every_line_of_loading_a_model_it_can_be_asked_for(monkeypatch, make):
    monkeypatch.setattr(_static, "_Model", lambda folder: object())
    at = [make()]

    def load():
        at.append(make())
        assert at[-1].get() is at[-1].get()

    def ask():
        assert at[-1].get() is not None

    assert at_every_line(load, ask) > 4


# After these Python looks whether a signal has come.
LOOKS = {"RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD"}


def interrupt_at(wanted, call):
    """Call, and raise Ctrl-C's exception at one of the places where it may come; whether there are so many."""
    passed = 0
    done = {}  # the last instruction of each frame

    def trace(frame, event, argument):
        nonlocal passed
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            looks = done.get(frame) in LOOKS
            done[frame] = opcode.opname[frame.f_code.co_code[frame.f_lasti]]
            passed += looks
            if looks and passed == wanted:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return passed >= wanted


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an instruction of a finalizer
@pytest.mark.parametrize("nested", [False, True])
def test_an_interrupt_anywhere_in_a_blocking_call_hangs_nobody_after_it(nested):
    async def one():
        await asyncio.sleep(0.005)  # it is waited for
        return 1

    async def asks():
        return _blocking.run(one)

    def call():
        with _blocking.at_work() if nested else contextlib.nullcontext():
            return _blocking.run(asks if nested else one)

    wanted = 0
    with ThreadPoolExecutor() as others:
        while interrupt_at(wanted := wanted + 1, lambda: contextvars.copy_context().run(call)):
            assert others.submit(_blocking.run, one).result() == 1
    assert wanted > 20


def test_at_every_line_of_starting_the_helper_loop_it_can_be_asked_for():
    async def one():
        return 1

    def started():
        _blocking._helper = _blocking._Helper()
        return _blocking.run(one)

    before = _blocking._helper
    try:
        assert at_every_line(started, lambda: _blocking.run(one)) > 5
    finally:
        _blocking._helper = before
    memory = WindowMemory()
    memory.add(Message.user("hello"))
    assert [message.content for message in memory.get()] == ["hello"]


def test_finalizers_and_callbacks_of_weak_references_store_memories_too():
    class Ends:
        def __del__(self):
            db.remember("an object ended", session="log")

    def items(count):
        for _ in range(count):
            ends = Ends()
            ends.itself = ends  # only a collection of garbage ends it
            references.append(weakref.ref(ends, lambda _: db.remember("a reference died", session="log")))
            yield {"text": "hello", "session": "a"}

    threshold, references = gc.get_threshold(), []
    with Collection("x", embedder=HashEmbedder(8)) as db:
        gc.set_threshold(1)
        try:
            db.remember_many(items(50))
        finally:
            gc.set_threshold(*threshold)
        gc.collect()
        assert (db.count(session="a"), db.count(session="log")) == (50, 100)


def test_ids_of_many_threads_differ_and_each_thread_sees_them_rise():
    def fill(ids):
        ids.extend(_ids.memory_id() for _ in range(500))

    made = [[] for _ in range(8)]
    threads = [threading.Thread(target=fill, args=(ids,)) for ids in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(ids == sorted(ids) for ids in made)
    assert len(set().union(*made)) == 4_000
