"""Synthetic conversations for the benchmarks: the same rows in every run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMENSION = 256
VOCABULARY = 5_000
WORDS = 20
START = datetime(2025, 1, 1, tzinfo=UTC)


class Rows:
    """`size` turns in sessions of `per_session`, twenty words each drawn by Zipf's law, with clustered unit vectors."""

    def __init__(self, size: int, per_session: int, seed: int = 7) -> None:
        self.size = size
        self.per_session = per_session
        self._random = np.random.default_rng(seed)
        self._topics = self._random.standard_normal((64, DIMENSION)).astype(np.float32)

    def sessions(self) -> list[str]:
        """The names of the sessions."""
        return [f"session-{number}" for number in range((self.size + self.per_session - 1) // self.per_session)]

    def text(self) -> str:
        """Twenty words."""
        ranks = np.minimum(self._random.zipf(1.2, WORDS), VOCABULARY)
        return " ".join(f"word{rank}" for rank in ranks)

    def vector(self) -> NDArray[np.float32]:
        """A unit vector near one of 64 topics."""
        topic = self._topics[self._random.integers(len(self._topics))]
        near = topic + 0.8 * self._random.standard_normal(DIMENSION).astype(np.float32)
        unit: NDArray[np.float32] = near / np.linalg.norm(near)
        return unit

    def items(self) -> Iterator[dict[str, Any]]:
        """What `remember_many` takes."""
        for number in range(self.size):
            yield {
                "text": self.text(),
                "session": f"session-{number // self.per_session}",
                "role": "user" if number % 2 == 0 else "assistant",
                "timestamp": START + timedelta(minutes=number),
                "vector": self.vector(),
            }
