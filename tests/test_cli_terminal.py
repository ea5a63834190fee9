"""What `retentive` lets through to a terminal: stored text as text, as wide as it is, with or without colour."""

import contextlib
import io
import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retentive import Collection
from retentive._terminal import shown, shown_in_line
from retentive.cli.terminal import print_json
from retentive.embedders import HashEmbedder

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x1b]8;;http://x\x1b\\"
TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
EVERY_CONTROL = "".join(
    character
    for character in map(chr, range(0x110000))
    if (unicodedata.category(character) == "Cc" and character not in "\t\n")
    or unicodedata.bidirectional(character) in TURNING
)
HOSTILE = {
    "escapes": f"title {ESCAPES} end",
    "every control": f"a {EVERY_CONTROL} b",
    "carriage return": "secret\rpublic",
    "markup": "[bold red]not red[/] [link=http://x]y[/link] :smile: [/]",
    "a line that poses as another": "hello\n1. forged\n   score 9.999",
    "marks of direction": "a\u061c\u200e\u200f\u2028\u2029b",
    "8-bit controls": "\x9b31mred\x9c \x90q\x9c",
}


def only_text(page, *, colour=False):
    """What is left of a page that a terminal would act upon; its own colours may be there."""
    page = re.sub(r"\x1b\[[0-9;]*m", "", page) if colour else page
    return {
        repr(character)
        for character in page
        if (unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} and character != "\n")
        or unicodedata.bidirectional(character) in TURNING
        or character in "\u061c\u200e\u200f"
    }


@given(text=st.text())
def test_any_text_is_shown_harmlessly_and_in_json_exactly(text):
    assert only_text(shown(text).replace("\t", "")) == only_text(shown_in_line(text)) == set()
    assert "\n" not in shown_in_line(text)
    assert shown(shown(text)) == shown(text)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print_json({"text": text, text: 1})
    assert only_text(out.getvalue()) == set()
    assert json.loads(out.getvalue()) == {"text": text, text: 1}


@pytest.fixture
def stored(cli, tmp_path):
    """Store a text in every field that has one."""

    def store(text):
        fields = {"session": text, "id": text, "metadata": {text: text}}  # role and name take no controls
        with Collection("retentive", path=tmp_path, embedder=HashEmbedder(64)) as db:
            db.remember(text, **fields)
            db.remember(text, user=text, session=text, kind="fact", key=text)
            db.remember(text, session=text, kind="pinned")

    return store


SHOWING = {
    "recall": ["--any-user", "--anything", "--explain"],
    "search": ["--any-user"],
    "turns": ["--any-user"],
    "forget": ["--any-user", "--all", "--dry-run"],
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_stored_text_cannot_act_on_the_terminal(cli, stored, text):
    stored(text)
    shown = [cli(name, *(["x"] if name == "recall" else []), *arguments) for name, arguments in SHOWING.items()]
    shown += [cli("context", "x", "-s", text), cli("facts", "-u", text), cli("history", text)]
    shown += [cli("turns", "-s", text + "?"), cli("history", text + "?"), cli("facts", "-u", text, "--key", text + "?")]
    for result in shown:
        assert only_text(result.stdout + result.stderr) == set()
    assert [result.exit_code for result in shown] == [0] * 7 + [1] * 3
    assert cli("feedback", text, "corrected", "--correction", text).exit_code == 0


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_json_is_exact_and_cannot_act_on_the_terminal_either(cli, stored, text):
    stored(text)
    result = cli("turns", "--any-user", "--json")
    assert only_text(result.stdout) == set()
    turn = json.loads(result.stdout)
    assert (turn["text"], turn["session"], turn["id"], turn["metadata"][text]) == (text, text, text, text)


def test_markup_and_emoji_codes_are_shown_as_they_are(cli, stored):
    stored(HOSTILE["markup"])
    assert cli("turns", "--any-user").stdout.splitlines()[1] == f"0. {HOSTILE['markup']}"


def test_controls_are_shown_as_escapes_and_later_lines_are_indented(cli, stored):
    stored("one\x1b[2J\n1. forged\u202e")
    lines = cli("turns", "--any-user").stdout.splitlines()
    assert lines[1:3] == ["0. one\\x1b[2J", "   1. forged\\u202e"]


def test_line_ends_of_windows_are_line_ends(cli, stored):
    stored("one\r\ntwo\rthree")
    assert cli("turns", "--any-user").stdout.splitlines()[1:3] == ["0. one", "   two\\rthree"]


def test_a_terminal_sees_no_control_of_a_stored_text_either(stored, terminal):
    stored(HOSTILE["escapes"] + HOSTILE["every control"])
    coloured = terminal("recall", "x", "--any-user", "--anything", "--explain", NO_COLOR="", FORCE_COLOR="1")
    assert coloured.end() == 0
    assert "\x1b[" in coloured.text
    assert only_text(coloured.text, colour=True) == set()


def test_a_narrow_terminal_breaks_lines_between_words_and_indents_them(cli, terminal, tmp_path):
    words = [f"word{number}" for number in range(30)] + ["漢字" * 30, "x" * 100]
    with Collection("retentive", path=tmp_path, embedder=HashEmbedder(64)) as db:
        db.remember(" ".join(words), session="a")
    narrow = terminal("recall", "word1", "-s", "a", "--explain", columns=40)
    assert narrow.end() == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", narrow.text).splitlines()
    width = [sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line) for line in lines]
    assert max(width) <= 40
    assert all(line.startswith("   ") for line in lines[1:])
    assert "".join(line.strip() for line in lines).count("word29") == 1
    wide = cli("recall", "word1", "-s", "a").stdout.splitlines()
    assert wide[0] == "1. " + " ".join(words)


def test_without_colour_there_is_none(stored, terminal):
    stored("plain")
    plain = terminal("recall", "plain", "-s", "plain", "--explain")
    assert plain.end() == 0
    assert "\x1b[3" not in plain.text
    assert "█" in plain.text


def test_a_pipe_gets_neither_colour_nor_bar(cli):
    many = "\n".join(map(str, range(600)))
    result = cli("remember", "-", "--lines", "-s", "a", input=many)
    assert (result.exit_code, result.stderr) == (0, "made retentive.db\n")
    assert only_text(cli("recall", "1", "-s", "a", "--explain").stdout) == set()


def test_a_terminal_gets_a_bar_while_many_are_remembered(terminal, tmp_path):
    many = " ".join(f"line{number}" for number in range(600))
    (tmp_path / "many").write_text(many.replace(" ", "\n"))
    loading = terminal("remember", many.replace(" ", "\n"), "--lines", "-s", "a", NO_COLOR="")
    assert loading.end() == 0
    assert "remembering" in loading.text
    assert "600/600" in loading.text


@pytest.mark.parametrize("size", ["0", "000", "\u00b2", "-4", "1" * 30])
def test_a_size_that_is_none_is_not_known(cli, size):
    """Some programs set COLUMNS=0 for those that they start."""
    environment = {"COLUMNS": size, "LINES": size}
    assert cli("remember", "peanuts", "-s", "a", env=environment).stdout != ""
    found = cli("recall", "peanuts", "-s", "a", env=environment)
    assert found.exit_code == 0
    assert found.stdout.startswith("1. peanuts\n")
    assert "no memory with id" in cli("history", "nope", env=environment).stderr
