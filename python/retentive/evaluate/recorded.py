"""An embedder that keeps what it made of each question, so that many calls with one question embed it once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from retentive.embedders import EmbedderPair

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from retentive.embedders import Embedder


def recorded(embedder: Embedder | EmbedderPair) -> Recorded | EmbedderPair:
    """Return the embedder recorded, of a pair both."""
    if not isinstance(embedder, EmbedderPair):
        return Recorded(embedder)
    return EmbedderPair(Recorded(embedder.first), Recorded(embedder.second), dense_weights=embedder.dense_weights)


class Recorded:
    """`embedder`, its query vectors kept. `query_seconds` is the time each took, of those that were asked for."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._queries: dict[str, npt.NDArray[np.float32]] = {}
        self.query_seconds: list[float] = []

    @property
    def name(self) -> str:
        """The embedder's."""
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """The embedder's."""
        return self._embedder.dimension

    def embed_documents(self, texts: list[str], /) -> npt.NDArray[np.float32]:
        """Return what the embedder makes of the texts."""
        return self._embedder.embed_documents(texts)

    def embed_query(self, text: str, /) -> npt.NDArray[np.float32]:
        """Return what the embedder makes of the text, or made of it before."""
        vector = self._queries.get(text)
        if vector is None:
            start = time.perf_counter()
            vector = self._queries[text] = self._embedder.embed_query(text)
            self.query_seconds.append(time.perf_counter() - start)
        return vector

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._embedder, attribute)
