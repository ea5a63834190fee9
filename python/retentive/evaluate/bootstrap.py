"""Intervals of means, by resampling the questions: what a figure would be with other questions of the same kind."""

from __future__ import annotations

from functools import lru_cache
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

SEED = 20231
RESAMPLES = 2000
COVERED = 0.95


class Mean(NamedTuple):
    """A mean over questions and the interval that 95 % of the resampled means fall into."""

    mean: float
    low: float
    high: float
    questions: int


def mean_of(values: Sequence[float]) -> Mean | None:
    """Return the mean with its percentile bootstrap interval, None of no values. The same values, the same interval.

    Questions are drawn one by one, also where several are asked of one conversation.
    """
    if not values:
        return None
    import numpy as np

    means = _draws(len(values)) @ np.asarray(values, np.float32)
    low, high = np.quantile(means, [(1 - COVERED) / 2, (1 + COVERED) / 2])
    return Mean(fmean(values), float(low), float(high), len(values))


@lru_cache(maxsize=16)
def _draws(count: int) -> npt.NDArray[np.float32]:
    """How often each of `count` questions is drawn, as shares, float32 `[RESAMPLES, count]`."""
    import numpy as np

    draws = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), RESAMPLES)
    return (draws / count).astype(np.float32)
