"""Calibration: the noise floor, a cut-off and the refusal floor, measured on a collection's own texts."""

import itertools

import numpy as np
import pytest

from retentive import (
    Calibration,
    CallableEmbedder,
    Collection,
    DimensionError,
    EmbedderError,
    HashEmbedder,
    InvalidInputError,
    NotFoundError,
    StaticEmbedder,
    StoreError,
)

WORDS = """apple bread cheese dough eggs flour grape honey icing jam kale lemon mint nuts olive
boat sail anchor rope harbour
chess bishop queen castle pawn music opera violin drum piano garden rose tulip spade hedge river bridge road train wheel
moon""".split()  # noqa: SIM905 - words to read
TOPICS = ("gardening", "sailing", "chess", "baking", "physics", "running", "pottery", "opera")
OUTSIDE = "which isotope dates old bones"


def unit(rows):
    return np.asarray(rows, np.float64) / np.linalg.norm(rows, axis=-1, keepdims=True)


def five_words(count):
    """Texts of five words, no two alike."""
    picked = itertools.combinations(WORDS[:15], 5)
    return [" ".join(words) for words in itertools.islice(picked, 0, count * 7, 7)]


def topical(texts):
    """Vectors along the topics that a text names, each with a little of its own words."""
    named = [[topic in text for topic in TOPICS] for text in texts]
    return np.hstack([named, 0.3 * HashEmbedder(256).embed_documents(list(texts))])


def topics_embedder(**floors):
    return CallableEmbedder("topics", 264, topical, **floors)


def talk(db):
    """Sixty statements on each of eight topics, of a session each."""
    said = [f"statement {number} on {topic}" for topic in TOPICS for number in range(60)]
    db.remember_many([{"text": text, "kind": "fact", "session": text.split()[-1]} for text in said])


def questions():
    return [
        f"tell me more of {topic} {tail}" for topic in TOPICS for tail in ("please", "now", "again", "a", "b", "c", "d")
    ]


@pytest.fixture
def talked():
    with Collection("talk", embedder=topics_embedder()) as db:
        talk(db)
        yield db


def test_noise_floor_of_given_vectors_is_the_quantile_of_all_their_pairs():
    rows = np.random.default_rng(1).normal(size=(41, 6)).astype(np.float32)
    with Collection("c") as db:
        db.add([f"text {number}" for number in range(41)], vectors=rows)
        measured = db.calibrate()
    cosines = (unit(rows) @ unit(rows).T)[np.triu_indices(41, 1)]
    assert measured.unrelated.count == 41 * 40 / 2
    assert measured.noise_floor == pytest.approx(np.quantile(cosines, 0.98), abs=1e-6)
    for share, cosine in measured.unrelated.quantiles:
        assert cosine == pytest.approx(np.quantile(cosines, share), abs=1e-6)
    assert measured.related.count == 0
    assert (measured.cutoff, measured.auc, measured.refusal_floor) == (None, None, None)


@pytest.mark.parametrize("embedder", [HashEmbedder(64), StaticEmbedder()], ids=["hash", "static"])
def test_noise_floor_of_single_words_is_that_of_all_pairs(embedder):
    """A question made of a lone word is that word, and each pair of 41 is measured once."""
    with Collection("c", embedder=embedder) as db:
        db.add(WORDS)
        measured = db.calibrate()
    rows = unit(embedder.embed_documents(WORDS))
    cosines = (rows @ rows.T)[np.triu_indices(41, 1)]
    assert measured.noise_floor == pytest.approx(np.quantile(cosines, 0.98), abs=1e-5)
    histogram = np.histogram(cosines, bins=40, range=(-1, 1))[0]
    assert np.abs(np.array(measured.unrelated.histogram) - histogram).sum() <= 4  # on the edge of a bin


def test_queries_are_related_to_their_best_hit_and_not_to_the_others():
    draw = np.random.default_rng(4)
    rows, asked = draw.normal(size=(26, 12)).astype(np.float32), draw.normal(size=(40, 12)).astype(np.float32)
    with Collection("c") as db:
        db.add([f"text {number}" for number in range(26)], vectors=rows)
        measured = db.calibrate(asked)
    cosines = np.sort(unit(asked) @ unit(rows).T, axis=1)
    best, others = cosines[:, -1], cosines[:, :-1].ravel()
    assert (measured.related.count, measured.unrelated.count) == (best.size, others.size)
    assert measured.noise_floor == pytest.approx(np.quantile(others, 0.98), abs=1e-6)
    assert measured.auc == pytest.approx((best[:, None] > others).mean(), abs=1e-6)

    def gain(cut):
        return (best >= cut).mean() - (others >= cut).mean()

    assert gain(measured.cutoff) == pytest.approx(max(gain(cut) for cut in best))
    assert measured.max_distance == 1 - measured.cutoff


def test_large_collection_is_sampled_near_what_is_known_of_random_directions():
    rows = np.random.default_rng(6).normal(size=(3_000, 64))
    with Collection("c") as db:
        db.add([f"text {number}" for number in range(3_000)], vectors=rows)
        measured = db.calibrate()
    assert measured.unrelated.count == 256 * 25
    assert measured.noise_floor == pytest.approx(2.054 / 8, abs=0.02)  # the 98 % quantile of a normal of 1 / sqrt(64)


def test_given_pairs_are_what_is_measured():
    texts = five_words(30)
    embedder = HashEmbedder(64)
    with Collection("c", embedder=embedder) as db:
        ids = db.add(texts)
        related = list(zip(texts, ids, strict=True))[:10] + list(zip(texts, texts, strict=True))[10:]
        unrelated = [(texts[one], ids[other]) for one in range(15) for other in range(15, 30)]
        measured = db.calibrate(related=related, unrelated=unrelated)
    rows = unit(embedder.embed_documents(texts))
    assert measured.related.count == 30
    assert measured.related.quantiles[0][1] == pytest.approx(1, abs=1e-5)
    assert measured.unrelated.count == 15 * 15
    assert measured.noise_floor == pytest.approx(np.quantile(rows[:15] @ rows[15:].T, 0.98), abs=1e-5)
    assert measured.noise_floor < measured.cutoff < 1


def test_refusal_floor_is_the_least_that_questions_find():
    draw = np.random.default_rng(8)
    known = {}

    def embed(texts):
        return np.array([known.setdefault(text, draw.normal(size=24)) for text in texts])

    stored = [f"memory{number}" for number in range(500)]
    asked = [f"question{number}" for number in range(80)]
    with Collection("c", embedder=CallableEmbedder("made-up", 24, embed)) as db:
        db.remember_many([{"text": text, "kind": "fact"} for text in stored])
        measured = db.calibrate(asked)
    best = (unit(embed(asked)) @ unit(embed(stored)).T).max(axis=1)  # no words in common, 500 memories: nothing to add
    assert measured.questions == 80
    assert measured.refusal_floor == pytest.approx(np.quantile(best, 0.02), abs=0.01)


def test_embedder_without_floors_starts_to_refuse(talked):
    assert talked.recall(OUTSIDE).items
    assert talked.calibrate(questions()).refusal_floor is not None
    assert not talked.recall(OUTSIDE).items
    assert not talked.context(OUTSIDE).retrieved
    assert "chess" in talked.recall("tell me more of chess").top.text
    assert talked.recall(OUTSIDE, min_relevance=None).items
    assert talked.recall("chess", mode="lexical").items


def test_own_texts_are_enough_to_refuse(talked):
    measured = talked.calibrate()
    assert measured.enough
    assert measured.refusal_floor is not None
    assert not talked.recall(OUTSIDE).items
    assert len([text for text in questions() if talked.recall(text).items]) >= 0.95 * len(questions())


def test_max_distance_auto_takes_the_measured_floor(talked):
    everything = talked.search("about chess", limit=480, mode="dense")
    assert len(talked.search("about chess", limit=480, max_distance="auto")) == len(everything)
    floor = talked.calibrate(questions()).noise_floor
    near = talked.search("about chess", limit=480, max_distance="auto")
    assert set(near.ids) == {hit.id for hit in everything if hit.similarity >= floor}
    assert 0 < len(near) < len(everything)


def test_measured_floors_take_the_place_of_the_embedders_own():
    with Collection("talk", embedder=topics_embedder(noise_floor=-1.0, refusal_floor=9.0)) as db:
        talk(db)
        assert not db.recall("tell me more of chess").items
        assert len(db.search("chess", limit=None, token_budget=9_999, max_distance="auto")) == 480
        db.calibrate(questions())
        assert db.recall("tell me more of chess").items
        assert len(db.search("chess", limit=None, token_budget=9_999, max_distance="auto")) < 480
        assert db.uncalibrate()
        assert not db.recall("tell me more of chess").items
        assert not db.uncalibrate()


def test_calibration_is_kept_and_the_same_for_the_same_contents(talked, tmp_path):
    assert talked.calibration() is None
    measured = talked.calibrate()
    assert talked.calibration() == measured
    assert talked.calibrate() == measured
    with Collection("again", path=tmp_path, embedder=topics_embedder()) as db:
        talk(db)
        assert db.calibrate() == measured
    with Collection("again", path=tmp_path, embedder=topics_embedder()) as db:
        assert db.calibration() == measured
        assert not db.recall(OUTSIDE).items


def test_calibrating_again_overwrites(talked):
    first = talked.calibrate()
    second = talked.calibrate(questions())
    assert second != first
    assert talked.calibration() == second


def test_another_process_sees_it_at_its_next_call(db, run):
    db.add(five_words(60))
    assert len(db.search("apple bread", limit=60, max_distance="auto")) == 60
    told = run(
        "db = opened(); print(db.calibrate().noise_floor, len(db.search('apple bread', limit=60, max_distance='auto')))"
    )
    floor, near = told[0].split()
    assert db.calibration().noise_floor == float(floor)
    assert len(db.search("apple bread", limit=60, max_distance="auto")) == int(near) < 60
    db.uncalibrate()
    assert run("print(opened().calibration())") == ["None"]


def test_another_handle_sees_it_at_its_next_call(tmp_path):
    with (
        Collection("c", path=tmp_path, embedder=topics_embedder()) as one,
        Collection("c", path=tmp_path, embedder=topics_embedder()) as other,
    ):
        talk(one)
        assert other.recall(OUTSIDE).items
        one.calibrate()
        assert not other.recall(OUTSIDE).items
        other.uncalibrate()
        assert one.recall(OUTSIDE).items


def test_clear_forgets_what_was_measured(talked):
    talked.calibrate()
    talked.clear()
    assert talked.calibration() is None


def test_writing_and_forgetting_leave_it_in_force(talked):
    measured = talked.calibrate()
    talked.remember("one more on chess", kind="fact", session="chess")
    talked.forget(session="opera", kinds=("fact",))
    assert talked.calibration() == measured
    assert not talked.recall(OUTSIDE).items


@pytest.mark.parametrize("count", [0, 1, 2, 20])
def test_too_few_texts_are_said_and_nothing_is_stored(count):
    with Collection("c", embedder=HashEmbedder(64)) as db:
        db.add(five_words(count))
        measured = db.calibrate()
        assert not measured.enough
        assert measured.noise_floor is None
        assert "texts" in measured.reason
        assert "nothing stored" in repr(measured)
        assert db.calibration() is None


def test_too_few_data_leave_what_was_stored(talked):
    measured = talked.calibrate()
    assert not talked.calibrate(related=[("chess", "a game")], unrelated=[("chess", "a boat")]).enough
    assert talked.calibration() == measured


def test_few_questions_give_no_refusal_floor_and_the_embedders_stays():
    with Collection("talk", embedder=topics_embedder(refusal_floor=9.0)) as db:
        talk(db)
        measured = db.calibrate(questions()[:30])
        assert measured.enough
        assert measured.refusal_floor is None
        assert "30 questions" in measured.reason
        assert not db.recall("tell me more of chess").items


@pytest.mark.parametrize(
    "arguments",
    [
        {"queries": ["tell me more of chess"] * 60},
        {"related": [("tell me more of chess", "statement 1 on chess")] * 60},
        {"queries": ["tell me more of chess"] * 60, "related": [("tell me more of chess", "statement 1 on chess")]},
    ],
)
def test_question_asked_again_and_again_is_one_question(talked, arguments):
    measured = talked.calibrate(**arguments)
    assert not measured.enough
    assert measured.questions == 1
    assert talked.calibration() is None


def test_pair_given_again_and_again_is_one_pair(talked):
    measured = talked.calibrate(related=[("chess", "a game")] * 60, unrelated=[("chess", "a boat")] * 300)
    assert (measured.related.count, measured.unrelated.count) == (1, 1)
    vectors = talked.calibrate([np.ones(264)] * 60)
    assert vectors.related.count == 1


def test_answers_of_one_question_are_related_to_it():
    with Collection("c", embedder=topics_embedder()) as db:
        texts = [f"statement {number} on chess" for number in range(30)]
        db.add(texts)
        measured = db.calibrate(related=[("tell me more of chess", text) for text in texts])
        assert measured.related.count == 30
        assert measured.unrelated.count == 0


def test_equal_texts_are_not_taken_for_unrelated_ones():
    with Collection("c", embedder=HashEmbedder(64)) as db:
        db.remember_many([{"text": "ok", "session": f"s{number}"} for number in range(100)])
        measured = db.calibrate()
        assert measured.unrelated.count == 0
        assert not measured.enough


def test_texts_of_one_direction_say_nothing():
    with Collection("c") as db:
        db.add([f"text {number}" for number in range(50)], vectors=np.ones((50, 4)))
        measured = db.calibrate()
        assert not measured.enough
        assert "equal texts" in measured.reason


def test_unrelated_texts_are_of_other_sessions():
    """What was said in one session is near each other; between sessions nothing is."""
    draw = np.random.default_rng(3)
    subjects = np.eye(64)[:20]
    with Collection("c") as db:
        for session, subject in enumerate(subjects):
            near = subject + 1e-3 * draw.normal(size=(5, 64))
            db.remember_many(
                [{"text": f"remark {n}", "session": f"s{session}", "vector": row} for n, row in enumerate(near)]
            )
        assert db.calibrate().noise_floor < 0.1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"queries": "what"}, InvalidInputError),
        ({"queries": 3}, InvalidInputError),
        ({"queries": {"a": "b"}}, InvalidInputError),
        ({"queries": [""]}, InvalidInputError),
        ({"queries": [None]}, InvalidInputError),
        ({"queries": [b"what"]}, InvalidInputError),
        ({"queries": [{"text": "what"}]}, InvalidInputError),
        ({"queries": [[0.0] * 264]}, InvalidInputError),
        ({"queries": [[1.0, 2.0]]}, DimensionError),
        ({"related": ["ab"]}, InvalidInputError),
        ({"related": "ab"}, InvalidInputError),
        ({"related": [("a",)]}, InvalidInputError),
        ({"related": [("a", "b", "c")]}, InvalidInputError),
        ({"related": [("a", 3)]}, InvalidInputError),
        ({"related": [("a", "")]}, InvalidInputError),
        ({"related": [("", "a")]}, InvalidInputError),
        ({"related": {"a": "b"}}, InvalidInputError),
        ({"unrelated": [3]}, InvalidInputError),
        ({"related": [("a", "mem_0123456789abcdefghijklmnop")]}, NotFoundError),
        ({"unrelated": [("a", "doc_0123")]}, NotFoundError),
    ],
)
def test_wrong_arguments_are_refused_and_nothing_is_stored(talked, arguments, error):
    with pytest.raises(error):
        talked.calibrate(**arguments)
    assert talked.calibration() is None


def test_failing_embedder_is_an_error_and_nothing_is_stored(talked, monkeypatch):
    def fail(texts):
        raise OSError("no model")

    monkeypatch.setattr(talked.embedder, "_fn", fail)
    with pytest.raises(EmbedderError):
        talked.calibrate()
    assert talked.calibration() is None


def test_embedder_may_use_the_collection_meanwhile():
    def embed(texts):
        if db.count() == 480:
            assert db.search("statement", mode="lexical", limit=1).ids
        return topical(texts)

    with Collection("talk", embedder=CallableEmbedder("topics", 264, embed)) as db:
        talk(db)
        assert db.calibrate().enough


def test_texts_for_vectors_that_came_from_elsewhere_name_the_trouble():
    with Collection("c") as db:
        db.add([f"text {number}" for number in range(40)], vectors=np.random.default_rng(1).normal(size=(40, 32)))
        with pytest.raises(DimensionError, match="given-vectors"):
            db.calibrate(["which text?"])


def test_readonly_collection_keeps_what_it_has(tmp_path):
    with Collection("c", path=tmp_path, embedder=topics_embedder()) as db:
        talk(db)
        measured = db.calibrate()
    with Collection("c", path=tmp_path, embedder=topics_embedder(), readonly=True) as db:
        with pytest.raises(StoreError, match="readonly"):
            db.calibrate()
        assert db.calibration() == measured
        assert not db.recall(OUTSIDE).items


def test_repr_tells_the_numbers(talked):
    measured = talked.calibrate()
    assert isinstance(measured, Calibration)
    told = repr(measured)
    for number in (measured.noise_floor, measured.cutoff, measured.refusal_floor, measured.auc):
        assert f"{number:.3f}" in told
    assert len(told) < 300


def test_calibrates_what_several_users_own():
    with Collection("talk", embedder=topics_embedder()) as db:
        said = [(topic, number) for topic in TOPICS for number in range(60)]
        db.remember_many([{"text": f"statement {n} on {topic}", "kind": "fact", "user": topic} for topic, n in said])
        assert db.calibrate().questions == 256
        db.calibrate(questions())
        assert not db.recall(OUTSIDE, user="chess").items
        assert db.recall("tell me more of chess", user="chess").items
