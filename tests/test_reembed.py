"""Moving a collection to another embedder: what it does, what stops it, and how it goes on."""

import random
import signal

import numpy as np
import pytest

from retentive import (
    Collection,
    ConfigurationError,
    EmbedderError,
    FingerprintError,
    InvalidInputError,
    StoreError,
)
from retentive.embedders import CallableEmbedder, HashEmbedder

NEW = HashEmbedder(96)


def texts(count, start=0):
    return [f"row {number}: the invoice of customer {number * 7 % 101}" for number in range(start, start + count)]


def filled(db, count=40):
    return db.remember_many([{"text": text, "session": "s"} for text in texts(count)])


def assert_moved(db, embedder=NEW):
    """Every memory has exactly the vectors of the embedder, and reads by vectors work."""
    ids = [turn.id for turn in db.turns("s")]
    assert ids
    for row in db.get(ids, vectors=True):
        assert np.array_equal(row.vector, embedder.embed_documents([row.text])[0]), row.text
    found = db.search(db.get_one(ids[0]).text, mode="dense", limit=1, session="s")
    assert found.top.distance < 1e-6
    assert not db.stats()["reembed_pending"]
    assert db.stats()["reembedded"] == 0


def failing(at, error=None, inner=NEW):
    seen = 0

    def embed(batch):
        nonlocal seen
        seen += len(batch)
        if seen > at:
            raise error or RuntimeError("the model is gone")
        return inner.embed_documents(batch)

    return CallableEmbedder(inner.name, inner.dimension, embed)


def quick(inner):
    """The same embedder, which knows the texts of these tests by heart."""
    known = {}

    def embed(batch):
        missing = [text for text in batch if text not in known]
        if missing:
            known.update(zip(missing, inner.embed_documents(missing), strict=True))
        return np.stack([known[text] for text in batch])

    return CallableEmbedder(inner.name, inner.dimension, embed)


def vector_needles(embedder, of):
    """Bytes by which each text's vector can be recognised in a file."""
    return [vector.tobytes() for vector in embedder.embed_documents(list(of))]


def test_every_memory_and_document_has_the_new_vectors_and_the_old_ones_are_gone(tmp_path):
    with Collection("test", path=tmp_path, embedder="static") as db:
        filled(db, 600)
        db.add(["a document of its own"], ids=["doc"])
        db.remember("spoken by somebody", session="s", name="Ann")
        before = db.search("spoken by", mode="dense", limit=1).texts
        assert db.reembed(NEW) == 602
        assert db.embedder is NEW
        assert db.search("Ann: spoken by somebody", mode="dense", limit=1).top.distance < 1e-6
        assert before
        vectors = db.get(["doc"], vectors=True)[0].vector
        assert np.array_equal(vectors, NEW.embed_documents(["a document of its own"])[0])
    with Collection("test", path=tmp_path, embedder=NEW) as db:
        assert db.recall("the invoice of customer 7", session="s").items
        assert db.reembed("static") == 602
        assert db.stats()["model"] == db.embedder.name
        assert db.recall("which invoice did customer 7 get", session="s").items


def test_moving_to_the_embedder_that_it_has_does_nothing(db, embedder):
    filled(db)
    calls = []
    assert db.reembed(HashEmbedder(64), progress=lambda *told: calls.append(told)) == 0
    assert calls == []
    assert db.recall("the invoice", session="s").items


@pytest.mark.parametrize("kept", [None, "here"])
def test_an_empty_collection_and_one_in_memory_can_be_moved(tmp_path, embedder, kept):
    with Collection("test", path=kept and tmp_path, embedder=embedder) as db:
        assert db.reembed(NEW) == 0
        assert db.stats()["dimension"] == 96
        filled(db)
        assert db.reembed(embedder) == 40
        assert_moved(db, embedder)


def test_progress_tells_how_many_have_new_vectors_and_how_many_there_are(db):
    filled(db, 600)
    told = []
    db.reembed(NEW, progress=lambda done, total: told.append((done, total)))
    assert told == [(256, 600), (512, 600), (600, 600)]


@pytest.mark.parametrize("wrong", [None, 7, "no-such-model", HashEmbedder, len])
def test_what_is_no_embedder_is_refused_and_nothing_begins(db, wrong):
    filled(db)
    with pytest.raises(ConfigurationError):
        db.reembed(wrong)
    with pytest.raises(InvalidInputError, match="progress"):
        db.reembed(NEW, progress=3)
    assert not db.stats()["reembed_pending"]


def test_a_read_only_collection_cannot_be_moved_but_may_have_the_embedder_already(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        filled(db)
    with Collection("test", path=tmp_path, embedder=embedder, readonly=True) as db:
        with pytest.raises(StoreError, match="readonly=True"):
            db.reembed(NEW)
        assert db.reembed(embedder) == 0
        assert db.recall("the invoice", session="s").items


def test_vectors_that_the_caller_gave_are_replaced(tmp_path):
    with Collection("test", path=tmp_path) as db:
        rng = np.random.default_rng(5)
        db.remember_many([{"text": text, "session": "s", "vector": rng.normal(size=7)} for text in texts(9)])
        assert db.stats()["model"] == "given-vectors"
        assert db.reembed(NEW) == 9
        assert_moved(db)


@pytest.mark.parametrize("error", [None, KeyboardInterrupt()])
def test_what_was_embedded_before_an_error_stays_and_the_same_call_goes_on(db, embedder, error):
    filled(db, 700)
    expected = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else EmbedderError
    with pytest.raises(expected) as caught:
        db.reembed(failing(550, error))
    assert "512 of 700 memories were embedded" in caught.value.__notes__[-1]
    assert (db.stats()["reembed_pending"], db.stats()["reembedded"]) == (True, 512)
    assert db.embedder is embedder
    assert db.recall("the invoice", session="s").items
    assert db.reembed(NEW) == 188
    assert_moved(db)


def test_an_interrupt_at_any_moment_leaves_a_handle_that_works(tmp_path, embedder, alarms):
    dice = random.Random(5)
    old, new = quick(embedder), quick(NEW)

    def interrupt(number, frame):
        raise KeyboardInterrupt

    seen = set()
    with Collection("test", path=tmp_path, embedder=old, durability="normal") as db:
        filled(db, 600)
        for at, to in [(old, new), (new, old)] * 20:
            try:
                alarms(dice.uniform(0.0005, 0.06), interrupt, once=True)
                db.reembed(to)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                now = db.stats()["model"]
                seen.add(now == to.name)
                assert db.embedder.name == now
                assert db.search(texts(1)[0], mode="dense", limit=1).texts == texts(1)
            db.reembed(to)
            assert db.embedder is to or db.embedder.name == to.name != at.name
        assert_moved(db, old)
    assert False in seen


def test_a_progress_that_raises_stops_the_move_which_can_go_on(db):
    filled(db, 300)

    def progress(done, total):
        raise OSError("the terminal is gone")

    with pytest.raises(OSError, match="terminal"):
        db.reembed(NEW, progress=progress)
    assert db.stats()["reembedded"] == 256
    with pytest.raises(OSError, match="terminal") as caught:
        db.reembed(NEW, progress=progress)
    assert "was moved before this" in caught.value.__notes__[-1]
    assert db.embedder is NEW
    assert_moved(db)


def test_a_move_to_a_third_embedder_gives_up_what_was_begun(db, found):
    filled(db, 300)
    with pytest.raises(EmbedderError):
        db.reembed(failing(300))
    given_up = vector_needles(NEW, texts(256))
    third = HashEmbedder(32)
    assert db.reembed(third) == 300
    assert found(given_up) == []
    assert_moved(db, third)


def test_moving_to_the_present_embedder_abandons_a_move(db, embedder, found):
    filled(db, 300)
    with pytest.raises(EmbedderError):
        db.reembed(failing(300))
    begun = vector_needles(NEW, texts(256))
    assert len(found(begun)) == len(begun)
    assert db.reembed(embedder) == 0
    assert found(begun) == []
    assert not db.stats()["reembed_pending"]
    assert_moved(db, embedder)


def test_after_a_move_was_begun_the_new_embedder_is_told_how_to_finish_it(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        filled(db, 300)
        with pytest.raises(EmbedderError):
            db.reembed(failing(300))
    with Collection("test", path=tmp_path, embedder=NEW) as db:
        for read in (lambda: db.recall("the invoice", session="s"), lambda: db.search("the invoice")):
            with pytest.raises(FingerprintError, match=r"256 of 300 memories.*reembed\(embedder\) finishes it"):
                read()
        assert len(db.turns("s")) == 300
        assert db.search("invoice", mode="lexical", session="s").items
        assert db.reembed(NEW) == 44
        assert_moved(db)


def test_from_one_embedder_to_two_and_back_every_memory_has_the_vectors_of_each(tmp_path, embedder):
    with (
        Collection("test", path=tmp_path, embedder=embedder) as db,
        Collection("test", path=tmp_path, embedder=embedder) as other,
    ):
        filled(db, 300)
        other.remember("with one", session="s")
        with pytest.raises(EmbedderError):
            db.reembed([NEW, failing(280, inner=embedder)])
        assert db.stats()["reembedded"] == 256
        assert db.reembed([NEW, embedder]) == 45
        assert (db.stats()["model"], db.stats()["second_model"]) == (NEW.name, embedder.name)
        assert_moved(db)
        assert db.recall("the invoice", session="s").items
        with pytest.raises(FingerprintError):
            other.remember("late", session="s")
        assert other.reembed([NEW, embedder]) == 0
        other.remember("with two", session="s")
        assert db.reembed([embedder, NEW]) == 302
        assert_moved(db, embedder)
        assert db.reembed(embedder) == 302
        assert db.stats()["second_model"] is None
        assert_moved(db, embedder)
