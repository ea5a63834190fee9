"""Vectors that the caller made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from retentive._core import checked_vectors
from retentive._errors import DimensionError, InvalidInputError
from retentive._give_way import giving_way, pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]


def given_vector(value: Any, name: str = "vector") -> Vector:
    """Return a copy of one vector as contiguous float32 `[d]`: the caller may fill the same array again.

    Raises:
        InvalidInputError: not numbers, another shape, empty, not finite in float32, or all zeroes.
    """
    copied: Vector | None = checked_vectors(value)
    if copied is not None and copied.ndim == 1:
        return copied
    import numpy as np

    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} is {type(value).__name__}, expected numbers of shape [d]") from error
    if array.dtype.kind not in "fiu":
        raise InvalidInputError(f"{name} has the type {array.dtype}, expected real numbers")
    if array.ndim != 1 or not array.size:
        raise InvalidInputError(f"{name} has the shape {array.shape}, expected [d] with d of at least 1")
    vector = np.array(array, order="C") if array.dtype == np.float32 else _narrowed(array)
    if not np.isfinite(vector).all():
        raise InvalidInputError(f"{name} is not finite in float32; it has NaN, infinity or a number beyond 3.4e38")
    if not vector.any():
        raise InvalidInputError(f"{name} is all zeroes, which has no direction; expected at least one other number")
    return vector


def _narrowed(array: npt.NDArray[Any]) -> Vector:
    import numpy as np

    with np.errstate(over="ignore"):  # what overflows is infinite, and refused with the rest
        return np.array(array, dtype=np.float32, order="C")


def given_vectors(values: Any, count: int, name: str = "vectors") -> list[Vector]:
    """Return `count` vectors of one dimension, each float32 `[d]`.

    Raises:
        InvalidInputError: another number of them, or as for `given_vector`.
        DimensionError: they differ in length.
    """
    rows = None if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__getitem__") else length(values)
    if rows is None:
        raise InvalidInputError(f"{name} is {type(values).__name__}, expected one vector a text, shape [{count}, d]")
    if rows != count:
        raise InvalidInputError(f"{name} has {rows} rows, expected {count}, one a text")
    vectors = [given_vector(values[row], f"{name}[{row}]") for row in giving_way(range(count))]
    same_dimension(vectors, name)
    return vectors


def length(value: Any) -> int | None:
    """Return the length of what has one; a class that has `__len__`, and an array of no dimension, have none."""
    try:
        return len(value)
    except TypeError:
        return None


def same_dimension(vectors: Sequence[Vector], name: str = "vectors") -> None:
    """Refuse vectors of different lengths."""
    row = 0
    for piece in pieces(vectors):
        for vector in piece:
            if len(vector) != len(vectors[0]):
                raise DimensionError(
                    f"{name}[{row}] has {len(vector)} dimensions, expected {len(vectors[0])} as in the first",
                    expected=len(vectors[0]),
                    got=len(vector),
                )
            row += 1
