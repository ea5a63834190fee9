"""Runs one library in its own environment: `python serve.py NAME`, with `on_NAME.py` beside it.

A request is a line of JSON on standard input, its answer a line of JSON on standard output. numpy is here, retentive is
not. Only the library's own work is timed: what it is given is read before the clock starts.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Row:
    """A turn to store, or a question (which has neither role nor time)."""

    number: int
    session: str
    text: str
    vector: Vector
    role: str = ""
    time: str = ""


class Store(Protocol):
    """What an `on_NAME.py` opens; `PACKAGE`, `MODE`, `SCOPE` and `DURABLE` of the module say what it is."""

    def add(self, rows: list[Row]) -> None:
        """Store many, as fast as the library can."""

    def finish(self) -> None:
        """What is to be done once after the last `add`, as building an index."""

    def remember(self, row: Row) -> None:
        """Store one, durably where the library can."""

    def recall(self, question: Row, limit: int) -> list[int]:
        """Numbers of the best memories of the question's session, best first."""

    def close(self) -> None:
        """Let go of all files."""


class GivenVectors(dict[str, Vector]):
    """Stands in for a model, for libraries that only take a callable: a look-up, filled before the clock starts."""

    def fill(self, rows: list[Row]) -> None:
        """Know these texts and no others."""
        self.clear()
        self.update((row.text, row.vector) for row in rows)

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Vectors as lists of numbers."""
        return [self[text].tolist() for text in texts]


class Reader:
    """Reads rows of one file in order, so that no more than a batch is in memory."""

    def __init__(self, path: Path, dimension: int) -> None:
        self._lines: TextIO = path.with_suffix(".jsonl").open(encoding="utf-8")
        self._vectors = path.with_suffix(".f32").open("rb")
        self._dimension = dimension

    def next(self, count: int) -> list[Row]:
        """The next `count` rows, or fewer at the end."""
        fields = [json.loads(line) for line in islice(self._lines, count)]
        raw = self._vectors.read(4 * self._dimension * len(fields))
        vectors = np.frombuffer(raw, np.float32).reshape(len(fields), self._dimension)
        return [Row(vector=vector, **field) for field, vector in zip(fields, vectors, strict=True)]


def peak_bytes() -> int:
    """The most memory that this process has had, from the kernel; `ru_maxrss` would begin with the parent's."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak
    return next(1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def timed(call: Callable[[], object]) -> float:
    """Seconds on the clock."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


class Server:
    """Answers requests with one open store."""

    def __init__(self, name: str) -> None:
        self._library = importlib.import_module(f"on_{name}")
        self._given = GivenVectors()
        self._store: Any = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request, by its `op`."""
        operations: dict[str, Callable[..., dict[str, Any]]] = {
            "open": self._open,
            "load": self._load,
            "finish": lambda: {"seconds": timed(self._store.finish)},
            "remember": self._remember,
            "recall": self._recall,
            "context": self._context,
            "close": self._close,
        }
        return operations[request.pop("op")](**request)

    def _open(self, data: str, store: str, dimension: int) -> dict[str, Any]:
        self._turns, self._writes = (Reader(Path(data, name), dimension) for name in ("turns", "writes"))
        self._questions = Reader(Path(data, "questions"), dimension).next(1_000_000)
        self._store = self._library.open(Path(store), dimension, self._given)
        library = self._library
        said = {"mode": library.MODE, "scope": library.SCOPE, "durable": library.DURABLE, "package": library.PACKAGE}
        return {**said, "version": _version(library.PACKAGE), "context": hasattr(self._store, "context")}

    def _load(self, rows: int, seconds: float) -> dict[str, Any]:
        """Store the next `rows`, batch by batch, until the time is up."""
        loaded, spent = 0, 0.0
        while loaded < rows and spent < seconds:
            batch = self._turns.next(min(self._library.BATCH, rows - loaded))
            self._given.fill(batch)
            spent += timed(lambda batch=batch: self._store.add(batch))  # type: ignore[misc]
            loaded += len(batch)
        return {"rows": loaded, "seconds": spent}

    def _remember(self, count: int) -> dict[str, Any]:
        rows = self._writes.next(count)
        self._given.fill(rows)
        return {"seconds": [timed(lambda row=row: self._store.remember(row)) for row in rows]}  # type: ignore[misc]

    def _recall(self, first: int, count: int, limit: int) -> dict[str, Any]:
        seconds, found = [], []
        for question in self._asked(first, count):
            start = time.perf_counter()
            numbers = self._store.recall(question, limit)
            seconds.append(time.perf_counter() - start)
            found.append([int(number) for number in numbers])
        return {"seconds": seconds, "found": found}

    def _context(self, first: int, count: int) -> dict[str, Any]:
        seconds, characters = [], []
        for question in self._asked(first, count):
            start = time.perf_counter()
            text = self._store.context(question)
            seconds.append(time.perf_counter() - start)
            characters.append(len(text))
        return {"seconds": seconds, "characters": characters}

    def _asked(self, first: int, count: int) -> list[Row]:
        questions = self._questions[first : first + count]
        self._given.fill(questions)
        return questions

    def _close(self) -> dict[str, Any]:
        peak = peak_bytes()
        self._store.close()
        return {"peak_bytes": peak}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # retentive in a source tree
        return "not installed"


def requests(lines: TextIO) -> Iterator[dict[str, Any]]:
    """What is asked, until the other side closes."""
    for line in lines:
        yield json.loads(line)


def main() -> None:
    """Answer until the input ends. What libraries print goes to standard error."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1) as answers:
        os.dup2(2, 1)
        server: Server | None = None
        for request in requests(sys.stdin):
            try:
                server = server or Server(sys.argv[1].replace("-", "_"))
                answer = server.answer(request)
            except Exception as error:  # noqa: BLE001 - whatever a library raises is its answer
                answer = {"error": f"{type(error).__name__}: {error}"}
            answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
