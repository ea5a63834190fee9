"""Storing many memories at once."""

import signal
import threading

import numpy as np
import pytest

from retentive import (
    CallableEmbedder,
    Collection,
    ConflictError,
    ConversationMemory,
    DimensionError,
    EmbedderError,
    InvalidInputError,
)

TALK = [
    {"text": "hello", "session": "a", "role": "user"},
    {"text": "hi there", "session": "a", "role": "assistant", "metadata": {"n": 1}},
    {"text": "lives in Lyon", "session": "a", "kind": "fact", "key": "City"},
    {"text": "always polite", "session": "a", "pinned": True, "id": "own"},
    {"text": "lives in Paris", "session": "a", "kind": "fact", "key": "city"},
    {"text": "and you?", "session": "b", "name": "Ann", "ttl_days": 3, "timestamp": "2026-01-01"},
]


def seen(db, ids):
    return [
        (r.text, r.kind, r.session, r.role, r.turn, r.name, r.key, r.superseded_by is None, r.metadata.get("n"))
        for r in db.get(ids)
    ]


def test_remember_many_stores_what_one_by_one_would(embedder):
    with Collection("a", embedder=embedder) as many, Collection("b", embedder=embedder) as single:
        ids = many.remember_many(TALK)
        assert seen(many, ids) == seen(single, [single.remember(**item) for item in TALK])


def test_ids_come_in_order(memory_db):
    ids = memory_db.remember_many([{"text": f"text {i}", "session": "a"} for i in range(30)])
    assert [r.text for r in memory_db.get(ids)] == [f"text {i}" for i in range(30)]
    assert [r.id for r in memory_db.turns("a")] == ids


def test_items_may_come_from_a_generator(memory_db):
    ids = memory_db.remember_many({"text": f"text {i}", "session": "a"} for i in range(1_500))
    assert len(ids) == 1_500
    assert memory_db.count() == 1_500


def test_no_items_store_nothing(memory_db):
    assert memory_db.remember_many([]) == []
    assert memory_db.count() == 0


def test_embedder_gets_batches(memory_db):
    calls = []

    def fn(texts):
        calls.append(len(texts))
        return np.ones((len(texts), 4), np.float32)

    with Collection("c", embedder=CallableEmbedder("counting", 4, fn)) as db:
        db.remember_many([{"text": f"text {i}"} for i in range(1_200)])
    assert sum(calls) >= 1_200
    assert len(calls) < 20


def test_given_vectors_come_back_as_they_were(memory_db):
    rows = np.random.default_rng(0).normal(size=(5, 64)).astype(np.float32)
    ids = memory_db.remember_many([{"text": f"text {i}", "vector": row} for i, row in enumerate(rows)])
    for result, row in zip(memory_db.get(ids, vectors=True), rows, strict=True):
        assert np.array_equal(result.vector, row)


def test_given_and_embedded_items_may_be_mixed(memory_db, embedder):
    ids = memory_db.remember_many(
        [{"text": "apples", "vector": embedder.embed_query("apples")}, {"text": "oranges"}, {"text": "pears"}]
    )
    vectors = [result.vector for result in memory_db.get(ids, vectors=True)]
    for vector, text in zip(vectors, ("apples", "oranges", "pears"), strict=True):
        assert np.allclose(vector, embedder.embed_query(text))


def test_each_item_keeps_its_vector_where_the_caller_fills_one_array_again(memory_db):
    rows = np.eye(64, dtype=np.float32)[:4]
    filled = np.zeros(64, np.float32)

    def items():
        for i, row in enumerate(rows):
            filled[:] = row
            yield {"text": f"text {i}", "vector": filled}

    stored = memory_db.get(memory_db.remember_many(items()), vectors=True)
    assert np.array_equal([memory.vector for memory in stored], rows)


def test_vector_of_another_dimension_is_refused(memory_db):
    memory_db.remember("x")
    with pytest.raises(DimensionError) as caught:
        memory_db.remember_many([{"text": "y", "vector": [1.0, 2.0]}])
    assert (caught.value.expected, caught.value.got) == (64, 2)
    assert memory_db.count() == 1


def test_bad_item_of_a_list_is_named_and_nothing_is_stored(memory_db):
    items = [{"text": f"text {i}", "session": "a"} for i in range(1_500)]
    items[1_200]["text"] = " "
    with pytest.raises(InvalidInputError, match=r"items\[1200\].*blank") as caught:
        memory_db.remember_many(items)
    assert caught.value.stored == 0
    assert memory_db.count() == 0


def test_bad_item_of_a_generator_keeps_the_transactions_before(memory_db):
    items = ({"text": f"text {i}" if i != 1_200 else "", "session": "a"} for i in range(1_500))
    with pytest.raises(InvalidInputError, match=r"items\[1200\]") as caught:
        memory_db.remember_many(items)
    assert caught.value.stored == 1_000 == memory_db.count()
    assert "1000 were stored" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    "item", ["text", None, 3, {}, {"session": "a"}, {"text": "x", "content": "y"}, {"text": "x", 3: 4}, ["text", "x"]]
)
def test_item_that_is_no_memory_is_refused(memory_db, item):
    with pytest.raises(InvalidInputError, match=r"items\[1\]"):
        memory_db.remember_many([{"text": "fine"}, item])
    assert memory_db.count() == 0


@pytest.mark.parametrize("items", ["text", b"text", {"text": "x"}, 3, None])
def test_items_that_are_no_list_are_refused(memory_db, items):
    with pytest.raises(InvalidInputError, match="items"):
        memory_db.remember_many(items)


def test_id_in_use_stores_nothing_of_its_transaction(memory_db):
    memory_db.remember("x", id="one")
    with pytest.raises(ConflictError):
        memory_db.remember_many([{"text": "y"}, {"text": "z", "id": "one"}])
    assert memory_db.count() == 1


def test_progress_is_told_after_each_transaction(memory_db):
    told = []
    memory_db.remember_many(
        [{"text": f"text {i}"} for i in range(2_500)], progress=lambda done, total: told.append((done, total))
    )
    assert told == [(1_000, 2_500), (2_000, 2_500), (2_500, 2_500)]


def test_progress_of_a_generator_has_no_total(memory_db):
    told = []
    memory_db.remember_many(({"text": "x"} for _ in range(3)), progress=lambda *args: told.append(args))
    assert told == [(3, None)]


def test_interrupt_keeps_what_was_committed_and_says_how_much(memory_db):
    def stop(done, total):
        if done == 2_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        memory_db.remember_many([{"text": f"text {i}", "session": "a"} for i in range(3_500)], progress=stop)
    assert caught.value.stored == 2_000
    assert "2000 were stored" in caught.value.__notes__[0]
    assert [turn.text for turn in memory_db.turns("a")] == [f"text {i}" for i in range(2_000)]


def test_interrupt_at_any_moment_counts_exactly_what_is_there(memory_db, no_finalizers):
    """Ctrl-C from outside: most of the time it comes while the core commits, which then has stored its 1,000."""
    rows = list(np.eye(64, dtype=np.float32))
    for _ in range(8):
        before = memory_db.count()
        started = threading.Event()

        def interrupt(started=started):
            started.wait(30)
            signal.raise_signal(signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        items = ({"text": f"text {i}", "vector": rows[i % 64]} for i in range(1_000_000))
        with pytest.raises(KeyboardInterrupt) as caught:
            memory_db.remember_many(items, progress=lambda done, total, started=started: started.set())
        thread.join()
        assert caught.value.stored == memory_db.count() - before
        assert caught.value.stored % 1_000 == 0


def test_embedder_that_fails_half_way_keeps_what_was_committed():
    def fn(texts):
        if "text 1400" in texts:
            raise OSError("no")
        return np.ones((len(texts), 4), np.float32)

    with Collection("c", embedder=CallableEmbedder("failing", 4, fn)) as db:
        with pytest.raises(EmbedderError) as caught:
            db.remember_many([{"text": f"text {i}"} for i in range(1_500)])
        assert isinstance(caught.value.__cause__, OSError)
        assert caught.value.stored == 1_000 == db.count()


def test_judge_sees_the_items_before(memory_db):
    shown = []

    def judge(new, candidates):
        shown.append((new, sorted(candidates)))
        return [True] * len(candidates)

    memory_db.memory = ConversationMemory(memory_db, judge=judge)
    memory_db.remember_many(
        [
            {"text": "The office is in Lyon", "kind": "fact"},
            {"text": "something said", "session": "a"},
            {"text": "The office is in Paris", "kind": "fact"},
            {"text": "The office is in Rome", "kind": "fact", "check": False},
        ]
    )
    assert shown == [("The office is in Paris", ["The office is in Lyon"])]
    current = {r.text for r in memory_db.recall("where is the office", kinds=("fact",), min_relevance=None)}
    assert current == {"The office is in Paris", "The office is in Rome"}


def test_more_than_one_thread_analyses_are_stored_as_one_by_one_would(embedder):
    items = [
        {"text": f"item {i} of them", "session": f"s{i % 3}", "user": ("ann", "bo", None)[i % 5 % 3]}
        for i in range(300)
    ]
    for i in range(0, 300, 41):
        items[i] = {"text": f"the value {i}", "user": "ann", "kind": "fact", "key": f"key {i % 2}"}
    with Collection("a", embedder=embedder) as many, Collection("b", embedder=embedder) as single:
        ids = many.remember_many(items)
        assert seen(many, ids) == seen(single, [single.remember(**item) for item in items])
        assert many.verify().ok


def test_an_id_given_twice_stores_nothing_of_its_transaction(memory_db):
    items = [{"text": f"text {i}", "id": f"id {i if i != 1_400 else 1_100}"} for i in range(1_500)]
    with pytest.raises(ConflictError, match="id 1100") as caught:
        memory_db.remember_many(items)
    assert caught.value.stored == memory_db.count() == 1_000


@pytest.mark.parametrize(
    "vector", [np.array([1e-30] * 64, np.float32), np.array([3e38] * 64, np.float32), np.arange(64, 0, -1)]
)
def test_a_vector_whose_square_says_nothing_is_taken(memory_db, vector):
    (stored,) = memory_db.get(memory_db.remember_many([{"text": "x", "vector": vector}]), vectors=True)
    assert np.array_equal(stored.vector, vector.astype(np.float32))


@pytest.mark.parametrize(
    "value", [np.zeros(64, np.float32), np.full(64, np.nan, np.float32), np.full(64, np.inf, "f4")]
)
def test_a_vector_without_a_direction_is_refused(memory_db, value):
    with pytest.raises(InvalidInputError, match=r"items\[0\]"):
        memory_db.remember_many([{"text": "x", "vector": value}])
