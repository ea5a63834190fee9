"""Print what `compact()` gives back and needs, beside what SQLite's VACUUM does with a copy of the same file.

    python scripts/measure_compact.py [--memories 20000] [--erased 0.5]

Space needed is the most that the log and files without a name took at any moment while it ran, of 2 ms each; times are
ratios to copying the file it leaves with one fsync. Linux only.
"""

import argparse
import os
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from retentive import Collection, HashEmbedder

WORDS = "what was said of the harbour and its cranes on a long grey morning in march before the boats came in".split()  # noqa: SIM905 - words to read
DELETE = (
    "DELETE FROM content WHERE seq NOT IN (SELECT seq FROM memory)",
    "DELETE FROM vector WHERE seq NOT IN (SELECT seq FROM memory)",
)


def main() -> None:
    """Read the arguments, fill, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--erased", type=float, default=0.5, help="the share that is forgotten")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _measure(Path(folder), arguments.memories, arguments.erased)


def _measure(folder: Path, memories: int, erased: float) -> None:
    ways = {"compact()": _compact, "VACUUM": _vacuum, "DELETE and VACUUM": _delete_and_vacuum}
    full, file = _fill(folder, memories, erased)
    print(f"{memories:,} memories, {erased:.0%} of them forgotten; in MB")
    print(f"{'':20}{'before':>9}{'after':>9}{'needed':>9}{'time':>12}")
    print(f"{'nothing':20}{full / 1e6:9.1f}{file.stat().st_size / 1e6:9.1f}")
    for name, way in ways.items():
        copy = folder / f"copy{len(name)}" / file.name
        copy.parent.mkdir()
        shutil.copyfile(file, copy)
        before = copy.stat().st_size
        began = time.perf_counter()
        with _peak(copy.parent) as peak:
            way(copy)
        took, after = time.perf_counter() - began, copy.stat().st_size
        floor = _seconds_to_copy(copy, folder / "floor")
        print(f"{name:20}{before / 1e6:9.1f}{after / 1e6:9.1f}{peak[0] / 1e6:9.1f}{took / floor:10.1f} x")


def _fill(folder: Path, memories: int, erased: float) -> tuple[int, Path]:
    file = folder / "filled.db"
    with Collection("filled", path=folder, embedder=HashEmbedder(256), durability="normal") as db:
        items = (
            {"text": f"{number} " + " ".join(WORDS[number % 5 :]), "session": f"s{number % 40}", "id": f"m{number}"}
            for number in range(memories)
        )
        db.remember_many(items)
        full = int(db.stats()["file_bytes"])
        db.delete([f"m{number}" for number in range(memories) if number % 100 < erased * 100])
    return full, file


def _compact(file: Path) -> None:
    with Collection(file.stem, path=file.parent, embedder=HashEmbedder(256)) as db:
        db.compact()


def _vacuum(file: Path) -> None:
    _run(file, "VACUUM")


def _delete_and_vacuum(file: Path) -> None:
    _run(file, *DELETE, "VACUUM")


def _run(file: Path, *statements: str) -> None:
    sql = sqlite3.connect(file, isolation_level=None)
    sql.execute("PRAGMA synchronous=FULL")
    for statement in statements:
        sql.execute(statement)
    sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sql.close()


def _seconds_to_copy(file: Path, to: Path) -> float:
    def copy() -> float:
        began = time.perf_counter()
        with file.open("rb") as source, to.open("wb") as out:
            shutil.copyfileobj(source, out)
            os.fsync(out.fileno())
        return time.perf_counter() - began

    return min(copy() for _ in range(5))


@contextmanager
def _peak(folder: Path) -> Iterator[list[int]]:
    """The most bytes that this process's logs and nameless files took; only looked at, never opened."""
    most, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            most[0] = max(most[0], sum(_sizes(folder)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield most
    finally:
        done.set()
        watcher.join()


def _sizes(folder: Path) -> Iterator[int]:
    seen: set[int] = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            target, status = str(descriptor.readlink()), descriptor.stat()
        except OSError:  # closed since it was listed
            continue
        log = target.startswith(str(folder)) and target.endswith("-wal")
        if (log or (target.endswith(" (deleted)") and target.startswith("/"))) and status.st_ino not in seen:
            seen.add(status.st_ino)
            yield status.st_blocks * 512


if __name__ == "__main__":
    if sys.platform != "linux":
        raise SystemExit("measure_compact.py looks at /proc, which is Linux's")
    main()
