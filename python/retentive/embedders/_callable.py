"""An embedder made of any function."""

from __future__ import annotations

import inspect
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from retentive._errors import ConfigurationError
from retentive._steps import Later
from retentive._validate import shown
from retentive.embedders._check import check_vectors

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt


class CallableEmbedder:
    """Wraps `fn`, which takes a list of texts and returns one vector for each.

    Args:
        name: the model's identity, kept in the store: another name is another model.
        dimension: numbers in a vector.
        fn: `list[str]` to an array, or nested sequences, of shape `[len(texts), dimension]`. It may be an async
            function; then the collection is used through its async twins, and the two methods here return awaitables.
        noise_floor: see `Embedder`, as for the following; None where not known.
        refusal_floor: None where not known.
        dense_weight: None where not known.
        window: tokens; None where not known.
        part_tokens: tokens; None where not known.

    Raises:
        ConfigurationError: the name is blank, the dimension is not a positive integer, or `fn` cannot be called.

    Examples:
        >>> embedder = CallableEmbedder("length", 2, lambda texts: [[len(text), 1.0] for text in texts])
        >>> embedder.embed_query("four").tolist()
        [4.0, 1.0]
    """

    def __init__(
        self,
        name: str,
        dimension: int,
        fn: Callable[[list[str]], Any],
        *,
        noise_floor: float | None = None,
        refusal_floor: float | None = None,
        dense_weight: float | None = None,
        window: int | None = None,
        part_tokens: int | None = None,
    ) -> None:
        self.name = checked_name(name)
        self.dimension = checked_dimension(dimension)
        if not callable(fn):
            raise ConfigurationError(
                f"fn is {type(fn).__name__}, expected a callable", hint="pass a function of list[str] to an array"
            )
        self._fn = fn
        self.noise_floor = noise_floor
        self.refusal_floor = refusal_floor
        self.dense_weight = dense_weight
        self.window = window
        self.part_tokens = part_tokens

    def embed_documents(self, texts: list[str]) -> npt.NDArray[np.float32]:
        """Return `fn(texts)` as float32 `[len(texts), dimension]`.

        Raises:
            EmbedderError: what `fn` returned has another shape, is not finite or has a row of zeroes.
        """
        returned = self._fn(list(texts))
        check = partial(check_vectors, count=len(texts), dimension=self.dimension, source=self.name)
        rows: npt.NDArray[np.float32] = _then(returned, check)
        return rows

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return the only row of `fn([text])`, float32 `[dimension]`.

        Raises:
            EmbedderError: as for `embed_documents`.
        """
        vector: npt.NDArray[np.float32] = _then(self.embed_documents([text]), itemgetter(0))
        return vector

    def __repr__(self) -> str:
        return f"CallableEmbedder({self.name!r}, {self.dimension})"


def _then(returned: Any, finish: Callable[[Any], Any]) -> Any:
    return Later(returned, finish) if inspect.isawaitable(returned) else finish(returned)


def checked_name(name: object) -> str:
    """Return `name` if it can identify a model."""
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError(
            f"an embedder's name is {shown(name)}, expected text",
            hint="name it after its model, for example 'my-model-v1'",
        )
    return name


def checked_dimension(dimension: object) -> int:
    """Return `dimension` if it is a positive integer of 31 bits."""
    if not isinstance(dimension, int) or isinstance(dimension, bool) or not 1 <= dimension < 2**31:
        raise ConfigurationError(
            f"an embedder's dimension is {shown(dimension)}, expected a positive integer below {2**31:,}",
            hint="the dimension is the number of values in one vector",
        )
    return dimension
