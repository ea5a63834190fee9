"""`python -m retentive.evaluate locomo|longmemeval --data FILE`.

Exit code 0; 1 when a peer could not be measured (all else was); 2 for what was asked wrongly; 130 when interrupted.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from retentive import _text_file
from retentive._core import validate_signals
from retentive._errors import InvalidInputError, RetentiveError
from retentive._files import outfile_of_text
from retentive._terminal import INTERRUPTED, complain, run, shown
from retentive.evaluate import locomo, longmemeval
from retentive.evaluate.conversations import DataError
from retentive.evaluate.embedder import embedder_or_pair_for
from retentive.evaluate.measure import measure_runs
from retentive.evaluate.options import PROGRAM, WRITES, UsageError, check, parser
from retentive.evaluate.peers import Peer, measure_peer
from retentive.evaluate.peers.environments import environments_in
from retentive.evaluate.plan import RECENCY, plan, signal_names
from retentive.evaluate.plot import svg
from retentive.evaluate.progress import Progress
from retentive.evaluate.report import figures
from retentive.evaluate.surroundings import describe
from retentive.evaluate.tables import markdown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from retentive.embedders import Embedder, EmbedderPair
    from retentive.evaluate.conversations import Dataset
    from retentive.evaluate.measure import Measured, Run

LOADERS = {"locomo": locomo.load, "longmemeval": longmemeval.load}

PEER_FAILED = 1
USAGE_ERROR = 2


def main(arguments: Sequence[str] | None = None, *, prog: str = PROGRAM) -> int:
    """Run the command line; returns its exit code."""
    try:
        return main_or_interrupted(arguments, prog=prog)
    except KeyboardInterrupt:
        complain(f"{prog}: interrupted")
        return INTERRUPTED


def main_or_interrupted(arguments: Sequence[str] | None, *, prog: str) -> int:
    """Run the command line; returns its exit code. Ctrl-C is the caller's."""
    wanted = parser(sorted(LOADERS), prog)
    options = wanted.parse_args(arguments)
    try:
        return _run(options)
    except (DataError, UsageError, RetentiveError) as error:  # the last of a model, or of data that cannot be stored
        complain(f"{wanted.prog}: {error}")
        return USAGE_ERROR


def _run(options: argparse.Namespace) -> int:
    check(options)
    options.top, options.budget = list(dict.fromkeys(options.top)), list(dict.fromkeys(options.budget))
    embedders = [_embedder(spec, options) for spec in dict.fromkeys(options.embedder)]
    ablate = _ablated(options)
    dataset: Dataset = LOADERS[options.dataset](options.data).first(options.limit)
    if dataset.questions == 0:
        raise DataError(f"{options.data} has no question with labelled turns: there is nothing to measure")
    if options.facts is not None and dataset.facts == 0:
        raise DataError(f"{options.data} has no observation lists: there are no facts to remember")
    runs, compared = plan(
        embedders,
        dict(options.signals),
        options.top,
        options.budget,
        ablate=ablate,
        facts=options.facts is not None,
        protocol=options.dataset == "longmemeval",
    )
    with Progress() as progress:
        measured = measure_runs(dataset, runs, progress)
    peers = _peers(options, dataset, [result for result in measured if _is_base(result.run, compared)])
    _write(options, figures(dataset, measured, describe(options), compared, peers))
    return PEER_FAILED if any(peer.error is not None for peer in peers) else 0


def _embedder(spec: str, options: argparse.Namespace) -> Embedder | EmbedderPair:
    try:
        return embedder_or_pair_for(spec, options.tokenizer)
    except ValueError as error:
        raise UsageError(f"--embedder: {error}") from error


def _ablated(options: argparse.Namespace) -> Sequence[str]:
    signals = signal_names()
    removable = (*signals, RECENCY)
    _known("--signals", [name for name, _ in options.signals], signals)
    try:
        validate_signals(options.signals)
    except InvalidInputError as error:
        raise UsageError(f"--signals: {error}") from error
    _known("--ablate", options.ablate or (), removable)
    return () if options.ablate is None else options.ablate or removable


def _known(option: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise UsageError(f"{option}: there is no signal {name!r}, expected one of {', '.join(known)}")


def _is_base(run: Run, compared: Sequence[tuple[str, str]]) -> bool:
    return run.name not in {name for name, _ in compared}


def _peers(options: argparse.Namespace, dataset: Dataset, bases: Sequence[Measured]) -> list[Peer]:
    peers: list[Peer] = []
    if not options.peer:
        return peers
    with environments_in(options.peer_cache) as folder:
        for name in dict.fromkeys(options.peer):
            for base in bases:
                complain(f"asking {name} with the vectors of {base.run.name}")
                peers.append(measure_peer(name, dataset, base, options.top, options.budget, folder))
    return peers


def _write(options: argparse.Namespace, result: dict[str, Any]) -> None:
    tables = markdown(result)
    drawing = svg(result)
    failures: list[str] = []
    for path, text in (
        (options.markdown, f"{tables}\n"),
        (options.plot, drawing),
        (options.json, json.dumps(result, indent=1, ensure_ascii=False) + "\n"),
    ):
        if path is None or text is None:
            continue
        try:
            _text_file.write(outfile_of_text(path, WRITES), text, path)
        except OSError as error:
            failures.append(f"cannot write {path}: {error.strerror}")
        except InvalidInputError as error:  # it became a collection's meanwhile
            failures.append(str(error))
    print(shown(tables))  # last: whoever reads them may have gone
    if failures:
        raise UsageError("; ".join(failures))


if __name__ == "__main__":
    sys.exit(run(main, PROGRAM))
