"""`retentive` exports what DESIGN names: sorted, complete, documented, cheap to import."""

import inspect
import subprocess
import sys
from importlib.metadata import version

import pytest

import retentive

PUBLIC = sorted(name for name in retentive.__all__ if not name.startswith("__"))
HEAVY = ("numpy", "tokenizers", "onnxruntime", "huggingface_hub", "asyncio", "typer", "rich")


def own_members(cls: type) -> list[str]:
    """Public methods and properties that a class of ours defines or inherits from one of ours."""
    ours = [base for base in cls.__mro__ if base.__module__.partition(".")[0] == "retentive"]
    members = {name: member for base in reversed(ours) for name, member in vars(base).items()}
    documented = (property, classmethod, staticmethod)
    return sorted(
        name
        for name, member in members.items()
        if not name.startswith("_") and (isinstance(member, documented) or inspect.isroutine(member))
    )


def classes() -> list[type]:
    return [item for name in PUBLIC if inspect.isclass(item := getattr(retentive, name))]


def test_all_is_sorted():
    """Constants, classes, functions: the order that the linter keeps."""
    order = {name: (not name.isupper(), name[0].islower(), name) for name in retentive.__all__}
    assert list(retentive.__all__) == sorted(retentive.__all__, key=order.__getitem__)


def test_version_is_the_distributions():
    assert retentive.__version__ == version("retentive")


def test_all_is_complete():
    """Whatever module of ours binds a public name here without exporting it is a leak."""
    loaded = {
        name
        for name, item in vars(retentive).items()
        if not name.startswith("_") and not inspect.ismodule(item) and name not in ("annotations", "TYPE_CHECKING")
    }
    assert loaded <= set(retentive.__all__)
    assert set(retentive.__all__) <= set(dir(retentive))


@pytest.mark.parametrize("name", PUBLIC)
def test_exported_name_exists_and_is_documented(name):
    item = getattr(retentive, name)
    if inspect.isclass(item) or inspect.isroutine(item):
        assert (item.__doc__ or "").strip(), f"retentive.{name} has no docstring"


@pytest.mark.parametrize(
    ("cls", "name"),
    [(cls, name) for cls in classes() for name in own_members(cls)],
    ids=lambda item: item if isinstance(item, str) else item.__name__,
)
def test_public_method_is_documented(cls, name):
    assert (inspect.getdoc(getattr(cls, name)) or "").strip(), f"{cls.__name__}.{name} has no docstring"


def test_import_loads_nothing_heavy():
    code = f"import sys, retentive; print([name for name in {HEAVY!r} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True, text=True).stdout
    assert loaded.strip() == "[]"


def test_installed_package_is_typed_and_licensed():
    from importlib.metadata import files

    names = {path.name for path in files("retentive") or ()}
    assert {"py.typed", "_core.pyi", "LICENSE", "NOTICE"} <= names
