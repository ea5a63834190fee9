"""What was erased by any call, of an assistant or an agent too, is in no file of the folder: texts, names, vectors."""

import hashlib
import json
import subprocess
import sys

import numpy as np
import pytest

from retentive import KINDS, Collection, ConversationMemory
from retentive.agents import CompositeMemory, Message, VectorMemory, WindowMemory
from retentive.assistant import MemoryManager

SEARCH = """
import json, os, sys

wanted = [bytes.fromhex(part) for part in json.load(sys.stdin)]
found = set()
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        content = open(os.path.join(folder, name), "rb").read()
        found.update(part.hex() for part in wanted if part in content)
print(json.dumps(sorted(found)))
"""
OLD = "2024-01-01"


def word(part, number):
    return f"zq{part}{number:05}"


def text(number):
    return f"{word('t', number)} was said {word('e', number)}"


class Noise:
    """Vectors in which no number comes twice: sixteen bytes of one are in no other."""

    def __init__(self, dimension=64):
        self.dimension, self.name = dimension, f"noise-{dimension}"

    def embed_query(self, said):
        seed = int.from_bytes(hashlib.sha256(f"{self.dimension} {said}".encode()).digest()[:8])
        return np.random.default_rng(seed).normal(size=self.dimension).astype(np.float32)

    def embed_documents(self, texts):
        return np.stack([self.embed_query(said) for said in texts])


def codes(vector):
    """The vector as the index has it in memory: int8, which must be in no file."""
    return np.round(vector * (127.0 / np.abs(vector).max())).astype(np.int8).tobytes()


def parts_of(said):
    """Every piece of a text by which it could be found again, and its vector in both forms."""
    pieces = [piece.encode() for piece in said.split() if piece.startswith("zq")]
    vector = Noise().embed_query(said)
    runs = [vector.tobytes()[at : at + 16] for at in range(0, 240, 40)]
    return pieces + runs + [codes(vector)[at : at + 16] for at in range(0, 48, 16)]


class Folder:
    """What is in the files: searched by another process, since only SQLite may open them here."""

    def __init__(self, path, counted):
        self.path, self.counted = path, counted

    def has(self, needles):
        command = [sys.executable, "-I", "-S", "-c", SEARCH, str(self.path)]
        given = json.dumps([needle.hex() for needle in needles])
        done = subprocess.run(command, input=given, check=True, capture_output=True, text=True, timeout=60)
        return {bytes.fromhex(part) for part in json.loads(done.stdout)}

    def expect_gone(self, numbers, *names):
        needles = [part for number in numbers for part in parts_of(text(number))]
        needles += [name.encode() for name in names]
        assert self.has(needles) == set()
        self.counted(memories_erased=len(numbers))

    def expect_there(self, numbers):
        needles = [word("t", number).encode() for number in numbers]
        assert self.has(needles) == set(needles)


@pytest.fixture
def folder(tmp_path, counted):
    return Folder(tmp_path, counted)


def opened(path, **options):
    return Collection("test", path, embedder=Noise(), **options)


def test_the_search_finds_what_is_there(tmp_path, folder):
    """Else the tests below could not fail. The int8 form is in memory alone."""
    with opened(tmp_path) as db:
        db.remember(text(1), session="s")
        db.recall("said", session="s", min_relevance=None)
        needles = parts_of(text(1))
        assert folder.has(needles) >= {needle for needle in needles if needle not in codes_of(1)}
        assert folder.has(codes_of(1)) == set()


def codes_of(number):
    vector = Noise().embed_query(text(number))
    return [codes(vector)[at : at + 16] for at in range(0, 48, 16)]


# ---- agents


@pytest.mark.parametrize("which", ["window", "vector", "both"])
def test_what_an_agents_memory_clears_is_in_no_file(tmp_path, folder, which):
    with opened(tmp_path) as db:
        window, vector = WindowMemory(5, collection=db), VectorMemory(collection=db)
        memory = {"window": window, "vector": vector, "both": CompositeMemory([window, vector])}[which]
        for thread, numbers in {word("s", 1): range(40), word("s", 2): range(40, 80)}.items():
            memory.add([Message.user(text(n), {word("m", n): word("v", n)}) for n in numbers], thread)
        folder.expect_there(range(80))
        memory.clear(word("s", 1))
        own = [name for n in range(40) for name in (word("m", n), word("v", n))]
        folder.expect_gone(range(40), word("s", 1), *own)
        folder.expect_there(range(40, 80))
        memory.clear()
        folder.expect_gone(range(80), word("s", 2))


def test_what_left_a_window_goes_when_it_is_forgotten(tmp_path, folder):
    with opened(tmp_path) as db:
        memory = WindowMemory(5, collection=db)
        memory.add([Message.user(text(n)) for n in range(30)], "u42")
        kept = [turn.id for turn in db.turns("u42")][-5:]
        gone = [turn.id for turn in db.turns("u42") if turn.id not in kept]
        assert memory.native().forget(ids=gone) == 25
        folder.expect_gone(range(25), *gone)
        folder.expect_there(range(25, 30))


# ---- the assistant


def assistant(path, **options):
    return MemoryManager("u42", path=path, embedder=Noise(), **options)


def test_what_left_an_assistants_conversation_goes_with_prune_from_the_session_file_too(tmp_path, folder):
    with assistant(tmp_path, max_turns=10) as memory:
        for number in range(30):
            memory.record("user", text(number))
            if number in (3, 15):
                memory.checkpoint()
        folder.expect_there(range(30))
        assert memory.conversation.prune(forget=True) == 20
        folder.expect_gone(range(20))
        folder.expect_there(range(20, 30))
        assert not list(tmp_path.glob(".*.tmp"))


def test_a_session_file_of_an_assistant_that_forgot_has_nothing_of_it(tmp_path, folder):
    with assistant(tmp_path) as memory:
        for number in range(20):
            memory.record("user", text(number))
        file = memory.checkpoint()
        assert memory.collection.forget("u42", kinds=KINDS) == 20
        assert memory.checkpoint() == file
        folder.expect_gone(range(20))
        memory.record("user", text(20))
        file.unlink()
        memory.collection.clear()
        folder.expect_gone(range(21))


def test_what_a_loaded_conversation_replaced_is_in_no_file(tmp_path, folder):
    with assistant(tmp_path) as memory:
        memory.record("user", text(100))
        saved = memory.conversation.save(tmp_path / "saved.json")
        for number in range(20):
            memory.record("user", text(number))
        memory.conversation.load(saved)
        folder.expect_gone(range(20))
        folder.expect_there([100])


def test_what_an_assistant_knew_under_a_key_goes_with_its_history(tmp_path, folder):
    with assistant(tmp_path) as memory:
        for number in range(10):
            memory.facts.remember(word("k", 1), text(number))
            memory.semantic.add(text(50 + number), word("d", 1))
        db = memory.collection
        folder.expect_gone(range(50, 59))  # replaced documents
        assert db.forget("u42", kinds=("fact",), superseded=True) == 9
        folder.expect_gone(range(9))
        folder.expect_there([9, 59])
        db.clear()
        folder.expect_gone([9, 59], word("k", 1), word("d", 1))


# ---- the collection


def test_folded_turns_and_what_was_cited_are_in_no_file(tmp_path, folder):
    with opened(tmp_path) as db:
        db.remember_many([{"text": text(n), "session": word("s", 1)} for n in range(60)])
        report = db.consolidate(word("s", 1), lambda turns: [f"a fact of {len(turns)} turns"], keep_recent=10)
        assert report.turns_removed == 50
        folder.expect_gone(range(50))
        folder.expect_there(range(50, 60))
        assert db.forget(word("s", 1), kinds=KINDS) == 10 + len(report.fact_ids)
        folder.expect_gone(range(60), word("s", 1), *report.turn_ids)


def test_replaced_turns_and_expired_ones_are_in_no_file(tmp_path, folder):
    with opened(tmp_path) as db:
        db.replace_turns("s", [{"text": text(n)} for n in range(30)])
        db.replace_turns("s", [{"text": text(n)} for n in range(20, 40)])
        folder.expect_gone(range(20))
        db.memory = ConversationMemory(db, ttl_days={"turn": 1})
        db.remember_many([{"text": text(n), "session": "old", "timestamp": OLD} for n in range(100, 120)])
        assert db.expire() == 20
        folder.expect_gone(range(100, 120))
        folder.expect_there(range(20, 40))


def test_old_vectors_are_in_no_file_after_a_move_and_after_one_that_was_given_up(tmp_path, folder, counted):
    class Tired(Noise):
        def embed_documents(self, texts):
            if any(word("t", 399) in said for said in texts):
                raise OSError("tired")
            return super().embed_documents(texts)

    def runs(dimension):
        return [Noise(dimension).embed_query(text(n)).tobytes()[40:64] for n in range(300)]

    with opened(tmp_path) as db:
        db.remember_many([{"text": text(n), "session": "s"} for n in range(400)])
        with pytest.raises(Exception, match="tired"):
            db.reembed(Tired(96))
        assert folder.has(runs(96)) != set()
        db.reembed(Noise(80))
        assert folder.has(runs(96)) == set() == folder.has(runs(64))
        assert folder.has(runs(80)) == set(runs(80))
        counted(memories_erased=700)


def test_what_was_measured_is_in_no_file_after_uncalibrate_and_after_clear(tmp_path, folder, counted):
    for erase in (lambda db: db.uncalibrate(), lambda db: db.clear()):
        with opened(tmp_path) as db:
            db.remember_many([{"text": f"{text(n)} about {n % 9}", "session": f"s{n % 5}"} for n in range(120)])
            calibration = db.calibrate()
            assert calibration.enough, calibration
            needle = b'"noise_floor"'
            assert folder.has([needle]) == {needle}
            erase(db)
            assert folder.has([needle]) == set()
            counted(memories_erased=1)


def test_beside_a_reader_an_erasure_is_pending_and_the_first_call_after_it_completes_it(tmp_path, folder, start_reader):
    with opened(tmp_path) as db:
        memory = WindowMemory(5, collection=db)
        memory.add([Message.user(text(n)) for n in range(20)], "u42")
        reader = start_reader()
        memory.clear()
        assert db.stats()["erasure_pending"]
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "done\n"
        assert memory.get(thread_id="u42") == []
        folder.expect_gone(range(20))
        assert not db.stats()["erasure_pending"]
