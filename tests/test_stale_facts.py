"""`examples/stale_facts.py`: cosine alone gives both values, a key, a correction and a judge the current one."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def stale_facts(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import stale_facts

    return stale_facts


def test_cosine_alone_returns_both(stale_facts):
    both = stale_facts.by_cosine()
    assert {key: set(texts) for key, texts in both.items()} == {
        key: {stale_facts.OLD[key], stale_facts.NEW[key]} for key in ("job", "salary")
    }


@pytest.mark.parametrize("way", ["by_key", "by_correction", "by_judge"])
def test_each_way_returns_the_current_one_alone(stale_facts, way):
    assert getattr(stale_facts, way)() == {key: [text] for key, text in stale_facts.NEW.items()}


def test_example_runs_by_itself(tmp_path):
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / "stale_facts.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("71,000") == 4
