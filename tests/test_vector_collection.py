"""A plain vector collection: vectors of the caller's own in and out, one collection for all users, exact distances."""

import statistics
import time

import numpy as np
import pytest

from retentive import CallableEmbedder, Collection, DimensionError, HashEmbedder, InvalidInputError

OTHERS = 10_000


def exact(vectors, query):
    """The cosines in float64: what every similarity is held to."""
    vectors, query = np.asarray(vectors, np.float64), np.asarray(query, np.float64)
    return vectors @ query / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(query))


@pytest.fixture
def plain():
    """A collection that nobody chose an embedder for."""
    with Collection("vectors") as db:
        yield db


@pytest.fixture(scope="module")
def crowd():
    """One user's 20 notes among 10,000 near-identical ones of 50 others, all nearer to the query than hers."""
    draw = np.random.default_rng(5)
    query = draw.normal(size=32)
    others = query + draw.normal(scale=1e-3, size=(OTHERS, 32))
    own = draw.normal(size=(20, 32))
    with Collection("crowd") as db:
        db.add(
            [f"the same note {number}" for number in range(OTHERS)],
            metadata=[{"user_id": f"user {number % 50}", "n": number} for number in range(OTHERS)],
            vectors=others,
        )
        ids = db.add([f"a note of hers {number}" for number in range(20)], [{"user_id": "ann"}] * 20, vectors=own)
        yield db, query, own, ids


@pytest.mark.parametrize("dimension", [1, 2, 3, 7, 64, 1_536, 4_096])
def test_vectors_of_any_length_come_back_as_the_float32_that_were_given(plain, dimension):
    rows = np.random.default_rng(dimension).normal(scale=9, size=(3, dimension)).astype(np.float32)
    ids = plain.add(["one", "two", "three"], vectors=rows)
    for result, row in zip(plain.get(ids, vectors=True), rows, strict=True):
        assert result.vector.dtype == np.float32
        assert np.array_equal(result.vector, row)
    assert ids[1] in plain.search(vector=rows[1], max_distance=1e-5).ids


@pytest.mark.parametrize("scale", [1e-38, 1e-20, 1, 1e18, 3e37])
def test_similarity_is_exact_at_any_length_of_the_vectors(plain, scale):
    draw = np.random.default_rng(2)
    rows = (draw.uniform(-1, 1, size=(12, 16)) * scale).astype(np.float32)
    query = (draw.uniform(-1, 1, size=16) * scale).astype(np.float32)
    ids = plain.add([f"text {number}" for number in range(12)], vectors=rows)
    expected = dict(zip(ids, exact(rows, query), strict=True))
    hits = plain.search(vector=query, limit=12)
    assert hits.ids == sorted(ids, key=expected.__getitem__, reverse=True)
    for hit in hits:
        assert abs(hit.similarity - expected[hit.id]) < 1e-6
        assert hit.distance == 1 - hit.similarity


def test_lengths_may_differ_between_rows_and_play_no_part(plain):
    direction = np.array([3.0, -1.0, 2.0])
    plain.add(["tiny", "one", "huge"], vectors=[direction * 1e-30, direction, direction * 1e30])
    hits = plain.search(vector=direction)
    assert {hit.text for hit in hits} == {"tiny", "one", "huge"}
    assert all(abs(hit.distance) < 1e-6 for hit in hits)


def test_one_dimension_knows_two_directions(plain):
    plain.add(["up", "down"], vectors=[[2.0], [-5.0]])
    assert [(hit.text, hit.similarity, hit.distance) for hit in plain.search(vector=[0.1])] == [
        ("up", 1.0, 0.0),
        ("down", -1.0, 2.0),
    ]


def test_float64_and_integers_are_stored_as_float32(plain):
    ids = plain.add(["a", "b"], vectors=[[1, 2, 3], [0.1, 0.2, 0.3]])
    stored = [result.vector.tolist() for result in plain.get(ids, vectors=True)]
    assert stored == np.array([[1, 2, 3], [0.1, 0.2, 0.3]], np.float32).tolist()


def test_one_text_takes_its_vector_flat_or_as_a_row(plain):
    plain.add("flat", vectors=[1.0, 0.0])
    plain.add("row", vectors=[[0.0, 1.0]])
    plain.add("array", vectors=np.array([1.0, 1.0]))
    assert plain.search(vector=[0.0, 1.0], limit=1).texts == ["row"]


@pytest.mark.parametrize(
    "vectors", [3.0, [], [[]], [[[1.0]]], [[0.0, 0.0]], [[float("nan"), 1.0]], ["a"], {"a": 1}, "ab"]
)
def test_what_is_no_vector_is_refused_and_nothing_is_stored(plain, vectors):
    with pytest.raises(InvalidInputError):
        plain.add("text", vectors=vectors)
    assert plain.count() == 0


def test_another_length_than_the_first_is_refused_in_and_out(plain):
    plain.add("a", vectors=[1.0, 2.0, 3.0])
    for call in (lambda: plain.add("b", vectors=[1.0, 2.0]), lambda: plain.search(vector=[1.0, 2.0])):
        with pytest.raises(DimensionError) as caught:
            call()
        assert (caught.value.expected, caught.value.got) == (3, 2)
    assert plain.count() == 1


def test_vectors_are_there_after_reopening(tmp_path):
    rows = np.random.default_rng(1).normal(size=(2, 5)).astype(np.float32)
    with Collection("v", path=tmp_path) as db:
        ids = db.add(["a", "b"], vectors=rows)
    with Collection("v", path=tmp_path) as db:
        assert np.array_equal([result.vector for result in db.get(ids, vectors=True)], rows)
        assert db.search(vector=rows[0]).top.similarity == pytest.approx(1)


def test_adding_under_the_same_id_replaces_the_vector(plain):
    plain.add("a", ids="one", vectors=[1.0, 0.0])
    plain.add("a", ids="one", vectors=[0.0, 1.0])
    assert plain.get(["one"], vectors=True)[0].vector.tolist() == [0.0, 1.0]
    assert plain.search(vector=[0.0, 1.0], max_distance=0.1).ids == ["one"]
    assert not plain.search(vector=[1.0, 0.0], max_distance=0.1).items


def test_filter_by_user_finds_all_of_hers_among_ten_thousand_nearer_ones(crowd):
    db, query, own, ids = crowd
    expected = dict(zip(ids, exact(own, query), strict=True))
    hits = db.search(vector=query, limit=10, filter={"user_id": "ann"})
    assert hits.ids == sorted(ids, key=expected.__getitem__, reverse=True)[:10]
    assert all(abs(hit.similarity - expected[hit.id]) < 1e-6 for hit in hits)
    assert {hit.metadata["user_id"] for hit in hits} == {"ann"}


@pytest.mark.parametrize("limit", [1, 5, 20, 50])
def test_filter_decides_before_the_limit(crowd, limit):
    db, query, _, ids = crowd
    assert len(db.search(vector=query, limit=limit, filter={"user_id": "ann"})) == min(limit, len(ids))
    assert db.search(vector=query, limit=limit, filter={"user_id": "nobody"}).ids == []


def test_filter_that_one_row_matches_finds_it(crowd):
    db, query, _, _ = crowd
    hits = db.search(vector=query, limit=1, filter={"user_id": "user 7", "n": 9_957})
    assert [hit.text for hit in hits] == ["the same note 9957"]


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_filter_isolates_in_every_mode(mode):
    with Collection("c", embedder=HashEmbedder(64)) as db:
        db.add(["my dog is called Rex"] * 300, [{"user_id": "bob"}] * 300, [f"b{number}" for number in range(300)])
        db.add(["a dog barked at me", "tea with milk"], [{"user_id": "ann"}] * 2, ["a0", "a1"])
        hits = db.search("my dog is called Rex", mode=mode, limit=5, filter={"user_id": "ann"})
        assert hits.ids[0] == "a0"
        assert {hit.metadata["user_id"] for hit in hits} == {"ann"}


def test_count_and_delete_keep_to_the_filter(crowd):
    db, _, _, ids = crowd
    assert db.count({"user_id": "ann"}) == len(ids)
    assert db.count({"user_id": {"$ne": "ann"}}) == OTHERS
    assert db.count({"$or": [{"user_id": "ann"}, {"n": {"$lt": 10}}]}) == len(ids) + 10


def test_filter_of_own_and_reserved_keys_together(crowd):
    db, query, _, ids = crowd
    mixed = {"user_id": "ann", "_vx_ts": {"$gt": "2000-01-01T00:00:00+00:00"}}
    assert set(db.search(vector=query, limit=50, filter=mixed).ids) == set(ids)
    assert db.search(vector=query, filter={"user_id": "ann", "_vx_kind": "fact"}).ids == []


def test_filtered_search_costs_what_reading_the_metadata_does(crowd):
    """Linear in the rows: a look at the metadata of each, as for `count`, which ranks nothing."""
    db, query, _, _ = crowd

    def median(call):
        times = []
        for _ in range(5):
            start = time.thread_time()
            call()
            times.append(time.thread_time() - start)
        return statistics.median(times)

    filtered = median(lambda: db.search(vector=query, filter={"user_id": "ann"}))
    counted = median(lambda: db.count({"user_id": "ann"}))
    assert filtered < 3 * counted


def test_max_distance_cuts_exactly_where_it_says(plain):
    draw = np.random.default_rng(3)
    rows, query = draw.normal(size=(200, 8)), draw.normal(size=8)
    plain.add([f"text {number}" for number in range(200)], vectors=rows)
    distances = np.sort(1 - exact(rows.astype(np.float32), query.astype(np.float32)))
    for place in (0, 1, 50, 198):
        between = (distances[place] + distances[place + 1]) / 2
        hits = plain.search(vector=query, limit=200, max_distance=float(between))
        assert len(hits) == place + 1
        assert all(hit.distance <= between for hit in hits)


@pytest.mark.parametrize(
    ("most", "texts"), [(0, ["same"]), (1, ["same", "square"]), (2, ["same", "square", "opposite"])]
)
def test_max_distance_keeps_what_is_exactly_so_far(plain, most, texts):
    plain.add(["same", "square", "opposite"], vectors=[[2.0, 0.0], [0.0, 3.0], [-1.0, 0.0]])
    assert plain.search(vector=[1.0, 0.0], max_distance=most).texts == texts


def test_max_distance_auto_is_the_noise_floor_and_off_where_nobody_knows_it(plain):
    plain.add(["near", "far"], vectors=[[1.0, 0.0], [0.0, 1.0]])
    assert len(plain.search(vector=[1.0, 0.1], max_distance="auto")) == 2
    embedder = CallableEmbedder("given", 2, lambda texts: np.ones((len(texts), 2)), noise_floor=0.5)
    with Collection("c", embedder=embedder) as db:
        db.add(["near", "far"], vectors=[[1.0, 0.0], [0.0, 1.0]])
        assert db.search(vector=[1.0, 0.1], max_distance="auto").texts == ["near"]


def test_max_distance_and_filter_together(crowd):
    db, query, own, ids = crowd
    near = [stored for stored, cosine in zip(ids, exact(own, query), strict=True) if 1 - cosine <= 0.9]
    hits = db.search(vector=query, limit=50, filter={"user_id": "ann"}, max_distance=0.9)
    assert set(hits.ids) == set(near)
    assert 0 < len(near) < len(ids)
