"""`examples/assistant.py` runs by itself and remembers what it was told."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "assistant.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("assistant")


@pytest.fixture(scope="module")
def played(folder):
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(folder)],
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


def test_example_answers_from_what_was_said_in_another_process(played):
    assert "You once told me: I can't eat peanuts, they make my throat swell" in played
    assert "12 turns are here again" in played


def test_example_shows_the_current_fact_and_the_one_before(played):
    assert "- city: Paris" in played
    assert "before Paris: Lyon" in played


def test_example_leaves_a_session_that_can_be_read(played, folder):
    session = json.loads(folder.joinpath("session_sam.json").read_text(encoding="utf-8"))
    assert [turn["content"] for turn in session if turn["role"] == "user"][3] == "ok"


def test_example_leaves_nothing_in_the_folder_it_is_started_from(tmp_path):
    subprocess.run([sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, check=True, timeout=120)
    assert list(tmp_path.iterdir()) == []
