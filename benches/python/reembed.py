"""Moving a collection: rows a second against embedding alone, and how long the last transaction takes.

    python benches/python/reembed.py --size 100000

A second process stores memories all the while and tells the longest that one of them took.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from retentive import CallableEmbedder, Collection
from retentive.embedders import StaticEmbedder
from rows import DIMENSION, Rows

WRITER = """
import sys, time
import numpy as np
from retentive import CallableEmbedder, Collection, FingerprintError
embedder = CallableEmbedder("bench", 256, lambda texts: np.ones((len(texts), 256), np.float32))
db = Collection("bench", path=sys.argv[1], embedder=embedder)
times = []
try:
    while True:
        start = time.perf_counter()
        db.remember("written meanwhile", session="meanwhile")
        times.append(time.perf_counter() - start)
        time.sleep(0.02)
except FingerprintError:
    times.append(time.perf_counter() - start)
times.sort()
print(len(times), times[len(times) // 2], times[-1])
"""


def main() -> None:
    """Fill, embed alone, move, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000)
    size = parser.parse_args().size
    rows = Rows(size, 500)
    old = CallableEmbedder("bench", DIMENSION, lambda texts: np.stack([rows.vector() for _ in texts]))
    items = list(rows.items())
    texts = [item["text"] for item in items]
    new = StaticEmbedder()
    new.embed_query("loads the model")
    with tempfile.TemporaryDirectory() as folder:
        db = Collection("bench", path=folder, embedder=old)
        db.remember_many(items)
        alone = embedding_alone(new, texts)
        writer = subprocess.Popen([sys.executable, "-c", WRITER, folder], stdout=subprocess.PIPE, text=True)
        time.sleep(2)
        before = (Path(folder) / "bench.db").stat().st_size
        marks = [time.perf_counter()]
        db.reembed(new, progress=lambda *_: marks.append(time.perf_counter()))
        writes, usual, longest = writer.communicate()[0].split()
        steps = np.diff(marks)
        print(f"{size} memories: {size / alone:.0f} rows/s embedded alone, {size / steps.sum():.0f} rows/s moved")
        print(f"share of the embedding's own speed: {alone / steps.sum():.2f}")
        print(f"a batch of 256: {np.median(steps) * 1e3:.1f} ms; the last one with the swap: {steps[-1]:.2f} s")
        print(
            f"{writes} writes of another process meanwhile: {float(usual) * 1e3:.1f} ms, longest {float(longest):.2f} s"
        )
        print(f"file: {before / 1e6:.0f} MB before, {(Path(folder) / 'bench.db').stat().st_size / 1e6:.0f} MB after")
        db.close()


def embedding_alone(embedder: StaticEmbedder, texts: list[str]) -> float:
    """Seconds to embed all texts in batches of 256."""
    start = time.perf_counter()
    for at in range(0, len(texts), 256):
        embedder.embed_documents(texts[at : at + 256])
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
