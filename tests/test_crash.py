"""Writers killed at any moment, one or two at once: what they had acknowledged is there, and none of it half."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from retentive import Collection, DimensionError, FingerprintError
from retentive.embedders import HashEmbedder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")

ROUNDS = int(os.environ.get("RETENTIVE_SOAK_ROUNDS", "60"))
ROUNDS_PER_FILE = 10
SHARED = "both"
PROGRAM = Path(__file__).with_name("crash_writer.py")


class Nursery:
    """An interpreter that forks the children, so that none of them waits for imports."""

    def __init__(self):
        pipe = subprocess.PIPE
        command = [sys.executable, str(PROGRAM)]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def ask(self, *order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


class Child:
    def __init__(self, nursery, folder, role, label, seed):
        self.nursery, self.role = nursery, role
        self.path = folder.with_name(f"{label}-{role}.log")
        self.path.touch()
        self.pid = nursery.ask("start", str(folder), role, f"{label}{role}", seed, str(self.path))

    def until_at_work(self):
        deadline = time.monotonic() + 30
        while self.path.stat().st_size < 60:  # more than its first line
            assert time.monotonic() < deadline, f"{self.role} does nothing"
            time.sleep(0.001)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        code = self.nursery.ask("wait", self.pid)
        lines = [json.loads(line) for line in self.path.read_text().splitlines()]
        assert code == -signal.SIGKILL, f"{self.role} ended with {code}: {lines[-1].get('crashed')}"
        return lines[1:]


@dataclass
class Row:
    """What must be stored of one memory."""

    text: str
    session: str
    kind: str
    key: str | None = None
    of: str | None = None  # its metadata; None: inherited by a correction
    acked: int | None = None  # when its write returned, if it may expire
    begun: int = 0
    useful: int = 0
    useful_at_most: int = 0
    chain: set = field(default_factory=set)  # shared by all that supersede each other


@dataclass
class Expected:
    """What must be stored, from what the writers logged."""

    rows: dict = field(default_factory=dict)
    expired: list = field(default_factory=list)  # (begin, end or None) of each call
    consolidated: dict = field(default_factory=dict)
    superseded: set = field(default_factory=set)
    mark: dict = field(default_factory=dict)  # session -> the highest turn number seen
    numbers: dict = field(default_factory=dict)

    def note_expiry(self, lines):
        """Of all writers before any is replayed: an expiry takes the other writer's memories too."""
        for number, line in enumerate(lines):
            if line.get("begin") == "expire":
                answer = lines[number + 1] if number + 1 < len(lines) else {}
                self.expired.append((line["at"], answer["at"] if "done" in answer else None))

    def replay(self, lines, actual):
        """Apply what was acknowledged, and what was in flight as far as it shows in the file."""
        begun, operations = None, 0
        for line in lines:
            if "begin" in line:
                begun = line
                continue
            operations += 1
            if "done" in line:
                self.apply(begun, line["done"], line["at"])
            elif begun["begin"] == "consolidate":
                self.settle(begun, actual)  # the other writer stopped it between two of its batches
            begun = None
        if begun is not None:
            self.settle(begun, actual)
        return operations

    def apply(self, op, done, at):
        word = op["begin"]
        if word == "remember":
            for item in op["items"]:
                self.add(item, op["at"], at)
        elif word == "correct":
            self.correct(op["id"], done, op["text"])
        elif word == "rate":
            if op["id"] in self.rows:
                self.rows[op["id"]].useful += 1
                self.rows[op["id"]].useful_at_most += 1
        elif word == "erase":
            self.erase(op["ids"])
        elif word == "consolidate":
            self.erase(done["turns"])
            for memory in done["facts"]:
                self.rows[memory] = Row("folded: ", "", "fact", chain={memory})
        elif word == "replace":
            session = op["items"][0]["session"]
            self.erase([memory for memory, row in self.rows.items() if row.session == session])
            for item in op["items"]:
                self.add(item, op["at"], at)

    def add(self, item, begun, acked):
        row = Row(item["text"], item["session"], item.get("kind", "turn"), item.get("key"), item["text"])
        row.begun, row.acked, row.chain = begun, acked if "ttl_days" in item else None, {item["id"]}
        if row.key is not None:
            self.supersede_holder(row)
        self.rows[item["id"]] = row

    def supersede_holder(self, row):
        for memory, other in self.rows.items():
            if (other.session, other.key) == (row.session, row.key) and memory not in self.superseded:
                row.chain |= other.chain
        self.superseded |= row.chain & self.rows.keys()
        for memory in row.chain & self.rows.keys():
            self.rows[memory].chain = row.chain

    def correct(self, memory, new, text):
        old = self.rows.get(memory)
        chain = {new} | (old.chain if old else {memory})
        # A turn's correction is a fact; the chain's newest has the key, if any has.
        tip = next((self.rows[one] for one in reversed(self.rows) if one in chain), None)
        kind = "pinned" if tip and tip.kind == "pinned" else "fact"
        # Not known yet: what the other writer has just set in the session that both write.
        session, key = (tip.session, tip.key) if tip else (SHARED, "the one")
        row = Row(text, session, kind, key, chain=chain)
        self.superseded |= chain - {new}
        if row.key is not None:
            self.supersede_holder(row)
        for one in row.chain & self.rows.keys():
            self.rows[one].chain = row.chain
        self.rows[new] = row

    def erase(self, ids):
        for memory in ids:
            self.rows.pop(memory, None)

    def settle(self, op, actual):
        """The operation in flight is wholly there or not at all: whichever shows, all of it is then compared."""
        word = op["begin"]
        if word == "rate":
            if op["id"] in self.rows:
                self.rows[op["id"]].useful_at_most += 1
        elif word in {"remember", "replace"}:
            if any(item["id"] in actual.rows for item in op["items"]):
                self.apply(op, None, time.monotonic_ns())
        elif word == "correct":
            new = [memory for memory, row in actual.rows.items() if row.text == op["text"]]
            assert len(new) <= 1
            if new:
                self.correct(op["id"], new[0], op["text"])
        elif word == "erase":
            gone = [memory for memory in op["ids"] if memory in self.rows and memory not in actual.rows]
            if any(self.fate(self.rows[memory]) == "stays" for memory in gone):
                self.erase(op["ids"])
        elif word == "consolidate":
            facts = {
                memory: row
                for memory, row in actual.rows.items()
                if memory not in self.rows
                and row.session == op["session"]
                and row.text[:7] == "folded:"
                # Others are of a later consolidation: what they cite was not said yet.
                and set(row.metadata["_vx_consolidated_from"]) <= self.rows.keys()
            }
            cited = [turn for row in facts.values() for turn in row.metadata["_vx_consolidated_from"]]
            assert len(cited) == len(set(cited)), "a turn was folded twice"
            self.apply(op, {"turns": cited, "facts": list(facts)}, 0)

    def fate(self, row):
        """Whether expiry has taken it: `stays`, `goes`, or `may go`."""
        if row.acked is None:
            return "stays"
        if any(begun > row.acked and ended is not None for begun, ended in self.expired):
            return "goes"
        return "may go" if any(ended is None or ended > row.begun for _, ended in self.expired) else "stays"


class Actual:
    """What is stored, as the public methods tell it."""

    def __init__(self, db, expected, mentioned):
        live = db.search(None, limit=10**6)
        self.live = set(live.ids)
        self.turns = {session: db.turns(session) for session in db.sessions()}
        asked = {*expected.rows, *mentioned, *live.ids}
        self.rows = {row.id: row for row in db.get(asked)}
        for turns in self.turns.values():
            self.rows |= {turn.id: turn for turn in turns}
        self.chains = {}
        while new := self.rows.keys() - self.chains.keys():
            # A correction that was in flight and is superseded by now is named by its chain alone.
            self.chains |= {memory: db.history(memory) for memory in new}
            self.rows |= {row.id: row for memory in new for row in self.chains[memory]}
        assert db.count() == len(self.rows)


def compare(expected, actual):
    """Everything there that must be, as it was given, and nothing else."""
    for memory, row in list(expected.rows.items()):
        fate, found = expected.fate(row), actual.rows.get(memory)
        if found is None:
            assert fate != "stays", f"{memory} is lost: {row}"
            del expected.rows[memory]
            continue
        assert fate != "goes", f"{memory} has not expired"
        assert found.text == row.text or row.text == "folded: ", memory
        if row.text == "folded: ":
            row.text, row.session = found.text, found.session
            assert not set(found.metadata["_vx_consolidated_from"]) & actual.rows.keys(), "folded and still there"
        assert (found.session, found.kind) == (row.session or found.session, row.kind), memory
        assert row.of is None or found.metadata["of"] == row.of
        useful = sum(one["outcome"] == "useful" for one in found.metadata.get("_vx_feedback", []))
        assert row.useful <= useful <= row.useful_at_most, memory
        row.useful = row.useful_at_most = useful
        if row.session != SHARED or row.key is None:
            assert (memory in actual.live) == (memory not in expected.superseded), memory
    assert actual.rows.keys() <= expected.rows.keys(), actual.rows.keys() - expected.rows.keys()


def compare_turn_numbers(expected, actual):
    for session, turns in actual.turns.items():
        numbers = [turn.turn for turn in turns]
        assert numbers == sorted(set(numbers)), f"turn numbers of {session}: {numbers}"
        before = expected.mark.get(session, -1)
        for turn in turns:
            known = expected.numbers.get(turn.id)
            assert turn.turn > before if known is None else turn.turn == known, "a turn number given twice, or changed"
            expected.numbers[turn.id] = turn.turn
        expected.mark[session] = max([before, *numbers])


def compare_chains(actual):
    """No fork, no cycle: each chain is one line, the same from each of its ends, and only its newest is live."""
    seen = {memory: tuple(row.id for row in chain) for memory, chain in actual.chains.items()}
    whole = set()  # a chain of hundreds is looked at once, not from each of its ends
    for memory, ids in seen.items():
        assert ids.count(memory) == 1
        if ids in whole:
            continue
        assert len(set(ids)) == len(ids), f"a cycle: {ids}"
        for older, newer in itertools.pairwise(actual.chains[memory]):
            assert older.superseded_by is not None
            assert older.id not in actual.live
            assert seen[newer.id] == ids, "a fork"
        whole.add(ids)
    holders = [row.id for row in actual.rows.values() if row.session == SHARED and row.key and row.id in actual.live]
    assert len(holders) <= 1, f"two tips: {holders}"


@pytest.fixture
def nursery():
    nursery = Nursery()
    with nursery.process:  # waits for its end and closes the pipes
        yield nursery
        nursery.process.stdin.close()


def opened(folder):
    for embedder in (HashEmbedder(64), HashEmbedder(48)):
        db = Collection("test", path=folder, embedder=embedder)
        try:
            db.search("which model", mode="dense", limit=1)
        except (FingerprintError, DimensionError):
            db.close()
        else:
            return db
    raise AssertionError("the collection has neither of the two models")


def kill_at_random(nursery, folder, label, chance, crowded):
    """Start the children, kill them one after the other, each at a random moment; return what each had logged."""
    roles = ["a", "b", "reader"] if crowded else [chance.choice("ab")]
    children = [Child(nursery, folder, role, label, chance.randrange(2**32)) for role in roles]
    for child in children:
        child.until_at_work()
    chance.shuffle(children)
    logs = {}
    for child in children:
        time.sleep(chance.uniform(0, 0.2))
        logs[child.role] = child.kill()
    return logs


def mentioned(logs):
    for lines in logs.values():
        for line in lines:
            yield from (item["id"] for item in line.get("items", []))
            yield from line.get("ids", [])
            if "id" in line:
                yield line["id"]
            done = line.get("done")
            if isinstance(done, str):
                yield done
            elif isinstance(done, dict):
                yield from done["facts"]


def check(folder, expected, logs):
    """Open what the killed have left, compare it, and write on."""
    with opened(folder) as db:
        actual = Actual(db, expected, mentioned(logs))
        for lines in logs.values():
            expected.note_expiry(lines)
        operations = sum(expected.replay(lines, actual) for role, lines in logs.items() if role != "reader")
        compare(expected, actual)
        compare_turn_numbers(expected, actual)
        compare_chains(actual)
        item = {"text": f"goes on after {len(expected.mark)} {time.monotonic_ns()}", "session": "after"}
        item["id"] = item["text"].replace(" ", "-")
        db.remember(item["text"], session="after", id=item["id"], metadata={"of": item["text"]})
        report = db.verify()
        assert report.ok, report.problems
        expected.add(item, 0, 0)
    return operations


@pytest.mark.timeout(300 + 3 * ROUNDS)
def test_writers_killed_at_any_moment_lose_nothing_acknowledged_and_leave_nothing_half(tmp_path, nursery, counted):
    chance = random.Random(os.environ.get("RETENTIVE_SOAK_SEED", "kill"))
    for number in range(ROUNDS):
        if number % ROUNDS_PER_FILE == 0:
            expected, folder = Expected(), tmp_path / f"file{number}"
            folder.mkdir()
        logs = kill_at_random(nursery, folder, f"r{number}", chance, crowded=number % 2 == 1)
        operations = check(folder, expected, logs)
        reads = sum(line.get("reads", 0) for line in logs.get("reader", [])[-1:])
        counted(rounds=1, kills=len(logs), operations_compared=operations, reads_checked=reads)
