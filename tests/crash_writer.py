"""The children of the kill loop: one interpreter that forks a writer or a reader for each order on its standard input.

A writer logs each operation before it calls it and again when it has returned, one line with one `write` each, so that
what is in the log after SIGKILL is what was acknowledged.
"""

import faulthandler
import json
import os
import random
import sys
import time
import traceback
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from retentive import Collection, ConflictError, DimensionError, FingerprintError, NotFoundError
from retentive.embedders import HashEmbedder

EMBEDDERS = [HashEmbedder(64), HashEmbedder(48)]
SHARED = "both"  # the session that both writers write
MOVED = (FingerprintError, DimensionError)  # the collection has another embedder than the handle
REFUSED = (*MOVED, NotFoundError, ConflictError)  # what the other writer's work may cause, with nothing done


def opened(folder):
    """The collection with the embedder that it has now: any writer may have moved it."""
    while True:
        for embedder in EMBEDDERS:
            db = Collection("test", path=folder, embedder=embedder)
            try:
                db.search("which model", mode="dense", limit=1)
            except MOVED:
                db.close()
            else:
                return db


class Log:
    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def tell(self, **entry):
        entry["at"] = time.monotonic_ns()
        os.write(self.file, (json.dumps(entry) + "\n").encode())


class Writer:
    """Does one operation after another, until it is killed."""

    def __init__(self, folder, name, label, seed, log):
        self.folder, self.name, self.label, self.log = folder, name, label, log
        self.random = random.Random(seed)
        self.number = 0
        self.db = opened(folder)
        self.known = self.db.search(None, limit=10**6, filter={"_vx_session": name}).ids

    def run(self):
        operations = [getattr(self, word) for word in OPERATIONS]
        while True:
            self.random.choices(operations, OPERATIONS.values())[0]()

    def call(self, op, function, **given):
        self.log.tell(begin=op, **given)
        try:
            done = function()
        except REFUSED as error:
            self.log.tell(failed=type(error).__name__)
            if isinstance(error, MOVED):
                self.db.close()
                self.db = opened(self.folder)
            return None
        self.log.tell(done=done)
        return done

    def item(self, session, **fields):
        self.number += 1
        name = f"{self.label}-{self.number}"
        subject = self.random.choice(["rivers", "ledgers", "orchards"])
        text = f"{name} said of {subject} {'and more ' * (self.number % 9)}"
        return {"text": text, "id": name, "session": session, "metadata": {"of": text}, **fields}

    def some(self, most):
        count = min(self.random.randint(1, most), len(self.known))
        return self.random.sample(self.known, count)

    def remember(self):
        ttl = {"ttl_days": 1} if self.number % 3 == 0 else {}
        kind = self.random.choice(["turn", "turn", "fact", "pinned"])
        item = self.item(self.name, kind=kind, **ttl)
        if self.call("remember", lambda: self.db.remember(**item), items=[item]):
            self.known.append(item["id"])

    def remember_many(self):
        items = [self.item(self.name) for _ in range(self.random.randint(2, 9))]
        self.known += self.call("remember", lambda: self.db.remember_many(items), items=items) or []

    def share(self):
        item = self.item(SHARED)
        self.call("remember", lambda: self.db.remember(**item), items=[item])

    def set_key(self):
        session = self.random.choice([SHARED, self.name])
        item = self.item(session, kind="fact", key="the one")
        if self.call("remember", lambda: self.db.remember(**item), items=[item]) and session == self.name:
            self.known.append(item["id"])

    def race(self):
        """Correct what the other writer may be correcting now."""
        if (fact := self.db.fact("the one", session=SHARED)) is not None:
            self.replace_text(fact.id)

    def correct(self):
        for target in self.some(1):
            if new := self.replace_text(target):
                self.known.append(new)

    def replace_text(self, target):
        text = self.item(self.name)["text"]
        feedback = partial(self.db.feedback, target, "corrected", correction=text)
        return self.call("correct", feedback, id=target, text=text)

    def rate(self):
        for target in self.some(1):
            self.call("rate", partial(self.db.feedback, target, "useful"), id=target)

    def forget(self):
        self.erase(lambda ids: self.db.forget(ids=ids))

    def delete(self):
        self.erase(self.db.delete)

    def erase(self, method):
        ids = self.some(4)
        if self.call("erase", lambda: method(ids), ids=ids) is not None:
            self.known = [one for one in self.known if one not in ids]

    def consolidate(self):
        def fold():
            report = self.db.consolidate(
                self.name,
                lambda turns: ["folded: " + " + ".join(turn["text"] for turn in turns)],
                keep_recent=6,
                batch_turns=4,
            )
            return {"turns": list(report.turn_ids), "facts": list(report.fact_ids)}

        if folded := self.call("consolidate", fold, session=self.name):
            self.known = [one for one in self.known if one not in folded["turns"]] + folded["facts"]

    def replace(self):
        items = [self.item(f"{self.name} replaced") for _ in range(self.random.randint(1, 5))]
        given = [{key: item[key] for key in ("text", "id", "metadata")} for item in items]
        session = f"{self.name} replaced"
        self.call("replace", lambda: self.db.replace_turns(session, given), items=items)

    def expire(self):
        later = datetime.now(UTC) + timedelta(days=2)
        self.call("expire", lambda: self.db.expire(later))

    def reembed(self):
        target = next(one for one in EMBEDDERS if one.name != self.db.embedder.name)
        self.call("reembed", lambda: self.db.reembed(target))


OPERATIONS = {
    "remember": 8,
    "remember_many": 3,
    "share": 4,
    "set_key": 3,
    "race": 3,
    "correct": 5,
    "rate": 2,
    "forget": 2,
    "delete": 2,
    "consolidate": 1,
    "replace": 2,
    "expire": 1,
    "reembed": 1,
}


def read(folder, seed, log):
    """Read until killed; an answer that is not whole ends the process with an error."""
    chance, reads = random.Random(seed), 0
    db = opened(folder)
    while True:
        for session in ("a", "b", SHARED, "a replaced"):
            turns = db.turns(session)
            numbers = [turn.turn for turn in turns]
            assert numbers == sorted(set(numbers)), numbers
            try:
                found = db.recall(chance.choice(["rivers", "ledgers"]), session=session, limit=5, min_relevance=None)
            except MOVED:
                db.close()
                db = opened(folder)
                continue
            for row in [*turns, *found]:
                assert row.session == session, (row.session, session)
                assert row.kind != "turn" or row.metadata["of"] == row.text, row
            tips = [fact for fact in db.facts(session=session) if fact.key == "the one"]
            assert len(tips) <= 1, tips
            reads += 3
        log.tell(reads=reads)


def work(folder, role, label, seed, log_path):
    log = Log(log_path)
    log.tell(ready=role)
    try:
        if role == "reader":
            read(folder, seed, log)
        else:
            Writer(folder, role, label, seed, log).run()
    except BaseException:
        log.tell(crashed=traceback.format_exc())
        os._exit(1)


def main():
    faulthandler.enable()
    HashEmbedder(8).embed_query("numpy is loaded before the first fork")
    for line in sys.stdin:
        order, *words = json.loads(line)
        if order == "start":
            answer = os.fork()
            if answer == 0:
                work(*words)
        else:
            answer = os.waitstatus_to_exitcode(os.waitpid(*words, 0)[1])
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    assert Path(sys.argv[0]).name == "crash_writer.py"
    main()
