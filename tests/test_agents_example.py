"""`examples/agent.py` runs by itself and shows what it says."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[1] / "examples" / "agent.py"


def run(*arguments, cwd, code=None):
    command = [sys.executable, str(PROGRAM)] if code is None else [sys.executable, "-c", code, str(PROGRAM.parent)]
    return subprocess.run(
        [*command, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=120,
    )


def test_example_answers_from_memory_and_leaves_nothing_behind(tmp_path):
    done = run(cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "You said: I am allergic to peanuts; they make my throat swell" in done.stdout
    assert "14 turns stored for two memories, 1 fact" in done.stdout
    assert "cleared: 0 left" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_example_keeps_its_file_in_a_folder_given_and_will_not_play_over_it(tmp_path):
    assert run("kept", cwd=tmp_path).returncode == 0
    assert tmp_path.joinpath("kept", "agent.db").is_file()
    second = run("kept", cwd=tmp_path)
    assert second.returncode == 2
    assert "agent.db already" in second.stderr


def test_example_refuses_unknown_arguments_and_folders_that_are_files(tmp_path):
    assert run("--fast", cwd=tmp_path).returncode == 2
    tmp_path.joinpath("file").write_text("x", encoding="utf-8")
    assert run("file", cwd=tmp_path).returncode == 2


def test_example_fails_loudly_when_an_answer_is_wrong(tmp_path):
    breaking = (
        "import sys; sys.path.insert(0, sys.argv[1]); import agent; "
        "agent.QUESTIONS['Where does my train go?'] = 'never said'; sys.exit(agent.main([]))"
    )
    done = run(cwd=tmp_path, code=breaking)
    assert done.returncode == 1
    assert "NOT SO" in done.stderr
