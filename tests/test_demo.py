"""`examples/demo.py` runs by itself and shows what it says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

SECTIONS = [
    "Seven weeks of conversation",
    "Recall, and what a score is made of",
    "A correction",
    "A contradiction, settled by a judge",
    "A keyed fact, replaced",
    "A question with no answer in memory",
    "A context block of 300 tokens",
    "Consolidation",
    "Forgetting, down to the bytes",
    "A restart in a new process",
    "What you saw",
]


def run(*arguments, cwd, **environment):
    return subprocess.run(
        [sys.executable, str(EXAMPLES / "demo.py"), *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "100", **environment},
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=120,
    )


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    return run(cwd=tmp_path_factory.mktemp("demo"))


def test_demo_ends_well(played):
    assert played.returncode == 0, played.stdout + played.stderr
    assert played.stderr == ""


def test_demo_shows_every_section_in_order(played):
    positions = [played.stdout.find(section) for section in SECTIONS]
    assert -1 not in positions
    assert positions == sorted(positions)


def test_demo_uses_no_colours_without_a_terminal(played):
    assert "\x1b" not in played.stdout


def test_demo_runs_where_the_terminal_knows_only_ascii(tmp_path):
    done = run(cwd=tmp_path, PYTHONIOENCODING="ascii:backslashreplace")
    assert done.returncode == 0, done.stdout + done.stderr


def test_demo_leaves_nothing_in_the_folder_it_is_started_from(tmp_path):
    assert run(cwd=tmp_path).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_demo_keeps_its_file_in_a_folder_given_and_will_not_play_over_it(tmp_path):
    first = run("kept", cwd=tmp_path)
    assert first.returncode == 0, first.stdout + first.stderr
    assert tmp_path.joinpath("kept", "demo.db").is_file()
    second = run("kept", cwd=tmp_path)
    assert second.returncode == 2
    assert "demo.db already" in second.stderr


def test_demo_refuses_unknown_arguments(tmp_path):
    done = run("--fast", cwd=tmp_path)
    assert done.returncode == 2
    assert "usage" in done.stderr


def test_demo_fails_loudly_when_a_claim_does_not_hold(tmp_path):
    breaking = (
        "import sys, runpy; sys.path.insert(0, sys.argv[1]); import demo_scenes, demo; "
        "demo_scenes.KEY_BOX_CODE = 'never said'; sys.exit(demo.main([]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", breaking, str(EXAMPLES)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 1
    assert "NOT SO" in done.stderr
    assert "What you saw" not in done.stdout


def test_conversation_is_long_and_of_several_weeks_and_two_users():
    content = json.loads(EXAMPLES.joinpath("conversation.json").read_text(encoding="utf-8"))
    assert sum(len(sitting["turns"]) for sitting in content["sittings"]) >= 150
    assert {sitting["user"] for sitting in content["sittings"]} == {"maya", "jonas"}
    days = sorted(sitting["at"] for sitting in content["sittings"])
    assert days[0] < "2026-03-08" < "2026-04-08" < days[-1]
    assert {role for sitting in content["sittings"] for role, _ in sitting["turns"]} == {"user", "assistant"}
