"""The sessions in docs/command-line.md are what the program prints: each block of `console` is played.

Ids, times and numbers with a fraction may be others, and bars longer or shorter; every other character is the page's.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent / "docs" / "command-line.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = re.compile(r"^(you> |.*\[y/N\] )(.*)$")
MASKS = (
    (re.compile(r"\bmem_[0-9A-Z]{26}\b"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?"), "TIME"),
    (re.compile(r" *-?\d+\.\d{3}( [█▏▎▍▌▋▊▉]+)?"), " NUMBER"),
)


def sessions():
    """Each command of the page with the lines that it prints."""
    for block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            yield command, lines


def masked(lines):
    text = "\n".join(line.rstrip() for line in lines)
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    return text.split("\n")


@pytest.fixture
def play(cli, terminal, tmp_path, monkeypatch):
    """Run a command of the page: on a terminal what asks, through a shell what is piped, else in this process."""
    monkeypatch.delenv("RETENTIVE_EMBEDDER")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "retentive").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m retentive "$@"\n')
    (programs / "retentive").chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"

    def play(command, lines):
        answers = [match for match in map(PROMPT.match, lines) if match]
        name, *arguments = shlex.split(command)
        if answers:
            asked = terminal(*arguments, TERM="dumb", RETENTIVE_EMBEDDER="static", columns=120)
            for match in answers:
                asked.until(match[1])
                asked.type(match[2])
            asked.end()
            return asked.text.splitlines()
        if "|" in arguments:
            environment = os.environ | {"PATH": path}
            output = subprocess.STDOUT
            return subprocess.run(
                command, shell=True, env=environment, stdout=subprocess.PIPE, stderr=output, text=True, check=True
            ).stdout.splitlines()
        assert name == "retentive"
        return cli(*arguments).output.splitlines()

    return play


def test_each_session_of_the_page_is_what_the_program_prints(play):
    played = [(command, lines, play(command, lines)) for command, lines in sessions()]
    assert len(played) > 20
    for command, lines, printed in played:
        assert masked(printed) == masked(lines), command


def test_every_command_stands_on_the_page():
    from retentive.cli.program import app

    page = PAGE.read_text(encoding="utf-8")
    assert [one.name for one in app.registered_commands if f"`{one.name}" not in page] == []


def test_a_session_that_prints_something_else_is_found(play):
    (remember, lines), (second, more), *_ = sessions()
    assert masked(play(remember, lines)) == masked(lines)
    assert masked(play(second, more)) != masked([*more, "one more line"])
