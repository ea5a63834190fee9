"""Every public name has its place in the reference, and the site has every page in its navigation."""

import importlib
import re
from pathlib import Path

import pytest

import retentive

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"
PLACED = re.compile(r"^::: (retentive[.\w]*)$", re.MULTILINE)


def placed() -> list[str]:
    """The names and modules that the pages of the reference show, one entry for each time."""
    return [name for page in sorted(REFERENCE.glob("*.md")) for name in PLACED.findall(page.read_text("utf-8"))]


def test_every_exported_name_is_shown_once():
    shown = [name.removeprefix("retentive.") for name in placed()]
    assert [name for name in retentive.__all__ if shown.count(name) != 1] == []


def test_every_shown_name_exists():
    for name in placed():
        module, _, attribute = name.rpartition(".")
        if not (module and hasattr(importlib.import_module(module), attribute)):
            importlib.import_module(name)


@pytest.mark.parametrize("module", ["agents", "assistant", "repair", "tokens", "embedders", "memory"])
def test_names_of_a_public_module_are_shown_with_it_or_one_by_one(module):
    shown = placed()
    if f"retentive.{module}" not in shown:
        public = importlib.import_module(f"retentive.{module}").__all__
        lower = {name for name in public if name not in retentive.__all__}
        assert lower == set() or module == "embedders"  # which keeps its helpers beside the classes


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if not page.startswith("adr/") and page not in navigation] == []


def test_every_part_of_a_score_is_explained_on_the_page_of_the_signals():
    page = (ROOT / "docs" / "signals.md").read_text("utf-8")
    explained = {
        name for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    with retentive.Collection("chat", embedder=[retentive.HashEmbedder(64), retentive.HashEmbedder(32)]) as db:
        db.remember_many([{"text": f"note {n} of the trip", "session": "a"} for n in range(3)])
        found = [db.recall("the trip", session="a"), db.search("the trip", session="a", explain=True)]
    shown = {name for results in found for name in results[0].metadata[retentive.K_SCORING]}
    assert {"relevance", "relevance_norm", "recency", "feedback", "dense", "dense_first", "lexical"} <= shown
    assert shown - explained == set()
