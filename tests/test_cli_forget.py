"""`retentive forget` and `expire`: what goes is shown first, and goes only after a yes."""

import json

import pytest

from retentive import Collection
from retentive.embedders import HashEmbedder


@pytest.fixture
def told(cli, tmp_path):
    """Four turns of two sessions, a fact that was superseded by another, a pinned fact."""
    days = ("2020-01-01", "2021-01-01", "2022-01-01")
    notes = [{"text": f"note {i}", "session": "a", "id": f"n{i}", "timestamp": day} for i, day in enumerate(days)]
    office = {"session": "a", "kind": "fact", "key": "office"}
    with Collection("retentive", path=tmp_path, embedder=HashEmbedder(64)) as db:
        db.remember_many(
            [
                *notes,
                {"text": "elsewhere", "session": "b", "id": "b0"},
                {"text": "Lyon", "id": "lyon", **office},
                {"text": "Paris", "id": "paris", **office},
                {"text": "pinned", "session": "a", "pinned": True, "id": "pin"},
            ]
        )


def left(cli):
    """The ids of what is stored, superseded or not."""
    found = json.loads(cli("recall", "note", "--anything", "--superseded", "-n", "100", "--json").stdout)
    return {item["id"] for item in found["items"]}


ALL = {"n0", "n1", "n2", "b0", "lyon", "paris", "pin"}
SELECTIONS = {
    "a session's turns": (["-s", "a"], {"n0", "n1", "n2"}),
    "facts of a session": (["-s", "a", "-k", "fact"], {"lyon", "paris"}),
    "all kinds of a session": (["-s", "a", "-k", "turn", "-k", "fact", "-k", "pinned"], ALL - {"b0"}),
    "before a day": (["--older-than", "2021-06-01"], {"n0", "n1"}),
    "older than days": (["--older-than", "365", "-s", "a"], {"n0", "n1", "n2"}),
    "superseded": (["--superseded", "-k", "fact"], {"lyon"}),
    "by id": (["--id", "n1", "--id", "pin", "--id", "nobody"], {"n1", "pin"}),
    "by id and age": (["--id", "n1", "--id", "pin", "--older-than", "2021-06-01"], {"n1"}),
    "by id in a session": (["--id", "n1", "--id", "b0", "-s", "b"], {"b0"}),
    "by id, superseded": (["--id", "lyon", "--id", "paris", "--superseded"], {"lyon"}),
    "all turns": (["--all"], {"n0", "n1", "n2", "b0"}),
}


@pytest.mark.parametrize(("selection", "gone"), SELECTIONS.values(), ids=SELECTIONS)
def test_what_is_shown_is_what_goes(cli, told, selection, gone):
    shown = json.loads(cli("forget", *selection, "--dry-run", "--json").stdout)
    assert shown["count"] == sum(shown["kinds"].values()) == len(gone)
    assert {item["id"] for item in shown["newest"]} <= gone
    assert len(shown["newest"]) == min(len(gone), 5)
    assert left(cli) == ALL
    done = cli("forget", *selection, "--yes", "--json")
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"forgotten": len(gone)})
    assert left(cli) == ALL - gone


def test_without_a_terminal_and_without_yes_it_refuses(cli, told):
    refused = cli("forget", "-s", "a", input="y\n")
    assert refused.exit_code == 1
    assert refused.stdout == ""
    assert refused.stderr.splitlines()[0] == "would forget 3 memories (3 turns):"
    assert refused.stderr.splitlines()[-1] == (
        "retentive: nothing was forgotten: this is no terminal to ask on, --yes forgets without asking"
    )
    assert left(cli) == ALL


def test_many_are_shown_by_their_number_and_the_newest(cli, told):
    shown = cli("forget", "-s", "a", "-k", "turn", "-k", "fact", "-k", "pinned", "--dry-run")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[0] == "would forget 6 memories (3 turns, 2 facts, 1 pinned), among them:"
    assert [line[3:] for line in lines if line[:1].isdigit()][:2] == ["pinned", "Paris"]


def test_nothing_to_forget_is_exit_code_1(cli, told):
    for arguments in (
        ["-s", "nobody", "--yes"],
        ["--id", "nobody", "--yes"],
        ["-s", "nobody", "--dry-run"],
        ["-s", "x"],
    ):
        nothing = cli("forget", *arguments)
        assert (nothing.exit_code, nothing.stdout) == (1, "")
        assert nothing.stderr.count("\n") == nothing.stderr.count("nothing to forget") == 1
    asked = cli("forget", "-s", "x", "--json")
    assert (asked.exit_code, asked.stdout, asked.stderr) == (1, '{"forgotten": 0}\n', "retentive: nothing to forget\n")


def test_no_selection_is_refused_before_anything_is_read(cli, told):
    for arguments in ([], ["--yes"], ["-k", "turn", "--yes"], ["--any-user", "--yes"]):
        refused = cli("forget", *arguments)
        assert (refused.exit_code, refused.stderr[:32]) == (2, "retentive: name what to forget: ")
    assert left(cli) == ALL


@pytest.mark.parametrize(("answer", "code", "there"), [("y", 0, False), ("no", 1, True), ("", 1, True)])
def test_on_a_terminal_it_asks(cli, told, terminal, answer, code, there):
    asked = terminal("forget", "--id", "n1")
    asked.until("Forget it for good? [y/N] ")
    asked.type(answer)
    assert asked.end() == code
    assert ("forgot 1 memory" in asked.text) is not there
    assert ("n1" in left(cli)) is there


def test_expire_deletes_what_is_past_its_time(cli):
    cli("remember", "old", "--time", "2020-01-01", "--ttl-days", "1")
    cli("remember", "new", "--ttl-days", "1000")
    assert json.loads(cli("expire", "--json").stdout) == {"expired": 1}
    nothing = cli("expire")
    assert (nothing.exit_code, nothing.stderr) == (0, "0 expired\n")


def test_what_was_superseded_is_shown_before_it_goes(cli):
    cli("remember", "secret", "-s", "p", "--id", "a")
    cli("feedback", "a", "corrected", "--correction", "two")
    cli("remember", "Lyon", "-u", "ann", "-k", "fact", "--key", "office", "--id", "lyon")
    cli("remember", "Paris", "-u", "ann", "-k", "fact", "--key", "office")
    for selection, text in (
        (["-s", "p"], "secret"),
        (["--superseded"], "secret"),
        (["--id", "a"], "secret"),
        (["--all"], "secret"),
        (["--older-than", "2100-01-01"], "secret"),
        (["--superseded", "-k", "fact", "-u", "ann"], "Lyon"),
        (["--superseded", "-k", "fact", "--any-user"], "Lyon"),
    ):
        shown = cli("forget", *selection, "--dry-run")
        assert (shown.exit_code, shown.stdout.count(text)) == (0, 1), selection
        (newest,) = json.loads(cli("forget", *selection, "--dry-run", "--json").stdout)["newest"]
        assert newest["text"] == text, selection


def test_the_newest_are_shown_whether_superseded_or_not(cli, tmp_path):
    with Collection("retentive", path=tmp_path, embedder=HashEmbedder(64)) as db:
        for day in range(1, 10):
            db.remember(f"day {day}", session="a", id=f"d{day}", timestamp=f"2026-01-0{day}")
        for day in (1, 6, 8, 9):
            db.feedback(f"d{day}", "corrected", correction="no")
    shown = json.loads(cli("forget", "-s", "a", "--dry-run", "--json").stdout)
    assert (shown["count"], [item["id"] for item in shown["newest"]]) == (9, ["d9", "d8", "d7", "d6", "d5"])
    shown = json.loads(cli("forget", "--superseded", "--dry-run", "--json").stdout)
    assert (shown["count"], [item["id"] for item in shown["newest"]]) == (4, ["d9", "d8", "d6", "d1"])
