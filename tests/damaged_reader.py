"""The children of the damage sweep.

`fill FOLDER KIND` leaves a collection, closed, and in `left/` as a kill leaves it, with what was right after each
commit. `read FOLDER KIND` takes one damage a line from its standard input, does it to a copy, and says what is wrong
with what a user then sees.
"""

import contextlib
import faulthandler
import hashlib
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

from retentive import ANY, Collection, CorruptError, NotFoundError, RetentiveError, StoreError, _core
from retentive.embedders import EmbedderPair, HashEmbedder

THEN, NOW = "2024-01-01T00:00:00+00:00", "2024-06-01T00:00:00+00:00"
ALL = {"now": NOW, "limit": 50, "min_relevance": None}
PAGE = 4_096
ENDS = ("", "-wal", "-shm")


class Windowed(HashEmbedder):
    """Embeds a text of more than 24 tokens in parts."""

    window = 24


class Tired(HashEmbedder):
    """Gives up half way."""

    texts = 0

    def embed_documents(self, texts):
        self.texts += len(texts)
        if self.texts > 300:
            raise OSError("tired")
        return super().embed_documents(texts)


EMBEDDERS = {
    "plain": lambda: HashEmbedder(16),
    "parts": lambda: Windowed(16),
    "two models": lambda: EmbedderPair(HashEmbedder(16), Windowed(24)),
    "half moved": lambda: HashEmbedder(16),
}


def opened(folder, kind, **options):
    return Collection("test", folder, embedder=EMBEDDERS[kind](), durability="normal", busy_timeout_s=1, **options)


# ---- what is stored


def fill(folder, kind):
    """Everything a collection can hold, then some commits; `left` has them in the log, as a kill leaves them."""
    with opened(folder, kind) as db:
        for session in ("alpha", "beta"):
            for i in range(10):
                text = f"{session} turn {i} about {['cats', 'dogs', 'birds'][i % 3]}"
                ids = db.remember(text, session=session, metadata={"n": i}, timestamp=THEN, id=f"{session}{i}")
        db.remember("A long story about cats. " * 12, session="alpha", timestamp=THEN)
        for user in ("ann", "bo"):
            for city in ("Paris", "Rome"):
                db.remember(f"{user} lives in {city}", user=user, kind="fact", key="city", timestamp=THEN)
            db.remember(f"{user} is pinned", user=user, pinned=True, timestamp=THEN)
            db.remember("hello there", user=user, session="s", name="Ann", timestamp=THEN)
        db.feedback("beta3", "useful", timestamp=NOW)
        db.feedback("beta4", "corrected", correction="better", timestamp=NOW)
        db.add("a document about cats", ids=["doc"])
        db.consolidate("beta", lambda turns: ["they talked of cats"], keep_recent=8, delete=False, now=NOW)
        db.forget(ids=["beta7"])
        if kind == "plain":
            assert db.calibrate().enough, ids
        if kind == "half moved":
            db.remember_many([{"text": f"number {i}", "session": "many", "timestamp": THEN} for i in range(290)])
            with contextlib.suppress(RetentiveError):
                db.reembed(Tired(24))
            assert db.stats()["reembedded"] == 256
    db = opened(folder, kind)
    right = [Right(db)]
    for i in range(4):
        db.remember(f"gamma turn {i} about cats", session="gamma", metadata={"n": i}, timestamp=THEN)
        right.append(Right(db))
    for change in LATE:
        change(db)
        right.append(Right(db))
    Path(folder, "right").write_bytes(pickle.dumps([vars(moment) for moment in right]))
    # Another process copies: a descriptor of the files that is closed here would drop SQLite's locks.
    subprocess.run(["cp", "-r", folder, f"{folder}.left"], check=True)
    db.close()
    Path(f"{folder}.left").rename(f"{folder}/left")


LATE = [
    lambda db: db.remember("ann lives in Oslo", user="ann", kind="fact", key="city", timestamp=THEN),
    lambda db: db.feedback("alpha2", "corrected", correction="alpha turn 2 about fish", timestamp=NOW),
    lambda db: db.feedback("alpha3", "useful", timestamp=NOW),
    lambda db: db.remember_many([{"text": f"delta {i}", "session": "delta", "timestamp": THEN} for i in range(5)]),
]


# ---- what a user sees


class Right:
    """The answers to all questions at one moment."""

    def __init__(self, db):
        self.ids = sorted({row.id for tip in db.search(limit=1_000, user=ANY).ids for row in db.history(tip)})
        asked = questions(db, self.ids) | one_by_one(db, self.ids)
        self.answers = {name: call() for name, call in asked.items()}
        self.stored = {row.id: own(row) for row in db.get(self.ids, vectors=True)}
        assert len(self.stored) == db.count()


def own(row):
    """What a memory holds that no neighbour changes."""
    metadata = {name: value for name, value in row.metadata.items() if not name.startswith("_vx_")}
    return (row.text, row.kind, row.role, row.turn, row.name, row.timestamp, metadata), row.session, row.user


def rows(results):
    return [
        (row.id, row.text, row.score, row.kind, row.session, row.user, row.turn, sorted(row.metadata.items(), key=str))
        for row in results
    ]


def block(found):
    return found.text, rows(found.pinned), rows(found.recent), rows(found.retrieved)


MISSING = "not found"
# A flipped bit in an index can hide a row from a look-up until `verify`: docs/format.md.
LOOKED_UP = {"get", "history", "turns", "facts", "fact", "similar"}


def questions(db, ids):
    asked = {
        ("search", "any"): lambda: rows(db.search("cats", limit=99, user=ANY)),
        ("search", "filter"): lambda: rows(db.search(filter={"n": 3}, limit=9, user=ANY)),
        ("count",): db.count,
        ("users",): db.users,
        ("sessions",): lambda: db.sessions(ANY),
        ("similar",): lambda: rows(db.similar("doc", 5)),
    }
    for s in ("alpha", "beta", "gamma", "delta"):
        asked["turns", s] = lambda s=s: rows(db.turns(s))
        asked["recall", s] = lambda s=s: rows(db.recall("cats and birds", session=s, **ALL))
        asked["context", s] = lambda s=s: block(db.context("cats and birds", s, now=NOW, min_relevance=None))
    for u in ("ann", "bo"):
        asked["facts", u] = lambda u=u: rows(db.facts(user=u))
        asked["fact", u] = lambda u=u: rows([db.fact("city", user=u)] if db.fact("city", user=u) else [])
        asked["recall", u] = lambda u=u: rows(db.recall("where", user=u, **ALL))
    asked["get", "all"] = lambda: whole(db.get(ids, vectors=True))
    for of in ids[::7]:
        asked["history", of] = lambda of=of: rows(db.history(of))
    return asked


def one_by_one(db, ids):
    """What is asked where a damaged memory spoils the answer for all."""
    return {("get", of): lambda of=of: whole(db.get([of], vectors=True)) for of in ids}


def whole(found):
    return [(rows([row]), vector(row)) for row in found]


def vector(row):
    return None if row.vector is None else row.vector.tobytes()


# ---- damage


def damaged(content, how, at, drawn):
    """The bytes of a file after a damage of the kind `how` at the offset `at`."""
    changed = bytearray(content)
    page = at - at % PAGE
    if how == "flip":
        changed[at] ^= 255 if drawn.random() < 0.5 else 1 << drawn.randrange(8)
    elif how == "cut":
        del changed[at:]
    elif how == "zeroed":
        changed[page : page + PAGE] = bytes(len(changed[page : page + PAGE]))
    elif how == "noise":
        changed[page : page + PAGE] = drawn.randbytes(len(changed[page : page + PAGE]))
    elif how == "swapped":
        other = drawn.randrange(len(changed) // PAGE) * PAGE
        changed[page : page + PAGE], changed[other : other + PAGE] = (
            changed[other : other + PAGE],
            changed[page : page + PAGE],
        )
    elif how == "sector":  # torn: half a kilobyte of a page is another's
        other = drawn.randrange(len(changed) // 512) * 512
        changed[at - at % 512 : at - at % 512 + 512] = changed[other : other + 512]
    elif how == "grown":
        changed += drawn.randbytes(at)
    elif how.startswith("set "):  # a field of a header
        value = bytes.fromhex(how.removeprefix("set "))
        changed[at : at + len(value)] = value
    else:
        raise ValueError(how)
    return bytes(changed)


class Reader:
    """Damages copies, and collects what a user would see go wrong."""

    def __init__(self, folder, kind):
        self.kind, self.work = kind, Path(folder) / f"tries-{os.getpid()}"
        self.layouts = {
            "closed": {"": (Path(folder) / "test.db").read_bytes()},
            "left": {end: (Path(folder) / f"left/test.db{end}").read_bytes() for end in ENDS},
        }
        self.right = [SimpleNamespace(**moment) for moment in pickle.loads((Path(folder) / "right").read_bytes())]
        self.counts, self.wrong = Counter(), []

    def take(self, task):
        how, layout, end, at = task
        drawn = random.Random(hashlib.sha256(json.dumps(task).encode()).digest())
        self.task, self.log_hurt = task, end == "-wal"
        files = self.layouts[layout]
        content = damaged(files[end], how, at, drawn)
        if content == files[end]:
            return
        self.counts["damaged_files"] += 1
        self.lay({**files, end: content})
        self.repaired()
        self.used(readonly=drawn.random() < 0.1)

    def lay(self, files):
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        for end, content in files.items():
            (self.work / f"test.db{end}").write_bytes(content)
            (self.work / f"copy.db{end}").write_bytes(content)
        (self.work / "copy.db-shm").unlink(missing_ok=True)  # repair takes the file and its log

    def says(self, what, *more):
        self.wrong.append([self.task, what, repr(more)[:600]])
        tell(f"wrong {json.dumps(self.wrong[-1])}")

    def tried(self, call):
        """The answer, or None for a typed error that names the file."""
        try:
            return call()
        except NotFoundError:
            return MISSING
        except StoreError as error:
            if error.path != str(self.work / "test.db"):
                self.says("error without the file", error)
            self.counts[type(error).__name__] += 1
        except (Exception, BaseException) as error:  # a panic is no Exception
            self.says("not a typed error", type(error), error)
        return None

    # ---- reading and writing

    def used(self, *, readonly):
        db = self.tried(lambda: opened(self.work, self.kind, readonly=readonly))
        if db is None:
            return
        self.counts["opened"] += 1
        before = self.state(db)
        report = self.tried(db.verify)
        clean = report is not None and report.ok
        self.counts["verified clean"] += clean
        self.compare(before, clean)
        if self.log_hurt and not clean:
            self.says("a damaged log left damage behind", report and report.problems)
        if not readonly:
            self.written(db, clean)
        self.tried(db.close)

    def state(self, db):
        ids = self.right[-1].ids
        answers = {name: self.tried(call) for name, call in questions(db, ids).items()}
        if answers["get", "all"] != self.right[-1].answers["get", "all"]:
            answers |= {name: self.tried(call) for name, call in one_by_one(db, ids).items()}
        return answers

    def compare(self, before, clean):
        """Every answer is right for one and the same moment: the last one, unless the log is what was damaged."""
        moments = self.right if self.log_hurt else self.right[-1:]
        asked = [[name for name in moment.answers if name in before] for moment in moments]
        wrong = [
            [name for name in names if self.differs(before, moment, name, clean)]
            for names, moment in zip(asked, moments, strict=True)
        ]
        faults = min(wrong, key=len)
        if faults:
            self.says("wrong answers", faults, [before[name] for name in faults[:2]])

    def differs(self, before, moment, name, clean):
        now, was = before.get(name), moment.answers[name]
        if now is None:
            return clean  # a file without a problem is read
        if now == was:
            return False
        return clean or not (fewer(name[0], now, was) or self.shifted(name, now, moment))

    def shifted(self, name, now, moment):
        """Whether an index merely hides turns of a context, which has others of its session instead, or a fact's turns.

        The latter changes how a recall ranks, and nothing of what it has.
        """
        if name[0] == "recall":
            return isinstance(now, list) and unranked(now) == unranked(moment.answers[name])
        if name[0] != "context":
            return False
        shown = [row for part in now[1:] for row in part]
        known = {of: (stored[0][0], stored[1], stored[2]) for of, stored in moment.stored.items()}
        return all(known.get(row[0]) == (row[1], name[1], None) == (row[1], row[4], row[5]) for row in shown)

    def written(self, db, clean):
        new = self.tried(lambda: db.remember("said after all that", session="new", timestamp=THEN))
        if new is None:
            # A header that says a newer SQLite wrote it makes a file to read.
            if clean and not db.stats()["readonly"]:
                self.says("a clean file takes no write")
            return
        row = self.tried(lambda: db.get_one(new))
        if clean and (row is None or row.text != "said after all that"):
            self.says("what was written is not read", row)
        if clean:
            if self.tried(lambda: db.forget("new")) != 1:
                self.says("what was written is not forgotten")
            self.verified_again(db)

    def verified_again(self, db):
        if self.counts["opened"] % 4 and self.task[0] in ("flip", "cut"):
            return  # one in four: it takes the most time
        after = self.tried(db.verify)
        if after is None or not after.ok:
            self.says("a write damaged a clean file", after and after.problems)

    # ---- repairing

    def repaired(self):
        try:
            saved, lost, more = _core.repair(self.work / "copy.db", self.work / "new.db", "english", bytes(32))
        except CorruptError:
            self.counts["not repaired"] += 1
            if self.task[0] in ("flip", "sector"):
                self.says("nothing was repaired")
            return
        except (Exception, BaseException) as error:
            self.says("repair: not a typed error", type(error), error)
            return
        try:
            with Collection("new", self.work, embedder=EMBEDDERS[self.kind]()) as db:
                report = db.verify()
                if not report.ok:
                    self.says("a repaired file is not clean", report.problems)
                self.salvaged(db, saved, lost, more)
        except (Exception, BaseException) as error:
            self.says("a repaired file cannot be read", type(error), error)

    def salvaged(self, db, saved, lost, more):
        known = self.right[-1].stored
        found = {row.id: own(row) for row in db.get(list(known))}
        renamed = any(loss[1] in ("names", "scope") for loss in lost)
        for of, (row, *names) in found.items():
            was, *had = known[of]
            # A damaged log may give back an older state: what a correction came to is compared above.
            if row != was or (names != had and not renamed):
                self.says("repair changed a row", of, row, was)
        self.counts["memories saved"] += len(found)
        if not len(found) <= db.count() == saved.get("memory", 0):
            self.says("repair saved what nobody stored", saved, len(found), db.count())
        if len(found) < len(known) and not lost and not more and not self.log_hurt:
            self.says("repair lost without a word", len(found), len(known))


def fewer(what, now, was):
    """Whether an index merely hid rows of the answer, one by one or a whole session."""
    if now == MISSING:
        return what in ("history", "similar")
    if what == "recall":
        return now == []
    rest = iter(was)
    return what in LOOKED_UP and isinstance(now, list) and all(row in rest for row in now)


def unranked(found):
    """What a recall has, without its order and its scores."""
    bare = [(*row[:2], *row[3:-1], [pair for pair in row[-1] if pair[0] != "_vx_scoring"]) for row in found]
    return sorted(bare, key=repr)


def tell(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main():
    faulthandler.enable()
    what, folder, kind = sys.argv[1:]
    if what == "fill":
        fill(folder, kind)
    reader = Reader(folder, kind)
    for line in sys.stdin:
        tell(f"at {line.strip()}")  # the last one, should this process crash
        reader.take(json.loads(line))
    shutil.rmtree(reader.work, ignore_errors=True)
    tell(f"done {json.dumps([reader.counts, reader.wrong])}")


if __name__ == "__main__":
    main()
