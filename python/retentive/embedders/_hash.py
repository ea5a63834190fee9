"""Vectors from a hash: no model, the same everywhere. For tests."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from retentive.embedders._callable import checked_dimension

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_WORD = re.compile(r"\w+")


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
        import numpy as np

        vectors = np.empty((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self.embed_query(text)
        return vectors

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return float32 `[dimension]` of length 1, also for a text without words."""
        import numpy as np

        total = np.zeros(self.dimension, np.int64)
        for word in _WORD.findall(text.casefold()):
            total += self._signs(word)
        if not total.any():  # no words, or words that cancel out
            total = self._signs(text)
        # Whole numbers up to here and one correctly rounded division after: no machine rounds differently.
        unit: npt.NDArray[np.float32] = (total / np.sqrt(np.float64((total * total).sum()))).astype(np.float32)
        return unit

    def _signs(self, text: str) -> npt.NDArray[np.int64]:
        import numpy as np

        digest = hashlib.shake_256(text.encode("utf-8", "surrogatepass")).digest((self.dimension + 7) // 8)
        bits = np.unpackbits(np.frombuffer(digest, np.uint8), count=self.dimension)
        return bits.astype(np.int64) * 2 - 1

    def __repr__(self) -> str:
        return f"HashEmbedder({self.dimension})"
