"""A move to other vectors that others keep writing into: it ends, and what was left without vectors gets its own."""

import contextlib
import itertools
import sqlite3
import threading
import time

import numpy as np
import pytest

from retentive import Collection, EmbedderError, FingerprintError
from retentive.embedders import CallableEmbedder, HashEmbedder
from retentive.repair import repair

NEW = HashEmbedder(96)

WRITER = """
import time
db = opened()
written = 0
try:
    while True:
        db.remember(f"written meanwhile {written}", session="w")
        written += 1
        if written == 1:
            tell("writes")
        time.sleep(0.1)
except FingerprintError:
    tell(written)
"""


def slow(inner=NEW, seconds=0.5):
    """An embedder that takes its time, whatever it is given."""

    def embed(batch):
        time.sleep(seconds)
        return inner.embed_documents(batch)

    return CallableEmbedder(inner.name, inner.dimension, embed)


def filled(db, count=300):
    return db.remember_many([{"text": f"row {number}: an invoice", "session": "s"} for number in range(count)])


def written_at_each_call(other, per_call=1, inner=NEW):
    """An embedder during each call of which the other handle writes, until it is refused; `calls` counts."""
    calls = itertools.count()

    def embed(batch):
        call = next(calls)
        with contextlib.suppress(FingerprintError):  # the move has ended: nothing more comes from there
            other.remember_many([{"text": f"meanwhile {call}.{n}", "session": "w"} for n in range(per_call)])
        assert call < 40, "the move does not end"
        return inner.embed_documents(batch)

    return CallableEmbedder(inner.name, inner.dimension, embed)


def assert_all_have(db, embedder=NEW):
    """Every memory has exactly the vectors of the embedder, and is found by them."""
    turns = [*db.turns("s"), *db.turns("w")]
    assert len(turns) == db.count()
    for row in db.get([turn.id for turn in turns], vectors=True):
        vector = embedder.embed_documents([row.text])[0]
        assert np.array_equal(row.vector, vector), row.text
        assert db.search(vector=vector, limit=1).top.distance < 1e-6
    stats = db.stats()
    assert (stats["reembed_pending"], stats["reembedded"], stats["without_vectors"]) == (False, 0, 0)


def assert_rises_to_the_end_once(told):
    done = [done for done, _ in told]
    total = [total for _, total in told]
    assert done == sorted(done)
    assert total == sorted(total)
    assert [pair for pair in told if pair[0] == pair[1]] == told[-1:]


def stopped_after_the_swap(db, other):
    """Move, and stop where the new vectors are the current ones and some memories have none: as a kill there would."""

    def progress(done, total):
        if db.stats()["dimension"] == 96:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        db.reembed(written_at_each_call(other), progress=progress)
    return caught.value.__notes__[-1]


def test_a_process_that_writes_ten_turns_a_second_does_not_hold_up_a_slow_embedder(db, start):
    filled(db)
    child = start(WRITER)
    assert child.stdout.readline() == "writes\n"
    told = []
    mover = threading.Thread(target=lambda: db.reembed(slow(), progress=lambda *pair: told.append(pair)), daemon=True)
    mover.start()
    mover.join(20)
    assert not mover.is_alive(), f"the move does not end: {told[-3:]}"
    written = int(child.stdout.readline())
    assert len(db.turns("w")) == written > 5
    assert_all_have(db)
    assert_rises_to_the_end_once(told)
    assert told[-1] == (300 + written, 300 + written)


@pytest.mark.parametrize("per_call", [1, 40, 300])
def test_whatever_is_written_during_each_call_of_the_embedder_the_move_ends(tmp_path, embedder, per_call):
    with (
        Collection("test", path=tmp_path, embedder=embedder, durability="normal") as db,
        Collection("test", path=tmp_path, embedder=embedder, durability="normal") as other,
    ):
        filled(db)
        told = []
        moved = db.reembed(written_at_each_call(other, per_call), progress=lambda *pair: told.append(pair))
        assert moved == db.count() > 300
        assert_all_have(db)
        assert_rises_to_the_end_once(told)


def test_what_was_left_at_the_end_of_a_move_is_found_by_words_and_resumed_by_the_same_call(tmp_path, embedder):
    with (
        Collection("test", path=tmp_path, embedder=embedder) as db,
        Collection("test", path=tmp_path, embedder=embedder) as other,
    ):
        filled(db)
        note = stopped_after_the_swap(db, other)
        assert "was moved before this" in note
        assert "reembed" in note
    with (
        Collection("test", path=tmp_path, embedder=NEW) as db,
        Collection("test", path=tmp_path, embedder=NEW) as reader,
    ):
        stats = db.stats()
        assert (stats["reembed_pending"], stats["without_vectors"]) == (True, 1)
        assert db.verify().ok
        last = db.turns("w")[-1]
        assert db.get([last.id], vectors=True)[0].vector is None
        assert reader.search(last.text, mode="lexical", limit=1).texts == [last.text]
        assert last.text in reader.search(last.text, session="w").texts
        assert not any(row.text == last.text for row in reader.search(last.text, mode="dense").items)
        told = []
        assert db.reembed(NEW, progress=lambda *pair: told.append(pair)) == 1
        assert told == [(db.count(), db.count())]
        assert_all_have(db)
        assert_all_have(reader)
        assert db.reembed(NEW) == 0
        assert db.verify().ok


def test_a_kill_between_the_swap_and_the_rest_is_resumed(db, start, embedder):
    filled(db)
    child = start("""
from retentive.embedders import CallableEmbedder
new = HashEmbedder(96)
other = opened()
def embed(batch):
    try:
        other.remember("meanwhile", session="w")
    except FingerprintError:
        tell("moved")
        wait()
    return new.embed_documents(batch)
opened().reembed(CallableEmbedder(new.name, 96, embed))
""")
    assert child.stdout.readline() == "moved\n"
    child.kill()
    child.wait()
    left = db.stats()["without_vectors"]
    assert left > 0
    assert db.stats()["reembed_pending"]
    with pytest.raises(FingerprintError):
        db.remember("late", session="w")
    assert db.reembed(NEW) == left
    assert_all_have(db)


def test_an_embedder_that_fails_after_the_swap_leaves_a_handle_that_works_and_can_go_on(tmp_path, embedder):
    with (
        Collection("test", path=tmp_path, embedder=embedder) as db,
        Collection("test", path=tmp_path, embedder=embedder) as other,
    ):
        filled(db)
        inner = written_at_each_call(other)

        def embed(batch):
            if db.stats()["dimension"] == 96 and len(batch) == 1:
                raise RuntimeError("the model is gone")
            return inner.embed_documents(batch)

        with pytest.raises(EmbedderError) as caught:
            db.reembed(CallableEmbedder(NEW.name, 96, embed))
        assert "was moved before this" in caught.value.__notes__[-1]
        assert db.embedder.dimension == 96
        assert db.reembed(NEW) == 1
        assert_all_have(db)


def test_a_third_embedder_takes_what_was_left_too(tmp_path, embedder):
    with (
        Collection("test", path=tmp_path, embedder=embedder) as db,
        Collection("test", path=tmp_path, embedder=embedder) as other,
    ):
        filled(db)
        stopped_after_the_swap(db, other)
        third = HashEmbedder(32)
        assert db.reembed(third) == db.count()
        assert_all_have(db, third)


def test_what_was_left_is_no_obstacle_to_a_calibration(tmp_path, embedder):
    with (
        Collection("test", path=tmp_path, embedder=embedder) as db,
        Collection("test", path=tmp_path, embedder=embedder) as other,
    ):
        filled(db)
        stopped_after_the_swap(db, other)
    with Collection("test", path=tmp_path, embedder=NEW) as db:
        turns = db.turns("w")
        assert db.get([turns[-1].id], vectors=True)[0].vector is None
        queries = [f"which invoice is row {number}" for number in range(20)]
        related = [(f"row {number}", turn.id) for number, turn in enumerate(turns)]
        assert db.calibrate(queries, related=related).related.count == len(queries) + len(turns) - 1


def test_progress_does_not_fall_when_memories_are_forgotten_meanwhile(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        ids = filled(db, 700)

        def embed(batch):
            if len(batch) == 256:  # what has its new vectors already goes, too
                db.delete([ids.pop(0) for _ in range(200)])
            return NEW.embed_documents(batch)

        told = []
        db.reembed(CallableEmbedder(NEW.name, 96, embed), progress=lambda *pair: told.append(pair))
        assert db.count() == 300
        assert_all_have(db)
        assert_rises_to_the_end_once(told)


def test_a_memory_that_was_saved_without_its_vectors_gets_them_too(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        filled(db, 5)
    file = sqlite3.connect(tmp_path / "test.db")
    file.execute("UPDATE vector SET data = zeroblob(length(data)) WHERE vid = 3")
    file.commit()
    file.close()
    saved = tmp_path / "saved"
    saved.mkdir()
    repair(tmp_path / "test.db", saved / "test.db")
    with Collection("test", path=saved, embedder=embedder) as db:
        assert db.stats()["without_vectors"] == 1
        assert db.reembed(embedder) == 1
        assert_all_have(db, embedder)
