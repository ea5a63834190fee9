"""`OnnxEmbedder` by name: what is asked of huggingface_hub, and when. Most with a fake of it; none with a network."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from retentive import ConfigurationError, OnnxEmbedder


def run(code: str, **environment: str) -> str:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("onnxruntime")
    package = tmp_path / "fake" / "huggingface_hub"
    package.mkdir(parents=True)
    (package / "errors.py").write_text("class LocalEntryNotFoundError(FileNotFoundError): pass\n")
    (package / "__init__.py").write_text(
        "from pathlib import Path\n"
        "from huggingface_hub.errors import LocalEntryNotFoundError\n"
        "calls, folder, remote, failure = [], None, None, None\n"
        "def snapshot_download(repository, *, allow_patterns, local_files_only):\n"
        "    global folder\n"
        "    calls.append((repository, allow_patterns, local_files_only))\n"
        "    if not local_files_only:\n"
        "        if failure: raise failure\n"
        "        folder = remote\n"
        "    if folder is None: raise LocalEntryNotFoundError('not cached')\n"
        "    return str(folder)\n"
    )
    for name in [name for name in sys.modules if name.partition(".")[0] == "huggingface_hub"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.chdir(tmp_path)
    import huggingface_hub

    yield huggingface_hub
    for name in [name for name in sys.modules if name.partition(".")[0] == "huggingface_hub"]:
        del sys.modules[name]


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    folder = tmp_path / "models--BAAI--bge-small-en-v1.5" / "snapshots" / "0a1b2c"
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").touch()
    (folder / "tokenizer.json").touch()
    return folder


def test_name_looks_into_the_cache_only(hub, snapshot: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"bge-small-en-v1\.5 is not on this machine") as raised:
        OnnxEmbedder("bge-small-en-v1.5")
    assert "download=True" in raised.value.hint
    hub.folder = snapshot
    assert OnnxEmbedder("bge-small-en-v1.5").name == "bge-small-en-v1.5"
    assert OnnxEmbedder("BAAI/bge-small-en-v1.5").name == "bge-small-en-v1.5"
    assert [offline for *_, offline in hub.calls] == [True, True, True]


def test_download_happens_when_asked_for_and_only_once(hub, snapshot: Path) -> None:
    hub.remote = snapshot
    embedder = OnnxEmbedder("bge-small-en-v1.5", download=True)
    OnnxEmbedder("bge-small-en-v1.5", download=True)
    assert (embedder.window, embedder.dimension) == (512, 384)
    assert [offline for *_, offline in hub.calls] == [True, False, True]
    repository, patterns, _ = hub.calls[1]
    assert repository == "BAAI/bge-small-en-v1.5"
    assert {"onnx/model.onnx", "tokenizer.json", "config.json"} <= set(patterns)
    assert not any("*" in pattern for pattern in patterns)


def test_half_a_download_is_fetched_again(hub, snapshot: Path, tmp_path: Path) -> None:
    hub.folder, hub.remote = tmp_path, snapshot
    OnnxEmbedder("bge-small-en-v1.5", download=True)
    assert [offline for *_, offline in hub.calls] == [True, False]


@pytest.mark.parametrize("failure", [OSError("no route"), RuntimeError("403")])
def test_failed_download_says_so(hub, failure: Exception) -> None:
    hub.failure = failure
    with pytest.raises(ConfigurationError, match=r"BAAI/bge-small-en-v1\.5 could not be downloaded") as raised:
        OnnxEmbedder("bge-small-en-v1.5", download=True)
    assert raised.value.__cause__ is failure


def test_folder_never_asks_the_hub(hub, bge_folder: Path) -> None:
    OnnxEmbedder(bge_folder, download=True)
    assert hub.calls == []


def test_missing_hub_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ConfigurationError, match="needs huggingface_hub") as raised:
        OnnxEmbedder("bge-small-en-v1.5")
    assert raised.value.hint == 'pip install "retentive[onnx]"'


def test_real_hub_finds_its_own_cache_without_network(bge_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    repository = tmp_path / "models--BAAI--bge-small-en-v1.5"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0a1b2c")
    snapshot = repository / "snapshots" / "0a1b2c"
    (snapshot / "onnx").mkdir(parents=True)
    (snapshot / "onnx" / "model.onnx").symlink_to(bge_folder / "model.onnx")
    (snapshot / "tokenizer.json").symlink_to(bge_folder / "tokenizer.json")
    code = """
import socket
def refuse(*args, **kwargs):
    raise AssertionError("network")
socket.create_connection = socket.getaddrinfo = refuse
from retentive import OnnxEmbedder
print(OnnxEmbedder("bge-small-en-v1.5", download=True).embed_query("x").shape)
"""
    assert run(code, HF_HUB_CACHE=str(tmp_path)).strip() == "(384,)"
