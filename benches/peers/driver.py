"""`make bench-peers`: retentive beside other libraries, each in an environment of its own, in turns in one run.

    python benches/peers/driver.py --environments target/peers
    python benches/peers/driver.py --environments target/peers --sizes 100000 --minutes 60 --out 100000.json

Figures go to a JSON file, tables between the marks of a page, plots into a folder. Exit code 0; 1 when a library could
not be measured (the others were); 2 for what was asked wrongly.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bars
import tables
from conversation import PER_SESSION
from dataset import Dataset, build
from pair import OURS, QUESTIONS, THEIRS, WRITES, WRITES_A_TURN, Limits, Pair, measure
from questions import QUESTIONS as ASKED
from questions import answers
from retentive.evaluate.peers.environments import PeerError, environment, environments_in
from retentive.evaluate.surroundings import commit, machine

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PEERS = ("sqlite-vec", "chroma", "lancedb", "langgraph", "vectrixdb", "mem0")  # the slowest to load comes last
FAILED, USAGE_ERROR = 1, 2
MARKS = ("<!-- peers: begin -->", "<!-- peers: end -->")
_LOAD_SECONDS, _ROWS_A_SECOND = 60, 400  # a peer that loads fewer is stopped
_MEASURE_SECONDS = 12


def requirements(name: str) -> tuple[str, ...]:
    """What is installed for a peer; a figure is of these versions."""
    lines = (HERE / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line.strip())


def load_average() -> float:
    """How many programs wait for a processor; 0 where the system does not say."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else 0.0


def datasets(sizes: Sequence[int], folder: Path) -> list[Dataset]:
    """The texts of each size with vectors of the static model."""
    from retentive.embedders import StaticEmbedder

    model = StaticEmbedder()

    def embed(texts: list[str]) -> NDArray[np.float32]:
        return np.asarray(model.embed_documents(texts), np.float32)

    built = []
    for size in sizes:
        place = folder / str(size)
        place.mkdir()
        print(f"making {size:,} memories", file=sys.stderr, flush=True)
        built.append(build(place, size, WRITES + WRITES_A_TURN, QUESTIONS, embed))
    return built


def run(options: argparse.Namespace, pythons: dict[str, Path | PeerError]) -> dict[str, Any]:
    """All peers at all sizes, small ones first, until the time is up."""
    start, before, measured_commit = time.monotonic(), load_average(), commit()
    with tempfile.TemporaryDirectory(prefix="retentive-bench-", dir=options.scratch) as scratch:
        made = datasets(options.sizes, Path(scratch))
        pairs: dict[str, list[Pair]] = {name: [] for name in options.peers}
        for data in made:
            for name in options.peers:
                left = 60 * options.minutes - (time.monotonic() - start)
                pairs[name] += _pairs(name, pythons[name], data, Path(scratch), left, options.load_seconds)
    peers = [_described(name, pythons[name], pairs[name]) for name in options.peers]
    ours = next((pair.about[OURS] for found in pairs.values() for pair in found if OURS in pair.about), {})
    return {
        "retentive": {"version": ours.get("version"), "commit": measured_commit, **_said(ours)},
        "settings": {"sizes": options.sizes, "per_session": PER_SESSION, "dimension": made[0].dimension},
        "machine": machine(),
        "load_average": [before, load_average()],
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - start),
        "peers": peers,
    }


def _pairs(
    name: str, python: Path | PeerError, data: Dataset, scratch: Path, left: float, load_seconds: float | None
) -> list[Pair]:
    if isinstance(python, PeerError):
        return []
    if left <= 0:
        return [Pair(data.size, stopped="before it began: the time of the whole run was used")]
    print(f"{name}, {data.size:,} memories", file=sys.stderr, flush=True)
    serve = str(HERE / "serve.py")
    commands = {OURS: [sys.executable, serve, "retentive"], THEIRS: [str(python.absolute()), serve, name]}
    limits = Limits(load_seconds or max(_LOAD_SECONDS, data.size / _ROWS_A_SECOND), _MEASURE_SECONDS)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        pair = measure(data, commands, Path(folder), limits)
    for measured, factor in pair.as_json()["factor"].items():
        print(f"  {measured:<9} {factor:8.2f}x", file=sys.stderr)
    for said in [*pair.failures, *([f"stopped {pair.stopped}"] if pair.stopped else [])]:
        print(f"  {said}", file=sys.stderr, flush=True)
    return [pair]


def _described(name: str, python: Path | PeerError, pairs: Sequence[Pair]) -> dict[str, Any]:
    about = next((pair.about[THEIRS] for pair in pairs if THEIRS in pair.about), {})
    return {
        "name": name,
        "requirements": list(requirements(name)),
        "version": about.get("version"),
        "context": about.get("context", False),
        **_said(about),
        "error": str(python) if isinstance(python, PeerError) else None,
        "cases": [pair.as_json() for pair in pairs],
    }


def _said(about: dict[str, Any]) -> dict[str, Any]:
    return {part: about.get(part, "unknown") for part in ("mode", "scope", "durable")}


def prepared(names: Sequence[str], folder: Path) -> dict[str, Path | PeerError]:
    """The Python of each peer's environment, or why there is none."""
    found: dict[str, Path | PeerError] = {}
    for name in names:
        try:
            found[name] = environment(name, requirements(name), folder)
        except PeerError as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            found[name] = error
    return found


def write(result: dict[str, Any], options: argparse.Namespace) -> None:
    """The figures, the plots and the page."""
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    options.plots.mkdir(parents=True, exist_ok=True)
    for question in ASKED:
        found = answers(result, question)
        if found:
            path = options.plots / f"peers-{question.measure}.svg"
            path.write_text(bars.svg(question, found), encoding="utf-8")
    text = tables.markdown(result, os.path.relpath(options.plots, options.page.parent))
    if options.page.is_file():
        options.page.write_text(filled(options.page.read_text(encoding="utf-8"), text), encoding="utf-8")
    print(text)


def filled(page: str, text: str) -> str:
    """The page with `text` between its marks.

    Raises:
        ValueError: it has no marks.
    """
    begin, end = (page.find(mark) for mark in MARKS)
    if not 0 <= begin < end:
        raise ValueError(f"it has no place for figures: expected the lines {MARKS[0]} and {MARKS[1]}")
    return f"{page[: begin + len(MARKS[0])]}\n\n{text}\n{page[end:]}"


def failed(result: dict[str, Any]) -> bool:
    """Whether a library could not be measured. One that was stopped for its time was: as far as it came."""
    return any(peer["error"] or any(case["failures"] for case in peer["cases"]) for peer in result["peers"])


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument(
        "--environments", type=Path, help="where the peers' environments are kept; without it, made anew"
    )
    found.add_argument("--peers", default=",".join(PEERS), help="which, comma separated")
    found.add_argument("--sizes", default="1000,10000", help="numbers of memories, comma separated")
    found.add_argument(
        "--minutes", type=float, default=8, help="no library begins a size after; installing does not count"
    )
    found.add_argument("--load-seconds", type=float, help="a library that loads longer is stopped; else by 400 rows/s")
    found.add_argument("--scratch", type=Path, help="a folder on the disk that is measured, else a temporary one")
    found.add_argument("--out", type=Path, default=ROOT / "benches" / "results" / "peers.json")
    found.add_argument("--plots", type=Path, default=ROOT / "docs" / "plots")
    found.add_argument("--page", type=Path, default=ROOT / "docs" / "benchmarks.md", help="tables go between its marks")
    found.add_argument("--draw", type=Path, help="measure nothing: plots and page from this file of figures")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Install, measure, write; returns the exit code."""
    wanted = parser()
    options = wanted.parse_args(arguments)
    options.peers = list(dict.fromkeys(options.peers.split(",")))
    unknown = [name for name in options.peers if name not in PEERS]
    if unknown:
        wanted.error(f"there is no peer {unknown[0]!r}, expected some of {', '.join(PEERS)}")
    try:
        options.sizes = sorted({int(size) for size in options.sizes.split(",")})
    except ValueError:
        wanted.error(f"--sizes: got {options.sizes!r}, expected whole numbers with commas, as 1000,10000")
    if options.sizes[0] < PER_SESSION:
        wanted.error(f"--sizes: got {options.sizes[0]}, expected at least one session of {PER_SESSION}")
    if options.load_seconds is not None and options.load_seconds <= 0:
        wanted.error(f"--load-seconds: got {options.load_seconds:g}, expected more than 0")
    if options.page.is_file():
        try:
            filled(options.page.read_text(encoding="utf-8"), "")
        except ValueError as error:
            wanted.error(f"--page {options.page}: {error}")
    if options.draw:
        result = json.loads(options.draw.read_text(encoding="utf-8"))
    else:
        with environments_in(options.environments) as folder:
            result = run(options, prepared(options.peers, folder))
    write(result, options)
    return FAILED if failed(result) else 0


if __name__ == "__main__":
    sys.exit(main())
