"""What takes longer than a test run may: kills, faults, fuzzing, sequences of calls. Prints how many of each.

RETENTIVE_SOAK_ROUNDS sets the rounds of the kill loop (1,000), RETENTIVE_SOAK the sequences of random calls (400),
RETENTIVE_FUZZ_SECONDS the seconds of each fuzz target (60).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "rust" / "fuzz"
COUNTED = re.compile(r"counted (\w+) (\d+)")
EXECUTED = re.compile(r"stat::number_of_executed_units:\s+(\d+)")


class Soak:
    """The counts and failures so far."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []

    def run(self, name: str, command: list[str], folder: Path = ROOT, **environment: str) -> None:
        """Run one part; take its counts from what it prints."""
        began = time.monotonic()
        ran = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        for what, count in COUNTED.findall(ran.stdout):
            self.counts[what] += int(count)
        self.counts["fuzz_inputs"] += sum(int(count) for count in EXECUTED.findall(ran.stdout))
        if ran.returncode != 0:
            self.failures.append(name)
            print(ran.stdout[-20_000:])
        print(f"{name}: {'failed' if ran.returncode else 'ok'}, {time.monotonic() - began:.0f} s", flush=True)


def fuzz(soak: Soak) -> None:
    """Give the targets to libFuzzer, or to the stable driver where there is none."""
    seconds = os.environ.get("RETENTIVE_FUZZ_SECONDS", "60")
    for target in sorted(path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs")):
        if shutil.which("cargo-fuzz") is None:
            break
        grown = FUZZ / "artifacts" / "grown" / target
        grown.mkdir(parents=True, exist_ok=True)
        limits = ["--", f"-max_total_time={seconds}", "-timeout=20", "-print_final_stats=1"]
        command = ["cargo", "+nightly", "fuzz", "run", "--fuzz-dir", ".", target, str(grown), f"corpus/{target}"]
        soak.run(f"fuzz {target}", [*command, *limits], FUZZ)
    else:
        return
    print("no cargo-fuzz (`cargo install cargo-fuzz`, and a nightly compiler): the stable driver runs instead")


def main() -> int:
    """Run everything; 1 if anything failed."""
    soak = Soak()
    rounds = os.environ.get("RETENTIVE_SOAK_ROUNDS", "1000")
    sequences = os.environ.get("RETENTIVE_SOAK", "400")
    pytest = [sys.executable, "-P", "-m", "pytest", "-q", "-s"]
    cargo = ["cargo", "test", "--locked", "--release"]
    nocapture = ["--", "--nocapture"]
    soak.run("kill loop", [*pytest, "tests/test_crash.py"], RETENTIVE_SOAK_ROUNDS=rounds)
    soak.run("sequences of calls", [*pytest, "--timeout=1800", "tests/test_model.py"], RETENTIVE_SOAK=sequences)
    soak.run("forks", [*pytest, "tests/test_fork.py"], RETENTIVE_SOAK="1")
    soak.run("reader beside writer", [*pytest, "tests/test_latency.py"], RETENTIVE_SOAK="1")
    core = ["--package", "retentive-core", "--test"]
    soak.run("failing disk", [*cargo, *core, "disk_faults", *nocapture], RETENTIVE_SOAK="1")
    soak.run("fuzz corpus", [*cargo, "--test", "corpus", *nocapture], FUZZ)
    fuzz(soak)
    print(", ".join(f"{what.replace('_', ' ')} {count:,}" for what, count in soak.counts.items() if count))
    print(f"failures: {', '.join(soak.failures) or 'none'}")
    return 1 if soak.failures else 0


if __name__ == "__main__":
    sys.exit(main())
