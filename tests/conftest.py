"""Fixtures of all tests. `retentive` is imported lazily, and is the installed wheel, not the source tree."""

import importlib.util
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("RETENTIVE_SHARED", ROOT.parent / "shared"))


def pytest_configure() -> None:
    """Refuse to test the source tree: what is tested is what users install."""
    spec = importlib.util.find_spec("retentive")
    if spec is None or spec.origin is None:
        raise pytest.UsageError("retentive is not installed in this environment; run the tests with `make test-python`")
    from_source = Path(spec.origin).is_relative_to(ROOT / "python")
    if from_source and not os.environ.get("RETENTIVE_TEST_SOURCE"):
        raise pytest.UsageError(
            f"retentive would be imported from the source tree ({spec.origin}), not from the built wheel; "
            "run `make test-python`, or set RETENTIVE_TEST_SOURCE=1 after `maturin develop`"
        )


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real conversations and models beside the repository (or RETENTIVE_SHARED); skips without it."""
    if not SHARED.is_dir():
        pytest.skip(f"no folder {SHARED.name} beside the repository; name one with RETENTIVE_SHARED to run this test")
    return SHARED


@pytest.fixture
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture
def embedder():
    """Deterministic vectors without a model."""
    from retentive.embedders import HashEmbedder

    return HashEmbedder(64)


@pytest.fixture
def db(tmp_path, embedder):
    """An empty collection in a file of its own."""
    from retentive import Collection

    with Collection("test", path=tmp_path, embedder=embedder) as collection:
        yield collection


@pytest.fixture
def memory_db(embedder):
    """An empty collection that no file belongs to."""
    from retentive import Collection

    with Collection("test", embedder=embedder) as collection:
        yield collection
