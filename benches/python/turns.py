"""Two builds of the programs of `benches/` in turns on the same collections: what a change gained.

    python benches/python/turns.py --before OLD/release --after NEW/release --out benches/results/turns.json
    python benches/python/turns.py --before OLD/release --after NEW/release --first scale/data/scale.db --sessions 2000

Each round takes the floors, the program before and the program after, one beside the other. Figures are medians of the
rounds, ratios those of each round. `--first` compares first recalls of a collection that `scale.py` made instead.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from rows import Rows
from run import KnownVectors, build, commit, machine


def told(program: Path, *arguments: object) -> dict[str, Any]:
    """What a program prints."""
    command = [str(program), *map(str, arguments)]
    answer: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return answer


def calls(options: argparse.Namespace, size: int, folder: Path) -> dict[str, Any]:
    """Recalls and contexts of sessions in turns, in microseconds and in floors."""
    rows = Rows(size, min(options.per_session, size))
    sessions = len(rows.sessions())
    db, _ = build(rows, folder / "made", KnownVectors(rows))
    db.close()
    taken: list[dict[str, float]] = []
    for _ in range(options.rounds):
        one: dict[str, float] = {}
        for name, count in (("floor", sessions), ("floor_of_one", 1)):
            with tempfile.TemporaryDirectory(dir=folder) as inner:
                floors = ("--dir", inner, "--rows", rows.per_session, "--sessions", count)
                one[name] = told(options.after / "floors", *floors)["read_us"]
        for name, programs in (("before", options.before), ("after", options.after)):
            with tempfile.TemporaryDirectory(dir=folder) as inner:
                file = shutil.copy(folder / "made" / "bench.db", inner)
                figures = told(programs / "core", "--file", file, "--sessions", sessions)
            one |= {f"{name}_recall": figures["recall"], f"{name}_context": figures["context"]}
        taken.append(one)
    figures = {name: round(median(one[name] for one in taken), 1) for name in taken[0]}
    for name in [name for name in taken[0] if "_recall" in name or "_context" in name]:
        for floor in ("floor", "floor_of_one"):
            figures[f"{name}_by_{floor}"] = round(median(one[name] / one[floor] for one in taken), 2)
    return {"memories": size, "per_session": rows.per_session, "microseconds_and_ratios": figures}


def first(options: argparse.Namespace) -> dict[str, Any]:
    """First recalls of sessions that were not read yet, in milliseconds."""
    taken: dict[str, list[dict[str, Any]]] = {"before": [], "after": []}
    for seed in range(options.rounds):
        for name, figures in taken.items():
            arguments = ("--file", options.first, "--sessions", options.sessions, "--seed", seed + 1, "--reads", 200)
            figures.append(told(getattr(options, name) / "first", *arguments))
    return {"sessions": options.sessions, "rounds": taken}


def main() -> int:
    """Measures, and keeps the figures."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--before", type=Path, required=True, help="folder of the Rust programs before a change")
    arguments.add_argument("--after", type=Path, required=True, help="and after it")
    arguments.add_argument("--sizes", default="1000,10000,100000", help="numbers of memories, comma separated")
    arguments.add_argument("--per-session", type=int, default=500)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--first", type=Path, help="a collection whose sessions are called session-0 and so on")
    arguments.add_argument("--sessions", type=int, default=1, help="how many it has")
    arguments.add_argument("--out", type=Path, help="where the figures are kept as JSON")
    options = arguments.parse_args()
    report: dict[str, Any] = {"command": " ".join(sys.argv), "commit": commit(), "machine": machine()}
    report["load_average"] = os.getloadavg()
    if options.first:
        report["first"] = first(options)
        print(json.dumps(report["first"]))
    else:
        report["cases"] = []
        for size in (int(size) for size in options.sizes.split(",")):
            with tempfile.TemporaryDirectory(dir=os.environ.get("RETENTIVE_BENCH_DIR")) as folder:
                report["cases"].append(calls(options, size, Path(folder)))
            print(json.dumps(report["cases"][-1]), flush=True)
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
