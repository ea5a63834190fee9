"""What takes longer than a test run may: kills, faults, damage, fuzzing, reads by the million. Prints how many of each.

Parts run beside each other and do not need each other; each has a limit of time, and all have one seed, which is
printed. A part fails when a test of it does, when it takes too long, or when it ends well without having counted what
it is there to count.

`--only NAME` runs some parts, `--seed` repeats the choices of an earlier run, `--keep FILE` adds up what is run in
pieces. Sizes are environment variables: see CONTRIBUTING.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "rust" / "fuzz"
TESTS = ROOT / "tests"
COUNTED = re.compile(r"^.*?counted (\w+) (\d+)$", re.MULTILINE)
EXECUTED = re.compile(r"^stat::number_of_executed_units:\s+(\d+)$", re.MULTILINE)
TAIL = 20_000  # characters shown of a part that failed


@dataclass(frozen=True)
class Part:
    """One command, what it must count, and how long it may take."""

    name: str
    command: list[str]
    counts: tuple[str, ...]
    limit_s: float
    folder: Path = ROOT
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How a part ended; `failure` is empty when it ended well."""

    name: str
    commit: str
    seed: int
    seconds: float
    counts: dict[str, int]
    failure: str


def parse_counts(output: str) -> Counter[str]:
    """Sum of each `counted WHAT N` line, and of libFuzzer's own figures."""
    counts: Counter[str] = Counter()
    for what, count in COUNTED.findall(output):
        counts[what] += int(count)
    if executed := EXECUTED.findall(output):
        counts["fuzz_inputs"] += sum(map(int, executed))
    return counts


def parts(seed: int, sizes: Mapping[str, str]) -> Iterable[Part]:
    """All parts, the longest first."""

    def size(name: str, default: int) -> int:
        return int(sizes.get(f"RETENTIVE_SOAK_{name}", default))

    def tests(name: str, *patterns: str, counts: tuple[str, ...], limit_s: float, **environment: int) -> Part:
        files = sorted(f"tests/{path.name}" for pattern in patterns for path in TESTS.glob(pattern))
        command = [sys.executable, "-P", "-m", "pytest", "-q", "-s", f"--timeout={limit_s:.0f}"]
        command += [f"--hypothesis-seed={seed}", *files]
        sized = {f"RETENTIVE_SOAK_{key}": str(value) for key, value in environment.items()}
        seeded = {"RETENTIVE_SOAK": "1", "RETENTIVE_SOAK_SEED": str(seed)}
        return Part(name, command, counts, limit_s + 60, environment=seeded | sized)

    def cargo(name: str, *arguments: str, counts: tuple[str, ...], folder: Path = ROOT) -> Part:
        command = ["cargo", "test", "--locked", *arguments, "--", "--nocapture"]
        return Part(name, command, counts, 3_600, folder, {"RETENTIVE_SOAK": "1"})

    damaged, odd = ("damaged_files",), ("test_damage*.py", "test_odd_files.py")
    yield tests("damage", *odd, counts=damaged, limit_s=10_800)
    yield tests("repair", "test_repair.py", counts=damaged, limit_s=5_400)
    reads = size("READS", 1_000_000)
    isolation, checked = "test_isolation_reads.py", ("reads_checked",)
    yield tests("isolation", isolation, counts=checked, limit_s=900 + reads / 200, READS=reads)
    rounds = size("ROUNDS", 1_000)
    yield tests("kill loop", "test_crash.py", counts=("rounds", "kills"), limit_s=600 + 5 * rounds, ROUNDS=rounds)
    calls, hostile = size("ARGUMENTS", 4_000), "test_hostile_*.py"
    yield tests("hostile texts", "test_block_layout.py", counts=("hostile_texts",), limit_s=3_600, TEXTS=calls)
    yield tests("hostile arguments", hostile, counts=("hostile_calls",), limit_s=3_600 + calls, ARGUMENTS=calls)
    sequences, compared = size("SEQUENCES", 400), ("operations_compared",)
    models = ("test_model.py", "test_async_loops.py")
    yield tests("sequences of calls", *models, counts=compared, limit_s=900 + 5 * sequences, SEQUENCES=sequences)
    disk = ("--release", "--package", "retentive-core", "--test", "disk_faults")
    yield cargo("failing disk", *disk, counts=("faults_injected", "power_cuts"))
    thirds, erased = size("THIRDS", 20), ("memories_erased",)
    yield tests("erasure", "test_erasure*.py", counts=erased, limit_s=900 + 60 * thirds, THIRDS=thirds)
    yield tests("processes", "test_processes.py", counts=("turns_compared",), limit_s=1_800)
    yield tests("forks", "test_fork.py", counts=("forks",), limit_s=1_800)
    yield tests("closed streams", "test_closed_streams.py", counts=("streams_closed",), limit_s=1_800)
    yield tests("reader beside writer", "test_latency.py", counts=("reads_checked",), limit_s=1_800)
    yield cargo("fuzz corpus", "--test", "corpus", counts=("fuzz_inputs",), folder=FUZZ)
    yield from fuzz_parts(seed, float(sizes.get("RETENTIVE_FUZZ_SECONDS", "60")))


def fuzz_parts(seed: int, seconds: float) -> Iterable[Part]:
    """The targets under libFuzzer, which needs cargo-fuzz and a nightly compiler; without them only the corpus runs."""
    if shutil.which("cargo-fuzz") is None:
        return
    for target in sorted(path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs")):
        grown = FUZZ / "artifacts" / "grown" / target  # what libFuzzer adds; `corpus` stays as it is kept
        grown.mkdir(parents=True, exist_ok=True)
        command = ["cargo", "+nightly", "fuzz", "run", "--fuzz-dir", ".", target, str(grown), f"corpus/{target}", "--"]
        # A seed of 0 means a random one to libFuzzer.
        limits = [f"-max_total_time={seconds:.0f}", "-timeout=20", "-print_final_stats=1", f"-seed={seed or 1}"]
        yield Part(f"fuzz {target}", [*command, *limits], ("fuzz_inputs",), 1_800 + seconds, FUZZ)


class Soak:
    """The parts that run now, and how the others ended."""

    def __init__(self, seed: int, commit: str, outcomes: Iterable[Outcome] = ()) -> None:
        self.seed = seed
        self.commit = commit
        self.outcomes = list(outcomes)
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()

    def run(self, part: Part) -> Outcome:
        """Run one part to its end or its limit, and say how it ended."""
        began = time.monotonic()
        child = subprocess.Popen(
            part.command,
            cwd=part.folder,
            env=os.environ | part.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        with self._lock:
            self._running.add(child)
        try:
            output, _ = child.communicate(timeout=part.limit_s)
            failure = f"exit code {child.returncode}" if child.returncode else ""
        except subprocess.TimeoutExpired:
            kill(child)
            output, _ = child.communicate()
            failure = f"not done after {part.limit_s:.0f} s"
        counts = parse_counts(output)
        missing = [what for what in part.counts if not counts[what]]
        if missing and not failure:
            failure = f"counted no {', '.join(missing)}"
        with self._lock:
            self._running.discard(child)
            outcome = Outcome(part.name, self.commit, self.seed, time.monotonic() - began, dict(counts), failure)
            self.outcomes.append(outcome)
            if failure:
                print(output[-TAIL:])
            print(f"{part.name}: {failure or 'ok'}, {outcome.seconds:.0f} s", flush=True)
        return outcome

    def run_all(self, chosen: Iterable[Part], jobs: int) -> None:
        """Run the parts, `jobs` of them at a time; Ctrl-C ends them all."""
        with ThreadPoolExecutor(jobs) as pool:
            futures = [pool.submit(self.run, part) for part in chosen]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                with self._lock:
                    for child in self._running:
                        kill(child)
                raise

    def table(self) -> str:
        """What was counted, how long each part took, what failed and how it is repeated."""
        total: Counter[str] = Counter()
        for outcome in self.outcomes:
            total.update(outcome.counts)
        lines = [f"{what.replace('_', ' '):<24}{count:>14,}" for what, count in sorted(total.items())]
        lines.append("")
        lines += [
            f"{one.name:<24}{one.seconds:>12,.0f} s  {one.failure or 'ok'}, of {one.commit}" for one in self.outcomes
        ]
        failed = [one for one in self.outcomes if one.failure]
        lines.append("")
        lines += [f'repeat with: python scripts/soak.py --seed {one.seed} --only "{one.name}"' for one in failed]
        lines.append(f"failures: {len(failed)}")
        return "\n".join(lines)


def kill(child: subprocess.Popen[str]) -> None:
    """End a part and whatever it started."""
    if hasattr(os, "killpg"):
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            return  # it has just ended
    else:
        child.kill()


def commit() -> str:
    """The commit that is tried, and whether files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.stdout.strip() or "unknown"


def read_kept(kept: Path | None) -> list[Outcome]:
    """The outcomes of earlier pieces; the last of each part counts."""
    if kept is None or not kept.exists():
        return []
    lines = kept.read_text(encoding="utf-8").splitlines()
    return list({(one := Outcome(**json.loads(line))).name: one for line in lines}.values())


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="a part by its name; may be repeated")
    parser.add_argument("--seed", type=int, help="of an earlier run, to repeat its choices")
    parser.add_argument("--jobs", type=int, default=2, help="parts that run at a time (%(default)s)")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="add the outcomes to those in FILE, and sum up all")
    parser.add_argument("--list", action="store_true", help="name the parts")
    asked = parser.parse_args(arguments)
    seed = secrets.randbelow(2**31) if asked.seed is None else asked.seed
    available = list(parts(seed, os.environ))
    if unknown := set(asked.only or ()) - {part.name for part in available}:
        parser.error(f"no part {min(unknown)!r}; there are {', '.join(part.name for part in available)}")
    chosen = [part for part in available if not asked.only or part.name in asked.only]
    if asked.list:
        print("\n".join(part.name for part in chosen))
        return 0
    tried = commit()
    print(f"commit {tried}, seed {seed}, {asked.jobs} at a time", flush=True)
    if shutil.which("cargo-fuzz") is None:
        print("no cargo-fuzz (`cargo install cargo-fuzz`, and a nightly compiler): the stable driver runs alone")
    names = {part.name for part in chosen}
    soak = Soak(seed, tried, [one for one in read_kept(asked.keep) if one.name not in names])
    before = len(soak.outcomes)
    try:
        soak.run_all(chosen, asked.jobs)
    finally:
        if asked.keep is not None:
            with asked.keep.open("a", encoding="utf-8") as out:
                out.writelines(json.dumps(asdict(one)) + "\n" for one in soak.outcomes[before:])
    print(soak.table())
    return 1 if any(one.failure for one in soak.outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
