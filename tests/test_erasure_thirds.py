"""6,000 memories of which random thirds go: another process finds in no file what went, and finds all that stays.

Every part of a memory is a mark, `zq`, a letter for the part and the memory's number, so that one pass over a file
tells all that is in it. `RETENTIVE_SOAK=1` repeats it twenty times, `RETENTIVE_SOAK_THIRDS` as often as it says.
"""

import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest

from retentive import ANY, KINDS, Collection

ROUNDS = int(os.environ.get("RETENTIVE_SOAK_THIRDS", "20" if os.environ.get("RETENTIVE_SOAK") else "1"))
SESSIONS, TURNS, FACTS, DOCUMENTS = 100, 50, 500, 500
MAGIC = np.float32(0.12345679)
OF_A_MEMORY = "tefvinr"  # text, its end, metadata field and value, id, name, role
OLD = "2024-01-01"

MARKS = """
import collections, json, os, re, struct, sys

folder = sys.argv[1]
magic = struct.pack("<f", 0.12345679)
found = collections.defaultdict(set)
for name in os.listdir(folder):
    if name.startswith("test.db"):
        content = open(f"{folder}/{name}", "rb").read()
        for part, number in re.findall(rb"zq([a-z])(\\d{6})", content):
            found[part.decode()].add(int(number))
        for number in re.findall(re.escape(magic) + rb"(....)(?=" + re.escape(magic) + rb")", content, re.DOTALL):
            found["vector"].add(round((struct.unpack("<f", number)[0] - 1) * 2**20))
print(json.dumps({part: sorted(numbers) for part, numbers in found.items()}))
"""

KILLED = """
import json, signal
db = opened()
verbs = {"delete": db.delete, "forget": lambda ids: db.forget(ids=ids, user=ANY), "expire": lambda ids: db.expire()}
verb, ids = wait().split(" ", 1)
tell(verbs[verb](json.loads(ids)))
os.kill(os.getpid(), signal.SIGKILL)
"""


def mark(part, number):
    return f"zq{part}{number:06}"


def vector(number):
    """Numbers that stand between two magic ones, in 64 dimensions."""
    return np.array([MAGIC, 1 + number / 2**20] * 31 + [MAGIC, 1], np.float32)


def memory(number, **fields):
    return {
        "text": f"{mark('t', number)} was said, {mark('e', number)}",
        "metadata": {mark("f", number): mark("v", number)},
        "id": mark("i", number),
        "name": mark("n", number),
        "role": mark("r", number),
        "vector": vector(number),
    } | fields


class Marked:
    """The collection with its 6,000 memories, and which of them are still there."""

    def __init__(self, db, marks, drawn):
        self.db, self.marks, self.drawn = db, marks, drawn
        self.session_of = {number: number // TURNS for number in range(SESSIONS * TURNS)}
        self.facts = set(range(SESSIONS * TURNS, SESSIONS * TURNS + FACTS))
        self.documents = set(range(SESSIONS * TURNS + FACTS, SESSIONS * TURNS + FACTS + DOCUMENTS))
        self.alive = set(self.session_of) | self.facts | self.documents
        self.store()

    def store(self):
        everything = [
            memory(number, session=mark("s", at), user=mark("u", at // 2)) for number, at in self.session_of.items()
        ]
        everything += [
            memory(number, user=mark("w", number), key=mark("k", number), kind="fact") for number in self.facts
        ]
        self.drawn.shuffle(everything)
        self.db.remember_many(everything)
        rows = [memory(number) for number in sorted(self.documents)]
        columns = {name: [row[name] for row in rows] for name in ("metadata", "id", "vector")}
        texts = [row["text"] for row in rows]
        self.db.add(texts, columns["metadata"], columns["id"], vectors=np.stack(columns["vector"]))

    def expected(self):
        turns = self.alive & self.session_of.keys()
        facts, documents = self.alive & self.facts, self.alive & self.documents
        found = dict.fromkeys(OF_A_MEMORY, self.alive) | dict.fromkeys("nr", turns | facts)
        sessions = {self.session_of[number] for number in turns}
        found |= {"s": sessions, "u": {at // 2 for at in sessions}, "w": facts, "k": facts}
        found |= {"vector": self.alive}
        assert len(turns) + len(facts) + len(documents) == len(self.alive)
        return {part: numbers for part, numbers in found.items() if numbers}

    def check(self):
        assert self.db.count() == len(self.alive)
        assert not self.db.stats()["erasure_pending"]
        found = {part: set(numbers) for part, numbers in self.marks().items()}
        for part in [*OF_A_MEMORY, *"suwk", "vector"]:
            assert found.get(part, set()) == self.expected().get(part, set()), part

    def third(self):
        return set(self.drawn.sample(sorted(self.alive), len(self.alive) // 3))

    def gone(self, numbers):
        self.alive -= numbers
        return [mark("i", number) for number in sorted(numbers)]


@pytest.fixture
def marks(tmp_path):
    """What is in the files: searched by another process, since only SQLite may open them here."""

    def marks():
        command = [sys.executable, "-I", "-S", "-c", MARKS, str(tmp_path)]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=60).stdout)

    return marks


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_of_6000_memories_nothing_is_left_of_those_that_went(db, marks, start, start_reader, seed, counted):
    stored = Marked(db, marks, random.Random(f"{os.environ.get('RETENTIVE_SOAK_SEED', '')} {seed}"))
    counted(memories_erased=len(stored.alive))
    stored.check()
    by_every_verb(stored)
    stored.check()
    by_a_process_that_is_killed(stored, start)
    stored.check()
    beside_a_reader(stored, start_reader)
    stored.check()
    assert db.clear() == len(stored.alive)
    stored.alive.clear()
    stored.check()


def by_every_verb(stored):
    db, third = stored.db, stored.third()
    whole = stored.drawn.sample(range(SESSIONS), 4)
    for at in whole[:2]:
        numbers = {number for number in stored.alive & stored.session_of.keys() if stored.session_of[number] == at}
        assert db.forget(mark("s", at), user=mark("u", at // 2), kinds=KINDS) == len(numbers)
        stored.gone(numbers)
    for at in whole[2:]:
        numbers = {number for number in stored.alive & stored.session_of.keys() if stored.session_of[number] == at}
        again = [memory(number) for number in sorted(numbers - third)]
        db.replace_turns(mark("s", at), again, user=mark("u", at // 2))
        stored.gone(numbers & third)
    for number in sorted(third & stored.documents & stored.alive):
        db.add("another text", ids=[mark("i", number)], vectors=[np.ones(64, np.float32)])
        assert db.delete([mark("i", number)]) == 1
        stored.gone({number})
    rest = sorted(third & stored.alive)
    half = len(rest) // 2
    assert db.delete(stored.gone(set(rest[:half]))) == half
    assert db.forget(ids=stored.gone(set(rest[half:])), user="nobody") == 0
    assert db.forget(ids=[mark("i", number) for number in rest[half:]], user=ANY) == len(rest) - half


def by_a_process_that_is_killed(stored, start):
    third = sorted(stored.third())
    for verb, numbers in {"delete": third[::2], "forget": third[1::2]}.items():
        child = start(KILLED)
        told, error = child.communicate(f"{verb} {json.dumps(stored.gone(set(numbers)))}\n", timeout=60)
        assert (child.returncode, told) == (-9, f"{len(numbers)}\n"), error
        stored.check()
    late = [memory(900_000 + i, session=mark("s", 900_000), timestamp=OLD, ttl_days=100_000) for i in range(100)]
    stored.db.remember_many(late)
    assert stored.db.expire("2099-01-01") == 0
    assert stored.db.expire("2999-01-01") == 100


def beside_a_reader(stored, start_reader):
    third = stored.third()
    reader = start_reader()
    assert stored.db.delete(stored.gone(third)) == len(third)
    assert stored.db.stats()["erasure_pending"]
    reader.stdin.write("\n")
    reader.stdin.flush()
    assert reader.stdout.readline() == "done\n"


KILLED_AFTER = {
    "forget": "db.forget(mark('s'), user=mark('u'), kinds=KINDS)",
    "delete": "db.delete([m.id for m in db.search(None, 1_000, session=mark('s'), user=mark('u'))])",
    "clear": "db.clear()",
    "expire": "db.expire('2999-01-01')",
    "replace_turns": "db.replace_turns(mark('s'), [{'text': 'another'}], user=mark('u'))",
    "replaced documents": "db.add(['another'] * 50, ids=[f'd{i}' for i in range(50)])",
    "reembed": "db.reembed(HashEmbedder(96))",
}


@pytest.mark.parametrize("verb", KILLED_AFTER)
def test_a_kill_right_after_the_call_returned_leaves_nothing(db, marks, start, verb, embedder):
    """Nobody else has it open, so that nobody could have completed it."""
    numbers, turns = range(1, 51), range(1, 26)
    of = {"session": mark("s", 1), "user": mark("u", 1), "timestamp": OLD, "ttl_days": 100_000}
    db.remember_many([memory(number, **of) for number in turns])
    db.remember_many([memory(number, kind="fact", key=mark("k", number), **of) for number in numbers if number > 25])
    rows = [memory(number) for number in range(51, 101)]
    columns = {name: [row[name] for row in rows] for name in ("text", "metadata", "vector")}
    db.add(columns["text"], columns["metadata"], [f"d{i}" for i in range(50)], vectors=np.stack(columns["vector"]))
    before = {part: set(found) for part, found in marks().items()}
    assert before["t"] == before["vector"] == set(range(1, 101))
    assert (before["s"], before["u"], before["k"]) == ({1}, {1}, set(range(26, 51)))
    db.close()
    given = "mark = 'zq{}000001'.format; db = opened()"
    child = start(f"{given}; {KILLED_AFTER[verb]}; tell('done'); os.kill(os.getpid(), 9)")
    told, error = child.communicate(timeout=60)
    assert (child.returncode, told) == (-9, "done\n"), error
    left = {part: set(found) for part, found in marks().items()}
    if verb == "reembed":
        assert left == {part: found for part, found in before.items() if part != "vector"}
        return
    gone = {"clear": set(range(1, 101)), "replaced documents": set(range(51, 101)), "replace_turns": set(turns)}
    gone = gone.get(verb, set(numbers))
    expected = {part: found - gone for part, found in before.items() if part not in "su"}
    if verb in {"replaced documents", "replace_turns"}:  # the facts are there, and whose they are
        expected |= {"s": {1}, "u": {1}}
    assert left == {part: found for part, found in expected.items() if found}
    with Collection("test", path=db.path.parent, embedder=embedder) as db:
        assert db.count() == {"replaced documents": 100, "replace_turns": 76}.get(verb, 100 - len(gone))


FIRST_CALLS = {
    "stats": lambda db: db.stats(),
    "delete": lambda db: db.delete(["other"]),
    "close": lambda db: db.close(),
    "turns": lambda db: db.turns("other"),
    "count": lambda db: db.count(),
    "recall": lambda db: db.recall("another", session="other"),
    "a write": lambda db: db.remember("one more", session="other"),
    "a deletion of nothing": lambda db: db.forget("nobody"),
}


@pytest.mark.parametrize("call", FIRST_CALLS)
def test_the_first_call_after_a_read_elsewhere_ended_completes_the_erasure(
    tmp_path, embedder, marks, start_reader, call
):
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember_many([memory(number, session=mark("s", 1)) for number in range(1, 10)])
        db.remember("another", id="other", session="other")
        reader = start_reader()
        assert db.forget(mark("s", 1)) == 9  # the calls follow at once: none may rest after it tried in vain
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "done\n"
        FIRST_CALLS[call](db)
        assert marks() == {}


STORED = """
import json, sqlite3, sys

held = sqlite3.connect(f"{sys.argv[1]}/test.db")
columns = {"content": ("head", "body"), "vector": ("data",), "names": ("data",)}
queries = [f"SELECT {name} FROM {table}" for table, names in columns.items() for name in names]
rows = [blob for query in queries for (blob,) in held.execute(query)]
slices = {row[at : at + 12].hex() for row in rows for at in range(0, len(row) - 11)}
print(json.dumps(sorted(part for part in slices if part.count("0") < 12)))
"""

SLICES = """
import json, os, sys

wanted = {bytes.fromhex(part) for part in json.load(sys.stdin)}
found = set()
for name in os.listdir(sys.argv[1]):
    if name.startswith("test.db"):
        content = open(f"{sys.argv[1]}/{name}", "rb").read()
        found.update(wanted.intersection(content[at : at + 12] for at in range(len(content) - 11)))
print(json.dumps(sorted(part.hex() for part in found)))
"""


def test_no_twelve_bytes_of_a_row_that_went_are_left_of_terms_and_checksums_neither(db, tmp_path):
    """Whatever a row holds, and however: what is in the rows before and not after is in no file."""

    def told(code, given=None):
        command = [sys.executable, "-I", "-S", "-c", code, str(tmp_path)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=60, input=given)
        return set(json.loads(done.stdout))

    db.remember_many([memory(number, session=mark("s", number % 10)) for number in range(120)])
    db.remember_many([memory(number, key=mark("k", number), kind="fact", user="u") for number in range(120, 160)])
    db.remember_many([{"text": f"what stays {number} of it", "session": "stays"} for number in range(50)])
    before = told(STORED)
    assert db.forget(user="u", kinds=KINDS) == 40
    assert sum(db.forget(mark("s", at)) for at in range(10)) == 120
    went = before - told(STORED)
    assert len(went) > 10_000
    assert told(SLICES, json.dumps(sorted(went)).encode()) == set()
    assert told(SLICES, json.dumps(sorted(before - went)).encode()) == before - went
