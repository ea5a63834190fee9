"""Counts the instructions of the hot paths under callgrind, and fails where one grew by more than a tenth.

    cargo build --release --locked --package retentive-benches
    python scripts/count_instructions.py --programs target/release
    python scripts/count_instructions.py --programs target/release --keep "why the counts changed"

Instructions do not depend on what else the machine does. They depend on its kernels: valgrind shows programs AVX2 and
no AVX-512, so the counts are those of the AVX2 kernel, on any x86-64 machine that has it. Elsewhere, and without
valgrind, nothing is counted, which is said.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KEPT = Path(__file__).parents[1] / "benches" / "instructions.json"
MOST_GROWTH = 1.1
# What is called and how often; the collection has 500 memories, and what is caught up with has as many.
PATHS = {"recall": 20, "context": 20, "search": 20, "remember": 20, "load": 2, "catch_up": 2}
COLLECTED = re.compile(r"Collected : (\d+)")


def count(program: Path, path: str, rounds: int) -> int:
    """Instructions of one call."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}"]
        command += ["--toggle-collect=hot::measured", str(program)]
        command += ["--path", path, "--rounds", str(rounds), "--dir", folder]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = COLLECTED.search(run.stderr)
    if run.returncode or found is None or int(found[1]) == 0:
        raise SystemExit(f"{path} was not counted:\n{run.stderr}")
    return int(found[1]) // rounds


def why_not() -> str | None:
    """What keeps the counts from being comparable here; None: nothing does."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"the counts kept are of x86-64, this is {platform.machine()}"
    info = Path("/proc/cpuinfo")
    if not info.exists() or " avx2 " not in info.read_text(encoding="utf-8"):
        return "the counts kept are of the AVX2 kernel, which this machine does not have"
    return None


def compiler() -> str:
    """The version of rustc, which decides the counts too."""
    return subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.strip()


def compared(counts: dict[str, int]) -> int:
    """Print each count beside the one kept; return how many grew too much."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    if kept["compiler"] != compiler():
        print(f"the counts kept are of {kept['compiler']}, these of {compiler()}")
    grown = 0
    for path, instructions in counts.items():
        before = kept["counts"][path]
        ratio = instructions / before
        too_much = ratio > MOST_GROWTH
        grown += too_much
        print(f"{path:>9} {instructions:>11,} {ratio:>6.2f} x what is kept{'  TOO MUCH' if too_much else ''}")
    if grown:
        print(f'{grown} grew by more than a tenth. Make it cheaper, or keep the counts with --keep "why"')
    return grown


def main() -> int:
    """Count, then compare or keep."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--programs", type=Path, default=Path("target/release"), help="folder of the Rust programs")
    arguments.add_argument("--keep", metavar="NOTE", help="keep these counts, and why they changed")
    options = arguments.parse_args()
    reason = why_not()
    if reason is not None:
        print(f"no instructions are counted: {reason}")
        return 0
    counts = {path: count(options.programs / "hot", path, rounds) for path, rounds in PATHS.items()}
    if options.keep is None:
        return 1 if compared(counts) else 0
    notes = json.loads(KEPT.read_text(encoding="utf-8"))["notes"] if KEPT.exists() else []
    kept = {"compiler": compiler(), "counts": counts, "notes": [*notes, options.keep]}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"kept in {KEPT.name}: {counts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
