"""`make bench`: remember, recall and context against the floors of a read and a write, in one run.

    python benches/python/run.py --programs target/release --sizes 1000,10000,100000 --out benches/results/first.json
    python benches/python/run.py --sizes 1000000 --per-session 500    (2 GB of disk, see RETENTIVE_BENCH_DIR)

Each case (a size and a layout) runs in a process of its own, so that its peak memory is its own. Figures are medians;
quote the ratios, since the machine's speed drifts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import floors
from rows import DIMENSION, Rows

QUERIES = 200
WRITES = 200
THREADS = 16
SPELL = 0.3  # seconds that threads are counted for
LARGE = 1_000_000  # from here on ranking everything takes seconds
ROW_BYTES = 1_900  # what a memory of these rows takes on disk


def folder_bytes(folder: Path) -> int:
    """What the collection's files take on disk."""
    return sum(file.stat().st_size for file in folder.iterdir())


def build(rows: Rows, folder: Path, vectors: dict[str, NDArray[np.float32]]) -> tuple[Any, float]:
    """The collection, filled in bulk with the vectors given, and rows a second."""
    from retentive import CallableEmbedder, Collection

    embedder = CallableEmbedder("bench", DIMENSION, lambda texts: np.stack([vectors[text] for text in texts]))
    db = Collection("bench", path=folder, embedder=embedder)
    start = time.perf_counter()
    db.remember_many(rows.items())
    return db, rows.size / (time.perf_counter() - start)


class KnownVectors(dict[str, "NDArray[np.float32]"]):
    """A vector for every text, drawn once: embedding costs a look-up, so that the store is what is measured."""

    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self._rows = rows

    def __missing__(self, text: str) -> NDArray[np.float32]:
        self[text] = self._rows.vector()
        return self[text]


def measure_facade(db: Any, rows: Rows, vectors: KnownVectors, folder: Path) -> dict[str, float]:
    """Medians through the facade in microseconds, and the floor of a write beside its own."""
    sessions = rows.sessions()
    queries = [rows.text() for _ in range(QUERIES)]
    writes = [rows.text() for _ in range(WRITES)]
    for text in queries + writes:
        vectors[text] = rows.vector()
    picked = [sessions[number % len(sessions)] for number in range(QUERIES)]
    for session in dict.fromkeys(picked):
        db.recall(queries[0], session=session, min_relevance=None)
    recall = floors.median_us(lambda run: db.recall(queries[run], session=picked[run], min_relevance=None), QUERIES)
    context = floors.median_us(lambda run: db.context(queries[run], session=picked[run], min_relevance=None), QUERIES)
    remember, floor = floors.write_beside(
        folder, ROW_BYTES, lambda run: db.remember(writes[run], session=picked[run]), WRITES
    )
    return {"recall": recall, "context": context, "remember": remember, "write_floor": floor}


def case(size: int, per_session: int, programs: Path) -> dict[str, Any]:
    """All figures of one size and layout."""
    rows = Rows(size, min(per_session, size))
    vectors = KnownVectors(rows)
    with tempfile.TemporaryDirectory(dir=os.environ.get("RETENTIVE_BENCH_DIR")) as scratch:
        folder = Path(scratch, "data")
        db, bulk = build(rows, folder, vectors)
        facade = measure_facade(db, rows, vectors, Path(scratch))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        facade_threads = measure_facade_threads(db, rows, vectors)
        db.close()
        on_disk = folder_bytes(folder)
        floor = floors.measure(Path(scratch), programs, rows.per_session, len(rows.sessions()))
        core = measure_core(programs, folder, rows)
        threads = measure_threads(programs, folder, rows)
        everything = measure_everything(programs, folder, rows) if size > rows.per_session else None
    return {
        "memories": size,
        "per_session": rows.per_session,
        "floor_us": floor,
        "core_us": core,
        "facade_us": facade,
        "ratio": ratios(core, facade, floor),
        "threads": threads | {"facade_times_one_thread": facade_threads},
        "everything": everything,
        "bulk_rows_per_s": bulk,
        "disk_bytes_per_1000": on_disk * 1000 // size,
        "peak_memory_bytes": peak,
    }


def measure_core(programs: Path, folder: Path, rows: Rows) -> dict[str, float]:
    """Medians of the same calls in Rust on the same file, in microseconds."""
    command = [str(programs / "core"), "--file", str(folder / "bench.db"), "--sessions", str(len(rows.sessions()))]
    measured: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return measured


def measure_threads(programs: Path, folder: Path, rows: Rows) -> dict[str, Any]:
    """Sixteen threads beside one, and reads beside writes, in Rust on the same file."""
    command = [str(programs / "threads"), "--file", str(folder / "bench.db"), "--sessions", str(len(rows.sessions()))]
    measured: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return measured


def measure_facade_threads(db: Any, rows: Rows, vectors: KnownVectors) -> float:
    """Recalls a second in sixteen threads, as many times those of one; the median of turns."""
    sessions = rows.sessions()
    queries = [rows.text() for _ in range(QUERIES)]
    for text in queries:
        vectors[text] = rows.vector()

    def rate(threads: int) -> float:
        until = time.perf_counter() + SPELL

        def work(first: int) -> int:
            calls = 0
            while time.perf_counter() < until:
                number = (7 * first + calls) % QUERIES
                db.recall(queries[number], session=sessions[number % len(sessions)], min_relevance=None)
                calls += 1
            return calls

        with ThreadPoolExecutor(threads) as pool:
            return sum(pool.map(work, range(threads)))

    rate(1)
    return float(np.median([rate(THREADS) / rate(1) for _ in range(5)]))


def measure_everything(programs: Path, folder: Path, rows: Rows) -> dict[str, float]:
    """A recall over all the sessions beside a bare 1-bit scan of as many vectors, and beside ranking everything."""
    command = [str(programs / "million"), "--file", str(folder / "bench.db"), "--name", "bench"]
    command += ["--sessions", str(len(rows.sessions())), "--memories", str(rows.size)]
    command += ["--compared", str(20 if rows.size < LARGE else 8)]
    measured: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    numpy_us = floors.scan_floor(rows.size)
    measured["scan_numpy_processor_us"] = numpy_us
    fastest = min(measured["scan_processor_us"], numpy_us)
    measured["ratio_processor"] = measured["recall_processor_us"] / fastest
    return measured


def ratios(core: dict[str, float], facade: dict[str, float], floor: dict[str, float]) -> dict[str, float]:
    """How many floors each call costs; a write is measured against the floor taken in turns with it."""
    table = {}
    for layer, figures in (("core", core), ("facade", facade)):
        for call in ("recall", "context"):
            table[f"{layer} {call}"] = round(figures[call] / floor["read"], 2)
            table[f"{layer} {call}, floor of one session"] = round(figures[call] / floor["read_one"], 2)
        table[f"{layer} remember"] = round(figures["remember"] / figures["write_floor"], 2)
    return table


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    model = "unknown"
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    return {"cpu": model, "cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}


def commit() -> str:
    """The commit that is measured, or `unknown` outside a checkout."""
    answer = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


def print_case(figures: dict[str, Any]) -> None:
    """One line a case."""
    ratio = "  ".join(f"{name} {value:g}x" for name, value in figures["ratio"].items())
    threads = figures["threads"]
    ratio += f"; 16 threads: core {threads['times_one_thread']:.2f} x one"
    ratio += f" ({threads['times_one_thread_by_processor_time']:.2f} x by processor time)"
    ratio += f", facade {threads['facade_times_one_thread']:.2f} x; a read beside writes "
    ratio += f"{threads['read_us']['beside_writes']:.0f} us, a write {threads['write_us']:.0f} us"
    print(
        f"{figures['memories']:>8,} memories, {figures['per_session']:>7,} a session: {ratio}; "
        f"bulk {figures['bulk_rows_per_s']:,.0f} rows/s, {figures['disk_bytes_per_1000'] / 1e6:.2f} MB a 1,000, "
        f"peak {figures['peak_memory_bytes'] / 1e6:.0f} MB",
        flush=True,
    )
    if everything := figures["everything"]:
        print(
            f"{'':>8} over all sessions: {everything['ratio_processor']:.1f}x a bare 1-bit scan (numpy's "
            f"{everything['scan_numpy_processor_us'] / everything['scan_processor_us']:.1f}x; everything ranked "
            f"{everything['ratio_everything']:.0f}x), recall@10 {everything['recall_at_10']:.3f}",
            flush=True,
        )


def main() -> int:
    """Runs every case in its own process and keeps the figures."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--programs", type=Path, default=Path("target/release"), help="folder of the Rust programs")
    arguments.add_argument("--sizes", default="1000,10000,100000", help="numbers of memories, comma separated")
    arguments.add_argument("--per-session", default="500,all", help="memories a session, comma separated")
    arguments.add_argument("--out", type=Path, help="where the figures are kept as JSON")
    arguments.add_argument("--case", nargs=2, type=int, metavar=("SIZE", "PER_SESSION"), help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.case:
        print(json.dumps(case(*options.case, options.programs)))
        return 0
    cases = []
    for size in (int(size) for size in options.sizes.split(",")):
        for per_session in options.per_session.split(","):
            command = [sys.executable, __file__, "--programs", str(options.programs)]
            command += ["--case", str(size), str(size) if per_session == "all" else per_session]
            answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            cases.append(json.loads(answer.stdout))
            print_case(cases[-1])
    report = {"command": " ".join(sys.argv), "commit": commit(), "machine": machine(), "cases": cases}
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        print(f"kept in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
