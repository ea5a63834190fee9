"""Storing one memory."""

import math
import os
import re
import threading

import pytest

from retentive import Collection, ConflictError, InvalidInputError


def test_remember_returns_an_id_of_26_characters(memory_db):
    stored = memory_db.remember("hello", session="a")
    assert re.fullmatch(r"mem_[0-9A-HJKMNP-TV-Z]{26}", stored)
    assert memory_db.get_one(stored).text == "hello"


def test_ids_rise_within_a_process(memory_db):
    ids = [memory_db.remember("ok", session="a") for _ in range(50)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 50


def test_ids_differ_between_threads(memory_db):
    ids = []
    threads = [
        threading.Thread(target=lambda: ids.extend(memory_db.remember("ok", session="a") for _ in range(25)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ids)) == 200


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_ids_differ_between_parent_and_forked_child():
    from retentive._ids import memory_id

    memory_id()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, "\n".join(memory_id() for _ in range(100)).encode())
        os._exit(0)
    own = {memory_id() for _ in range(100)}
    os.waitpid(child, 0)
    theirs = set(os.read(reading, 65_536).decode().split("\n"))
    os.close(reading)
    os.close(writing)
    assert len(theirs) == 100
    assert not own & theirs


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_use_the_random_bytes_that_its_parent_drew():
    from retentive import _ids

    _ids.memory_id()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, b"".join(_ids._random() for _ in range(20)))
        os._exit(0)
    own = {_ids._random() for _ in range(20)}
    os.waitpid(child, 0)
    sent = os.read(reading, 65_536)
    os.close(reading)
    os.close(writing)
    assert not own & {sent[at : at + 10] for at in range(0, len(sent), 10)}


def test_ok_said_twice_is_two_turns(memory_db):
    memory_db.remember("ok", session="a")
    memory_db.remember("ok", session="a")
    assert [turn.text for turn in memory_db.turns("a")] == ["ok", "ok"]


def test_turn_numbers_start_at_0_and_rise_per_session(memory_db):
    for session in ("a", "b", "a", "a"):
        memory_db.remember("x", session=session)
    assert [turn.turn for turn in memory_db.turns("a")] == [0, 1, 2]
    assert [turn.turn for turn in memory_db.turns("b")] == [0]


def test_turn_numbers_are_per_user_where_two_users_share_a_session_name(memory_db):
    memory_db.remember("x", session="a", user="ann")
    memory_db.remember("y", session="a", user="ben")
    assert [turn.turn for turn in memory_db.turns("a", user="ann")] == [0]
    assert [turn.turn for turn in memory_db.turns("a", user="ben")] == [0]


def test_explicit_turn_raises_the_high_water_mark(memory_db):
    memory_db.remember("seven", session="a", turn=7)
    memory_db.remember("eight", session="a")
    memory_db.remember("three", session="a", turn=3)
    memory_db.remember("nine", session="a")
    assert [(turn.turn, turn.text) for turn in memory_db.turns("a")] == [
        (3, "three"),
        (7, "seven"),
        (8, "eight"),
        (9, "nine"),
    ]


def test_turn_numbers_survive_deletion_and_restart(tmp_path, embedder):
    with Collection("chat", path=tmp_path, embedder=embedder) as db:
        for _ in range(3):
            db.remember("x", session="a")
        assert db.forget(session="a") == 3
    with Collection("chat", path=tmp_path, embedder=embedder) as db:
        db.remember("y", session="a")
        assert [turn.turn for turn in db.turns("a")] == [3]


def test_what_was_remembered_is_there_after_reopening(tmp_path, embedder):
    with Collection("chat", path=tmp_path, embedder=embedder) as db:
        stored = db.remember("kept", session="a", role="assistant", metadata={"n": 1})
    with Collection("chat", path=tmp_path, embedder=embedder) as db:
        kept = db.get_one(stored)
        assert (kept.text, kept.session, kept.role, kept.metadata["n"]) == ("kept", "a", "assistant", 1)


def test_kind_is_turn_by_default(memory_db):
    assert memory_db.get_one(memory_db.remember("x", session="a")).kind == "turn"


@pytest.mark.parametrize("fields", [{"pinned": True}, {"kind": "pinned"}, {"kind": "fact", "pinned": True}])
def test_pinned_and_kind_pinned_are_the_same(memory_db, fields):
    assert memory_db.get_one(memory_db.remember("x", **fields)).kind == "pinned"


def test_fact_has_no_turn_number(memory_db):
    fact = memory_db.get_one(memory_db.remember("x", session="a", kind="fact"))
    assert (fact.kind, fact.turn) == ("fact", None)


def test_own_id_is_kept(memory_db):
    assert memory_db.remember("x", id="https://example.org/1?a=b#c") == "https://example.org/1?a=b#c"
    assert memory_db.get_one("https://example.org/1?a=b#c").text == "x"


def test_id_in_use_is_a_conflict_and_stores_nothing(memory_db):
    memory_db.remember("first", id="one")
    with pytest.raises(ConflictError, match="one"):
        memory_db.remember("second", id="one")
    assert memory_db.count() == 1
    assert memory_db.get_one("one").text == "first"


def test_id_may_be_used_again_after_it_was_erased(memory_db):
    memory_db.remember("first", id="one")
    memory_db.delete(["one"])
    assert memory_db.remember("second", id="one") == "one"
    assert memory_db.get_one("one").text == "second"


def test_speakers_name_is_kept_and_embedded(memory_db):
    stored = memory_db.remember("I moved to Lisbon", session="a", name="Caroline")
    result = memory_db.recall("Caroline", session="a", mode="dense").top
    assert (result.id, result.name, result.text) == (stored, "Caroline", "I moved to Lisbon")
    assert result.similarity > 0


def test_text_is_kept_byte_for_byte(memory_db):
    text = "  e\u0301 é \r\n\t\0 😀 \u200b tail  "
    assert memory_db.get_one(memory_db.remember(text)).text == text


def test_text_of_4_mib_is_taken(memory_db):
    text = "word " * (4 * 1024 * 1024 // 5)
    assert memory_db.get_one(memory_db.remember(text)).text == text


def test_memory_without_session_belongs_to_none(memory_db):
    result = memory_db.get_one(memory_db.remember("x"))
    assert result.session is None
    assert result.user is None
    assert memory_db.sessions() == []


def test_ttl_infinity_overrides_the_settings(memory_db):
    memory_db.memory.ttl_days = {"turn": 1}
    kept = memory_db.remember("x", session="a", ttl_days=math.inf)
    gone = memory_db.remember("y", session="a")
    assert memory_db.get_one(kept).expires_at is None
    assert memory_db.get_one(gone).expires_at is not None


def test_collection_is_usable_after_a_refused_memory(memory_db):
    with pytest.raises(InvalidInputError):
        memory_db.remember("", session="a")
    memory_db.remember("fine", session="a")
    assert [turn.turn for turn in memory_db.turns("a")] == [0]
