"""A collection on the move: who reads and writes meanwhile, who is refused after, what survives a kill."""

import random
import signal
import threading
import time

import numpy as np
import pytest

from retentive import (
    Collection,
    ConflictError,
    ConversationMemory,
    DimensionError,
    EmbedderError,
    FingerprintError,
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


class Slow:
    """An embedder that waits at a text number until it is told to go on."""

    def __init__(self, inner, at=0):
        self.name, self.dimension = inner.name, inner.dimension
        self.inner, self.at, self.seen = inner, at, 0
        self.reached, self.go_on = threading.Event(), threading.Event()

    def embed_documents(self, batch):
        if self.seen <= self.at < self.seen + len(batch) and len(batch) > 1:
            self.reached.set()
            assert self.go_on.wait(30)
        self.seen += len(batch)
        return self.inner.embed_documents(batch)

    def embed_query(self, text):
        return self.inner.embed_query(text)


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


# ---- who holds the old embedder


def turned_round(batch):
    return HashEmbedder(64).embed_documents([text[::-1] for text in batch])


@pytest.mark.parametrize("new", [NEW, CallableEmbedder("turned", 64, turned_round)], ids=["longer", "as long"])
def test_other_handles_with_the_old_embedder_are_refused_whatever_they_do_with_vectors(db, tmp_path, embedder, new):
    ids = filled(db)
    given = embedder.embed_documents(["given"])
    with Collection("test", path=tmp_path, embedder=embedder) as other:
        other.memory = ConversationMemory(other, judge=lambda new, old: [False] * len(old))
        other.remember("a fact", session="s", kind="fact")
        other.add(["given before"], vectors=given)
        assert other.recall("the invoice", session="s").items
        db.reembed(new)
        count = db.count()
        calls = [
            lambda: other.remember("late", session="s"),
            lambda: other.remember("late fact", session="s", kind="fact"),
            lambda: other.remember_many([{"text": "late"}]),
            lambda: other.remember_many([{"text": "late", "vector": given[0]}]),
            lambda: other.add(["late"]),
            lambda: other.add(["late"], vectors=given),
            lambda: other.feedback(ids[0], "corrected", correction="late"),
            lambda: other.consolidate("s", lambda turns: ["late"], keep_recent=0),
            lambda: other.recall("the invoice", session="s"),
            lambda: other.context("the invoice", session="s"),
            lambda: other.search("the invoice", session="s"),
            lambda: other.search(vector=given[0]),
        ]
        for call in calls * 2:
            with pytest.raises(FingerprintError, match=r"moved.*reembed\(embedder\)"):
                call()
        assert db.count() == count == other.count()
        assert len(other.turns("s")) == 40
        assert other.recall("invoice", session="s", mode="lexical", min_relevance=None).items
        assert other.feedback(ids[0], "useful") is None
        assert other.reembed(new) == 0
        assert other.recall("the invoice", session="s").items


def test_a_handle_works_again_when_the_collection_comes_back_to_its_embedder(tmp_path, embedder):
    with (
        Collection("test", path=tmp_path, embedder=embedder) as db,
        Collection("test", path=tmp_path, embedder=embedder) as other,
    ):
        filled(db)
        other.remember("mine", session="s")
        db.reembed(NEW)
        with pytest.raises(FingerprintError):
            other.remember("late", session="s")
        db.reembed(embedder)
        other.remember("on time", session="s")
        assert other.recall("on time", session="s").texts[0] == "on time"
        assert_moved(other, embedder)


def test_a_remember_that_embedded_just_before_the_swap_is_refused_in_another_process(db, start):
    filled(db)
    child = start("""
from retentive.embedders import CallableEmbedder
inner = HashEmbedder(64)
def embed(batch):
    if batch == ["late"]:
        tell("embeds")
        wait()
    return inner.embed_documents(batch)
db = Collection("test", path=folder, embedder=CallableEmbedder(inner.name, 64, embed))
db.recall("the invoice", session="s")
try:
    db.remember("late", session="s")
except FingerprintError:
    tell("refused")
""")
    assert child.stdout.readline() == "embeds\n"
    db.reembed(NEW)
    child.stdin.write("go\n")
    child.stdin.flush()
    assert child.stdout.readline() == "refused\n"
    assert db.count() == 40


@pytest.mark.parametrize("verb", ["remember", "remember_many", "add", "feedback", "recall", "context", "search"])
def test_a_thread_of_the_same_handle_in_the_middle_of_a_call_goes_on_with_the_new_embedder(tmp_path, embedder, verb):
    slow = Slow(embedder)
    with Collection("test", path=tmp_path, embedder=slow) as db:
        filled(db)
        waiting, go_on = threading.Event(), threading.Event()
        plain, plain_query = slow.embed_documents, slow.embed_query

        def hold(call, given):
            made = call(given)
            if "late" in given:
                waiting.set()
                assert go_on.wait(30)
            return made

        slow.embed_documents = lambda batch: hold(plain, batch)
        slow.embed_query = lambda text: hold(plain_query, text)
        first = db.turns("s")[1].id
        calls = {
            "remember": lambda: db.remember("late", session="s"),
            "remember_many": lambda: db.remember_many([{"text": "late", "session": "s"}]),
            "add": lambda: db.add(["late"]),
            "feedback": lambda: db.feedback(first, "corrected", correction="late"),
            "recall": lambda: db.memory.recall("late", session="s", min_relevance=None),
            "context": lambda: db.context("late", session="s"),
            "search": lambda: db.search("late", session="s"),
        }
        answers = []
        thread = threading.Thread(target=lambda: answers.append(calls[verb]()))
        thread.start()
        assert waiting.wait(30)
        db.reembed(NEW)
        go_on.set()
        thread.join(30)
        assert len(answers) == 1
        assert answers[0]
        stored = db.search("late", mode="dense", limit=1).top
        if verb not in {"recall", "context", "search"}:
            assert stored.text == "late"
            assert stored.distance < 1e-6
        assert_moved(db)


@pytest.mark.parametrize("count", [3, 600])
@pytest.mark.parametrize("verb", ["import_items", "import_"])
def test_an_import_that_a_move_overtakes_imports_nothing_and_works_again(tmp_path, embedder, verb, count):
    class Moving(HashEmbedder):
        name = "moving"

        def __init__(self):
            self.dimension = 64
            self.inner, self.then = HashEmbedder(64), None

        def embed_documents(self, batch):
            then, self.then = self.then, None
            if then is not None:
                then()
            return self.inner.embed_documents(batch)

    items = [{"text": text, "session": "s"} for text in texts(count)]
    with Collection("other", path=tmp_path, embedder=embedder) as other:
        other.remember_many(items)
        other.export(tmp_path / "all.jsonl", vectors=False)
    moving = Moving()
    with Collection("test", path=tmp_path, embedder=moving) as db:
        kept = db.remember("here before", session="s")
        moving.then = lambda: db.reembed(NEW)
        given = items if verb == "import_items" else tmp_path / "all.jsonl"
        with pytest.raises(FingerprintError, match="import again") as refused:
            getattr(db, verb)(given)
        assert refused.value.path == str(tmp_path / "test.db")
        assert [turn.id for turn in db.turns("s")] == [kept]
        assert getattr(db, verb)(given).imported == count
        assert_moved(db)


def test_threads_that_read_and_write_through_the_whole_move_see_no_error(tmp_path, embedder):
    with Collection("test", path=tmp_path, embedder=embedder, durability="normal") as db:
        filled(db, 900)
        stop, errors = threading.Event(), []

        def work(step):
            number = 0
            try:
                while not stop.is_set():
                    step(number)
                    number += 1
            except BaseException as error:
                errors.append(error)

        def read(number):
            text = texts(1, number % 900)[0]
            assert db.search(text, mode="dense", limit=1, session="s").texts == [text]

        threads = [
            threading.Thread(target=work, args=[read]),
            threading.Thread(target=work, args=[lambda n: db.remember(f"written meanwhile {n}", session="w")]),
        ]
        for thread in threads:
            thread.start()
        for new in (NEW, HashEmbedder(32), embedder):
            db.reembed(new)
        stop.set()
        for thread in threads:
            thread.join(30)
        assert errors == []
        assert_moved(db, embedder)
        written = [turn.id for turn in db.turns("w")]
        for row in db.get(written, vectors=True):
            assert np.array_equal(row.vector, embedder.embed_documents([row.text])[0])


# ---- meanwhile, in other processes


def test_another_process_reads_and_writes_with_the_old_vectors_until_the_swap(tmp_path, embedder, start):
    slow = Slow(NEW, at=300)
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        filled(db, 600)
        mover = threading.Thread(target=db.reembed, args=[slow])
        mover.start()
        assert slow.reached.wait(30)
        child = start("""
db = opened()
text = "row 7: the invoice of customer 49"
tell(db.search(text, mode="dense", limit=1, session="s").texts == [text])
first = db.turns("s")[0].id
tell(db.remember("written meanwhile", session="s") is not None, db.delete([first]))
tell(db.stats()["reembed_pending"], db.stats()["reembedded"])
wait()
try:
    db.search(text, mode="dense", session="s")
except FingerprintError:
    tell("refused")
""")
        assert [child.stdout.readline() for _ in range(3)] == ["True\n", "True 1\n", "True 255\n"]
        slow.go_on.set()
        mover.join(60)
        child.stdin.write("go\n")
        child.stdin.flush()
        assert child.stdout.readline() == "refused\n"
        assert len(db.turns("s")) == 600
        assert db.turns("s")[-1].text == "written meanwhile"
        assert_moved(db)


def test_what_is_forgotten_meanwhile_leaves_neither_old_nor_new_vectors(db, embedder, found):
    ids = filled(db, 300)
    with pytest.raises(EmbedderError):
        db.reembed(failing(300))
    gone = texts(20)
    needles = vector_needles(embedder, gone) + vector_needles(NEW, gone)
    assert len(found(needles)) == len(needles)
    assert db.delete(ids[:20]) == 20
    assert found(needles) == []
    assert db.reembed(NEW) == 44
    assert_moved(db)


def test_no_byte_of_the_old_vectors_is_left_in_any_file(db, embedder, found):
    filled(db, 600)
    old = vector_needles(embedder, texts(600))
    assert len(found(old)) == len(old)
    db.reembed(NEW)
    assert found(old) == []
    assert not db.stats()["erasure_pending"]
    assert len(found(vector_needles(NEW, texts(600)))) == 600


MOVER = """
db = opened()
tell("opened")
new = HashEmbedder(96)
class Slow:
    name, dimension = new.name, new.dimension
    def embed_documents(self, batch):
        time.sleep(0.002)
        return new.embed_documents(batch)
    def embed_query(self, text):
        return new.embed_query(text)
import time
db.reembed(Slow(), progress=lambda done, total: tell(done))
tell("moved")
"""


def test_after_kills_at_any_moment_the_same_call_goes_on_and_nothing_is_half_moved(tmp_path, start, found):
    dice = random.Random(11)
    old, new = quick(HashEmbedder(64)), quick(NEW)
    with Collection("test", path=tmp_path, embedder=old) as db:
        filled(db, 1_100)
    survived = {"before": 0, "begun": 0, "after": 0}
    for _ in range(21):
        child = start(MOVER)
        assert child.stdout.readline() == "opened\n"
        for _ in range(dice.randrange(5)):
            assert child.stdout.readline()
        time.sleep(dice.random() * 0.02)
        child.send_signal(signal.SIGKILL)
        child.wait()
        with Collection("test", path=tmp_path, embedder=old, durability="normal") as db:
            stats = db.stats()
            if stats["dimension"] == 96:
                survived["after"] += 1
                with pytest.raises(DimensionError):
                    db.remember("late", session="s")
            else:
                survived["begun" if stats["reembed_pending"] else "before"] += 1
                assert stats["reembedded"] % 256 == 0
                assert_has(db, old)
            assert db.reembed(new) == (0 if stats["dimension"] == 96 else 1_100 - stats["reembedded"])
            assert_moved(db, new)
            assert db.count() == 1_100
            db.reembed(old)
    assert survived["begun"] > 4, survived
    assert survived["after"] > 0, survived
    assert found(vector_needles(new, texts(1_100))) == []


def assert_has(db, embedder):
    for row in random.Random(3).sample(db.turns("s"), 50):
        stored = db.get([row.id], vectors=True)[0].vector
        assert np.array_equal(stored, embedder.embed_documents([row.text])[0])


def test_two_processes_that_move_to_the_same_embedder_share_the_work(db, start):
    filled(db, 1_500)
    children = [start(MOVER) for _ in range(2)]
    for child in children:
        told, error = child.communicate(timeout=60)
        assert (child.returncode, told.splitlines()[-1]) == (0, "moved"), error
    db.reembed(NEW)
    assert_moved(db)


def test_a_move_that_another_call_replaced_says_so(tmp_path, embedder):
    slow = Slow(NEW, at=300)
    errors = []

    def move():
        try:
            db.reembed(slow)
        except ConflictError as error:
            errors.append(error)

    with Collection("test", path=tmp_path, embedder=embedder) as db:
        filled(db, 600)
        mover = threading.Thread(target=move)
        mover.start()
        assert slow.reached.wait(30)
        third = HashEmbedder(32)
        db.reembed(third)
        slow.go_on.set()
        mover.join(30)
        assert len(errors) == 1
        assert_moved(db, third)
