"""The caller's code may be slow, raise, return junk, call back, start threads."""

import threading

import numpy as np
import pytest

from retentive import CallableEmbedder, Collection, CounterError, EmbedderError, HashEmbedder

ALL = {"min_relevance": None}
INNER = HashEmbedder(16)


class Busybody:
    """A callable that uses the collection, from its own thread and another, before it answers."""

    def __init__(self, answer):
        self.answer = answer
        self.db = None
        self.calls = 0
        self.busy = False

    def __call__(self, *args):
        self.calls += 1
        if self.db is not None and not self.busy:
            self.busy = True
            try:
                self.use()
                thread = threading.Thread(target=self.use)
                thread.start()
                thread.join()
            finally:
                self.busy = False
        return self.answer(*args)

    def use(self):
        self.db.remember("from inside", session="inside", kind="fact", check=False)
        self.db.recall("from inside", session="inside", **ALL)
        self.db.context("from inside", session="inside")
        self.db.forget(session="inside", kinds=("fact",))


def test_embedder_may_use_the_collection():
    fn = Busybody(INNER.embed_documents)
    with Collection("c", embedder=CallableEmbedder("busy", 16, fn)) as db:
        fn.db = db
        db.remember("apple pie", session="a")
        db.remember_many([{"text": f"apple {i}", "session": "a"} for i in range(10)])
        assert db.recall("apple pie", session="a", **ALL).top.text == "apple pie"
        assert fn.calls > 3


def test_counter_may_use_the_collection(embedder):
    counter = Busybody(len)
    with Collection("c", embedder=embedder, token_counter=counter) as db:
        db.remember("apple pie", session="a")
        counter.db = db
        assert db.recall("apple", session="a", token_budget=100, **ALL).token_estimate == len("apple pie")
        assert db.context("apple", session="a", token_budget=100).recent
        assert counter.calls > 1


def test_judge_may_use_the_collection(memory_db):
    judge = Busybody(lambda new, candidates: [True] * len(candidates))
    judge.db = memory_db
    memory_db.remember("I love cilantro", kind="fact")
    memory_db.memory.judge = judge
    new = memory_db.remember("I hate cilantro", kind="fact")
    assert judge.calls == 1
    assert memory_db.recall("cilantro", **ALL).ids == [new]


def test_summarizer_and_progress_may_use_the_collection(memory_db):
    summarize, progress = Busybody(lambda turns: ["x"]), Busybody(lambda done, total: None)
    summarize.db = progress.db = memory_db
    memory_db.remember_many([{"text": f"turn {i}", "session": "a"} for i in range(10)], progress=progress)
    assert memory_db.consolidate("a", summarize, progress=progress).turns_removed == 4
    assert (summarize.calls, progress.calls) == (1, 2)


def test_other_threads_work_while_a_callable_waits(memory_db):
    inside, done = threading.Event(), threading.Event()

    def judge(new, candidates):
        inside.set()
        assert done.wait(30)
        return [True] * len(candidates)

    memory_db.remember("I love cilantro", kind="fact")
    memory_db.memory.judge = judge
    writer = threading.Thread(target=memory_db.remember, args=("I hate cilantro",), kwargs={"kind": "fact"})
    writer.start()
    assert inside.wait(30)
    memory_db.remember("said meanwhile", session="a")
    assert memory_db.recall("cilantro", kinds=("fact",), **ALL).texts == ["I love cilantro"]
    done.set()
    writer.join(30)
    assert memory_db.recall("cilantro", kinds=("fact",), **ALL).texts == ["I hate cilantro"]


JUNK = [
    lambda texts: None,
    lambda texts: "vector",
    lambda texts: [[1.0] * 16] * (len(texts) + 1),
    lambda texts: [[1.0] * 15] * len(texts),
    lambda texts: [[float("nan")] * 16] * len(texts),
    lambda texts: [[0.0] * 16] * len(texts),
    lambda texts: [["x"] * 16] * len(texts),
    lambda texts: np.ones((len(texts), 16), complex),
]


@pytest.mark.parametrize("fn", JUNK, ids=range(len(JUNK)))
def test_embedder_that_returns_junk_is_named_and_nothing_stored(fn):
    with Collection("c", embedder=CallableEmbedder("junk-model", 16, fn)) as db:
        for call in (
            lambda: db.remember("x"),
            lambda: db.remember_many([{"text": "x"}, {"text": "y"}]),
            lambda: db.add(["x", "y"]),
            lambda: db.recall("x"),
            lambda: db.search("x"),
            lambda: db.context("x"),
        ):
            with pytest.raises(EmbedderError, match="junk-model"):
                call()
        assert db.count() == 0


def test_embedder_of_float64_or_lists_is_taken():
    for fn in (lambda texts: INNER.embed_documents(texts).tolist(), lambda texts: INNER.embed_documents(texts) * 7.0):
        with Collection("c", embedder=CallableEmbedder("m", 16, fn)) as db:
            db.remember("apple pie")
            assert db.recall("apple pie", **ALL).top.similarity == pytest.approx(1, abs=1e-5)


def raising(text):
    raise RuntimeError("no tokenizer")


def bad_counter(text):
    return bad_counter.returns


COUNTS = [None, 1.0, -1, 0, True, "3", [3]]


@pytest.mark.parametrize("returned", COUNTS, ids=repr)
def test_counter_that_returns_junk_is_named(embedder, returned):
    bad_counter.returns = returned
    with Collection("c", embedder=embedder, token_counter=bad_counter) as db:
        db.remember("apple pie", session="a")
        for call in (
            lambda: db.recall("apple", session="a", token_budget=10, **ALL),
            lambda: db.search("apple", token_budget=10),
            lambda: db.context("apple", session="a"),
        ):
            with pytest.raises(CounterError, match="bad_counter") as caught:
                call()
            assert repr(returned) in str(caught.value)
        assert db.turns("a")


def test_counter_that_raises_is_the_cause(embedder):
    with Collection("c", embedder=embedder, token_counter=raising) as db:
        db.remember("apple pie", session="a")
        with pytest.raises(CounterError, match="raising") as caught:
            db.recall("apple", session="a", token_budget=10, **ALL)
        assert isinstance(caught.value.__cause__, RuntimeError)


def test_interrupt_of_a_counter_passes_through(embedder):
    def counter(text):
        raise KeyboardInterrupt

    with Collection("c", embedder=embedder, token_counter=counter) as db:
        db.remember("apple pie", session="a")
        with pytest.raises(KeyboardInterrupt):
            db.context("apple", session="a")
        assert db.count() == 1


def test_progress_that_raises_passes_through_and_keeps_what_was_stored(memory_db):
    def progress(done, total):
        raise RuntimeError("no terminal")

    with pytest.raises(RuntimeError, match="no terminal") as caught:
        memory_db.remember_many([{"text": "x"}], progress=progress)
    assert caught.value.stored == 1 == memory_db.count()


def test_many_threads_remember_and_recall(memory_db):
    failures = []

    def work(number):
        try:
            for i in range(20):
                memory_db.remember(f"apple {i} of {number}", session=f"s{number % 3}")
                memory_db.recall("apple", session=f"s{number % 3}", **ALL)
                memory_db.context("apple", session=f"s{number % 3}")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert memory_db.count() == 240
    assert [turn.turn for turn in memory_db.turns("s0")] == list(range(80))
