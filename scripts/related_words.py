"""Make the table of related words, `rust/core/src/rank/language/english_related.bin`, of the model in the package.

    python scripts/related_words.py

Two words of the model's vocabulary are related where the cosine of their vectors is over 0.5; what is over it is the
weight. The terms are those of the index: a Rust example analyses them, so cargo is needed. The same model gives the
same bytes.
"""

import argparse
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).parents[1]
MODEL = ROOT / "python" / "retentive" / "models" / "static"
TABLE = ROOT / "rust" / "core" / "src" / "rank" / "language" / "english_related.bin"
LEAST = 0.5
_BLOCK = 1_024


def main() -> None:
    """Read the model, relate its words, write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=TABLE, help="file the table is written to")
    arguments = parser.parse_args()

    words, vectors = read_words(MODEL)
    lines = "".join(f"{word}\t{other}\t{weight:.5f}\n" for word, other, weight in related(words, vectors))
    call = ["cargo", "run", "--quiet", "--release", "-p", "retentive-core", "--example", "related_words"]
    table = subprocess.run(call, cwd=ROOT, input=lines.encode(), stdout=subprocess.PIPE, check=True).stdout
    arguments.out.write_bytes(table)
    print(f"{len(words)} words, {lines.count(chr(10))} pairs of words, {len(table)} bytes")


def read_words(folder: Path) -> tuple[list[str], npt.NDArray[np.float32]]:
    """Return the whole words of the vocabulary, of two ASCII letters and more, with their directions."""
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    words = {word: row for word, row in vocabulary.items() if word.isascii() and word.isalpha() and len(word) > 1}
    vectors = np.load(folder / "vectors.npy")[list(words.values())].astype(np.float32)
    return list(words), vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def related(words: list[str], vectors: npt.NDArray[np.float32]) -> Iterator[tuple[str, str, float]]:
    """Yield each word with another one whose cosine is over `LEAST`, and by how much."""
    for start in range(0, len(words), _BLOCK):
        over = vectors[start : start + _BLOCK] @ vectors.T - LEAST
        for row, other in zip(*np.nonzero(over > 0), strict=True):
            if start + row != other:
                yield words[start + row], words[other], float(over[row, other])


if __name__ == "__main__":
    main()
