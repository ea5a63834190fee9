"""Bulk writes through the facade: rows a second beside the floor of the same run.

    python benches/python/bulk.py --rows 20000 --out benches/results/bulk.json

With vectors given the floor is Python's sqlite3: `executemany` of rows of the same bytes, 1,000 a durable transaction.
With the static model it is the model's tokenizer on the same texts (`encode_batch`, which uses every core, and
`encode`, which uses one). The two take turns, a slice each; processor time is given too, since cores may be shared.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rows import DIMENSION, Rows
from run import ROW_BYTES, commit, machine

SLICE = 5_000
TRANSACTION = 1_000


class Clock:
    """Wall and processor time of calls, added up."""

    def __init__(self) -> None:
        self.wall = self.processor = 0.0

    def run(self, call: Callable[[], object]) -> None:
        """Add one call."""
        wall, processor = time.perf_counter(), time.process_time()
        call()
        self.wall += time.perf_counter() - wall
        self.processor += time.process_time() - processor

    def rates(self, rows: int) -> dict[str, float]:
        """Rows a second."""
        return {"rows_per_s": rows / self.wall, "rows_per_processor_s": rows / self.processor}


def inserts(base: sqlite3.Connection, count: int) -> None:
    """The floor of writes."""
    body = b"x" * ROW_BYTES
    for start in range(0, count, TRANSACTION):
        base.execute("BEGIN")
        base.executemany("INSERT INTO row (body) VALUES (?)", [(body,)] * min(TRANSACTION, count - start))
        base.execute("COMMIT")


def given(folder: Path, rows: int) -> dict[str, Any]:
    """With vectors given, beside `executemany`."""
    from retentive import CallableEmbedder, Collection

    db = Collection(
        "given", path=folder, embedder=CallableEmbedder("bench", DIMENSION, lambda t: np.ones((len(t), DIMENSION)))
    )
    base = sqlite3.connect(folder / "floor.db", isolation_level=None)
    base.execute("PRAGMA journal_mode=WAL")
    base.execute("PRAGMA synchronous=FULL")
    base.execute("CREATE TABLE row (seq INTEGER PRIMARY KEY, body BLOB)")
    own, floor = Clock(), Clock()
    items = list(Rows(rows, 500).items())
    for start in range(0, rows, SLICE):
        piece = items[start : start + SLICE]
        own.run(lambda piece=piece: db.remember_many(piece))
        floor.run(lambda piece=piece: inserts(base, len(piece)))
    db.close()
    return {"own": own.rates(rows), "executemany": floor.rates(rows), "times_the_floor": own.wall / floor.wall}


def static(folder: Path, rows: int) -> dict[str, Any]:
    """With the model that ships, beside its tokenizer."""
    from tokenizers import Tokenizer

    import retentive
    from retentive import Collection

    model = Path(retentive.__file__).parent / "models" / "static" / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(model))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    db = Collection("static", path=folder)
    db.warmup()
    items = [{name: value for name, value in item.items() if name != "vector"} for item in Rows(rows, 500).items()]
    own, batch, single = Clock(), Clock(), Clock()
    for start in range(0, rows, SLICE):
        piece = items[start : start + SLICE]
        texts = [item["text"] for item in piece]
        own.run(lambda piece=piece: db.remember_many(piece))
        batch.run(lambda texts=texts: tokenizer.encode_batch(texts))
        single.run(lambda texts=texts: [tokenizer.encode(text) for text in texts])
    db.close()
    return {
        "own": own.rates(rows),
        "encode_batch": batch.rates(rows),
        "encode": single.rates(rows),
        "of_encode_batch": batch.wall / own.wall,
        "of_encode": single.wall / own.wall,
    }


def main() -> int:
    """Measures both, and keeps the figures."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, default=20_000)
    arguments.add_argument("--out", type=Path, help="where the figures are kept as JSON")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("RETENTIVE_BENCH_DIR")) as scratch:
        folder = Path(scratch)
        figures = {"given": given(folder, options.rows), "static": static(folder, options.rows)}
    print(json.dumps(figures, indent=1))
    if options.out:
        report = {"command": " ".join(sys.argv), "commit": commit(), "machine": machine(), "rows": options.rows}
        options.out.write_text(json.dumps(report | figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
