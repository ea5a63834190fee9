"""`python -m retentive.evaluate locomo|longmemeval --data FILE`: exit code 0, or 2 for what was asked wrongly."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from retentive.evaluate import locomo, longmemeval
from retentive.evaluate.conversations import DataError
from retentive.evaluate.embedder import ACCEPTED, embedder_for
from retentive.evaluate.measure import Settings, measure, ways
from retentive.evaluate.progress import Progress
from retentive.evaluate.report import figures, table
from retentive.evaluate.surroundings import describe

if TYPE_CHECKING:
    from collections.abc import Sequence

LOADERS = {"locomo": locomo.load, "longmemeval": longmemeval.load}

USAGE_ERROR = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return _run(options)
    except (DataError, UsageError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


class UsageError(ValueError):
    """An option has a value that cannot be used."""


def _run(options: argparse.Namespace) -> int:
    destination = _destination(options.json)
    try:
        embedder = embedder_for(options.embedder, options.tokenizer)
    except ValueError as error:
        raise UsageError(f"--embedder: {error}") from error
    settings = Settings(embedder, dict(options.signals))
    dataset = LOADERS[options.dataset](options.data).first(options.limit)
    if dataset.questions == 0:
        raise DataError(f"{options.data} has no question with labelled turns: there is nothing to measure")
    tops, budgets = dict.fromkeys(options.top), dict.fromkeys(options.budget)
    rows = ways(tops, budgets)
    with Progress() as progress:
        outcomes = measure(dataset, rows, settings, progress)
    result = figures(dataset, rows, outcomes, describe(settings, list(tops), list(budgets), options.limit))
    print(table(result))
    if destination is not None:
        destination.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def _destination(path: Path | None) -> Path | None:
    """Find out before the run, not after it, that the figures have nowhere to go."""
    if path is None:
        return None
    if path.is_dir():
        raise UsageError(f"--json: {path} is a folder, expected a file name")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--json: there is no folder {path.parent} to write {path.name} into")
    return path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m retentive.evaluate",
        description="How much of the labelled evidence is in what recall, context and plain search hand back.",
    )
    parser.add_argument("dataset", choices=sorted(LOADERS), help="which format the file has")
    parser.add_argument("--data", required=True, type=Path, metavar="FILE", help="the data set's JSON file")
    parser.add_argument(
        "--limit", type=_positive, metavar="N", help="only the first N questions that have labelled evidence"
    )
    parser.add_argument(
        "--top", type=_positive, nargs="+", default=[10], metavar="K", help="numbers of memories (default: 10)"
    )
    parser.add_argument(
        "--budget", type=_positive, nargs="+", default=[1500], metavar="B", help="token budgets (default: 1500)"
    )
    parser.add_argument("--embedder", default="static", metavar="NAME", help=f"{ACCEPTED} (default: static)")
    parser.add_argument("--tokenizer", type=Path, metavar="FILE", help="tokenizer.json that token vectors belong to")
    parser.add_argument(
        "--signals", type=_signal, nargs="+", default=[], metavar="NAME=WEIGHT", help="weights to change, as role=0"
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the raw figures there")
    return parser


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number


def _signal(text: str) -> tuple[str, float]:
    name, separator, weight = text.partition("=")
    try:
        return (name, float(weight)) if name and separator else _refuse_signal(text)
    except ValueError:
        return _refuse_signal(text)


def _refuse_signal(text: str) -> tuple[str, float]:
    raise argparse.ArgumentTypeError(f"{text!r} is not NAME=WEIGHT, as role=0.2")


if __name__ == "__main__":
    sys.exit(main())
