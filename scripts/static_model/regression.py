"""Token vectors whose mean comes closest to the teacher's vector of a text.

With A the row-normalised token counts of the texts, Y the teacher's vectors (centred, projected on their first
principal components, normalised) and W0 a prior made of the teacher's vectors of single tokens, the result is
W = W0 + D with D = argmin |A (W0 + D) - Y|^2 + ridge |D|^2. Tokens the texts do not hold keep their prior.
"""

# The checks run without what only training needs.
# mypy: disable-error-code="import-untyped, import-not-found"

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

Floats = npt.NDArray[np.float32]

RIDGE = 0.1
STEPS = 40
# The weight of a token falls with its frequency p as a / (a + p): smooth inverse frequency, Arora et al. 2017.
SIF_A = 1e-4
# The vocabulary of BERT is sorted by frequency from this id on; what comes before are specials and single characters.
FIRST_RANKED = 998


@dataclass(frozen=True, slots=True)
class Projection:
    """The first principal components of the teacher's space, one a column."""

    mean: Floats
    components: Floats

    def apply(self, vectors: Floats, mean: Floats | None = None) -> Floats:
        """Return `vectors` centred (on `mean` where given) in the coordinates of the components."""
        centre = self.mean if mean is None else mean
        return np.asarray((vectors - centre) @ self.components, np.float32)


def principal_components(vectors: Floats, count: int) -> Projection:
    """Return the `count` directions of the greatest variance, the greatest first."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    centred = vectors - mean
    _, directions = np.linalg.eigh(centred.T @ centred)
    leading = directions[:, ::-1][:, :count]
    # An eigenvector's sign is arbitrary: fixed here, so that a rerun gives the same bytes.
    largest = np.take_along_axis(leading, np.abs(leading).argmax(axis=0)[None], axis=0)
    return Projection(mean.astype(np.float32), (leading * np.sign(largest)).astype(np.float32))


def normalised(vectors: Floats) -> Floats:
    """Return `vectors` with every row at length 1, rows of zeroes unchanged."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def mean_matrix(sequences: Sequence[Sequence[int]], vocabulary: int) -> csr_array:
    """Return A: one row a text, each token's share of it."""
    lengths = np.array([len(sequence) for sequence in sequences])
    columns = np.concatenate([np.asarray(sequence, np.int32) for sequence in sequences])
    shares = np.repeat(1 / np.maximum(lengths, 1), lengths).astype(np.float32)
    matrix = csr_array((shares, columns, np.concatenate([[0], lengths.cumsum()])), (len(sequences), vocabulary))
    matrix.sum_duplicates()
    return matrix


def prior(token_vectors: Floats, projection: Projection, counts: csr_array, target: Floats) -> Floats:
    """Return W0: the teacher's token vectors, weighted by rarity, scaled so that their means fit `target` best."""
    ids = np.arange(len(token_vectors))
    rank = np.maximum(ids - FIRST_RANKED, 2)
    frequency = 1 / (rank * np.log(len(ids)))
    weights = SIF_A / (SIF_A + frequency)
    centre = token_vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
    start = projection.apply(token_vectors, centre) * weights[:, None].astype(np.float32)
    fitted = counts @ start
    scale = np.vdot(fitted, target) / np.vdot(fitted, fitted)
    return np.asarray(start * scale, np.float32)


def fit(counts: csr_array, target: Floats, start: Floats) -> Floats:
    """Return W0 + D by conjugate gradients on the normal equations, each dimension on its own."""
    transposed = counts.T.tocsr()
    delta = np.zeros_like(start)
    residual = transposed @ (target - counts @ start)
    direction = residual.copy()
    power = _column_dots(residual, residual)
    for _ in range(STEPS):
        curved = transposed @ (counts @ direction) + np.float32(RIDGE) * direction
        step = (power / _column_dots(direction, curved)).astype(np.float32)
        delta += step * direction
        residual -= step * curved
        previous, power = power, _column_dots(residual, residual)
        direction = residual + (power / previous).astype(np.float32) * direction
    return start + delta


def quantise(vectors: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """Return int8 rows and the scale of each: `rows * scale` is `vectors` within half a step."""
    scale = (np.abs(vectors).max(axis=1) / 127).astype(np.float32)
    rows = np.rint(vectors / np.where(scale > 0, scale, 1)[:, None])
    return rows.clip(-127, 127).astype(np.int8), scale


def mean_cosine(counts: csr_array, rows: npt.NDArray[np.int8], scale: Floats, target: Floats) -> float:
    """Return how close the shipped vectors come to the teacher, averaged over the texts."""
    student = normalised(counts @ (rows * scale[:, None]))
    return float(np.einsum("nd,nd->n", student, target).mean())


def _column_dots(left: Floats, right: Floats) -> npt.NDArray[np.float64]:
    dots: npt.NDArray[np.float64] = np.einsum("nd,nd->d", left, right, dtype=np.float64)
    return dots
