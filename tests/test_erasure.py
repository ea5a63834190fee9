"""What was deleted is in no file: byte searches by another process, beside readers, after kills."""

import itertools
import random
import struct

import numpy as np
import pytest

from retentive import KINDS, Collection, ConflictError


def word(seed):
    return "".join(random.Random(seed).choices("bcdfghjklmnpqrstvwxz", k=14))


def secret(number, **fields):
    """A memory every part of which can be recognised in a file."""
    vector = np.random.default_rng(number).normal(size=64).astype(np.float32)
    item = {
        "text": f"{word(f'text {number}')} is said {word(f'end {number}')}",
        "metadata": {word(f"field {number}"): word(f"value {number}")},
        "id": word(f"id {number}"),
        "session": word(f"session {number}"),
        "user": word(f"user {number}"),
        "name": word(f"name {number}"),
        "role": word(f"role {number}"),
        "vector": vector,
    } | fields
    parts = {"text", "end", "field", "value", "id", "session", "user", "name", "role"} - fields.keys()
    needles = [word(f"{part} {number}") for part in sorted(parts)]
    return item, needles + [vector[at : at + 4].tobytes() for at in range(0, 64, 8)]


def secrets(numbers, **fields):
    pairs = [secret(number, **fields) for number in numbers]
    return [item for item, _ in pairs], [needle for _, needles in pairs for needle in needles]


DELETIONS = {
    "forget": lambda db, items: db.forget(user=items[0]["user"], session=items[0]["session"], kinds=KINDS),
    "forget ids": lambda db, items: sum(db.forget(ids=[item["id"]], user=item["user"]) for item in items),
    "delete": lambda db, items: db.delete([item["id"] for item in items]),
    "clear": lambda db, items: db.clear(),
    "expire": lambda db, items: db.expire("2099-01-01"),
}


@pytest.mark.parametrize("verb", DELETIONS)
def test_nothing_of_what_was_deleted_is_in_any_file(db, found, verb):
    session, user = word("session"), word("user")
    owned = {"session": session, "user": user, "ttl_days": 30, "timestamp": "2024-01-01"}
    items, needles = secrets(range(60), **owned)
    keyed, more = secrets(range(60, 70), **(owned | {"session": None}), kind="fact")
    for number, fact in enumerate(keyed):
        fact["key"] = word(f"key {number}")
        more.append(fact["key"])
    needles.append(session)
    if verb != "forget":
        items, needles = items + keyed, [*needles, *more, user]
    else:
        db.remember_many(keyed)
    db.remember_many([{"text": f"neighbour {i}", "session": "neighbour"} for i in range(300)])
    db.remember_many(items)
    db.remember_many([{"text": f"later {i}", "session": "neighbour"} for i in range(300)])
    assert len(found(needles)) >= len(needles)
    assert DELETIONS[verb](db, items) in (len(items), len(items) + 600)
    assert not db.stats()["erasure_pending"]
    assert found(needles) == []
    if verb != "clear":
        assert len(db.turns("neighbour")) == 600


def test_a_replaced_document_leaves_no_copy(db, found):
    for number in range(30):
        db.add(f"{word(number)} document", ids=[f"d{number}"], metadata=[{"word": word(number + 0.5)}])
    needles = [word(number + part) for number in range(30) for part in (0, 0.5)]
    assert len(found(needles)) >= 60
    for number in range(30):
        db.add("another document", ids=[f"d{number}"])
    assert found(needles) == []


def test_turns_that_were_consolidated_are_in_no_file(db, found):
    items, needles = secrets(range(40), session="s", user="u")
    ids = {item["id"] for item in items}  # the facts cite the turns
    db.remember_many(items)
    db.consolidate("s", lambda turns: ["they talked"], keep_recent=0, user="u")
    assert found([needle for needle in needles if needle not in ids]) == []


def test_what_was_corrected_and_forgotten_with_its_chain_is_in_no_file(db, found):
    first = db.remember(f"{word(1)} is so", session="s", kind="fact")
    second = db.feedback(first, "corrected", correction=f"{word(2)} is so")
    db.feedback(second, "corrected", correction=f"{word(3)} is so")
    assert db.forget("s", kinds=("fact",), superseded=True) == 2
    assert found([word(1), word(2)]) == []
    assert found([word(3)]) != []


def test_a_reader_elsewhere_holds_an_erasure_up_and_a_later_call_completes_it(db, found, start_reader):
    item, needles = secret(1)
    db.remember_many([item])
    child = start_reader()
    assert db.delete([item["id"]]) == 1
    assert db.get_one(item["id"]) is None
    assert db.stats()["erasure_pending"]
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline() == "done\n"
    assert not db.stats()["erasure_pending"]
    assert found(needles) == []


def test_closing_completes_an_erasure_while_others_keep_the_file_open(tmp_path, embedder, found, start_reader):
    item, needles = secret(1)
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember_many([item])
        child = start_reader()
        db.delete([item["id"]])
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "done\n"
    assert found(needles) == []
    assert child.poll() is None


def test_an_erasure_cut_off_by_a_kill_is_completed_by_the_next_process(tmp_path, embedder, run, found, start_reader):
    item, needles = secret(1, user=None, session="s")
    with Collection("test", path=tmp_path, embedder=embedder) as db:
        db.remember_many([item])
        reader = start_reader()
        told = run("db = opened(); tell(db.forget('s'), db.stats()['erasure_pending']); os._exit(0)")
        assert told == ["1 True"]
        assert db.stats()["erasure_pending"]
        reader.stdin.write("\n")
        reader.stdin.flush()
        reader.stdout.readline()
        db.remember("anything later")
        assert not db.stats()["erasure_pending"]
        assert found(needles) == []


def test_a_write_that_failed_leaves_no_text_once_the_log_is_emptied(db, found):
    taken = db.remember("taken", id="taken", session="s")
    with pytest.raises(ConflictError):
        db.remember_many([{"text": f"{word(1)} refused", "session": word(2)}, {"text": "x", "id": taken}])
    db.forget("s")
    assert found([word(1), word(2)]) == []


def test_numbers_of_vectors_are_erased_bit_by_bit(db, found):
    vector = np.arange(64, dtype=np.float32) + 0.123456
    db.remember_many([{"text": "a text", "session": "s", "vector": vector}])
    needles = [struct.pack("<f", value) for value in vector]
    assert len(found(needles)) >= 64
    db.forget("s")
    assert found([needle + other for needle, other in itertools.pairwise(needles)]) == []
