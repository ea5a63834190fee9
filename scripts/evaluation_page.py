"""Measure everything that docs/evaluation.md shows, and write it there, between its two marks, with the plots beside.

    python scripts/evaluation_page.py --data ../shared/data --model ../shared/models/bge-small-en-v1.5-int8 --peers

The folder has the data sets under the names of SETS. `--keep FOLDER` keeps the raw figures, and what is there is
not measured again.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from retentive.evaluate.peers import REQUIREMENTS
from retentive.evaluate.tables import NOTHING, grid, points, with_interval
from tracked import ROOT

PAGE = ROOT / "docs" / "evaluation.md"
PLOTS = ROOT / "docs" / "plots"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

SETS = {
    "LoCoMo": ("locomo", "locomo-dev.json"),
    "LongMemEval oracle": ("longmemeval", "longmemeval-oracle-dev.json"),
    "LongMemEval S": ("longmemeval", "longmemeval-s-dev.json"),
}
BUDGETS = (250, 380, 500, 800, 1000, 1500, 2000, 4000)
FEW = (380, 1500)
CURVES = {"context": "retentive", "search": "plain search", "cosine": "exact cosine"}
BLOCKS = {
    "context": "whole turns",
    "excerpts": "excerpts",
    "defaults_whole": "defaults, whole turns",
    "defaults": "defaults",
    "search": "plain search",
}
MEASURES = ("evidence_recall", "answer_words", "answers_wholly")
WORDS = {"answer_words": "short", "answer_words_of_any_length": "any length", "answers_wholly": "wholly"}

Result = dict[str, Any]


class Figures:
    """Runs the command for each set and keeps what it wrote."""

    def __init__(self, data: Path, folder: Path) -> None:
        self._data = data
        self._folder = folder
        self.commands: list[str] = []

    def of(self, name: str, part: str, *options: str, plot: bool = False) -> Result:
        """Return the figures of a set, measured with more options; `part` names the file that keeps them."""
        dataset, file = SETS[name]
        out = self._folder / f"{Path(file).stem}-{part}.json"
        shown = [Path(option).name if "/" in option else option for option in options]
        self.commands.append(f"python -m retentive.evaluate {dataset} --data {file} {' '.join(shown)}")
        if not out.is_file():
            command = [sys.executable, "-m", "retentive.evaluate", dataset, "--data", str(self._data / file), *options]
            drawing = ["--plot", str(PLOTS / f"{Path(file).stem}.svg")] if plot else []
            done = subprocess.run([*command, *drawing, "--json", str(out)], stdout=subprocess.DEVNULL, check=False)
            if done.returncode not in {0, 1}:  # 1: a peer failed, and the figures say so
                raise SystemExit(f"{' '.join(command)} exited with {done.returncode}")
        result: Result = json.loads(out.read_text(encoding="utf-8"))
        return result


def main() -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="where the data sets are")
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="an ONNX model to measure beside the static one")
    parser.add_argument("--peers", action="store_true", help="ask the other libraries as well")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the raw figures there, and use those")
    options = parser.parse_args()
    PLOTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="retentive-figures-") as temporary:
        folder = Path(temporary) if options.keep is None else options.keep
        folder.mkdir(parents=True, exist_ok=True)
        lines = list(page(Figures(options.data, folder), options))
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text("\n".join([f"{before}{BEGIN}", "", *lines, "", f"{END}{after}"]), encoding="utf-8")
    return 0


def page(figures: Figures, options: argparse.Namespace) -> Iterator[str]:
    """Everything between the marks."""
    budgets = [str(budget) for budget in BUDGETS]
    main_of = {
        name: figures.of(
            name,
            "curve",
            "--budget",
            *budgets,
            *(["--facts", "observation"] if dataset == "locomo" else []),
            plot=True,
        )
        for name, (dataset, _) in SETS.items()
    }
    few = [str(budget) for budget in FEW]
    less_of = {name: figures.of(name, "ablate", "--budget", *few, "--ablate") for name in SETS}
    yield from head(main_of["LoCoMo"])
    yield from defaults(main_of)
    yield from curves(main_of)
    yield from excerpts(main_of)
    yield from facts(main_of["LoCoMo"])
    yield from ablations(less_of)
    yield from protocol(main_of)
    if options.model is not None:
        model = {name: figures.of(name, "model", "--budget", *few, "--embedder", str(options.model)) for name in SETS}
        yield from models(main_of, model)
    if options.peers:
        yield from peers(figures.of("LoCoMo", "peers", "--budget", *few, "--peer", *REQUIREMENTS))
    yield from ["", "### The commands", "", "```sh", *figures.commands, "```"]


def head(result: Result) -> Iterator[str]:
    """What the figures depend on."""
    machine, retentive = result["machine"], result["retentive"]
    commit = (retentive["commit"] or "unknown")[:12]
    yield (
        f"retentive {retentive['version']}, commit {commit}, {result['measured'][:10]}; {machine['cpu']}, "
        f"{machine['cores']} cores, Python {machine['python']}, {machine['system']}. Static model unless said. "
        "In brackets the 95 % interval over questions."
    )


def row_of(run: Result, key: str) -> Result:
    """The row of a run."""
    row: Result = next(row for row in run["rows"] if row["key"] == key)
    return row


def titled(result: Result, name: str) -> str:
    """A set's name with its number of questions."""
    return f"{name} ({result['dataset']['questions']:,} questions)"


def defaults(of: dict[str, Result]) -> Iterator[str]:
    """The two default calls."""
    yield from ["", "### The default calls", ""]
    body = []
    for name, result in of.items():
        for call in ("recall", "context"):
            row = row_of(result["runs"][0], f"{call}-default")
            cells = [*(with_interval(row[measure]) for measure in MEASURES), f"{row['tokens']['mean']:,.0f}"]
            body.append([titled(result, name), call, *cells, f"{row['empty']['mean']:.3f}"])
    yield from grid(["set", "call", "evidence", "answer words", "answers wholly", "tokens", "nothing"], body)


def curves(of: dict[str, Result]) -> Iterator[str]:
    """Evidence at ten memories and at each budget, beside the baselines."""
    yield from ["", "### Evidence, of ten memories (`recall`) and by budget (`context`, whole turns)", ""]
    body = []
    for name, result in of.items():
        run = result["runs"][0]
        for call, label in CURVES.items():
            top = row_of(run, f"{'recall' if call == 'context' else call}@10")
            cells = [with_interval(row_of(run, f"{call}:{budget}")["evidence_recall"]) for budget in BUDGETS]
            body.append([titled(result, name), label, with_interval(top["evidence_recall"]), *cells])
    yield from grid(["set", "call", "10 memories", *(f"{budget:,}" for budget in BUDGETS)], body)
    for name, (_, file) in SETS.items():
        yield from ["", f"![{name}: evidence recall against the budget](plots/{Path(file).stem}.svg)"]


def excerpts(of: dict[str, Result]) -> Iterator[str]:
    """Whole turns against excerpts, by the answer's words."""
    yield from ["", "### The answer's words in the block: of short answers, of answers of any length, and wholly", ""]
    body = []
    for name, result in of.items():
        run = result["runs"][0]
        for call, label in BLOCKS.items():
            rows = [row_of(run, f"{call}:{budget}") for budget in (380, 800, 1500)]
            body.append([name, label, *(with_interval(row[measure]) for measure in WORDS for row in rows)])
    sizes = [f"{measure}, {budget:,}" for measure in WORDS.values() for budget in (380, 800, 1500)]
    yield from grid(["set", "block", *sizes], body)


def facts(result: Result) -> Iterator[str]:
    """LoCoMo's observations beside the turns."""
    comparison = next(item for item in result["comparisons"] if item["run"].endswith(" with facts"))
    yield from ["", "### Facts beside turns (LoCoMo's observations), points against turns alone", ""]
    calls = ("context", "recall", "search")
    keys = ["recall@10", "search@10", *(f"{call}:{budget}" for budget in FEW for call in calls)]
    rows = [row_of(comparison, key) for key in keys]
    yield from grid(
        ["row", "evidence", "answer words", "answers wholly"],
        [[row["key"], *(points(row[measure]) for measure in MEASURES)] for row in rows],
    )


def ablations(of: dict[str, Result]) -> Iterator[str]:
    """One signal less at a time."""
    yield from ["", "### One signal less, points of evidence", ""]
    keys = ("recall@10", "context:380", "context:1500")
    names = [item["run"].rpartition(" without ")[2] for item in of["LoCoMo"]["comparisons"]]
    body = []
    for index, name in enumerate(names):
        found = [row_of(result["comparisons"][index], key)["evidence_recall"] for result in of.values() for key in keys]
        body.append([name, *(points(mean) for mean in found)])
    yield from grid(["without", *(f"{name.split()[-1]} {key}" for name in of for key in keys)], body)


def protocol(of: dict[str, Result]) -> Iterator[str]:
    """LongMemEval's own metrics."""
    yield from ["", "### LongMemEval by its own protocol", ""]
    calls = ("recall", "search", "cosine")
    found = {name: result["runs"][0]["protocol"]["rows"] for name, result in of.items() if name != "LoCoMo"}
    metrics = list(next(iter(found.values()))["recall"])
    yield from grid(
        ["metric", *(f"{name.split()[-1]} {call}" for name in found for call in calls)],
        [
            [metric, *(f"{rows[call][metric]['mean']:.3f}" for rows in found.values() for call in calls)]
            for metric in metrics
        ],
    )


def models(static: dict[str, Result], other: dict[str, Result]) -> Iterator[str]:
    """Another embedder beside the static one."""
    yield from ["", "### Another model", ""]
    keys = (
        "recall@10",
        "search@10",
        "cosine@10",
        *(f"{call}:{size}" for size in FEW for call in ("context", "search")),
    )
    body = [
        [name, run["embedder"]["name"], *(with_interval(row_of(run, key)["evidence_recall"]) for key in keys)]
        for name in SETS
        for run in (static[name]["runs"][0], other[name]["runs"][0])
    ]
    yield from grid(["set", "embedder", *keys], body)


def peers(result: Result) -> Iterator[str]:
    """The other libraries."""
    yield from ["", "### Other libraries, LoCoMo, the same texts and vectors", ""]
    run = result["runs"][0]
    sizes = ("@10", *(f":{budget}" for budget in FEW))
    asked = [peer for peer in result["peers"] if peer["error"] is None]
    calls = [*(("recall", "retentive, recall"), ("search", "retentive, plain search"), ("cosine", "exact cosine"))]
    calls += [(peer["call"], peer["call"]) for peer in asked]
    body = [
        [label, *(with_interval(row_of(run, call + size)["evidence_recall"]) for size in sizes)]
        for call, label in calls
    ]
    body += [[f"{peer['name']}: {peer['error']}", *[NOTHING] * len(sizes)] for peer in result["peers"] if peer["error"]]
    yield from grid(["library", "10 memories", *(f"{budget:,} tokens" for budget in FEW)], body)


if __name__ == "__main__":
    sys.exit(main())
