"""Moving a collection in and out: time against floors of the same run, and peak memory; each step in its own process.

    python benches/python/moving.py --size 100000

The floors: copying the file for the backup; reading all rows with Python's `sqlite3` and writing their bytes for the
export; `remember_many` of the same texts for the import, and for the log of another program.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from retentive import Collection
from retentive.importers import openai_messages
from rows import DIMENSION, Rows

STEPS = (
    "baseline",
    "export",
    "export-vectors",
    "import",
    "import-vectors",
    "import-skip",
    "log",
    "backup",
    "vacuum",
    "copy",
    "rows",
)
WRITER = """
import sys, time
from retentive import Collection
db = Collection("bench", path=sys.argv[1])
slowest, count = 0.0, 0
db.warmup()
while True:
    start = time.perf_counter()
    db.remember("written meanwhile", session="meanwhile")
    count += 1
    slowest = max(slowest, time.perf_counter() - start)
    print(count, slowest, flush=True)
    time.sleep(0.005)
"""


def main() -> None:
    """Fill a collection, run each step in a process of its own, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.step:
        run(options.step, options.folder)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filled = fill(folder, options.size)
        print(f"{options.size} memories of {DIMENSION} dimensions; load average {os.getloadavg()[0]:.0f}")
        print(f"{'remember_many':20} {filled[0]:7.2f} s, of a processor {filled[1]:6.2f} s, the model included")
        print(f"file {(folder / 'bench.db').stat().st_size / 1e6:.0f} MB")
        for step in STEPS:
            subprocess.run([sys.executable, __file__, "--step", step, "--folder", str(folder)], check=True)
        for kind in ("lines", "vectors"):
            with Collection("bench", path=folder / f"into-{kind}") as db:
                db.export(folder / f"{kind}-again.jsonl", vectors=kind == "vectors")
            same = (folder / f"{kind}.jsonl").read_bytes() == (folder / f"{kind}-again.jsonl").read_bytes()
            size = (folder / f"{kind}.jsonl").stat().st_size / 1e6
            print(
                f"{kind}: {size:.0f} MB, exported, imported and exported again {'the same' if same else 'OTHER'} bytes"
            )
        print(meanwhile(folder))


def fill(folder: Path, size: int) -> tuple[float, float]:
    """Seconds to store all, on the clock and of a processor."""
    items = [{key: value for key, value in item.items() if key != "vector"} for item in Rows(size, 500).items()]
    with (folder / "log.json").open("w", encoding="utf-8") as log:
        json.dump([{"role": "user", "content": item["text"]} for item in items], log)
    with Collection("bench", path=folder) as db:
        start, used = time.perf_counter(), time.process_time()
        db.remember_many(items)
        return time.perf_counter() - start, time.process_time() - used


def run(step: str, folder: Path) -> None:
    """Do one step, and print its time and the memory it took."""
    actions: dict[str, Callable[[], object]] = {
        "baseline": lambda: opened(folder, lambda db: db.count()),
        "export": lambda: opened(folder, lambda db: db.export(folder / "lines.jsonl")),
        "export-vectors": lambda: opened(folder, lambda db: db.export(folder / "vectors.jsonl", vectors=True)),
        "import": lambda: imported(folder, "lines"),
        "import-vectors": lambda: imported(folder, "vectors"),
        "import-skip": lambda: opened(folder, lambda db: db.import_(folder / "vectors.jsonl", on_conflict="skip")),
        "log": lambda: logged(folder),
        "backup": lambda: opened(folder, lambda db: db.backup(folder / "backup.db")),
        "vacuum": lambda: vacuumed(folder),
        "copy": lambda: copied(folder),
        "rows": lambda: rows_written(folder),
    }
    start, used = time.perf_counter(), time.process_time()
    actions[step]()
    seconds, used = time.perf_counter() - start, time.process_time() - used
    print(f"{step:20} {seconds:7.2f} s, of a processor {used:6.2f} s, peak memory {peak_mb():4.0f} MB", flush=True)


def peak_mb() -> float:
    """The most memory that this process had; `ru_maxrss` would be that of whoever started it too."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def opened(folder: Path, action: Callable[[Collection], object]) -> None:
    """Run an action on the filled collection."""
    with Collection("bench", path=folder) as db:
        action(db)


def imported(folder: Path, kind: str) -> None:
    """Import into a new collection of the same name, and check that it exports the same."""
    target = folder / f"into-{kind}"
    with Collection("bench", path=target) as db:
        db.import_(folder / f"{kind}.jsonl")


def logged(folder: Path) -> None:
    """Import a chat log of another program with as many messages, one list of JSON, into a new collection."""
    with Collection("log", path=folder / "into-log") as db:
        db.import_items(openai_messages(folder / "log.json"))


def vacuumed(folder: Path) -> None:
    """Copy with VACUUM INTO, as the other way to make a backup."""
    sql = sqlite3.connect(f"file:{folder / 'bench.db'}?mode=ro", uri=True)
    sql.execute("VACUUM INTO ?", (str(folder / "vacuum.db"),))
    sql.close()
    synced(folder / "vacuum.db")


def copied(folder: Path) -> None:
    """Copy the bytes of the file."""
    shutil.copyfile(folder / "bench.db", folder / "copy.db")
    synced(folder / "copy.db")


def rows_written(folder: Path) -> None:
    """Read every row as bytes and write it, without making anything of it."""
    sql = sqlite3.connect(f"file:{folder / 'bench.db'}?mode=ro", uri=True)
    with (folder / "rows").open("wb") as out:
        for head, body in sql.execute("SELECT head, body FROM memory JOIN content USING (seq)"):
            out.write(head + body + b"\n")
    sql.close()


def synced(path: Path) -> None:
    """Bring a file to the disk, as a backup is."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def meanwhile(folder: Path) -> str:
    """Back up and export while another process writes: how many writes it got through, and the slowest."""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    writer.stdout.readline()
    with Collection("bench", path=folder) as db:
        start = time.perf_counter()
        backup = db.backup(folder / "busy.db")
        db.export(folder / "busy.jsonl")
        seconds = time.perf_counter() - start
    writer.kill()
    count, slowest = writer.communicate()[0].splitlines()[-1].split()
    with Collection("busy", path=backup.parent) as copy:
        whole = copy.verify().ok
    return (
        f"backup and export while another process writes: {seconds:.2f} s, {count} writes, the slowest "
        f"{float(slowest) * 1e3:.0f} ms, the backup verified: {whole}"
    )


if __name__ == "__main__":
    main()
