"""Any sequence of calls, by two handles, a second process and after reopening, answers as a plain dictionary would."""

import contextlib
import inspect
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from retentive import Collection, ConflictError
from retentive.embedders import HashEmbedder

SOAK = bool(os.environ.get("RETENTIVE_SOAK"))
SEQUENCES = int(os.environ.get("RETENTIVE_SOAK_SEQUENCES", "400" if SOAK else "12"))
TEXTS = st.text(max_size=40).map("said {}".format)  # a turn without a word is never recalled
SESSIONS = st.sampled_from(["a", "ab", "A", "a%", "ä"])
KEYS = st.sampled_from(["city", "job"])


def told(db, ids, sessions):
    """All that the reads of a handle give, as JSON has it."""
    every = {"limit": 1_000, "min_relevance": None}
    rows = {row.id: row for row in db.get(ids)}
    feedback = {one: len(row.metadata.get("_vx_feedback", ())) for one, row in rows.items()}
    return {
        "rows": {
            one: [row.text, row.session, row.kind, row.turn, row.superseded_by is None, feedback[one]]
            for one, row in rows.items()
        },
        "count": db.count(),
        "live": sorted(db.search(None, limit=1_000).ids),
        "turns": {session: [turn.id for turn in db.turns(session)] for session in [*sessions, "past"]},
        "recalled": {session: sorted(db.recall("anything", session=session, **every).ids) for session in sessions},
        "facts": {session: sorted(fact.id for fact in db.facts(session=session)) for session in [*sessions, "past"]},
        "past": "past" in db.sessions(),
    }


# A second process: does to the collection what the lines on its standard input say.
SECOND = (
    inspect.getsource(told)
    + """
import json, sys
from retentive import Collection
from retentive.embedders import HashEmbedder
db = Collection("test", path=sys.argv[1], embedder=HashEmbedder(int(sys.argv[2])))
for line in sys.stdin:
    method, arguments = json.loads(line)
    if method == "consolidate":
        answer = db.consolidate(summarize=lambda turns: [f"{len(turns)} turns"], **arguments).fact_ids
    elif method == "verify":
        answer = db.verify().problems
    elif method == "told":
        answer = told(db, **arguments)
    else:
        answer = getattr(db, method)(**arguments)
    print(json.dumps(answer), flush=True)
"""
)
PAST = "2020-01-01T00:00:00+00:00"


@dataclass
class Row:
    text: str
    session: str | None
    kind: str | None
    key: str | None = None
    turn: int | None = None
    live: bool = True
    feedback: int = 0


class Second:
    """A handle in another process, with the methods that the rules need."""

    def __init__(self, folder, dimension):
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", SECOND, folder, str(dimension)]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def ask(self, method, arguments):
        self.process.stdin.write(json.dumps([method, arguments]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.communicate()

    def kill(self):
        self.process.kill()
        self.close()


class AsDictionary(RuleBasedStateMachine):
    memories = Bundle("memories")
    compared = 0

    @initialize()
    def begin(self):
        self.folder = tempfile.mkdtemp(dir=self.parent)
        self.rows, self.next_turn, self.expired, self.dimension = {}, {}, 0, 64
        self.handles = [self.opened(), self.opened()]
        self.child = None

    def opened(self):
        return Collection("test", path=self.folder, embedder=HashEmbedder(self.dimension), durability="normal")

    def call(self, handle, method, **arguments):
        """By the first handle, the second, or another process."""
        type(self).compared += 1
        if handle < 2:
            db = self.handles[handle]
            if method == "consolidate":
                return db.consolidate(summarize=lambda turns: [f"{len(turns)} turns"], **arguments).fact_ids
            return db.verify().problems if method == "verify" else getattr(db, method)(**arguments)
        if self.child is None:
            self.child = Second(self.folder, self.dimension)
        return self.child.ask(method, arguments)

    handle = st.sampled_from([0, 0, 0, 1, 1, 1, 2])

    @rule(
        target=memories, handle=handle, text=TEXTS, session=SESSIONS, kind=st.sampled_from(["turn", "fact", "pinned"])
    )
    def remember(self, handle, text, session, kind):
        made = self.call(handle, "remember", text=text, session=session, kind=kind)
        assert made not in self.rows
        self.rows[made] = Row(text, session, kind)
        if kind == "turn":
            self.rows[made].turn = self.number(session)
        return made

    def number(self, session):
        self.next_turn[session] = self.next_turn.get(session, -1) + 1
        return self.next_turn[session]

    @rule(target=memories, handle=handle, text=TEXTS, session=SESSIONS, key=KEYS)
    def set_key(self, handle, text, session, key):
        made = self.call(handle, "remember", text=text, session=session, kind="fact", key=key)
        holder = self.holder(session, key)
        if holder is not None and self.rows[holder].text == text:
            assert made == holder, "the same value again changes nothing"
            return made
        if holder is not None:
            self.rows[holder].live = False
        self.rows[made] = Row(text, session, "fact", key)
        return made

    def holder(self, session, key):
        held = [one for one, row in self.rows.items() if (row.session, row.key, row.live) == (session, key, True)]
        return held[0] if held else None

    @rule(handle=handle, texts=st.lists(TEXTS, min_size=1, max_size=4), session=SESSIONS)
    def remember_many(self, handle, texts, session):
        items = [{"text": text, "session": session} for text in texts]
        for made, text in zip(self.call(handle, "remember_many", items=items), texts, strict=True):
            self.rows[made] = Row(text, session, "turn", turn=self.number(session))

    @rule(handle=st.sampled_from([0, 1]), id=memories, text=TEXTS)
    def correct(self, handle, id, text):
        if id not in self.rows or self.rows[id].kind is None:
            return
        chain = self.handles[handle].history(id)
        tip, holder = self.rows[chain[-1].id], None
        made = self.call(handle, "feedback", id=id, outcome="corrected", correction=text)
        self.rows[id].feedback += 1
        if tip.key is not None:
            holder = self.holder(tip.session, tip.key)
        if made in self.rows:
            assert self.rows[made].text == text
            assert made == holder
            return
        for older in (tip, self.rows.get(holder)):
            if older is not None:
                older.live = False
        kind = "pinned" if tip.kind == "pinned" else "fact"
        self.rows[made] = Row(text, tip.session, kind, tip.key)
        assert [row.id for row in self.handles[1 - handle].history(id)][-1] == made

    @rule(handle=handle, id=consumes(memories))
    def delete(self, handle, id):
        assert self.call(handle, "delete", ids=[id]) == (self.rows.pop(id, None) is not None)

    @rule(
        handle=handle,
        session=SESSIONS,
        kinds=st.sampled_from([["turn"], ["fact", "pinned"], ["turn", "fact", "pinned"]]),
    )
    def forget(self, handle, session, kinds):
        gone = [one for one, row in self.rows.items() if row.session == session and row.kind in kinds]
        assert self.call(handle, "forget", session=session, kinds=kinds) == len(gone)
        for one in gone:
            del self.rows[one]

    @rule(handle=handle, session=SESSIONS, texts=st.lists(TEXTS, max_size=3))
    def replace_turns(self, handle, session, texts):
        made = self.call(handle, "replace_turns", session=session, items=[{"text": text} for text in texts])
        for one in [one for one, row in self.rows.items() if row.session == session and row.kind == "turn"]:
            del self.rows[one]
        for one, text in zip(made, texts, strict=True):
            self.rows[one] = Row(text, session, "turn", turn=self.number(session))

    @rule(target=memories, handle=handle, text=TEXTS, id=st.sampled_from(["doc one", "doc two"]))
    def add(self, handle, text, id):
        assert list(self.call(handle, "add", texts=[text], ids=[id])) == [id]
        self.rows[id] = Row(text, None, None)
        return id

    @rule(handle=handle, id=memories, outcome=st.sampled_from(["useful", "dead_end", "corrected"]))
    def judge(self, handle, id, outcome):
        if id in self.rows and self.rows[id].kind is not None:
            assert self.call(handle, "feedback", id=id, outcome=outcome) is None
            self.rows[id].feedback += 1

    @rule(handle=handle, session=SESSIONS, keep=st.integers(0, 3))
    def consolidate(self, handle, session, keep):
        turns = [one for one, row in self.rows.items() if (row.session, row.kind) == (session, "turn")]
        folded = [one for one in turns[: max(0, len(turns) - keep)] if self.rows[one].live]
        facts = self.call(handle, "consolidate", session=session, keep_recent=keep, batch_turns=1_000)
        assert len(facts) == bool(folded)
        for one in folded:
            del self.rows[one]
        for fact in facts:
            self.rows[fact] = Row(f"{len(folded)} turns", session, "fact")

    @rule(handle=handle, text=TEXTS, kind=st.sampled_from(["turn", "fact", "pinned"]))
    def remember_what_is_past_its_time(self, handle, text, kind):
        """It is never shown, and nothing that the dictionary has changes."""
        self.call(handle, "remember", text=text, session="past", kind=kind, timestamp=PAST, ttl_days=1)
        self.expired += 1

    @rule(handle=handle)
    def expire(self, handle):
        assert self.call(handle, "expire") == self.expired
        self.expired = 0

    @rule(which=st.sampled_from([0, 1]), dimension=st.sampled_from([32, 64]))
    def reembed(self, which, dimension):
        """Who has the collection open with the old embedder opens it anew."""
        type(self).compared += 1
        self.handles[which].reembed(HashEmbedder(dimension))
        self.dimension = dimension
        self.reopen(1 - which)
        if self.child is not None:
            self.child.close()
            self.child = None

    @rule(handle=handle, method=st.sampled_from(["compact", "verify", "calibrate"]))
    def maintain(self, handle, method):
        """Nothing that the dictionary has changes."""
        if method == "calibrate":
            handle = min(handle, 1)  # what it answers is no JSON
        answer = self.call(handle, method)
        assert method != "verify" or not answer

    @rule(which=st.sampled_from([0, 1]))
    def reopen(self, which):
        self.handles[which].close()
        self.handles[which] = self.opened()

    @rule()
    def kill_the_second_process(self):
        if self.child is not None:
            self.child.kill()
            self.child = None

    @rule()
    def answers_as_the_dictionary_elsewhere(self):
        """What the other handles wrote since it looked last is in what another process reads."""
        expected = self.expected()
        asked = {"ids": list(self.rows), "sessions": list(expected["recalled"])}
        assert self.call(2, "told", **asked) == expected

    @invariant()
    def answers_as_the_dictionary(self):
        expected = self.expected()
        assert told(self.handles[random.randrange(2)], list(self.rows), list(expected["recalled"])) == expected

    def expected(self):
        """What `told` gives of the dictionary."""
        live = {one for one, row in self.rows.items() if row.live}
        sessions = list(dict.fromkeys(row.session for row in self.rows.values() if row.session is not None))
        of = {session: [one for one, row in self.rows.items() if row.session == session] for session in sessions}
        kept = {session: sorted(live.intersection(ids)) for session, ids in of.items()}
        return {
            "rows": {
                one: [row.text, row.session, row.kind, row.turn, row.live, row.feedback]
                for one, row in self.rows.items()
            },
            "count": len(self.rows),
            "live": sorted(live),
            "turns": {s: [one for one in ids if self.rows[one].kind == "turn"] for s, ids in of.items()} | {"past": []},
            "recalled": kept,
            "facts": {s: [one for one in ids if self.rows[one].key] for s, ids in kept.items()} | {"past": []},
            "past": False,
        }

    def teardown(self):
        if not hasattr(self, "handles"):
            return
        if self.child is not None:
            self.child.close()
        with self.handles[0] as db:
            report = db.verify()
            assert report.ok, report.problems
        self.handles[1].close()
        shutil.rmtree(self.folder)


def test_any_sequence_of_calls_answers_as_a_dictionary(tmp_path, counted):
    class Machine(AsDictionary):
        parent = tmp_path

    limits = settings(
        max_examples=SEQUENCES,
        stateful_step_count=25,
        deadline=None,
        derandomize=not SOAK,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    run_state_machine_as_test(Machine, settings=limits)
    counted(operations_compared=Machine.compared)


STRESS = """
import threading
me, threads, each, target = int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
failed, corrections = [], []
while not os.path.exists(f"{folder}/go"):
    pass
db = opened(durability="normal")
def work(number):
    label = f"{me}-{number}"
    mine = []
    try:
        for i in range(each):
            if i % 10 == 9:
                try:
                    corrections.append(db.feedback(target, "corrected", correction=f"{label} corrects {i}"))
                except ConflictError:
                    pass
            elif i % 5 == 4:
                db.delete([mine.pop()])
            elif i % 5 == 3:
                turns = [turn.turn for turn in db.turns("all")]
                assert turns == sorted(set(turns)), turns
                found = db.recall(f"says {label}", session=label, limit=3, mode="lexical", min_relevance=None)
                assert set(found.ids) <= set(mine), found
            else:
                mine.append(db.remember(f"{label} says {i}", session=label if i % 5 else "all"))
    except BaseException as error:
        failed.append(f"{label}: {error!r}")
    kept.extend(mine)
kept = []
workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
db.close()
tell(*failed or ["done"])
tell(*kept)
tell(*corrections)
"""


def test_32_threads_and_8_processes_lose_nothing_and_mix_nothing(start, tmp_path, embedder, counted):
    """A process of 32 threads beside 8 of two each; every thread has a fixed number of operations."""
    each = 200 if SOAK else 20
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        target = db.remember("what all of them correct", session="corrected", kind="fact")
    threads = [32, *[2] * 8]
    children = [start(STRESS, number, count, each, target) for number, count in enumerate(threads)]
    (tmp_path / "go").touch()
    kept, corrections = [], []
    for child in children:
        told, error = child.communicate(timeout=280)
        first, ids, made = told.splitlines()
        assert (child.returncode, first) == (0, "done"), error
        kept += ids.split()
        corrections += made.split()
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        assert db.count() == len(db.get([*kept, *corrections, target])) == len(kept) + len(corrections) + 1
        numbers = [turn.turn for turn in db.turns("all")]
        assert numbers == sorted(set(numbers))
        for session in set(db.sessions()) - {"all", "corrected"}:
            assert all(turn.text.startswith(f"{session} says") for turn in db.turns(session))
        chain = db.history(target)
        assert sorted(row.id for row in chain) == sorted([target, *corrections])
        assert [row.superseded_by for row in chain] == [*[row.id for row in chain[1:]], None]
        assert db.verify().ok
    counted(operations_compared=sum(threads) * each)


CORRECT = """
while not os.path.exists(f"{folder}/go"):
    pass
target, me = sys.argv[2], sys.argv[3]
with opened(durability="normal") as db:
    for i in range(10):
        try:
            tell(db.feedback(target, "corrected", correction=f"{me} says {i}"))
        except ConflictError:
            pass
"""


@pytest.mark.parametrize("kind", ["turn", "fact"])
def test_threads_and_processes_that_correct_one_memory_leave_one_tip(start, tmp_path, embedder, kind, counted):
    with Collection("test", path=tmp_path, embedder=embedder, durability="normal") as db:
        target = db.remember("what was said first", session="s", kind=kind)
        children = [start(CORRECT, target, f"process {number}") for number in range(4)]
        made, go = [], threading.Barrier(33)

        def correct(number):
            go.wait()
            with contextlib.suppress(ConflictError):
                made.append(db.feedback(target, "corrected", correction=f"thread {number} says"))

        threads = [threading.Thread(target=correct, args=(number,)) for number in range(32)]
        for thread in threads:
            thread.start()
        (tmp_path / "go").touch()
        go.wait()
        for thread in threads:
            thread.join()
        for child in children:
            told, error = child.communicate(timeout=60)
            assert child.returncode == 0, error
            made += told.split()
        chain = db.history(target)
        assert sorted(row.id for row in chain) == sorted([target, *made])
        assert [row.superseded_by for row in chain] == [*[row.id for row in chain[1:]], None]
        assert db.search(None, limit=1_000, session="s").ids == [chain[-1].id]
        assert db.verify().ok
        counted(operations_compared=72)
