"""A callable that ends the call: an exit, an interrupt, a generator's end, any `BaseException` passes through."""

import asyncio
import faulthandler
import gc
import threading

import pytest

from retentive import (
    CallableEmbedder,
    Collection,
    ConversationMemory,
    CounterError,
    EmbedderError,
    HashEmbedder,
    SummarizeError,
)

INNER = HashEmbedder(32)


class Stop(BaseException):
    """Somebody's own, as hosts have for a cancelled request."""


ENDS = [KeyboardInterrupt, SystemExit, GeneratorExit, Stop, asyncio.CancelledError, BaseExceptionGroup]
# What is an `Exception` is the callable's failure, whatever it is elsewhere.
FAILURES = [StopIteration, StopAsyncIteration, RecursionError, MemoryError, AssertionError, Warning]


def end_of(kind):
    return kind("of the caller's", [Stop()]) if kind is BaseExceptionGroup else kind("of the caller's")


@pytest.fixture(autouse=True)
def watchdog():
    """A deadlock ends the run with every thread's stack, not with silence."""
    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


class Ending:
    """A collection whose callables raise `self.end` when it is set."""

    def __init__(self, path, where):
        self.where, self.end = where, None
        embedder = CallableEmbedder("ending", 32, self.embed)
        self.db = Collection("test", path, embedder=embedder, token_counter=self.count)
        self.db.memory = ConversationMemory(self.db, judge=self.judge)
        self.db.remember("known", session="s", kind="fact", check=False, id="known")
        self.db.remember_many([{"text": f"turn {i}", "session": "s"} for i in range(8)])

    def at(self, where):
        if self.end is not None and where == self.where:
            raise self.end

    def embed(self, texts):
        self.at("embedder")
        return INNER.embed_documents(texts)

    def count(self, text):
        self.at("counter")
        return len(text) // 4 + 1

    def judge(self, new, candidates):
        self.at("judge")
        return [False] * len(candidates)

    def summarize(self, turns):
        self.at("summarizer")
        return [turns[0]["text"]]

    def progress(self, done, total):
        self.at("progress")

    def calls(self):
        """What asks that callable; a call of which nothing may stay."""
        db, fact = self.db, {"text": "a fact", "session": "s", "kind": "fact"}
        return {
            "embedder": [
                lambda: db.remember("new", session="s"),
                lambda: db.remember_many([{"text": "new", "session": "s"}]),
                lambda: db.replace_turns("s", [{"text": "new"}]),
                lambda: db.feedback("known", "corrected", correction="new"),
                lambda: db.add("new"),
                lambda: db.recall("new", session="s"),
                lambda: db.search("new"),
                lambda: db.context("new", "s"),
                db.calibrate,
                lambda: db.consolidate("s", self.summarize),
            ],
            "counter": [
                lambda: db.context("turn", "s"),
                lambda: db.recall("turn", session="s", token_budget=50, min_relevance=None),
                lambda: db.search("turn", token_budget=50),
            ],
            "judge": [lambda: db.remember(**fact), lambda: db.remember_many([fact])],
            "summarizer": [lambda: db.consolidate("s", self.summarize, keep_recent=2)],
        }[self.where]

    def state(self):
        rows = self.db.get(sorted([*self.db.search(limit=100).ids, *[row.id for row in self.db.turns("s")]]))
        return [(row.id, row.text, row.superseded_by) for row in rows]

    def check_usable(self, before):
        """What was there is there, nothing else, and other threads get their turn: no lock is held."""
        self.end = None
        assert self.state() == before
        done = []

        def use():
            new = self.db.remember("after all that", session="after")
            self.db.context("after", "after")
            done.append(self.db.forget(ids=[new]))

        thread = threading.Thread(target=use)
        thread.start()
        thread.join(60)
        assert done == [1]
        assert self.db.verify().ok


@pytest.mark.parametrize("path", [True, False], ids=["file", "memory"])
@pytest.mark.parametrize("where", ["embedder", "counter", "judge", "summarizer"])
@pytest.mark.parametrize("kind", ENDS, ids=lambda kind: kind.__name__)
def test_what_ends_the_caller_passes_through_and_nothing_is_stored(tmp_path, kind, where, path):
    ending = Ending(tmp_path if path else None, where)
    with ending.db:
        before = ending.state()
        for call in ending.calls():
            ending.end = end_of(kind)
            with pytest.raises(kind) as caught:
                call()
            assert caught.value is ending.end
            ending.end = None
            assert ending.state() == before
        ending.check_usable(before)


@pytest.mark.parametrize("where", ["embedder", "counter", "summarizer"])
@pytest.mark.parametrize("kind", FAILURES, ids=lambda kind: kind.__name__)
def test_any_other_error_of_a_callable_is_the_cause_of_a_typed_one(where, kind):
    ending = Ending(None, where)
    typed = {"embedder": EmbedderError, "counter": CounterError, "summarizer": SummarizeError}[where]
    with ending.db:
        before = ending.state()
        for call in ending.calls():
            ending.end = end_of(kind)
            with pytest.raises(typed) as caught:
                call()
            assert caught.value.__cause__ is ending.end
        ending.check_usable(before)


@pytest.mark.parametrize("kind", FAILURES, ids=lambda kind: kind.__name__)
def test_any_other_error_of_a_judge_loses_nothing(kind):
    ending = Ending(None, "judge")
    with ending.db as db:
        ending.end = end_of(kind)
        new = db.remember("a fact", session="s", kind="fact")
        assert db.get_one(new).metadata["_vx_judge"] == "failed"


@pytest.mark.parametrize("kind", ENDS, ids=lambda kind: kind.__name__)
def test_what_ends_a_progress_callback_passes_through_and_keeps_what_was_stored(kind):
    ending = Ending(None, "progress")
    items = [{"text": f"number {i}", "session": "many"} for i in range(1_200)]
    with ending.db as db:
        ending.end = end_of(kind)
        with pytest.raises(kind):
            db.remember_many(items, progress=ending.progress)
        stored = db.count(session="many")
        assert stored in (0, 1_000, 1_200)
        with pytest.raises(kind):
            db.consolidate("s", ending.summarize, keep_recent=2, progress=ending.progress)
        assert len(db.turns("s")) in (2, 8)
        assert db.verify().ok


# An exit and an interrupt end asyncio's loop itself, which is asyncio's own rule.
AWAITED = [GeneratorExit, Stop, BaseExceptionGroup]


@pytest.mark.parametrize("where", ["embedder", "judge", "summarizer", "counter"])
@pytest.mark.parametrize("kind", AWAITED, ids=lambda kind: kind.__name__)
def test_what_ends_a_twin_passes_through_and_nothing_is_stored(where, kind):
    ending = Ending(None, where)
    db = ending.db
    twins = {
        "embedder": lambda: db.aremember("new", session="s"),
        "judge": lambda: db.aremember("a fact", session="s", kind="fact"),
        "summarizer": lambda: db.aconsolidate("s", ending.summarize, keep_recent=2),
        "counter": lambda: db.acontext("turn", "s"),
    }

    async def use():
        ending.end = end_of(kind)
        with pytest.raises(kind):
            await twins[where]()
        ending.end = None

    with db:
        before = ending.state()
        asyncio.run(asyncio.wait_for(use(), 60))
        ending.check_usable(before)


def test_a_generator_that_calls_is_closed_in_the_middle(memory_db):
    """`close()` raises GeneratorExit where it stands: within a callable of the collection."""
    held = []

    def said():
        memory_db.remember("one", session="s")
        yield "one"
        memory_db.remember("two", session="s")
        yield "two"

    class Judge:
        def __call__(self, new, candidates):
            held[0].close()
            return [False] * len(candidates)

    generator = said()
    held.append(generator)
    next(generator)
    memory_db.remember("known", session="s", kind="fact", check=False)
    memory_db.memory = ConversationMemory(memory_db, judge=Judge())
    memory_db.remember("a fact", session="s", kind="fact")
    del generator
    held.clear()
    gc.collect()
    assert [turn.text for turn in memory_db.turns("s")] == ["one"]
    assert memory_db.verify().ok
