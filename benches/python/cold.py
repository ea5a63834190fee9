"""Cold start: `import retentive`, open, first `context()` of a session of 500 turns with the static model, each alone.

    python benches/python/cold.py --out benches/results/cold.json

Each run is a process of its own. Medians of processor time, which is what a quiet machine waits for, beside that of
starting Python; what the disk takes after a boot is not in them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from retentive import Collection
from rows import Rows
from run import commit, machine

TURNS = 500
RUNS = 9
STARTED = """
import sys, time
marks = [0.0, time.process_time()]
import numpy
marks.append(time.process_time())
import retentive
marks.append(time.process_time())
db = retentive.Collection("bench", path=sys.argv[1])
marks.append(time.process_time())
block = db.context("word1 word2 word3 word77", session="session-0", min_relevance=None)
marks.append(time.process_time())
assert block.retrieved
db.context("word2 word3 word78", session="session-0", min_relevance=None)
marks.append(time.process_time())
print(*(later - earlier for earlier, later in zip(marks, marks[1:])))
"""
PARTS = ("starting Python", "import numpy", "import retentive", "open", "first context", "second context")


def parts(folder: str) -> list[float]:
    """The parts of one start, in seconds of processor time."""
    command = [sys.executable, "-c", STARTED, folder]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(part) for part in answer.stdout.split()]


def main() -> None:
    """Store the session, start anew a few times, print the medians."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--out", type=Path, help="where the figures are kept as JSON")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        db = Collection("bench", path=folder)
        items = Rows(TURNS, TURNS).items()
        db.remember_many({name: value for name, value in item.items() if name != "vector"} for item in items)
        db.close()
        runs = [parts(folder) for _ in range(RUNS)]
    medians = {part: statistics.median(run[at] for run in runs) for at, part in enumerate(PARTS)}
    medians["numpy to the first block"] = statistics.median(sum(run[1:5]) for run in runs)
    for part, took in medians.items():
        print(f"{part:<25} {took * 1e3:>7.1f} ms  {took / medians['starting Python']:>5.1f} x starting Python")
    if options.out:
        report = {"command": " ".join(sys.argv), "commit": commit(), "machine": machine(), "turns": TURNS}
        report["processor_s"] = medians
        options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
