"""Every public name has its place in the reference, and the site has every page in its navigation."""

import ast
import importlib
import itertools
import pkgutil
import re
from pathlib import Path

import pytest

import retentive
import retentive.evaluate

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


def public_modules() -> list[str]:
    """All modules whose path has no underscore and that say what of them is public."""
    found = ["retentive", *(module.name for module in pkgutil.walk_packages(retentive.__path__, "retentive."))]
    public = [name for name in found if not any(part.startswith("_") for part in name.split("."))]
    return [name for name in public if hasattr(importlib.import_module(name), "__all__")]


def constants_with_a_docstring(module: str) -> set[str]:
    """Names that a module, or one it takes them from, assigns with a docstring below."""
    folder = Path(importlib.import_module(module).__file__ or "").parent
    found = set()
    for file in folder.glob("*.py"):
        body = ast.parse(file.read_text("utf-8")).body
        for assigned, below in itertools.pairwise(body):
            if (
                isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
                and isinstance(below.value.value, str)
            ):
                targets = assigned.targets if isinstance(assigned, ast.Assign) else [getattr(assigned, "target", None)]
                found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def test_public_modules_are_found():
    assert {"retentive", "retentive.agents", "retentive.embedders", "retentive.importers", "retentive.cli"} <= {
        *public_modules()
    }


@pytest.mark.parametrize("module", public_modules())
def test_every_public_name_is_on_a_page_of_the_reference(module):
    """By itself, or with its module: there a name without a docstring of its own is left out."""
    shown = placed()
    named = {name.removeprefix("retentive.") for name in shown}
    source = importlib.import_module(module)
    constants = constants_with_a_docstring(module)

    def is_on_a_page(name: str) -> bool:
        if name.startswith("__"):
            return True  # `__version__`, which the first page names
        same = getattr(retentive, name, None) is getattr(source, name)
        if same and name in named:
            return True
        item = getattr(source, name)
        documented = bool((item.__doc__ or "").strip()) if callable(item) else name in constants
        return module in shown and documented

    assert [name for name in source.__all__ if not is_on_a_page(name)] == []


def test_the_evaluation_is_a_program_without_public_names():
    assert not hasattr(retentive.evaluate, "__all__")
    assert "not a library" in (retentive.evaluate.__doc__ or "")


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
