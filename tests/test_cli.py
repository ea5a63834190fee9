"""`retentive`, the command line: remember, recall, context, and what every command does with wrong arguments."""

import json

import pytest
from typer.testing import CliRunner

from retentive.cli.program import app


@pytest.fixture
def cli(tmp_path, monkeypatch):
    """Run a command in an empty folder, with vectors of no model."""
    monkeypatch.chdir(tmp_path)
    runner = CliRunner(env={"RETENTIVE_EMBEDDER": "hash:64", "RETENTIVE_DB": None, "NO_COLOR": "1"})
    return lambda *arguments, **options: runner.invoke(app, list(arguments), catch_exceptions=False, **options)


def test_what_is_remembered_is_recalled_and_packed(cli):
    stored = cli("remember", "I'd like the report as a PDF", "--session", "u42")
    assert stored.exit_code == 0
    found = cli("recall", "which format for the report", "--session", "u42")
    assert found.exit_code == 0
    assert "I'd like the report as a PDF" in found.stdout
    assert stored.stdout.strip() in found.stdout
    block = cli("context", "which format", "--session", "u42", "--json")
    assert json.loads(block.stdout)["messages"] == [{"role": "user", "content": "I'd like the report as a PDF"}]
