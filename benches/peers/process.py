"""The other side of `serve.py`: a library in a process of its own, asked in lines of JSON."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from retentive.evaluate.peers.environments import PeerError

_END_SECONDS = 20
_QUIET = {"ANONYMIZED_TELEMETRY": "False", "HF_HUB_OFFLINE": "1", "MEM0_TELEMETRY": "False"}


class Library:
    """One running library. Use as a context manager: whatever happens, its process ends.

    Args:
        command: what runs `serve.py` for it.
        folder: its working directory and home, where its messages are kept.
    """

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._messages = folder / "messages.txt"
        self._rest = b""
        with self._messages.open("wb") as messages:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                cwd=folder,
                env={**os.environ, **_QUIET, "HOME": str(folder)},
            )
        self._answers = selectors.DefaultSelector()
        self._answers.register(self._out, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._in.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._out.close()
        self._answers.close()

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def ask(self, op: str, timeout: float, **fields: Any) -> dict[str, Any]:
        """Its answer to one request.

        Raises:
            PeerError: it raised, ended, answered with something else than a line of JSON, or took more than `timeout`
                seconds; in the last case its process is ended.
        """
        request = json.dumps({"op": op, **fields}).encode() + b"\n"
        try:
            self._in.write(request)
            self._in.flush()
        except OSError as error:
            raise PeerError(f"{op}: {self._ending()}") from error
        line = self._line(op, time.monotonic() + timeout, timeout)
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise PeerError(f"{op}: answered {line[:80]!r}, expected a line of JSON") from error
        if "error" in answer:
            raise PeerError(f"{op}: {answer['error']}")
        return answer

    @property
    def _in(self) -> Any:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _out(self) -> Any:
        assert self._process.stdout is not None
        return self._process.stdout

    def _line(self, op: str, until: float, timeout: float) -> bytes:
        while b"\n" not in self._rest:
            if not self._answers.select(max(until - time.monotonic(), 0)):
                self._process.kill()
                self._process.wait()
                raise PeerError(f"{op}: no answer in {timeout:.0f} s")
            read = os.read(self._out.fileno(), 1 << 16)
            if not read:
                raise PeerError(f"{op}: {self._ending()}")
            self._rest += read
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _ending(self) -> str:
        try:
            code = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        lines = self._messages.read_text(encoding="utf-8", errors="replace").splitlines()
        said = [line for line in lines if line.strip()]
        return f"its process ended with {code}: {said[-1] if said else 'no message'}"
