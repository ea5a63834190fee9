"""Plain documents, and search over documents and memories alike."""

import math

import numpy as np
import pytest

from retentive import (
    ANY,
    CallableEmbedder,
    Collection,
    ConflictError,
    DimensionError,
    FingerprintError,
    HashEmbedder,
    InvalidInputError,
    NotFoundError,
)

TEXTS = ["The export button is top right", "Invoices come monthly", "Buttons can be renamed"]


@pytest.fixture
def docs(memory_db):
    memory_db.add(TEXTS, metadata=[{"n": 1}, {"n": 2}, None], ids=["one", "two", "three"])
    return memory_db


def test_add_returns_ids_in_order(memory_db):
    ids = memory_db.add(TEXTS)
    assert all(stored.startswith("doc_") for stored in ids)
    assert [r.text for r in memory_db.get(ids)] == TEXTS


def test_adding_twice_changes_nothing(memory_db):
    assert memory_db.add(TEXTS) == memory_db.add(TEXTS)
    assert memory_db.count() == 3


def test_existing_document_is_replaced(docs):
    docs.add("The export button moved", ids="one", metadata={"n": 9})
    assert docs.count() == 3
    replaced = docs.get_one("one")
    assert (replaced.text, replaced.metadata["n"]) == ("The export button moved", 9)
    assert "The export button is top right" not in docs.search("export button").texts


def test_document_replaces_no_memory(memory_db):
    memory_db.remember("said", id="one", session="a")
    with pytest.raises(ConflictError):
        memory_db.add("document", ids="one")
    assert memory_db.get_one("one").text == "said"


def test_document_has_no_kind_and_no_session(docs):
    result = docs.get_one("three")
    assert (result.kind, result.session, result.user, result.turn) == (None, None, None, None)
    assert "_vx_kind" not in result.metadata
    assert docs.get_one("one").metadata["n"] == 1


def test_one_text_may_come_alone(memory_db):
    assert len(memory_db.add("just one")) == 1
    assert memory_db.count() == 1


def test_add_tells_progress(memory_db):
    told = []
    memory_db.add([f"text {i}" for i in range(1_500)], progress=lambda *args: told.append(args))
    assert told == [(1_000, 1_500), (1_500, 1_500)]


def test_no_texts_add_nothing(memory_db):
    assert memory_db.add([]) == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"texts": ["fine", ""]},
        {"texts": ["fine", None]},
        {"texts": 3},
        {"texts": None},
        {"texts": ["a", "b"], "ids": ["one"]},
        {"texts": ["a", "b"], "ids": "ab"},
        {"texts": ["a"], "ids": [""]},
        {"texts": ["a", "b"], "ids": ["one", "one"]},
        {"texts": ["a"], "ids": [3]},
        {"texts": ["a", "b"], "metadata": [{}]},
        {"texts": ["a", "b"], "metadata": {"n": 1}},
        {"texts": ["a"], "metadata": [{"_vx_kind": "fact"}]},
        {"texts": ["a"], "vectors": [[1.0], [2.0]]},
        {"texts": ["a"], "vectors": 3},
        {"texts": ["a"], "vectors": "x"},
        {"texts": ["a"], "vectors": [[math.nan] * 64]},
        {"texts": ["a"], "vectors": [[math.inf] * 64]},
        {"texts": ["a"], "vectors": [[1e300] * 64]},
        {"texts": ["a"], "vectors": [[0.0] * 64]},
        {"texts": ["a"], "vectors": [["x"] * 64]},
        {"texts": ["a"], "vectors": [[]]},
        {"texts": ["a"], "vectors": np.ones((1, 2, 3))},
        {"texts": ["a", "b"], "vectors": [[1.0] * 64, [1.0] * 63]},
        {"texts": ["a"], "progress": 3},
    ],
)
def test_bad_documents_are_refused_and_nothing_is_stored(memory_db, arguments):
    with pytest.raises(InvalidInputError):
        memory_db.add(**arguments)
    assert memory_db.count() == 0
    memory_db.add("fine")


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical", "sparse"])
def test_search_finds_in_each_mode(docs, mode):
    hits = docs.search("export button", mode=mode)
    assert hits.top.id == "one"
    assert hits.mode == ("lexical" if mode == "sparse" else mode)


def test_scores_are_those_of_the_mode(docs):
    dense = docs.search("The export button is top right", mode="dense").top
    assert dense.score == pytest.approx(dense.similarity)
    assert dense.similarity == pytest.approx(1, abs=1e-5)
    assert dense.distance == pytest.approx(0, abs=1e-5)
    assert docs.search("export button", mode="lexical").top.score > 0
    assert all(0 <= score <= 1 for score in docs.search("export button").scores)


def test_search_covers_documents_and_memories_alike(docs):
    turn = docs.remember("Where is the export button?", session="a")
    assert {"one", turn} <= set(docs.search("export button").ids)
    assert docs.search("export button", session="a").ids == [turn]


def test_search_without_user_shows_nothing_of_a_user(docs):
    own = docs.remember("my export button", session="a", user="ann")
    assert own not in docs.search("export button").ids
    assert docs.search("export button", user="ann").ids == [own]
    assert {own, "one"} <= set(docs.search("export button", user=ANY).ids)


def test_search_shows_live_memories_only(docs):
    old = docs.remember("the export is a CSV", kind="fact")
    new = docs.feedback(old, "corrected", correction="the export is a PDF")
    ids = docs.search("export").ids
    assert new in ids
    assert old not in ids


def test_search_with_filter_and_limit(docs):
    assert docs.search("button", filter={"n": 2}).ids == ["two"]
    assert len(docs.search("button", limit=1)) == 1
    assert len(docs.search("button", limit=0)) == 0


def test_search_by_filter_alone_is_newest_first(memory_db):
    for i in range(3):
        memory_db.remember(f"text {i}", session="a", timestamp=f"2026-01-0{i + 1}", metadata={"n": 1})
    hits = memory_db.search(filter={"n": 1}, session="a")
    assert hits.texts == ["text 2", "text 1", "text 0"]
    assert hits.query is None


def test_search_by_vector(docs, embedder):
    hits = docs.search(vector=embedder.embed_query("Invoices come monthly"))
    assert (hits.top.id, hits.mode) == ("two", "dense")
    assert docs.search(vector=list(map(float, embedder.embed_query("Invoices come monthly")))).top.id == "two"


def test_search_by_vector_in_lexical_mode_is_refused(docs, embedder):
    with pytest.raises(InvalidInputError, match="lexical"):
        docs.search(vector=embedder.embed_query("x"), mode="lexical")


def test_search_with_a_vector_of_another_dimension_is_refused(docs):
    with pytest.raises(DimensionError) as caught:
        docs.search(vector=[1.0, 2.0])
    assert (caught.value.expected, caught.value.got) == (64, 2)


def test_max_distance_leaves_out_what_is_further(docs):
    near = docs.search("The export button is top right", max_distance=0.1)
    assert near.ids == ["one"]
    assert len(docs.search("The export button is top right", max_distance=2)) == 3


def test_max_distance_auto_without_a_noise_floor_leaves_all(docs):
    assert len(docs.search("export button", max_distance="auto")) == 3


def test_max_distance_auto_takes_the_embedders_noise_floor():
    inner = HashEmbedder(64)
    embedder = CallableEmbedder("hashed", 64, inner.embed_documents, noise_floor=0.9)
    with Collection("c", embedder=embedder) as db:
        db.add(TEXTS)
        assert db.search(TEXTS[0], max_distance="auto").texts == TEXTS[:1]


def test_search_under_a_budget(docs):
    hits = docs.search("export button", token_budget=8, limit=None)
    assert len(hits) == 1
    assert hits.cut_count == 2
    with pytest.raises(InvalidInputError, match="token_budget"):
        docs.search("export button", limit=None)


def test_score_gap(docs):
    assert docs.search("The export button is top right", mode="dense", score_gap=0.9).ids == ["one"]


def test_explain_puts_the_parts_into_scoring(docs):
    assert "_vx_scoring" not in docs.search("export button").top.metadata
    scoring = docs.search("export button", explain=True).top.metadata["_vx_scoring"]
    assert {"dense", "lexical"} <= scoring.keys()


def test_similar_is_nearest_first_without_itself(docs):
    hits = docs.similar("one", limit=2)
    assert "one" not in hits.ids
    assert len(hits) == 2
    assert hits.scores == sorted(hits.scores, reverse=True)


def test_similar_stays_with_the_owner(memory_db):
    for user in ("ann", "ben", None):
        for i in range(2):
            memory_db.remember(f"likes tea {i}", user=user, kind="fact", id=f"{user}{i}")
    assert memory_db.similar("ann0", limit=10).ids == ["ann1"]
    assert memory_db.similar("None0", limit=10).ids == ["None1"]


def test_similar_of_an_unknown_id_is_not_found(docs):
    with pytest.raises(NotFoundError):
        docs.similar("nothing")


def test_get_is_in_the_order_asked_and_leaves_out_unknown_ids(docs):
    assert [r.id for r in docs.get(["three", "nothing", "one"])] == ["three", "one"]
    assert docs.get([]) == []
    assert docs.get_one("nothing") is None
    assert docs.get_one("one").vector is None


def test_given_vectors_come_back_exactly(memory_db):
    rows = np.random.default_rng(1).normal(size=(3, 64)).astype(np.float32) * 7
    ids = memory_db.add(TEXTS, vectors=rows)
    for result, row in zip(memory_db.get(ids, vectors=True), rows, strict=True):
        assert result.vector.dtype == np.float32
        assert np.array_equal(result.vector, row)


def test_length_of_a_vector_plays_no_part(memory_db):
    row = np.random.default_rng(1).normal(size=64)
    memory_db.add(["small", "large"], vectors=[row * 1e-3, row * 1e3])
    small, large = sorted(memory_db.search(vector=row).items, key=lambda r: r.text, reverse=True)
    assert small.similarity == pytest.approx(large.similarity, abs=1e-5)


def test_vectors_of_any_dimension_are_taken_where_nobody_chose_an_embedder():
    with Collection("c") as db:
        ids = db.add(["east", "north"], vectors=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        assert db.search(vector=[0.9, 0.1, 0.0]).ids == ids
        assert db.search("north", mode="lexical").ids == ids[1:]
        with pytest.raises(DimensionError):
            db.search("north")


def test_vectors_of_another_dimension_than_the_embedders_are_refused(memory_db):
    with pytest.raises(DimensionError) as caught:
        memory_db.add("x", vectors=[[1.0, 2.0]])
    assert (caught.value.expected, caught.value.got) == (64, 2)


def test_another_embedder_is_refused(tmp_path):
    with Collection("c", path=tmp_path, embedder=HashEmbedder(64)) as db:
        db.remember("apple pie", session="a")
    with Collection("c", path=tmp_path, embedder=HashEmbedder(32)) as db:
        with pytest.raises(DimensionError):
            db.recall("apple")
        with pytest.raises(DimensionError):
            db.remember("x")
        assert db.recall("apple", mode="lexical", min_relevance=None).texts == ["apple pie"]
    other = CallableEmbedder("hash-64", 64, lambda texts: np.random.default_rng(3).normal(size=(len(texts), 64)))
    with Collection("c", path=tmp_path, embedder=other) as db, pytest.raises(FingerprintError):
        db.recall("apple")


def test_count_sessions_and_users(docs):
    docs.remember("x", session="a")
    docs.remember("x", session="b", user="ann")
    assert docs.count() == 5
    assert docs.count(user=None) == 4
    assert docs.count(user="ann") == 1
    assert docs.count(session="a") == 1
    assert docs.count({"n": 1}) == 1
    assert docs.sessions() == ["a"]
    assert docs.sessions("ann") == ["b"]
    assert sorted(docs.sessions(ANY)) == ["a", "b"]
    assert docs.users() == ["ann"]


def test_stats_are_figures_by_name(docs):
    stats = docs.stats()
    assert stats
    assert all(isinstance(name, str) for name in stats)


def test_warmup_loads_what_the_first_call_needs(docs):
    docs.warmup()
    assert docs.search("export button").top.id == "one"


def test_long_text_is_embedded_in_parts_where_the_embedder_has_a_window():
    inner = HashEmbedder(64)
    embedder = CallableEmbedder("windowed", 64, inner.embed_documents, window=20)
    long = " ".join(f"Sentence number {i} is about something else." for i in range(40)) + " The cat sat on a mat."
    with Collection("c", embedder=embedder) as db:
        (stored,) = db.add(long)
        vectors = db.get([stored], vectors=True)[0].vector
        assert vectors.ndim == 2
        assert len(vectors) > 3
        assert db.search("The cat sat on a mat.", mode="dense").top.similarity > 0.6
        db.search(long)
