"""The programs with standard input, output or errors closed: what they do as with streams that hold nothing."""

import itertools
import json
import os
import re
import subprocess
import sys

import pytest

from retentive import Collection
from retentive.embedders import HashEmbedder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a fork and a shell")
SOAK = bool(os.environ.get("RETENTIVE_SOAK"))
CLOSED = [numbers for count in (1, 2, 3) for numbers in itertools.combinations(range(3), count)]
SHELL = ("<&-", ">&-", "2>&-")

RETENTIVE = """remember -
remember typed -s a
recall hello -s a
recall -
turns --json
history first
feedback first useful
forget -s a
forget -s a --yes
forget --all
context hello
search hello --explain
facts
expire
export -
export out.jsonl
export /dev/stdout
export /dev/fd/1
export /dev/stderr
export /dev/fd/2
import -
import /dev/stdin
import /dev/fd/0 --from openai
import lines.jsonl --on-conflict skip
backup copy.db
stats
stats --json
stats --db no-database
verify
verify --json
repair chat.db --into new.db
chat
chat -s a
evaluate locomo --data nothing.json
remember - --lines
remember x --db fresh
--help
--version
nonsense
"""
FIRST = ("remember -", "import /dev/stdin", "export -", "chat", "--help")  # the short form: these, with all closed
OUT, ERRORS = ("-", "/dev/stdout", "/dev/fd/1"), ("/dev/stderr", "/dev/fd/2")
WRITTEN_TO = {f"export {name}": 1 for name in OUT} | {f"export {name}": 2 for name in ERRORS}
PROGRAMS = {
    "retentive": RETENTIVE.split("\n"),
    "retentive.repair": ["chat.db --into new.db", "nothing.db --into new.db", "--help", ""],
    "retentive.evaluate": ["locomo --data nothing.json", "locomo --data empty.json", "--help", ""],
}

# One process that has imported everything forks for each case. What is left of a run: its exit code, what it wrote into
# the streams that were open, and what is in the folder.
EACH = """
import importlib, json, os, shutil, sys
import retentive.cli.program
from retentive import Collection

STREAMS = ("stdin", "stdout", "stderr")
MODES = (os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT)
base, work, cases = sys.argv[1], sys.argv[2], json.load(sys.stdin)


def run(program, line, closed):
    for number, (name, mode) in enumerate(zip(STREAMS, MODES, strict=True)):
        if number in closed:
            os.close(number)
            setattr(sys, name, None)  # as the interpreter has it then
            continue
        opened = os.open(os.devnull if number == 0 else f"{work}.{name}", mode, 0o600)
        os.dup2(opened, number)
        os.close(opened)
        setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))
    sys.argv = [program, *line.split()]
    if program == "retentive":
        return retentive.cli.main()
    module = importlib.import_module(program + (".__main__" if program.endswith("evaluate") else ""))
    return module.run(module.main, program)


def left(code):
    files = sorted(os.listdir("."))
    lines = open("out.jsonl").read().splitlines() if "out.jsonl" in files else []
    told = {name: open(f"{work}.{name}").read() for name in STREAMS if os.path.exists(f"{work}.{name}")}
    with Collection("chat", ".") as db:
        return [code, told, files, lines, db.verify().ok, db.count(), [turn.text for turn in db.turns("a")]]


for program, line, closed in cases:
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(base, work)
    os.chdir(work)
    for name in STREAMS:
        if os.path.exists(f"{work}.{name}"):
            os.unlink(f"{work}.{name}")
    child = os.fork()
    if child == 0:
        code = 99
        try:
            code = run(program, line, closed)
        except BaseException as error:
            code = repr(error)
        finally:
            sys.stdout is None or sys.stdout.flush()
            with open(f"{work}.code", "w") as kept:
                json.dump(code, kept)
            os._exit(0)
    os.waitpid(child, 0)
    print(json.dumps(left(json.load(open(f"{work}.code")))), flush=True)
"""


@pytest.fixture
def base(tmp_path):
    folder = tmp_path / "base"
    folder.mkdir()
    with Collection("chat", path=folder, embedder=HashEmbedder(64)) as db:
        db.remember("hello there", session="a", id="first")
        db.remember("and goodbye", session="a", id="second")
        db.export(folder / "lines.jsonl")
    (folder / "no-database.db").write_text("a diary\n" * 200)
    (folder / "empty.json").write_text("[]")
    return folder


def environment(base, **more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RETENTIVE_")}
    return kept | {"RETENTIVE_DB": "chat.db", "NO_COLOR": "1", "COLUMNS": "100"} | more


def without_numbers(text):
    """Drawn ids, times and scores apart."""
    return re.sub(r"mem_\w+|\d[\d.:T+-]*|\d", "#", text)


@pytest.mark.soak
@pytest.mark.parametrize("closed", CLOSED if SOAK else CLOSED[-1:], ids=str)
def test_a_closed_stream_is_one_that_holds_nothing_for_every_command(base, tmp_path, closed, counted):
    cases = [
        (program, line, numbers)
        for program, lines in PROGRAMS.items()
        for line in lines
        if SOAK or line in FIRST
        for numbers in ((), closed)
    ]
    done = subprocess.run(
        [sys.executable, "-c", EACH, str(base), str(tmp_path / "work")],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
        env=environment(base),
        timeout=280,
    )
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == len(cases)
    wrong = []
    usual: list = []
    for case, (code, streams, *folder) in zip(cases, results, strict=True):
        _, line, numbers = case
        told = {name: without_numbers(text) for name, text in streams.items()}
        if not numbers:
            usual = [code, told, folder]
            right = isinstance(code, int)
        elif WRITTEN_TO.get(line) in numbers:
            right = (code, folder) == (2, usual[2]) and told.get("stderr", "\n").count("\n") == 1
        else:
            right = [code, told, folder] == [usual[0], {name: usual[1][name] for name in told}, usual[2]]
        if not right:
            wrong.append((case, code, told, folder, usual))
    assert wrong == []
    counted(streams_closed=len(closed) * len(cases) // 2)


AT_THE_START = """
import os
import signal
import sys


class Acts:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            {act}


sys.meta_path.insert(0, Acts())
"""
OPENS = "os.open('kept', os.O_RDWR)  # and keeps it open, as a library may"
INTERRUPTS = "os.kill(os.getpid(), signal.SIGINT)"
LACKS = "raise ModuleNotFoundError('no typer', name='typer')"


@pytest.fixture
def started(base):
    """Run a program by a line of the shell, with something that happens when it imports a module."""

    def started(line, module, act):
        (base / "sitecustomize.py").write_text(AT_THE_START.format(module=module, act=act))
        path = os.pathsep.join(filter(None, [str(base), os.environ.get("PYTHONPATH")]))
        return subprocess.run(
            ["sh", "-c", f'exec "{sys.executable}" -m {line}'],
            capture_output=True,
            check=False,
            text=True,
            timeout=60,
            cwd=base,
            env=environment(base, PYTHONPATH=path),
        )

    return started


@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd/0"] if SOAK else ["/dev/stdin"])
@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no paths of descriptors")  # noqa: PTH110
def test_a_file_that_a_library_opened_is_not_read_as_standard_input(base, started, name):
    (base / "kept").write_bytes((base / "lines.jsonl").read_bytes())
    done = started(f"retentive import {name} --db other <&-", "retentive._results", OPENS)
    assert (done.returncode, done.stdout) == (1, "")
    assert "a device, expected a regular file or a pipe" in done.stderr
    assert not (base / "other.db").exists()


@pytest.mark.parametrize("closed", CLOSED if SOAK else CLOSED[2:3] + CLOSED[-1:], ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_ctrl_c_at_the_start_with_streams_closed_is_its_exit_code(started, program, closed):
    done = started(f"{program} {' '.join(SHELL[number] for number in closed)}", "retentive._results", INTERRUPTS)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "" if 2 in closed else done.stderr.endswith(": interrupted\n")


def test_what_is_missing_is_not_said_on_standard_output_where_errors_are_closed(started):
    done = started("retentive stats 2>&-", "typer", LACKS)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
