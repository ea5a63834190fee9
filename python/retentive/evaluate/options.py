"""The command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from retentive._errors import InvalidInputError
from retentive._files import outfile_of_text
from retentive._terminal import Arguments
from retentive.evaluate.embedder import ACCEPTED
from retentive.evaluate.peers import REQUIREMENTS

PROGRAM = "python -m retentive.evaluate"
WRITES = "figures are text: name a file like 'figures.json'"


class UsageError(ValueError):
    """An option has a value that cannot be used."""


def parser(datasets: list[str], prog: str = PROGRAM) -> argparse.ArgumentParser:
    """Return the parser of `python -m retentive.evaluate`, or of `retentive evaluate`."""
    made = Arguments(
        prog=prog,
        description="How much of the labelled evidence and of the answer's words is in what memory hands back.",
    )
    made.add_argument("dataset", choices=datasets, help="which format the file has")
    made.add_argument("--data", required=True, type=Path, metavar="FILE", help="the data set's JSON file")
    made.add_argument("--limit", type=_positive, metavar="N", help="only the first N questions with labelled evidence")
    _add_what(made)
    _add_where(made)
    return made


def _add_what(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--top", type=_positive, nargs="+", default=[10], metavar="K", help="numbers of memories (default: 10)"
    )
    made.add_argument(
        "--budget", type=_positive, nargs="+", default=[1500], metavar="B", help="token budgets (default: 1500)"
    )
    made.add_argument(
        "--embedder", nargs="+", default=["static"], metavar="NAME", help=f"{ACCEPTED} (default: static); several"
    )
    made.add_argument("--tokenizer", type=Path, metavar="FILE", help="tokenizer.json that token vectors belong to")
    made.add_argument(
        "--signals", type=_signal, nargs="+", default=[], metavar="NAME=WEIGHT", help="weights to change, as role=0"
    )
    made.add_argument(
        "--ablate", nargs="*", metavar="NAME", help="one signal less at a time: those named, or all without a name"
    )
    made.add_argument(
        "--facts",
        choices=["observation"],
        help="LoCoMo: its own notes remembered as facts beside the turns, against turns",
    )
    made.add_argument(
        "--peer",
        nargs="+",
        default=[],
        choices=sorted(REQUIREMENTS),
        metavar="NAME",
        help=f"other libraries with the same texts and vectors: {', '.join(sorted(REQUIREMENTS))}",
    )
    made.add_argument(
        "--peer-cache", type=Path, metavar="FOLDER", help="where their environments are kept (default: thrown away)"
    )


def _add_where(made: argparse.ArgumentParser) -> None:
    made.add_argument("--json", type=Path, metavar="OUT", help="write the raw figures there")
    made.add_argument("--markdown", type=Path, metavar="OUT", help="write the tables there as well")
    made.add_argument("--plot", type=Path, metavar="OUT.svg", help="draw recall against budget, of several budgets")


def check(options: argparse.Namespace) -> None:
    """Find out before the run, not after it, what cannot be done.

    Raises:
        UsageError: an option has a value that cannot be used.
    """
    taken = {options.data.resolve(): "--data"}
    for name in ("json", "markdown", "plot"):
        _check_destination(f"--{name}", getattr(options, name), taken)
    if options.plot is not None and len(set(options.budget)) < 2:
        raise UsageError("--plot: recall is drawn against budgets, expected two or more of --budget")
    if options.facts is not None and options.dataset != "locomo":
        raise UsageError(f"--facts: {options.dataset} has no observation lists, expected locomo")


def _check_destination(option: str, path: Path | None, taken: dict[Path, str]) -> None:
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"{option}: {path} is a folder, expected a file name")
    try:
        outfile_of_text(path, WRITES)
    except (InvalidInputError, OSError) as error:
        raise UsageError(f"{option}: {error}") from error
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{option}: there is no folder {path.parent} to write {path.name} into")
    other = taken.setdefault(path.resolve(), option)
    if other != option:
        raise UsageError(f"{option}: {path} is what {other} names, expected a file of its own")


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
