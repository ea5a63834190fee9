"""`import_` into a collection that knows corrections: chains stay linked, in the file and out of it."""

import json
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retentive import Collection, HashEmbedder, InvalidInputError


def part(source, target, ids):
    """Write those lines of an export that have one of these ids."""
    header, *rows = [json.loads(line) for line in source.read_bytes().splitlines()]
    header.pop("memories", None)
    kept = [header, *(row for row in rows if row.get("id") in ids)]
    target.write_text("".join(json.dumps(row) + "\n" for row in kept), "utf-8")
    return target


def chain(db, *texts, **owner):
    """Corrections one of the other; their ids."""
    ids = [db.remember(texts[0], **owner)]
    for text in texts[1:]:
        ids.append(db.feedback(ids[-1], "corrected", text))
    return ids


def stamped(db, tmp_path):
    """When each memory was stored and superseded."""
    db.export(tmp_path / "stamps.jsonl")
    _, *rows = [json.loads(line) for line in (tmp_path / "stamps.jsonl").read_bytes().splitlines()]
    return {row["id"]: (row["ts"], row.get("superseded_at")) for row in rows}


def linked(db, ids):
    """The chain that each of these is in; every link, both ways."""
    found = {hit.id: hit for hit in db.get(ids)}
    for older, newer in pairwise(ids):
        assert found[older].superseded_by == newer
    assert found[ids[-1]].superseded_by is None
    assert db.verify().ok
    return [[hit.id for hit in db.history(one)] for one in ids] == [ids] * len(ids)


@pytest.mark.parametrize("owner", [{"session": "s", "user": "ann"}, {"user": "ann", "kind": "fact", "key": "city"}])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_replace_keeps_the_link_to_a_successor_that_only_is_here(db, tmp_path, owner, length):
    texts = [f"Lives in {city}" for city in ("Berlin", "Vienna", "Porto", "Rome", "Oslo")]
    ids = chain(db, *texts[:length], **owner)
    db.export(tmp_path / "old.jsonl")
    for text in texts[length:]:
        ids.append(db.feedback(ids[-1], "corrected", text))
    times = stamped(db, tmp_path)
    for _ in range(2):
        assert db.import_(tmp_path / "old.jsonl", "replace").replaced == length
        assert linked(db, ids)
        assert stamped(db, tmp_path) == times
    db.export(tmp_path / "all.jsonl")
    with Collection("other", embedder=HashEmbedder(64)) as other:
        other.import_(tmp_path / "all.jsonl")
        assert linked(other, ids)


@pytest.mark.parametrize("which", [[0], [1], [2], [3], [0, 2], [1, 2], [1, 3], [0, 1, 3]])
def test_replace_of_any_links_keeps_the_chain(db, tmp_path, which):
    ids = chain(db, "one", "two", "three", "four", user="ann", session="s")
    db.export(tmp_path / "all.jsonl")
    chosen = part(tmp_path / "all.jsonl", tmp_path / "part.jsonl", {ids[at] for at in which})
    assert db.import_(chosen, "replace").replaced == len(which)
    assert linked(db, ids)


def test_replace_keeps_all_that_one_memory_superseded(db, tmp_path):
    first, second = [db.remember(text, user="ann", kind="fact") for text in ("Likes tea", "Likes coffee")]
    db.export(tmp_path / "old.jsonl")
    both = db.remember("Likes cocoa", user="ann", kind="fact")
    db.export(tmp_path / "new.jsonl")
    with Collection("judged", embedder=HashEmbedder(64)) as judged:
        header, *rows = [json.loads(line) for line in (tmp_path / "new.jsonl").read_bytes().splitlines()]
        for row in rows[:2]:
            row |= {"superseded_by": both, "superseded_at": rows[2]["ts"]}
        rows[2]["supersedes"] = first
        (tmp_path / "new.jsonl").write_text("".join(json.dumps(row) + "\n" for row in (header, *rows)), "utf-8")
        judged.import_(tmp_path / "new.jsonl")
        for ids in ([first], [second], [both], [first, second]):
            judged.import_(part(tmp_path / "new.jsonl", tmp_path / "part.jsonl", ids), "replace")
            assert [judged.get_one(one).superseded_by for one in (first, second)] == [both, both]
            assert judged.verify().ok
        judged.import_(tmp_path / "old.jsonl", "replace")
        assert [judged.get_one(one).superseded_by for one in (first, second)] == [both, both]
    # What is here catches up with all of what the file says came later.
    report = db.import_(tmp_path / "new.jsonl", "skip")
    assert (report.imported, report.skipped) == (0, 3)
    db.forget(ids=[both])
    db.import_(tmp_path / "new.jsonl", "skip")
    assert [db.get_one(one).superseded_by for one in (first, second)] == [both, both]
    assert db.verify().ok


@pytest.mark.parametrize("on_conflict", ["error", "skip", "replace"])
def test_a_forgotten_link_that_comes_back_is_linked(db, tmp_path, on_conflict):
    ids = chain(db, "one", "two", "three", user="ann", session="s")
    db.export(tmp_path / "all.jsonl")
    for at in range(3):
        db.forget(ids=[ids[at]])
        file = tmp_path / "all.jsonl"
        if on_conflict == "error":
            file = part(file, tmp_path / "part.jsonl", {ids[at]})
        assert db.import_(file, on_conflict).imported == (3 if on_conflict == "replace" else 1)
        assert linked(db, ids)


def test_the_files_successor_counts_where_both_know_one(db, tmp_path):
    first, second = chain(db, "one", "two", user="ann", session="s")
    db.export(tmp_path / "all.jsonl")
    db.clear()
    file = part(tmp_path / "all.jsonl", tmp_path / "first.jsonl", {first})
    file.write_text(file.read_text("utf-8").replace(second, "gone"), "utf-8")
    db.import_(file)
    assert db.get_one(first).superseded_by == "forgotten"
    db.import_(tmp_path / "all.jsonl", "replace")
    assert linked(db, [first, second])


def test_chains_of_opposite_directions_make_no_ring(db, tmp_path):
    row = {"kind": "turn", "session": "s", "ts": "2026-01-01T00:00:00+00:00", "text": "x"}
    later = {"superseded_at": row["ts"]}
    header = {"format": "retentive-export", "version": 1}

    def chained(older, newer):
        file = tmp_path / f"{older}{newer}.jsonl"
        rows = [header, {**row, "id": older, "superseded_by": newer, **later}]
        rows.append({**row, "id": newer, "supersedes": older})
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return file

    there, back = chained("a", "b"), chained("b", "a")
    db.import_(there)
    for file in (back, there, part(back, tmp_path / "b.jsonl", {"b"}), part(there, tmp_path / "a.jsonl", {"a"})):
        for on_conflict in ("skip", "replace"):
            db.import_(file, on_conflict)
            assert db.verify().ok
            db.export(tmp_path / "again.jsonl")


def test_replace_keeps_what_happened_beside_the_chain(db, tmp_path):
    """Feedback, pins and turn numbers are the file's; what a fact was made from is not summarised again."""
    db.remember_many([{"text": f"said {n}", "session": "s", "user": "ann", "id": f"t{n}"} for n in range(8)])
    pinned = db.remember("On the annual plan", user="ann", pinned=True)
    db.feedback("t1", "useful")
    db.export(tmp_path / "old.jsonl")
    db.feedback("t1", "dead_end")
    made = db.consolidate("s", lambda turns: [f"counted to {len(turns)}"], keep_recent=2, user="ann", delete=False)
    assert made.turns_removed == 0
    better = db.feedback(pinned, "corrected", "On the monthly plan")
    db.import_(tmp_path / "old.jsonl", "replace")
    assert [turn.turn for turn in db.turns("s", user="ann")] == list(range(8))
    assert [given["outcome"] for given in db.get_one("t1").metadata["_vx_feedback"]] == ["useful"]
    assert linked(db, [pinned, better])
    again = db.consolidate("s", lambda turns: ["again"], keep_recent=2, user="ann", delete=False)
    assert (len(made.fact_ids), len(again.fact_ids)) == (1, 0)


STEPS = st.lists(st.tuples(st.sampled_from(["new", "correct", "forget", "export"]), st.integers(0, 9)), max_size=14)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS, st.data())
def test_an_older_export_changes_no_chain_that_is_here(tmp_path_factory, steps, data):
    """Replaced by what they were at any time, in whole or in part, memories are linked as before."""
    folder = tmp_path_factory.mktemp("chains")
    with Collection("test", embedder=HashEmbedder(8)) as db:
        ids, exports = [], []
        for number, (step, at) in enumerate([*steps, ("export", 0)]):
            live = [one for one in ids if (hit := db.get_one(one)) is not None and hit.superseded_by is None]
            if step == "new" or not live:
                ids.append(db.remember(f"said {number}", session="s", user="ann"))
            elif step == "correct":
                one = live[at % len(live)]
                if not db.history(one) or db.history(one)[-1].id == one:
                    ids.append(db.feedback(one, "corrected", f"meant {number}"))
            elif step == "forget":
                db.forget(ids=[live[at % len(live)]])
            if step == "export":
                exports.append(folder / f"{number}.jsonl")
                db.export(exports[-1])
        here = {one: [hit.id for hit in db.history(one)] for one in ids if db.get_one(one)}
        chosen = data.draw(st.sampled_from(exports))
        some = data.draw(st.sets(st.sampled_from(sorted(here)))) if here else set()
        db.import_(part(chosen, folder / "part.jsonl", some), "replace")
        assert {one: [hit.id for hit in db.history(one)] for one in here} == here
        assert db.verify().ok


def test_what_stays_here_in_the_middle_of_the_files_chains_is_superseded(db, tmp_path):
    """Here is one of two that the file says were superseded by the same, and what came before it is in the file too."""
    row = {"kind": "turn", "session": "s", "ts": "2026-01-01T00:00:00+00:00", "text": "x"}
    at = {"superseded_at": row["ts"]}
    rows = [
        {"format": "retentive-export", "version": 1},
        {**row, "id": "other", "superseded_by": "new", **at},
        {**row, "id": "first", "superseded_by": "here", **at},
        {**row, "id": "here", "superseded_by": "new", "supersedes": "first", **at},
        {**row, "id": "new", "supersedes": "other"},
    ]
    file = tmp_path / "chat.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    db.remember("x", session="s", id="here")
    report = db.import_(file, "skip")
    assert (report.imported, report.skipped) == (3, 1)
    followed = {one: db.get_one(one).superseded_by for one in ("other", "first", "here", "new")}
    assert followed == {"other": "new", "first": "here", "here": "new", "new": None}
    assert db.verify().ok


def test_no_document_is_linked_into_a_chain(db, tmp_path):
    db.add("a document", ids="doc")
    row = {"kind": "fact", "ts": "2026-01-01T00:00:00+00:00", "text": "x"}
    rows = [
        {"format": "retentive-export", "version": 1},
        {**row, "id": "a", "superseded_by": "doc", "superseded_at": row["ts"]},
        {**row, "id": "b", "supersedes": "doc"},
    ]
    file = tmp_path / "chat.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    db.import_(file)
    assert db.get_one("a").superseded_by == "forgotten"
    assert db.get_one("doc").superseded_by is None
    assert db.verify().ok


def test_a_memory_that_was_made_from_itself_is_refused(db, tmp_path):
    file = tmp_path / "chat.jsonl"
    with Collection("source", embedder=db.embedder) as source:
        source.remember("I have a dog", session="s", id="t")
        source.remember("the pet is a dog", kind="fact", session="s", id="f")
        source.export(file)
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for row in rows:
        if row.get("id") == "f":
            row["consolidated_from"] = ["t", "f"]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with pytest.raises(InvalidInputError, match="names the memory itself, 'f'"):
        db.import_(file)
    assert db.count() == 0
