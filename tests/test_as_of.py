"""`as_of` where the times of a chain rise and fall: at any instant one link is current, the last said by then."""

import random

import pytest

from retentive import Collection
from retentive.embedders import HashEmbedder

DAYS = 12


def day(number):
    return f"2026-01-{number:02}T00:00:00+00:00"


def chain(db, how, days, name="tea"):
    """Store a chain of values, each in the place of the one before; its ids."""
    kind = "turn" if how == "corrected turn" else "fact"
    ids = []
    for number, at in enumerate(days):
        text = f"{name} number {number}"
        if how == "key":
            ids.append(db.remember(text, kind="fact", key=name, session="s", timestamp=day(at)))
        elif number == 0:
            ids.append(db.remember(text, kind=kind, session="s", timestamp=day(at)))
        else:
            ids.append(db.feedback(ids[-1], "corrected", correction=text, timestamp=day(at)))
    return ids


def current(days, at):
    """From the rule: of the links said by then the last of the chain."""
    said = [number for number, of in enumerate(days) if of <= at]
    return said[-1:]


def found(db, ids, at):
    read = db.recall("tea number", session="s", limit=50, min_relevance=None, as_of=day(at))
    assert set(read.ids) <= set(ids)
    return [number for number, stored in enumerate(ids) if stored in read.ids]


HOWS = ["key", "corrected fact", "corrected turn"]


@pytest.mark.parametrize("how", HOWS)
def test_a_link_dated_after_the_last_hides_no_link_and_shows_no_second(how):
    with Collection("c", embedder=HashEmbedder(8)) as db:
        days = [1, 10, 5]
        ids = chain(db, how, days)
        assert [found(db, ids, at) for at in (1, 3, 5, 7, 10, 12)] == [[0], [0], [2], [2], [2], [2]]
        db.forget(ids=[ids[1]])
        assert [found(db, ids, at) for at in (3, 7, 12)] == [[0], [2], [2]]


@pytest.mark.parametrize("how", HOWS)
def test_one_link_is_current_at_any_instant_whatever_the_times(how):
    draw = random.Random(how)
    for _ in range(25):
        days = [draw.randint(1, DAYS) for _ in range(draw.randint(1, 6))]
        with Collection("c", embedder=HashEmbedder(8)) as db:
            ids = chain(db, how, days)
            for at in range(1, DAYS + 1):
                assert found(db, ids, at) == current(days, at), (days, at)
            # What came after a link counts also when it is forgotten: an older value does not come back.
            gone = draw.sample(range(len(ids)), draw.randint(1, len(ids)))
            db.forget(ids=[ids[number] for number in gone])
            for at in range(1, DAYS + 1):
                assert found(db, ids, at) == [n for n in current(days, at) if n not in gone], (days, gone, at)


def test_a_value_after_a_forgotten_one_counts_from_the_earlier_of_both():
    with Collection("c", embedder=HashEmbedder(8)) as db:
        first, second = chain(db, "corrected fact", [1, 10])
        db.forget(ids=[second])
        third = db.feedback(first, "corrected", correction="tea number 2", timestamp=day(5))
        assert [found(db, [first, third], at) for at in (3, 7, 12)] == [[0], [1], [1]]


@pytest.mark.parametrize("on_conflict", ["error", "replace", "skip"])
def test_a_file_keeps_what_was_current_when(tmp_path, on_conflict):
    draw = random.Random(on_conflict)
    for turn in range(8):
        days = [draw.randint(1, DAYS) for _ in range(5)]
        with Collection("c", embedder=HashEmbedder(8)) as db, Collection("d", embedder=HashEmbedder(8)) as other:
            ids = chain(db, "key", days[:2])
            if on_conflict != "error":
                db.export(tmp_path / f"early-{turn}.jsonl")
                other.import_(tmp_path / f"early-{turn}.jsonl")
            for number in range(2, 5):
                ids.append(
                    db.remember(
                        f"tea number {number}", kind="fact", key="tea", session="s", timestamp=day(days[number])
                    )
                )
            db.export(tmp_path / f"{turn}.jsonl")
            other.import_(tmp_path / f"{turn}.jsonl", on_conflict=on_conflict)
            for at in range(1, DAYS + 1):
                assert found(other, ids, at) == current(days, at), (days, at)
