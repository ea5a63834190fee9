"""Two models in one collection: `embedder=[a, b]`."""

import pickle
import random

import numpy as np
import pytest

import retentive
from retentive import (
    Collection,
    ConfigurationError,
    ConversationMemory,
    DimensionError,
    EmbedderPair,
    FingerprintError,
    InvalidInputError,
)
from retentive.embedders import CallableEmbedder, HashEmbedder, OnnxEmbedder, StaticEmbedder

A, B = HashEmbedder(64), HashEmbedder(48)
WORDS = ["zorb", "plim", "quax", "drov", "fint", "gamb", "jirt", "wost", "kelm", "brux", "nolt", "vask"]
ALWAYS = {"limit": None, "token_budget": 10**9, "min_relevance": None}
TEXTS = ["the blue whale sings at night", "a report as a PDF please", "the harbour on Friday"]


@pytest.fixture
def pair_db(tmp_path):
    with Collection("pair", path=tmp_path, embedder=[A, B]) as db:
        yield db


class Other(CallableEmbedder):
    """A model of words, other than `HashEmbedder`'s, which may know its noise."""

    def __init__(self, name, dimension=40, **known):
        shifted = HashEmbedder(dimension)

        def texts(given):
            changed = [f"{name} " + " ".join(f"x{word}" for word in text.split()) for text in given]
            return shifted.embed_documents(changed)

        super().__init__(name, dimension, texts, **known)


def scaled(values):
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def cosines(embedder, query, texts):
    """Best of a text's parts: these are short, so each has one."""
    rows, vector = embedder.embed_documents(texts), embedder.embed_query(query)
    return rows @ vector / np.linalg.norm(rows, axis=1) / np.linalg.norm(vector)


def talk(seed):
    pick = random.Random(seed)
    texts = list(dict.fromkeys(" ".join(pick.choices(WORDS, k=pick.randint(2, 7))) for _ in range(25)))
    return texts, " ".join(pick.sample(WORDS, 3))


class TestTheDenseSignal:
    @pytest.mark.parametrize("seed", range(8))
    def test_is_the_weighted_sum_of_both_scaled_cosines(self, seed):
        texts, query = talk(seed)
        pair = EmbedderPair(A, B, dense_weights=(0.4, 0.15))
        with Collection("pair", embedder=pair) as db:
            db.remember_many([{"text": text, "session": "s"} for text in texts])
            found = {hit.text: hit.metadata["_vx_scoring"] for hit in db.recall(query, session="s", **ALWAYS)}
        first = 0.4 * scaled(cosines(A, query, texts))
        second = 0.15 * scaled(cosines(B, query, texts))
        for row, text in enumerate(texts):
            got = found[text]
            assert got["dense_first"] == pytest.approx(first[row], abs=0.015)  # the scan is of int8 codes
            assert got["dense_second"] == pytest.approx(second[row], abs=0.015)
            assert got["dense"] == pytest.approx(got["dense_first"] + got["dense_second"], abs=1e-5)
            assert got["relevance"] == pytest.approx(cosines(A, query, [text])[0], abs=1e-5)

    @pytest.mark.parametrize("seed", range(8))
    def test_of_a_search_is_exact(self, seed):
        texts, query = talk(seed)
        pair = EmbedderPair(A, B, dense_weights=(0.4, 0.2))
        with Collection("pair", embedder=pair) as db:
            db.add(texts)
            hits = db.search(query, limit=len(texts), explain=True)
        expected = 0.4 * scaled(cosines(A, query, texts)) + 0.2 * scaled(cosines(B, query, texts))
        dense = dict(zip(texts, expected, strict=True))
        for hit in hits:
            parts = hit.metadata["_vx_scoring"]
            assert parts["dense"] == pytest.approx(dense[hit.text], abs=0.02)  # the range is that of the int8 scan
            assert parts["dense_first"] + parts["dense_second"] == pytest.approx(parts["dense"])
            assert hit.score == pytest.approx(parts["dense"] + parts["lexical"])
        assert hits.scores == sorted(hits.scores, reverse=True)

    def test_weighs_what_the_caller_says_in_the_shares_of_the_pair(self):
        with Collection("pair", embedder=EmbedderPair(A, B, dense_weights=(0.3, 0.1))) as db:
            db.remember_many([{"text": text, "session": "s"} for text in TEXTS])
            db.memory = ConversationMemory(db, signals={"dense": 1.0})
            best = db.recall("blue whale sings", session="s", **ALWAYS).top.metadata["_vx_scoring"]
            assert best["dense_first"] == pytest.approx(0.75)
            assert best["dense_second"] == pytest.approx(0.25)

    def test_lets_words_weigh_what_they_do_beside_one_model_of_the_same_weight(self):
        one = CallableEmbedder("one", 64, A.embed_documents, dense_weight=0.6)
        parts = []
        for embedder in (one, EmbedderPair(A, B, dense_weights=(0.4, 0.2))):
            with Collection("c", embedder=embedder) as db:
                db.remember_many([{"text": text, "session": "s"} for text in TEXTS])
                parts.append(db.recall("blue whale", session="s", **ALWAYS).top.metadata["_vx_scoring"])
        assert [parts[0][name] for name in ("lexical", "window")] == [parts[1][name] for name in ("lexical", "window")]

    def test_of_weight_nothing_is_silent(self):
        with Collection("pair", embedder=EmbedderPair(A, B, dense_weights=(0, 0))) as db:
            db.remember("the blue whale", session="s")
            db.remember("something else", session="s")
            scoring = db.recall("blue whale", session="s", **ALWAYS).top.metadata["_vx_scoring"]
            assert scoring["dense"] == scoring["dense_first"] == scoring["dense_second"] == 0

    def test_finds_what_only_the_second_model_sees(self):
        blind = CallableEmbedder("blind", 2, lambda texts: [[1.0, 0.0]] * len(texts))
        with Collection("pair", embedder=[blind, A]) as db:
            db.remember_many([{"text": text, "session": "s"} for text in TEXTS])
            db.memory = ConversationMemory(db, signals={"lexical": 0, "window": 0, "sitting_words": 0})
            assert db.recall("sings whale", session="s", limit=1, min_relevance=None).texts == TEXTS[:1]

    def test_weights_the_tokens_of_a_static_model_in_either_place(self):
        texts, query = ["the cat of the house", "the dog of the garden", "the rare axolotl"], "the axolotl"
        static = StaticEmbedder()
        rows = static.embed_documents(texts)
        spans = static.query_terms(query)
        # "the" is in all three, each piece of "axolotl" in one.
        weights = np.log(1 + 3 / (1 + np.array([3] + [1] * (len(spans[1]) - 1))))
        weighted = (weights[:, None] * spans[0]).sum(axis=0)
        expected = scaled(rows @ weighted)
        for embedder, name, weight in (([A, static], "dense_second", 1), ([static, A], "dense_first", 0)):
            pair = EmbedderPair(*embedder, dense_weights=(1 - weight, weight) if weight else (1, 0))
            with Collection("pair", embedder=pair) as db:
                db.remember_many([{"text": text, "session": "s"} for text in texts])
                found = {hit.text: hit.metadata["_vx_scoring"][name] for hit in db.recall(query, session="s", **ALWAYS)}
            assert [found[text] for text in texts] == pytest.approx(expected, abs=0.02)


class TestWhatIsOfTheFirstModel:
    def test_similarity_and_distance(self, pair_db):
        pair_db.add(TEXTS)
        for mode in ("hybrid", "dense"):
            for hit in pair_db.search("blue whale PDF", mode=mode):
                expected = cosines(A, "blue whale PDF", [hit.text])[0]
                assert hit.similarity == pytest.approx(expected, abs=1e-5)
                assert hit.distance == pytest.approx(1 - expected, abs=1e-5)

    def test_the_score_of_a_dense_search(self, pair_db):
        pair_db.add(TEXTS)
        hits = pair_db.search("blue whale", mode="dense", explain=True)
        assert hits.scores == [hit.similarity for hit in hits]
        assert hits.top.metadata["_vx_scoring"].keys() == {"relevance", "dense"}

    def test_cut_offs(self, pair_db):
        pair_db.remember_many([{"text": text, "session": "s"} for text in TEXTS])
        similarity = {hit.text: hit.similarity for hit in pair_db.recall("the blue whale", session="s", **ALWAYS)}
        middle = sorted(similarity.values())[1]
        kept = pair_db.recall("the blue whale", session="s", min_relevance=middle)
        assert set(kept.texts) == {text for text, cosine in similarity.items() if cosine >= middle}
        near = pair_db.search("the blue whale", max_distance=1 - middle + 1e-6)
        assert set(near.texts) == set(kept.texts)

    def test_floors(self):
        loud = Other("loud", noise_floor=0.99, refusal_floor=5.0)
        quiet = Other("quiet", 32, noise_floor=-1.0, refusal_floor=-5.0)
        many = [{"text": f"memory number {n} of many", "session": "s"} for n in range(12)]
        for embedder, found in (([loud, quiet], False), ([quiet, loud], True)):
            with Collection("pair", embedder=embedder) as db:
                db.remember_many(many)
                assert bool(db.recall("something unheard of", session="s")) is found
                assert bool(db.search("something unheard of", max_distance="auto")) is found

    def test_vectors_that_come_back(self, pair_db):
        ids = pair_db.add(TEXTS)
        rows = A.embed_documents(TEXTS)
        for hit, row in zip(pair_db.get(ids, vectors=True), rows, strict=True):
            assert np.array_equal(hit.vector, row)

    def test_similar(self, pair_db):
        ids = pair_db.add([*TEXTS, "the blue whale sleeps at night"])
        hits = pair_db.similar(ids[0])
        assert hits.texts[0] == "the blue whale sleeps at night"
        expected = cosines(A, TEXTS[0], hits.texts)
        assert [hit.similarity for hit in hits] == pytest.approx(expected, abs=1e-5)


class TestStoring:
    def test_every_way_of_storing_embeds_with_both(self, pair_db):
        def summarize(turns):
            return [f"fact of {len(turns)} turns about whales"]

        pair_db.remember("the first whale", session="s")
        pair_db.remember_many([{"text": f"whale number {n}", "session": "s"} for n in range(8)])
        pair_db.add(["a document about whales"])
        fact = pair_db.remember("the whale is blue", session="s", kind="fact", key="whale")
        pair_db.feedback(fact, "corrected", "the whale is grey")
        pair_db.consolidate("s", summarize, keep_recent=2)
        hits = pair_db.search("whale", limit=20, explain=True)
        assert len(hits) == pair_db.count({"_vx_superseded_by": {"$exists": False}}) >= 5
        second = scaled(cosines(B, "whale", hits.texts))
        weight = pair_db.embedder.dense_weights[1]
        for hit, expected in zip(hits, second, strict=True):
            assert hit.metadata["_vx_scoring"]["dense_second"] == pytest.approx(weight * expected, abs=0.02)

    def test_long_texts_have_parts_of_each_model(self):
        short = CallableEmbedder("short", 64, A.embed_documents, window=8)
        text = "The whale sings. " * 6 + "The report is a PDF."
        with Collection("pair", embedder=[short, B]) as db:
            ids = db.add([text])
            (hit,) = db.get(ids, vectors=True)
            assert len(hit.vector) > 1
            found = db.search("the report is a PDF", mode="dense")
            assert found.top.similarity > 0.9  # the part, not the whole
            assert db.search("the report is a PDF", explain=True).ids == ids

    def test_reopening_finds_the_same(self, tmp_path):
        with Collection("pair", path=tmp_path, embedder=[A, B]) as db:
            db.remember_many([{"text": text, "session": "s"} for text in TEXTS])
            before = db.recall("blue report", session="s", now="2030-01-01", **ALWAYS)
        with Collection("pair", path=tmp_path, embedder=[A, B]) as db:
            after = db.recall("blue report", session="s", now="2030-01-01", **ALWAYS)
            assert [(hit.id, hit.score, hit.similarity) for hit in after] == [
                (hit.id, hit.score, hit.similarity) for hit in before
            ]

    def test_processes_write_and_read_one_file(self, tmp_path, run):
        code = """
pair = [HashEmbedder(64), HashEmbedder(48)]
with Collection("pair", path=folder, embedder=pair) as db:
    db.remember(f"process {sys.argv[2]} saw a whale", session="s")
    tell(len(db.recall("whale", session="s", min_relevance=None)))
"""
        with Collection("pair", path=tmp_path, embedder=[A, B]) as db:
            for count in range(1, 4):
                assert run(code, count) == [str(count)]
                hits = db.recall("a whale", session="s", limit=10, min_relevance=None)
                assert len(hits) == count
                assert all("dense_second" in hit.metadata["_vx_scoring"] for hit in hits)

    def test_what_is_forgotten_leaves_no_byte_of_either_vector(self, tmp_path, run):
        with Collection("pair", path=tmp_path, embedder=[A, B]) as db:
            db.remember("the secret whale", session="s")
            db.remember("something that stays", session="s")
            db.forget("s", ids=[db.turns("s")[0].id])
        content = b"".join(file.read_bytes() for file in tmp_path.glob("pair.db*"))
        for embedder in (A, B):
            gone, kept = embedder.embed_documents(["the secret whale", "something that stays"])
            assert gone.tobytes() not in content
            assert kept.tobytes() in content

    def test_users_stay_apart(self, pair_db):
        pair_db.remember("the whale of Anna", user="anna")
        pair_db.remember("the whale of Bert", user="bert")
        assert pair_db.recall("whale", user="anna").texts == ["the whale of Anna"]
        assert pair_db.search("whale", user="bert").texts == ["the whale of Bert"]

    def test_writing_the_same_document_again_changes_nothing(self, pair_db):
        assert pair_db.add(TEXTS) == pair_db.add(TEXTS)
        assert pair_db.count() == len(TEXTS)
        assert pair_db.stats()["erased"] == 0

    def test_lexical_reads_touch_no_model(self, tmp_path):
        with Collection("pair", path=tmp_path, embedder=[A, B]) as db:
            db.remember("the blue whale", session="s")

        def fail(texts):
            raise AssertionError("called")

        unused = [CallableEmbedder("hash-64", 64, fail), CallableEmbedder("hash-48", 48, fail)]
        with Collection("pair", path=tmp_path, embedder=unused) as db:
            assert db.recall("whale", session="s", mode="lexical").texts == ["the blue whale"]
            assert db.search("whale", mode="lexical").texts == ["the blue whale"]

    def test_a_context_is_packed(self):
        with Collection("pair", embedder=[A, "static"]) as db:
            db.remember("We met at the harbour. " * 40 + "The ferry leaves at nine.", session="s")
            block = db.context("when does the ferry leave", session="s", token_budget=80, recent_turns=0)
            assert "nine" in block.text
            assert block.token_estimate <= 80


class TestTheFingerprint:
    def test_one_model_does_not_open_what_two_made(self, tmp_path):
        with Collection("c", path=tmp_path, embedder=[A, B]) as db:
            db.remember("a text", session="s")
        for embedder in (A, B, [B, A], [A, Other("other")]):
            with Collection("c", path=tmp_path, embedder=embedder) as db:
                with pytest.raises(FingerprintError, match=r'"hash-64" and "hash-48".*reembed'):
                    db.remember("another", session="s")
                with pytest.raises(FingerprintError):
                    db.recall("a text", session="s")
                assert [turn.text for turn in db.turns("s")] == ["a text"]

    def test_two_do_not_open_what_one_made(self, tmp_path):
        with Collection("c", path=tmp_path, embedder=A) as db:
            db.remember("a text", session="s")
        refused = pytest.raises(FingerprintError, match=r'"hash-64", not with .*"hash-64" and "hash-48".*reembed')
        with Collection("c", path=tmp_path, embedder=[A, B]) as db, refused:
            db.remember("another", session="s")

    def test_a_second_model_of_the_same_name_with_other_vectors_is_found_out(self, tmp_path):
        with Collection("c", path=tmp_path, embedder=[A, Other("m")]) as db:
            db.remember("a text", session="s")
        same_name = CallableEmbedder("m", 40, HashEmbedder(40).embed_documents)
        with (
            Collection("c", path=tmp_path, embedder=[A, same_name]) as db,
            pytest.raises(FingerprintError, match='"m"'),
        ):
            db.remember("another", session="s")
        same_name = CallableEmbedder("m", 41, HashEmbedder(41).embed_documents)
        with Collection("c", path=tmp_path, embedder=[A, same_name]) as db, pytest.raises(DimensionError) as caught:
            db.remember("another", session="s")
        assert (caught.value.expected, caught.value.got) == (40, 41)


class TestGivenVectors:
    def test_are_refused_with_the_way_out(self, pair_db):
        vector = A.embed_query("x")
        calls = [
            lambda: pair_db.add(["a text"], vectors=[vector]),
            lambda: pair_db.remember_many([{"text": "a text", "vector": vector}]),
            lambda: pair_db.search(vector=vector),
            lambda: pair_db.search("a text", vector=vector),
        ]
        for call in calls:
            with pytest.raises(InvalidInputError, match=r"two models \(hash-64 \+ hash-48\).*leave it out"):
                call()
        assert pair_db.count() == 0

    def test_are_refused_in_a_collection_that_two_made(self, tmp_path):
        with Collection("c", path=tmp_path, embedder=[A, B]) as db:
            db.add(["a text"])
        with Collection("c", path=tmp_path, embedder=A) as db:
            for call in (
                lambda: db.search(vector=A.embed_query("x")),
                lambda: db.add(["another"], vectors=[A.embed_query("x")]),
            ):
                with pytest.raises(InvalidInputError, match="two models"):
                    call()


class TestTheArgument:
    def test_a_list_of_one_is_that_one(self, tmp_path):
        with Collection("c", embedder=[A]) as db:
            assert db.embedder is A
        with Collection("c", embedder=["static"]) as db:
            db.add(["a text"], vectors=[[1.0, 0.0]])  # nobody chose a model, as with "static"
            assert db.stats()["dimension"] == 2

    def test_two_are_a_pair_that_holds_both(self, pair_db):
        pair = pair_db.embedder
        assert isinstance(pair, EmbedderPair)
        assert (pair.first, pair.second) == pair.models == (A, B)
        assert pair.name == "hash-64 + hash-48"
        assert "dense_weights" in repr(pair)

    def test_stats_name_both_models(self, pair_db):
        pair_db.add(TEXTS)
        stats = pair_db.stats()
        assert [stats[name] for name in ("model", "dimension", "second_model", "second_dimension")] == [
            "hash-64",
            64,
            "hash-48",
            48,
        ]

    def test_stats_of_one_model_have_no_second(self, db):
        db.add(TEXTS)
        assert db.stats()["second_model"] is None

    def test_warmup_warms_both(self):
        warmed = set()

        def embedder(name, inner):
            return CallableEmbedder(
                name, inner.dimension, lambda texts: warmed.add(name) or inner.embed_documents(texts)
            )

        with Collection("c", embedder=[embedder("a", A), embedder("b", B)]) as db:
            db.warmup()
        assert warmed == {"a", "b"}

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ([], "list of 0"),
            ([A, B, HashEmbedder(32)], "list of 3"),
            ([A, HashEmbedder(64)], "both embedders are 'hash-64'"),
            (["static", "static"], "both embedders"),
            ([A, HashEmbedder], "is the class HashEmbedder"),
            ([A, None], "NoneType"),
            ([A, [B, B]], "list"),
            ([A, "no such model"], "no such model"),
        ],
    )
    def test_anything_else_is_a_configuration_error_with_a_hint(self, given, message):
        with pytest.raises(ConfigurationError, match=message) as caught:
            Collection("c", embedder=given)
        assert caught.value.hint

    @pytest.mark.parametrize(
        "weights",
        [(0.5,), (0.1, 0.2, 0.3), (0.5, 1.5), (-0.1, 0.5), (True, 0.5), (0.6, 0.5), "ab", 0.5, (float("nan"), 0.1)],
    )
    def test_weights_are_two_numbers_of_0_to_1(self, weights):
        with pytest.raises(ConfigurationError, match="dense_weights"):
            EmbedderPair(A, B, dense_weights=weights)


class TestTheDefaultWeights:
    def test_of_an_onnx_model_with_the_static_one(self, bge_folder):
        with Collection("c", embedder=[OnnxEmbedder(bge_folder), "static"]) as db:
            assert db.embedder.dense_weights == pytest.approx((0.6, 0.1))
            db.remember_many([{"text": text, "session": "s"} for text in TEXTS])
            assert db.recall("which animal makes music", session="s", limit=1).texts == TEXTS[:1]

    def test_equal_models_share_the_weight_of_one_the_first_has_more(self):
        pair = EmbedderPair(Other("a", dense_weight=0.6), Other("b", dense_weight=0.6))
        assert pair.dense_weights == pytest.approx((0.36, 0.24))

    def test_the_weaker_one_has_a_little_half_of_it_of_the_stronger_wherever_it_stands(self):
        strong, weak = Other("a", dense_weight=0.65), Other("b", dense_weight=0.5)
        assert EmbedderPair(strong, weak).dense_weights == pytest.approx((0.6, 0.1))
        assert EmbedderPair(weak, strong).dense_weights == pytest.approx((0.1, 0.6))

    @pytest.mark.parametrize("own", [0.95, 0.97, 1.0])
    def test_together_they_weigh_1_at_most(self, own):
        pair = EmbedderPair(Other("a", dense_weight=own), Other("b", dense_weight=0.4))
        assert pair.dense_weights == pytest.approx((0.9, 0.1))

    @pytest.mark.parametrize("other", [0.03, 0.0])
    def test_a_model_of_less_weight_than_that_has_its_own(self, other):
        pair = EmbedderPair(Other("a", dense_weight=0.4), Other("b", dense_weight=other))
        assert pair.dense_weights == pytest.approx((0.4 - other / 2, other))


def test_a_failing_second_model_stores_nothing(tmp_path):
    def fail(texts):
        if "bad" in texts[0]:
            raise ValueError("no")
        return B.embed_documents(texts)

    with Collection("c", path=tmp_path, embedder=[A, CallableEmbedder("b", 48, fail)]) as db:
        db.remember("good", session="s")
        with pytest.raises(retentive.EmbedderError, match=r"b\.embed_documents"):
            db.remember("bad", session="s")
        assert [turn.text for turn in db.turns("s")] == ["good"]


def test_a_pair_of_errors_pickles(pair_db):
    with pytest.raises(InvalidInputError) as caught:
        pair_db.search(vector=[1.0])
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
