"""Measures collections with two models beside those with one.

`python scripts/measure_two_models.py locomo --data FILE A B A+B`

Evidence recall of ten memories and of 1,500 tokens, over all questions and over those whose evidence lies in several
sessions: of LoCoMo, labels of more than one `D<n>`; of LongMemEval, the category `multi-session`. A and B are what
`python -m retentive.evaluate --embedder` takes. `A+B=0.4/0.2` sets the weights. Each text is embedded once a model.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from retentive.embedders import Embedder, EmbedderPair, OnnxEmbedder
from retentive.evaluate import locomo, longmemeval
from retentive.evaluate.embedder import embedder_for
from retentive.evaluate.measure import Run, Settings, measure_runs
from retentive.evaluate.ways import ways

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from retentive.evaluate.conversations import Dataset
    from retentive.evaluate.measure import Outcome

LOADERS = {"locomo": locomo.load, "longmemeval": longmemeval.load}
ROWS = tuple(way for way in ways([10], [1500]) if way.key in {"recall@10", "recall:1500", "context:1500"})


class Kept:
    """A model whose vectors are made once."""

    def __init__(self, embedder: OnnxEmbedder) -> None:
        self._embedder = embedder
        self._parts: dict[str, npt.NDArray[np.float32]] = {}
        self.name, self.dimension = embedder.name, embedder.dimension

    def embed_documents(self, texts: list[str]) -> npt.NDArray[np.float32]:
        """Return one row a text, float32 `[len(texts), dimension]`."""
        return self._embedder.embed_documents(texts)

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return float32 `[dimension]`."""
        return self._embedder.embed_query(text)

    def embed_parts(self, texts: list[str]) -> list[npt.NDArray[np.float32]]:
        """Return the parts of each text, made now or before."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._parts]
        self._parts.update(zip(missing, self._embedder.embed_parts(missing), strict=True))
        return [self._parts[text] for text in texts]

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._embedder, attribute)


def several_sessions(name: str, dataset: Dataset) -> frozenset[str]:
    """Return the questions whose evidence lies in several sessions."""
    questions = [question for talk in dataset.conversations for question in talk.questions]
    if name == "longmemeval":
        return frozenset(question.id for question in questions if question.category == "multi-session")
    return frozenset(
        question.id for question in questions if len({label.partition(":")[0] for label in question.evidence}) > 1
    )


def setting(spec: str, kept: dict[str, Embedder]) -> Settings:
    """Return the settings that a command line's `A`, `A+B` or `A+B=0.4/0.2` stands for."""
    models, _, weights = spec.partition("=")
    names = models.split("+")
    for name in names:
        if name not in kept:
            embedder = embedder_for(name)
            kept[name] = Kept(embedder) if isinstance(embedder, OnnxEmbedder) else embedder
    if len(names) == 1:
        return Settings(kept[names[0]], {})
    shares = [float(weight) for weight in weights.split("/")] if weights else None
    return Settings(EmbedderPair(kept[names[0]], kept[names[1]], dense_weights=shares), {})


def recall_of(outcomes: Sequence[Outcome]) -> float | None:
    """Return the mean share of the labels that were found."""
    return fmean(outcome.found / outcome.labels for outcome in outcomes) if outcomes else None


def figures(outcomes: Sequence[Outcome], several: frozenset[str]) -> Mapping[str, Any]:
    """Return evidence recall by way, of all questions and of those over several sessions."""
    by_way = {way.key: [outcome for outcome in outcomes if outcome.way == way] for way in ROWS}
    return {
        key: {
            "all": recall_of(mine),
            "several_sessions": recall_of([outcome for outcome in mine if outcome.question in several]),
        }
        for key, mine in by_way.items()
    }


def main() -> int:
    """Run the command line; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dataset", choices=sorted(LOADERS))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("embedders", nargs="+")
    options = parser.parse_args()
    dataset = LOADERS[options.dataset](options.data)
    several = several_sessions(options.dataset, dataset)
    kept: dict[str, Embedder] = {}
    runs = [Run(spec, setting(spec, kept), ROWS) for spec in options.embedders]
    result = {
        "file": options.data.name,
        "questions": dataset.questions,
        "several_sessions": len(several),
        "runs": [
            {"name": measured.run.settings.embedder.name, "given": measured.run.name.rpartition("=")[2]}
            | {"evidence_recall": figures(measured.outcomes, several)}
            for measured in measure_runs(dataset, runs)
        ],
    }
    print(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
