"""Every program of the package shows stored texts and arguments harmlessly, and ends with a code that is true."""

import json
import os
import shlex
import signal
import subprocess
import sys
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

import retentive.evaluate.__main__ as evaluation
from retentive import Collection, cli, repair
from retentive.cli.program import app
from retentive.embedders import HashEmbedder
from test_cli_terminal import only_text

HOSTILE = "id\x1b]0;pwn\x07\u202e\x9b7\rx"
PROGRAMS = {
    "retentive": ["-m", "retentive"],
    "retentive evaluate": ["-m", "retentive", "evaluate"],
    "retentive.evaluate": ["-m", "retentive.evaluate"],
    "retentive repair": ["-m", "retentive", "repair"],
    "retentive.repair": ["-m", "retentive.repair"],
}


MAINS = {
    "retentive": cli.main,
    "retentive evaluate": lambda arguments: cli.main(["evaluate", *arguments]),
    "retentive.evaluate": evaluation.main,
    "retentive repair": lambda arguments: cli.main(["repair", *arguments]),
    "retentive.repair": repair.main,
}


class Ended(NamedTuple):
    code: object
    out: str
    error: str


@pytest.fixture
def program(tmp_path, monkeypatch, capsys):
    """Run one of the programs in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)

    def program(name, *arguments):
        try:
            code = MAINS[name](list(arguments))
        except SystemExit as ended:
            code = ended.code
        return Ended(code, *capsys.readouterr())

    return program


def controls(done):
    return only_text(done.out + done.error)


@pytest.fixture
def damaged(tmp_path):
    """A collection with hostile ids, of which some rows are damaged."""
    with Collection("damaged", path=tmp_path, embedder=HashEmbedder(8)) as db:
        db.remember_many([{"text": f"note {n}", "id": f"{HOSTILE}{n}", "session": "a"} for n in range(40)])
        db.compact()
    file = tmp_path / "damaged.db"
    file.write_bytes(file.read_bytes().replace(b"note 1", b"note X"))
    return file


@pytest.mark.parametrize("name", ["retentive repair", "retentive.repair"])
def test_a_repair_shows_stored_ids_harmlessly(program, damaged, name):
    done = program(name, "damaged.db", "--into", "saved.db")
    assert done.code == 1
    assert "lost: " in done.out
    assert "id\\x1b]0;pwn\\x07\\u202e\\x9b7\\rx" in done.out
    assert controls(done) == set()


REPAIR = [[f"no{HOSTILE}.db", "--into", "new.db"], ["damaged.db", "--into", f"{HOSTILE}/new.db"]]
EVALUATE = [["locomo", "--data", f"no{HOSTILE}"], [HOSTILE], ["locomo", "--data", "x", "--embedder", HOSTILE]]
WRONG = {
    "retentive": [["turns", "--db", HOSTILE], ["history", HOSTILE], [HOSTILE]],
    "retentive evaluate": EVALUATE,
    "retentive.evaluate": EVALUATE,
    "retentive repair": REPAIR,
    "retentive.repair": REPAIR,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_argument_is_shown_harmlessly_in_an_error(program, damaged, name):
    for arguments in [*WRONG[name], [HOSTILE, HOSTILE, f"--{HOSTILE}"]]:
        done = program(name, *arguments)
        assert done.code in {1, 2}, arguments
        assert done.error, arguments
        assert controls(done) == set(), arguments


@pytest.mark.parametrize("name", ["retentive evaluate", "retentive.evaluate"])
def test_what_a_data_set_says_is_shown_harmlessly(program, tmp_path, name):
    said = [{"speaker": "A", "dia_id": "D1:1", "text": "hi"}]
    talk = {"speaker_a": "A", "session_1": said, "session_1_date_time": HOSTILE}
    (tmp_path / "data.json").write_text(json.dumps([{"sample_id": HOSTILE, "conversation": talk, "qa": []}]))
    done = program(name, "locomo", "--data", "data.json")
    assert done.code == 2
    assert "pwn" in done.error
    assert controls(done) == set()


def test_what_the_encoding_has_not_is_shown_as_an_escape(tmp_path):
    Collection("ok", path=tmp_path, embedder=HashEmbedder(8)).close()
    (tmp_path / "ü").mkdir()
    done = subprocess.run(
        [sys.executable, *PROGRAMS["retentive.repair"], "ok.db", "--into", "ü/saved.db"],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"saved 0 memories into \\xfc/saved.db\n", b"")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "cp437", "utf-8", "utf-16"])
def test_json_is_json_in_every_encoding(tmp_path, monkeypatch, encoding):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETENTIVE_EMBEDDER", "hash:64")
    text = "Grüße \U0001f600 é\x1b\u202e\x85"
    with Collection("retentive", path=tmp_path, embedder=HashEmbedder(64)) as db:
        db.remember(text, session="s", id="g")
        db.remember(text, kind="fact", key="ü", user="ü")
    commands = {
        "turns": ["turns"],
        "recall": ["recall", "Grüße", "--anything"],
        "context": ["context", "x", "-s", "s"],
        "search": ["search"],
        "facts": ["facts", "-u", "ü"],
        "history": ["history", "g"],
        "forget": ["forget", "--all", "--dry-run"],
        "remember": ["remember", "ü", "--id", "ü"],
        "export": ["export", "ü.jsonl"],
    }
    for name, command in commands.items():
        done = CliRunner(charset=encoding).invoke(app, [*command, "--json"], catch_exceptions=False)
        assert (done.exit_code, done.stderr) == (0, ""), name
        found = [json.loads(line) for line in done.stdout_bytes.decode(encoding).splitlines()]
        expected = {"remember": "'ü'", "export": "'ü.jsonl'"}.get(name, repr(text))
        assert expected in str(found), name


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")  # noqa: PTH110
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("retentive evaluate", "--help"),
        ("retentive.evaluate", "--help"),
        ("retentive.repair", "--help"),
        ("retentive.repair", "ok.db --into new.db"),
    ],
)
def test_output_that_cannot_be_written_is_never_exit_code_0(tmp_path, name, arguments):
    Collection("ok", path=tmp_path, embedder=HashEmbedder(8)).close()
    command = shlex.join([sys.executable, *PROGRAMS[name], *arguments.split()])
    done = subprocess.run(
        f"{command} > /dev/full", shell=True, cwd=tmp_path, capture_output=True, check=False, text=True
    )
    assert done.returncode == 1
    assert done.stderr.endswith("No space left on device\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")  # noqa: PTH110
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("retentive", "recall -n -1 q --db ok", 2),
        ("retentive", "turns --no-such-option", 2),
        ("retentive.evaluate", "locomo --data none", 2),
        ("retentive.repair", "none.db", 2),
    ],
)
def test_an_error_that_cannot_be_written_keeps_its_exit_code(tmp_path, name, arguments, expected):
    Collection("ok", path=tmp_path, embedder=HashEmbedder(8)).close()
    command = shlex.join([sys.executable, *PROGRAMS[name], *arguments.split()])
    done = subprocess.run(f"{command} 2>/dev/full", shell=True, cwd=tmp_path, stdout=subprocess.PIPE, check=False)
    assert (done.returncode, done.stdout) == (expected, b"")


def test_a_pipe_that_nobody_reads_is_silent(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, *PROGRAMS["retentive.repair"], "--help"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=60, cwd=tmp_path)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


INTERRUPTED = """
import os, signal, sys
import retentive.evaluate.__main__ as program
program.check = lambda _: os.kill(os.getpid(), signal.SIGINT)
{run}
"""
RUNS = {
    "retentive": "from retentive.cli import main; sys.exit(main(['evaluate', 'locomo', '--data', 'x']))",
    "python -m retentive.evaluate": "sys.exit(program.main(['locomo', '--data', 'x']))",
}


@pytest.mark.skipif(os.name == "nt", reason="no signal that a process can send itself")
@pytest.mark.parametrize("name", RUNS)
def test_ctrl_c_of_an_evaluation_is_one_sentence(tmp_path, name):
    code = INTERRUPTED.format(run=RUNS[name])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (signal.SIGINT + 128, "", f"{name}: interrupted\n")
