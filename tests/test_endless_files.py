"""What is no regular file, given to be read: a device and a socket are refused at once, a pipe up to a size."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from retentive import HashEmbedder, InvalidInputError, importers
from retentive.assistant import MemoryManager, SessionFileError
from retentive.importers import _source

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes and devices with names are POSIX's")

DEVICES = [device for device in ("/dev/zero", "/dev/full", "/dev/null", "/dev/urandom") if Path(device).exists()]
READERS = {
    "openai": lambda path: importers.openai_messages(path, session="s"),
    "chatgpt": importers.chatgpt,
    "sharegpt": importers.sharegpt,
    "langchain": lambda path: importers.langchain_messages(path, session="s"),
    "mem0": importers.mem0,
    "chroma": importers.chroma,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("device", DEVICES)
def test_importers_refuse_a_device(tmp_path, reader, device):
    link = tmp_path / "link.jsonl"
    link.symlink_to(device)
    for path in (device, link):
        with pytest.raises(InvalidInputError, match="a device, expected a regular file or a pipe"):
            list(reader(path))


@pytest.mark.parametrize("device", DEVICES)
def test_import_and_a_session_file_refuse_a_device(memory_db, device):
    with pytest.raises(InvalidInputError, match="a device, expected a regular file or a pipe"):
        memory_db.import_(device)
    with MemoryManager("s", embedder=HashEmbedder(8)) as manager, pytest.raises(SessionFileError, match="a device"):
        manager.conversation.load(device)


def test_a_socket_is_refused(memory_db, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("chat")
        for read in (memory_db.import_, lambda path: list(importers.chatgpt(path))):
            with pytest.raises(InvalidInputError, match="a socket, expected a regular file or a pipe"):
                read("chat")


@pytest.mark.parametrize("name", ["endless", "endless.jsonl"])
def test_a_pipe_is_read_up_to_a_size(tmp_path, monkeypatch, name):
    monkeypatch.setattr(_source, "LONGEST_PIPE", 3_000_000)
    os.mkfifo(tmp_path / name)

    def feed():
        try:
            with (tmp_path / name).open("wb") as pipe:
                while True:
                    pipe.write(bytes(1 << 16))
        except BrokenPipeError:
            pass

    feeder = threading.Thread(target=feed)
    feeder.start()
    with pytest.raises(InvalidInputError, match="more than 3,000,000 bytes came through the pipe"):
        list(importers.chatgpt(tmp_path / name))
    feeder.join(30)
    assert not feeder.is_alive()


@pytest.mark.parametrize("command", [["import", "/dev/zero"], ["import", "/dev/zero", "--from", "chatgpt"]])
def test_the_command_line_refuses_a_device(cli, command):
    done = cli(*command)
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "/dev/zero: it is a device" in done.stderr


@pytest.mark.parametrize("command", [["export", "ring"], ["backup", "ring.db"], ["import", "ring"]])
def test_the_command_line_says_in_a_line_that_links_are_a_ring(cli, tmp_path, command):
    cli("remember", "hello", "-s", "a")
    for name in ("ring", "ring.db"):
        (tmp_path / name).symlink_to(name)
    ours = [sys.executable, "-m", "retentive", *command]
    done = subprocess.run(ours, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "ring" in done.stderr
