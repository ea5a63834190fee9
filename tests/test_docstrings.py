"""Every example in a docstring of the installed package runs, in an empty folder."""

import doctest
import importlib
import pkgutil

import pytest

import retentive


def module_names() -> list[str]:
    """All modules but the programs, which run when imported."""
    found = pkgutil.walk_packages(retentive.__path__, "retentive.")
    return ["retentive", *(module.name for module in found if not module.name.endswith("__main__"))]


def examples() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = (importlib.import_module(name) for name in module_names())
    return [test for module in modules for test in finder.find(module) if test.examples]


@pytest.mark.parametrize("name", module_names())
def test_every_module_says_what_it_is_for(name):
    if name != "retentive._core":
        assert importlib.import_module(name).__doc__


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_docstring_example_runs(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.DocTestRunner(optionflags=flags).run(example, out=printed.append)
    assert not failed, "".join(printed)
