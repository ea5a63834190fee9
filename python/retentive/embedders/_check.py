"""Calls an embedder and checks what it returns: a bad vector is found before it is stored."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from retentive._core import checked_vectors
from retentive._errors import EmbedderError, RetentiveError
from retentive._steps import Steps, called, raised_by_callable
from retentive._whole import import_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt

    from retentive.embedders._protocol import Embedder

Span = tuple[int, int]
ROUNDED_ONE = 1.001  # a cosine of float16 vectors


def checked_documents(embedder: Embedder, texts: Sequence[str]) -> Steps[npt.NDArray[np.float32]]:
    """Return the vectors of `texts`, float32 `[len(texts), dimension]`, contiguous.

    Raises:
        EmbedderError: the embedder raised (its exception is the cause) or returned something else.
    """
    import_whole("numpy")
    import numpy as np

    if not texts:
        return np.empty((0, embedder.dimension), np.float32)
    returned = yield from _call(f"{embedder.name}.embed_documents", embedder.embed_documents, list(texts))
    return check_vectors(
        returned, count=len(texts), dimension=embedder.dimension, source=f"{embedder.name}.embed_documents"
    )


def checked_parts(embedder: Embedder, texts: Sequence[str]) -> Steps[list[npt.NDArray[np.float32]] | None]:
    """Return the vectors of each text's parts, float32 `[parts, dimension]` with one part at least.

    None where the embedder has no `embed_parts`.

    Raises:
        EmbedderError: the embedder raised (its exception is the cause) or returned something else.
    """
    embed_parts = getattr(embedder, "embed_parts", None)
    if embed_parts is None:
        return None
    source = f"{embedder.name}.embed_parts"
    returned = yield from _call(source, embed_parts, list(texts))
    try:
        parts = list(islice(returned, len(texts) + 1))  # there may be no end
        counts = [len(rows) for rows in parts]
    except TypeError as error:
        raise EmbedderError(f"{source} returned {_describe(returned)}, expected one array a text") from error
    if len(parts) != len(texts) or not all(counts):
        many = "more than " * (len(parts) > len(texts)) + str(min(len(parts), len(texts)))
        raise EmbedderError(f"{source} returned {many} arrays, {counts.count(0)} of them empty, for {len(texts)} texts")
    return [
        check_vectors(rows, count=count, dimension=embedder.dimension, source=source)
        for rows, count in zip(parts, counts, strict=True)
    ]


def checked_query(embedder: Embedder, text: str) -> Steps[npt.NDArray[np.float32]]:
    """Return the vector of a query, float32 `[dimension]`.

    Raises:
        EmbedderError: the embedder raised (its exception is the cause) or returned something else.
    """
    returned = yield from _call(f"{embedder.name}.embed_query", embedder.embed_query, text)
    return check_vectors(returned, count=None, dimension=embedder.dimension, source=f"{embedder.name}.embed_query")


def checked_query_terms(embedder: Embedder, text: str) -> Steps[tuple[npt.NDArray[np.float32], list[Span]] | None]:
    """Return the vectors of the query's tokens, float32 `[t, dimension]`, and their spans in `text`, in characters.

    None where the embedder has no `query_terms`.

    Raises:
        EmbedderError: the embedder raised (its exception is the cause) or returned something else.
    """
    query_terms = getattr(embedder, "query_terms", None)
    if query_terms is None:
        return None
    source = f"{embedder.name}.query_terms"
    returned = yield from _call(source, query_terms, text)
    try:
        vectors, spans = returned
        count = len(vectors)
        spans = [(int(start), int(end)) for start, end in islice(spans, count + 1)]  # there may be no end
    except (TypeError, ValueError) as error:
        raise EmbedderError(f"{source} returned {_describe(returned)}, expected (vectors, spans)") from error
    if len(spans) > count:
        raise EmbedderError(f"{source} returned more than {count} spans, expected one a vector")
    if not all(0 <= start <= end <= len(text) for start, end in spans):
        raise EmbedderError(f"{source} returned a span outside the text of {len(text)} characters")
    return check_vectors(vectors, count=len(spans), dimension=embedder.dimension, source=source), spans


def checked_late_interaction(embedder: Embedder, query: str, texts: Sequence[str]) -> Steps[list[float]]:
    """Return the late interaction of the query with each text, a number of -1 to 1 each.

    Raises:
        EmbedderError: the embedder raised (its exception is the cause) or returned something else.
    """
    source = f"{embedder.name}.late_interaction"
    method: Callable[[str, list[str]], Any] = embedder.late_interaction  # type: ignore[attr-defined]
    returned = yield from _call(source, partial(method, query), list(texts))
    array = _as_numbers(returned, source)
    if array.shape != (len(texts),):
        raise EmbedderError(f"{source} returned {_describe(returned, array)}, expected shape {(len(texts),)}")
    late: list[float] = array.astype(float).tolist()
    wrong = next((value for value in late if not -ROUNDED_ONE <= value <= ROUNDED_ONE), None)
    if wrong is not None:
        raise EmbedderError(f"{source} returned {wrong}, expected numbers of -1 to 1")
    return late


def check_vectors(vectors: Any, *, count: int | None, dimension: int, source: str) -> npt.NDArray[np.float32]:
    """Return a contiguous float32 copy of `vectors` after checking them.

    A copy, because an embedder may hand out the same array each time, and what is returned here is kept while it runs
    again: a batch until its transaction, a query for the next read.

    Args:
        vectors: what a callable returned: an array or nested sequences of real numbers.
        count: rows expected, shape `[count, dimension]`; None for a single vector, shape `[dimension]`.
        dimension: numbers in a vector.
        source: the callable, as named in the error.

    Raises:
        EmbedderError: not numbers, another shape, NaN, infinity (also beyond float32), or a vector of zeroes.
    """
    import_whole("numpy")
    import numpy as np

    expected = (dimension,) if count is None else (count, dimension)
    copied = checked_vectors(vectors)
    if copied is not None and copied.shape == expected:
        return copied
    array = _as_numbers(vectors, source)
    if array.shape != expected:
        raise EmbedderError(f"{source} returned {_describe(vectors, array)}, expected shape {expected}")
    with np.errstate(over="ignore", invalid="ignore"):
        checked = np.array(array, dtype=np.float32, order="C")
    rows = checked.reshape(-1, dimension)
    infinite = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if infinite.size:
        raise EmbedderError(f"{source} returned a vector that is not finite in float32 ({_rows(infinite, count)})")
    zero = np.flatnonzero(~rows.any(axis=1))
    if zero.size:
        raise EmbedderError(f"{source} returned a vector of zeroes, which has no direction ({_rows(zero, count)})")
    return checked


def _call(source: str, function: Callable[..., Any], argument: object) -> Steps[Any]:
    try:
        return (yield from called(source, function, argument))
    except RetentiveError:
        raise
    except Exception as error:  # noqa: BLE001 - the cause of what is raised
        cause = raised_by_callable(error)
        raise EmbedderError(f"{source} raised {type(cause).__name__}: {cause}") from cause


def _as_numbers(vectors: Any, source: str) -> npt.NDArray[Any]:
    import numpy as np

    try:
        array = np.asarray(vectors)
    except (TypeError, ValueError) as error:
        raise EmbedderError(f"{source} returned {_describe(vectors)}, expected an array of numbers") from error
    if array.dtype.kind not in "fiu":
        raise EmbedderError(f"{source} returned {_describe(vectors, array)}, expected an array of real numbers")
    return array


def _describe(value: object, array: npt.NDArray[Any] | None = None) -> str:
    kind = type(value).__name__
    return kind if array is None else f"{kind} of shape {array.shape} and type {array.dtype}"


def _rows(bad: npt.NDArray[np.intp], count: int | None) -> str:
    return "the only one" if count is None else f"row {bad[0]}, {bad.size} of {count} rows"
