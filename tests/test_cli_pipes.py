"""`retentive import -` and `export -`: what passes through is left nowhere, and pipes by path are read and written."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from retentive import Collection
from retentive.cli import pipes
from retentive.embedders import HashEmbedder

COMMAND = [sys.executable, "-m", "retentive"]
HEADER = json.dumps({"format": "retentive-export", "version": 1})
LINE = json.dumps({"id": "one", "kind": "turn", "text": "hello", "ts": "2026-01-01T00:00:00+00:00", "session": "a"})
EXPORT = f"{HEADER}\n{LINE}\n"
linux = pytest.mark.skipif(sys.platform != "linux", reason="no path of a file without a name")
unix = pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="no paths of descriptors")  # noqa: PTH110


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def left_in(folder, seconds=5.0):
    """What is in a folder once it is empty, or after some time."""
    end = time.monotonic() + seconds
    while (found := list(folder.rglob("*"))) and time.monotonic() < end:
        time.sleep(0.02)
    return found


@linux
@pytest.mark.parametrize("killed", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda killed: killed.name)
def test_an_import_that_is_killed_leaves_no_text_in_the_temporary_folder(cli, temporary, killed):
    child = subprocess.Popen([*COMMAND, "import", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdin.write(EXPORT.encode() * 5_000)  # more than a pipe takes: it is being read
    child.stdin.flush()
    assert left_in(temporary, 0) == []
    child.send_signal(killed)
    child.communicate(timeout=60)
    assert child.returncode in {130, -killed}
    assert list(temporary.rglob("*")) == []


@unix
@pytest.mark.parametrize("killed", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda killed: killed.name)
def test_an_export_that_is_killed_leaves_no_text_in_the_temporary_folder(cli, temporary, tmp_path, killed):
    with Collection("retentive", path=tmp_path, embedder=HashEmbedder(64)) as db:
        db.remember_many([{"text": f"note {number} " * 20, "session": "a"} for number in range(1_000)])
    child = subprocess.Popen([*COMMAND, "export", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.read(1)  # what a pipe takes is written, the rest waits in a file without a name
    assert list(temporary.rglob("*")) == []
    child.send_signal(killed)
    child.communicate(timeout=60)
    assert child.returncode in {130, -killed}
    assert list(temporary.rglob("*")) == []


@unix
def test_two_exports_to_pipes_at_once_are_both_whole(cli, temporary, tmp_path):
    with Collection("retentive", path=tmp_path, embedder=HashEmbedder(64)) as db:
        db.remember_many([{"text": f"note {number} " * 20, "session": "a"} for number in range(1_000)])
        db.export(tmp_path / "chat.jsonl")
    both = [subprocess.Popen([*COMMAND, "export", "-"], stdout=subprocess.PIPE) for _ in range(2)]
    begun = [os.read(child.stdout.fileno(), 1) for child in both]  # both are at work
    whole = [start + child.communicate(timeout=60)[0] for start, child in zip(begun, both, strict=True)]
    assert whole == [(tmp_path / "chat.jsonl").read_bytes()] * 2
    assert list(temporary.rglob("*")) == []


def test_without_files_without_a_name_it_is_read_all_the_same(cli, temporary, tmp_path, monkeypatch):
    monkeypatch.setattr(pipes, "_DESCRIPTORS", tmp_path / "none")
    assert cli("import", "-", input=EXPORT).stdout.startswith("imported 1 memory")
    refused = cli("import", "-", input="garbage")
    assert (refused.exit_code, refused.stderr.startswith("retentive: standard input: ")) == (1, True)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("origin", ["retentive", "openai"])
@pytest.mark.parametrize("content", [b"garbage\n", b"[{]\n", b'{"a": 1}\n{', b"caf\xe9"])
def test_an_error_names_standard_input(cli, temporary, origin, content):
    cli("remember", "a", "-s", "a")
    refused = cli("import", "-", "--from", origin, input=content)
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (1, "", 1)
    assert "/fd/" not in refused.stderr
    assert str(temporary) not in refused.stderr
    if origin == "retentive" or content[:1] not in b"{[":
        assert "standard input" in refused.stderr


@unix
def test_pipes_are_imported_by_their_path(cli, tmp_path):
    (tmp_path / "lines").write_text(EXPORT)
    for command in ("import <(cat lines)", "import /dev/stdin < lines", "cat lines | import /dev/stdin"):
        script = command.replace("import", f'"{sys.executable}" -m retentive import') + " --on-conflict skip"
        done = subprocess.run(["bash", "-c", script], capture_output=True, check=False, text=True, timeout=60)
        assert (done.returncode, done.stdout.startswith("imported")) == (0, True), (command, done.stderr)
    assert cli("turns").stdout.startswith("session a\n0. hello\n")
    script = f'"{sys.executable}" -m retentive import <(echo "[]x") --from openai'
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False, text=True, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "/dev/fd/" in done.stderr


@unix
def test_standard_output_is_exported_to_by_its_path(cli, tmp_path):
    cli("import", "-", input=EXPORT)
    cli("export", "chat.jsonl")
    for path in ("-", "/dev/stdout", "/dev/fd/1"):
        piped = cli("export", path)
        assert piped.stdout_bytes == (tmp_path / "chat.jsonl").read_bytes(), path


@unix
def test_python_imports_from_the_path_of_a_descriptor(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, EXPORT.encode())
    os.close(writing)
    with Collection("piped", embedder=HashEmbedder(64)) as db:
        assert db.import_(f"/dev/fd/{reading}").imported == 1
    os.close(reading)


@unix
def test_an_export_to_standard_output_that_is_closed_is_refused(cli, tmp_path):
    cli("import", "-", input=EXPORT)
    script = f'"{sys.executable}" -m retentive export - >&-'
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (
        2,
        "retentive: standard output is closed, expected a pipe or the name of a file\n",
    )
