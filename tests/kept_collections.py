"""Writes the collections that are kept in `tests/data/` for each schema that was released, and what they answer.

    python tests/kept_collections.py write FOLDER     the present schema's files, and their answers
    python tests/kept_collections.py answer FOLDER    the answers alone, of the files there: after a change of ranking

A file is written once, by the version that had its schema. Clock and ids are made up, so that it is the same each time.
"""

import hashlib
import itertools
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

from retentive import ANY, KINDS, Collection, HashEmbedder, _core, _ids

NOW = "2026-03-01T12:00:00+00:00"
DIMENSION = 16
SUBJECTS = ("pears", "kites", "brass", "fjords", "looms", "owls")
QUESTIONS = (
    "where does the invoice go",
    "which kites fly",
    "what did we say of pears and owls",
    "the long story's brook",
)
LONG = " ".join(f"In part {part} of the long story a {word} was seen." for part, word in enumerate(SUBJECTS))
LONG += " At its end there was a brook."


class Sentences(HashEmbedder):
    """A vector a sentence."""

    def embed_parts(self, texts):
        return [self.embed_documents([part for part in text.split(".") if part.strip()]) for text in texts]


EMBEDDERS = {"one": Sentences(DIMENSION), "two": [HashEmbedder(DIMENSION), HashEmbedder(24)]}


def at(day, minute=0):
    return f"2026-02-{day:02}T09:{minute:02}:00+00:00"


def talk(db):
    """Sessions with and without a user, every kind, names, roles, metadata, gaps in the turn numbers."""
    for number in range(12):
        subject = SUBJECTS[number % 6]
        owner = {"session": f"chat {number % 2}", "user": "ann" if number % 3 else None}
        fields = {
            "role": ("user", "assistant")[number % 2],
            "timestamp": at(1 + number, number),
            "id": f"turn-{number}",
        }
        about = {"n": number, "about": [subject, None, {"deep": [1.5, True, "\u00e9"]}]}
        db.remember(f"We spoke of {subject}, number {number}.", metadata=about, **owner, **fields)
    db.remember("A turn far ahead.", session="chat 0", turn=40, timestamp=at(20), id="turn-ahead", name="Zo\u00eb")
    db.remember("Quite soon gone.", session="chat 0", timestamp=at(21), id="turn-gone", ttl_days=1)
    db.remember("Gone in a thousand years.", session="chat 0", timestamp=at(21), id="turn-late", ttl_days=365_000)
    db.remember("Never gone.", session="chat 0", timestamp=at(21), id="turn-ever", ttl_days=float("inf"))
    db.remember(
        "\u00c9 \u4f60\u597d \U0001f989 \u2014 \u202b\u0645\u0631\u062d\u0628\u0627\u202c",
        session="\u540d",
        user="\U0001f989",
        timestamp=at(2),
        id="other-script",
    )
    db.remember(LONG, session="story", timestamp=at(3), id="long")


def know(db):
    """Facts: pinned, keyed, corrected, judged, rated, with a hole in a chain."""
    db.remember("Ann is allergic to pears.", user="ann", pinned=True, timestamp=at(4), id="pin")
    db.remember("Answers are to be short.", session="chat 0", pinned=True, timestamp=at(4), id="pin-session")
    for number, city in enumerate(("Oslo", "Lyon", "Turin")):
        db.remember(f"Ann lives in {city}.", user="ann", key="City ", kind="fact", timestamp=at(5 + number), id=city)
    db.remember("The invoice goes to Lyon.", session="chat 0", kind="fact", timestamp=at(5), id="invoice")
    second = db.feedback("invoice", "corrected", correction="The invoice goes to Turin.", timestamp=at(6))
    third = db.feedback("invoice", "corrected", correction="The invoice goes to Oslo.", timestamp=at(7))
    db.forget(ids=[second])
    db.feedback(third, "useful", timestamp=at(8))
    db.feedback("turn-3", "dead_end", timestamp=at(9))
    db.feedback("turn-4", "corrected", correction="We spoke of looms, to be exact.", timestamp=at(9))
    db.memory.judge = lambda new, old: ["blue" in text for text in old]
    db.remember("The door is blue.", user="bo", kind="fact", timestamp=at(10), id="blue")
    db.remember("The door is green.", user="bo", kind="fact", timestamp=at(11), id="green")


def fold(db):
    """Turns that became facts, with and without their turns."""
    db.remember_many(
        {
            "text": f"Brick {number} of the wall.",
            "session": f"wall {way}",
            "timestamp": at(12, number),
            "id": f"{way}-{number}",
        }
        for way in ("taken", "left")
        for number in range(6)
    )
    for way, delete in (("taken", True), ("left", False)):
        db.consolidate(
            f"wall {way}",
            lambda turns: [{"text": f"{len(turns)} bricks.", "key": "wall"}],
            keep_recent=2,
            delete=delete,
            now=NOW,
        )


def collect(db):
    """Documents, one of them replaced, some deleted; a session that was replaced, one that was forgotten."""
    texts = [f"note {number} on {SUBJECTS[number % 6]} and matter {number % 7}" for number in range(40)]
    db.add(texts, [{"page": number} for number in range(40)], [f"doc-{number}" for number in range(40)])
    db.add(["A note that was written anew."], [{"page": -1}], ["doc-3"])
    db.delete(["doc-5", "doc-7"])
    db.remember("Before it was edited.", session="edited", timestamp=at(13))
    db.replace_turns("edited", [{"text": "After it was edited.", "id": "edited", "timestamp": at(13)}])
    db.remember("To be forgotten.", session="forgotten", timestamp=at(14))
    db.forget("forgotten", kinds=KINDS)


def fill(db):
    for step in (talk, know, fold, collect):
        step(db)
    assert db.calibrate(f"what of note {number} on {SUBJECTS[number % 6]}" for number in range(40)).enough


def made(row):
    """A result as JSON, without scores: those are the ranking's, which may get better."""
    metadata = {key: value for key, value in row.metadata.items() if key != "_vx_scoring"}
    return {"id": row.id, "text": row.text, "metadata": metadata}


def listed(rows):
    return [row.id for row in rows]


def digest(vector):
    """Of the float32 as they are: a stored vector is given back to the bit."""
    return hashlib.blake2b(vector.tobytes(), digest_size=8).hexdigest()


def answers(db):
    """What a collection of these says to every read."""
    every = {"now": NOW, "limit": 8, "min_relevance": None}
    scopes = [{"session": "chat 0"}, {"session": "chat 1", "user": "ann"}, {"user": "ann"}, {"session": "story"}, {}]
    owners = [None, "ann", "bo", "\U0001f989"]
    found = {"count": db.count(), "users": db.users(), "verified": [str(one) for one in db.verify().problems]}
    found["calibration"] = db.calibration().noise_floor, db.calibration().cutoff, db.calibration().refusal_floor
    for user in owners:
        sessions = db.sessions(user)
        found[f"sessions of {user}"] = sessions
        found[f"facts of {user}"] = listed(db.facts(user=user))
        for session in sessions:
            found[f"turns of {user} {session}"] = listed(db.turns(session, user=user))
            found[f"facts of {user} {session}"] = listed(db.facts(session=session, user=user))
    for question in QUESTIONS:
        for scope in scopes:
            found[f"recall {question} {scope}"] = db.recall(question, **scope, **every).ids
            found[f"search {question} {scope}"] = db.search(question, 5, **scope).ids
        found[f"dense {question}"] = db.search(question, 5, "dense", user=ANY).ids
        found[f"lexical {question}"] = db.search(question, 5, "lexical", user=ANY).ids
        found[f"context {question}"] = db.context(question, "chat 0", 300, now=NOW, min_relevance=None).text
        found[f"context of ann {question}"] = db.context(question, "chat 1", 300, now=NOW, user="ann").text
    found["as of"] = db.recall(QUESTIONS[0], "chat 0", as_of=at(6, 30), **every).ids
    found["filter"] = db.search(
        None, 50, filter={"$and": [{"page": {"$gte": 30}}, {"_vx_kind": {"$exists": False}}]}
    ).ids
    chains = {one: listed(db.history(one)) for one in ("invoice", "Oslo", "turn-4", "blue")}
    said = [turn.id for user in owners for session in db.sessions(user) for turn in db.turns(session, user=user)]
    everything = {*said, *db.search(None, None, token_budget=10**9, user=ANY).ids, *itertools.chain(*chains.values())}
    rows = db.get(sorted(everything), vectors=True)
    assert len(rows) == len(everything)
    found |= {"histories": chains, "rows": [made(row) | {"vector": digest(row.vector)} for row in rows]}
    found["similar"] = db.similar("Turin", 4).ids
    found["city"] = db.fact(" CITY", user="ann").id
    return json.loads(json.dumps(found, default=str))


def write(folder):
    """Write the files of the present schema."""
    ticks = itertools.count(int(datetime.fromisoformat(NOW).astimezone(UTC).timestamp()) * 10**9, 10**6)
    with (
        mock.patch.object(os, "urandom", random.Random(1).randbytes),
        mock.patch.object(time, "time_ns", ticks.__next__),
        mock.patch.object(_ids, "_drawn", []),
        mock.patch.object(_ids, "_DRAWN_AT_ONCE", 1),  # in the order in which they were drawn for what is kept
        mock.patch.object(_ids, "_ulids", _core.Ulids()),  # whose last id is not later than the made-up clock
    ):
        for name, embedder in EMBEDDERS.items():
            with Collection(name, path=folder, embedder=embedder) as db:
                fill(db)
                db.compact()
            file = Path(folder) / f"{name}.db"
            file.rename(file.with_name(f"schema{schema_of(file)}-{name}.db"))


def schema_of(file):
    """Of a file that nobody has open."""
    raw = sqlite3.connect(file)
    (schema,) = raw.execute("PRAGMA user_version").fetchone()
    raw.close()
    return schema


def opened(file, **options):
    """A kept file, `schemaN-EMBEDDER.db`."""
    return Collection(file.stem, path=file.parent, embedder=EMBEDDERS[file.stem.partition("-")[2]], **options)


def answers_of(file):
    """Of a copy: a reader leaves files of SQLite's beside the one it reads."""
    with tempfile.TemporaryDirectory() as folder, opened(Path(shutil.copy(file, folder)), readonly=True) as db:
        return answers(db)


def main(verb, folder):
    if verb == "write":
        write(folder)
    for file in sorted(Path(folder).glob("schema*.db")):
        told = json.dumps(answers_of(file), indent=0, ensure_ascii=True)
        file.with_suffix(".json").write_text(told + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
