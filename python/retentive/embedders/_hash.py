"""Vectors from a hash: no model, the same everywhere. For tests."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING

from retentive._whole import import_whole
from retentive.embedders._callable import checked_dimension

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_WORD = re.compile(r"\w+")
_BLOCK = 4_096  # words whose signs are added up at once: 8 MB at 256 dimensions


class HashEmbedder:
    """A deterministic embedder for tests: texts with words in common are near each other, meaning plays no part.

    Each word (case-folded, in any order) stands for a vector of +1 and -1 made of the bits of its SHAKE-256 hash;
    a text is the sum of its words' vectors at length 1. The bytes are the same on every machine.

    Args:
        dimension: numbers in a vector, default 256.

    Raises:
        ConfigurationError: the dimension is not a positive integer.

    Examples:
        >>> HashEmbedder(8).embed_documents(["one text", "another"]).shape
        (2, 8)
    """

    def __init__(self, dimension: int = 256) -> None:
        self.dimension = checked_dimension(dimension)
        self.name = f"hash-{dimension}"

    def embed_documents(self, texts: list[str]) -> npt.NDArray[np.float32]:
        """Return one row a text, float32 `[len(texts), dimension]`, of length 1."""
        import_whole("numpy")
        import numpy as np

        vectors = np.empty((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self.embed_query(text)
        return vectors

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return float32 `[dimension]` of length 1, also for a text without words."""
        import_whole("numpy")
        import numpy as np

        total = np.zeros(self.dimension, np.int64)
        counts = Counter(_WORD.findall(text.casefold()))
        words = list(counts)
        for start in range(0, len(words), _BLOCK):
            block = words[start : start + _BLOCK]
            times = np.array([counts[word] for word in block], np.int64)
            total += np.einsum("w,wd->d", times, self._signs(block))
        if not total.any():  # no words, or words that cancel out
            total += self._signs([text])[0]
        # Whole numbers up to here and one correctly rounded division after: no machine rounds differently.
        unit: npt.NDArray[np.float32] = (total / np.sqrt(np.float64((total * total).sum()))).astype(np.float32)
        return unit

    def _signs(self, texts: list[str]) -> npt.NDArray[np.int64]:
        import numpy as np

        size = (self.dimension + 7) // 8
        digests = [hashlib.shake_256(text.encode("utf-8", "surrogatepass")).digest(size) for text in texts]
        rows = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, size)
        return np.unpackbits(rows, axis=1, count=self.dimension).astype(np.int64) * 2 - 1

    def __repr__(self) -> str:
        return f"HashEmbedder({self.dimension})"
