"""`export` and `backup` onto what is no regular file: refused before anything is written, and it is there after."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from retentive import InvalidInputError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes and devices with names are POSIX's")

METHODS = ["export", "backup"]


@pytest.mark.parametrize("method", METHODS)
def test_a_pipe_stays_a_pipe(db, tmp_path, method):
    pipe, link = tmp_path / "chat-pipe.db", tmp_path / "link.db"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(InvalidInputError, match="a pipe, expected a regular file"):
            getattr(db, method)(path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert link.is_symlink()


@pytest.mark.parametrize("method", METHODS)
def test_a_device_is_refused_by_name(db, tmp_path, method):
    link = tmp_path / "null.db"
    link.symlink_to(os.devnull)
    for path in (os.devnull, link):
        with pytest.raises(InvalidInputError, match="a device, expected a regular file"):
            getattr(db, method)(path)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


@pytest.mark.parametrize("method", METHODS)
def test_a_socket_is_refused(db, tmp_path, monkeypatch, method):
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("chat.db")
        with pytest.raises(InvalidInputError, match="a socket, expected a regular file"):
            getattr(db, method)("chat.db")
        assert stat.S_ISSOCK(Path("chat.db").stat().st_mode)


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="the system has no /dev/stdout")
@pytest.mark.parametrize("method", METHODS)
def test_standard_output_in_a_pipe_is_refused(method):
    code = (
        "from retentive import Collection, HashEmbedder\n"
        f"Collection('chat', embedder=HashEmbedder(16)).{method}('/dev/stdout')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert b"InvalidInputError: path is '/dev/stdout', a pipe, expected a regular file" in done.stderr
    assert done.stdout == b""
