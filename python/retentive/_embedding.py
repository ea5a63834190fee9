"""Where texts become vectors: the embedder, resolved when first needed and held to what the store was made with."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from retentive import _parts
from retentive._errors import DimensionError
from retentive.embedders import Embedder, checked_documents, checked_parts, checked_query, checked_query_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retentive._core import Core
    from retentive._requests import Parts, QueryTerms, Vector

# Fixed for ever: the store keeps the embedder's vector for it.
PROBE = "The quick brown fox jumps over the lazy dog, 42 times."
DEFAULT_DENSE_WEIGHT = 0.5
GIVEN = "given-vectors"  # the name of a model nobody told us


class Embedding:
    """The embedder of one collection. No lock is held while it runs."""

    def __init__(self, embedder: Embedder, core: Core, *, chosen: bool) -> None:
        self._embedder = embedder
        self._chosen = chosen
        self._core = core
        self._bound = False

    @property
    def embedder(self) -> Embedder:
        """The embedder itself."""
        return self._embedder

    @property
    def dense_weight(self) -> float:
        """The weight of the cosine against the lexical score."""
        weight = self._number("dense_weight")
        return DEFAULT_DENSE_WEIGHT if weight is None else weight

    @property
    def refusal_floor(self) -> float | None:
        """What a query must reach to be answered at all, None where not known."""
        return self._number("refusal_floor")

    @property
    def noise_floor(self) -> float | None:
        """The cosine that unrelated pairs stay below; None where not known, as for vectors of another model."""
        model = None if self._bound else self._core.model()
        return None if model is not None and model[0] != self._embedder.name else self._number("noise_floor")

    def documents(self, texts: Sequence[str]) -> list[Parts]:
        """Return the vectors `[parts, d]` of each text, for storing."""
        if not texts:
            return []
        self._bind()
        parts_of = checked_parts(self._embedder, texts)
        if parts_of is not None:
            return parts_of
        split = [_parts.split(text, self._window, self._part_tokens) for text in texts]
        rows = checked_documents(self._embedder, [part for parts in split for part in parts])
        starts = [0]
        for parts in split:
            starts.append(starts[-1] + len(parts))
        return [rows[start:end] for start, end in pairwise(starts)]

    def query(self, text: str) -> Vector:
        """Return the vector `[d]` of a query.

        One longer than the window is the mean direction of its first and its last sentence, unless the embedder cuts
        texts itself.
        """
        if not self._bound and self._core.model() is not None:
            self._bind()  # without a model nothing is compared, and a read writes nothing
        cuts_itself = getattr(self._embedder, "embed_parts", None) is not None
        parts = [text] if cuts_itself else _parts.ends(text, self._window)
        if len(parts) == 1:
            return checked_query(self._embedder, text)
        import numpy as np

        rows = np.stack([checked_query(self._embedder, part) for part in parts])
        mean = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).mean(axis=0, dtype=np.float32)
        vector: Vector = mean if mean.any() else rows[0]
        return vector

    def query_terms(self, text: str) -> QueryTerms | None:
        """Return each token's vector and its characters, None where the embedder does not tell them."""
        return checked_query_terms(self._embedder, text)

    def accept(self, dimension: int) -> None:
        """Hold vectors that the caller made to the collection's model, which they are taken to come from.

        Raises:
            DimensionError: the collection's vectors have another dimension.
        """
        model = self._core.model()
        if model is not None:
            name = model[0]
        elif not self._chosen and dimension != self._embedder.dimension:
            name = GIVEN  # nobody chose an embedder, so the vectors are of a model we do not know
        else:
            name = self._embedder.name
            if dimension != self._embedder.dimension:
                raise _wrong_dimension(self._embedder, dimension)
        self._core.bind_model(name, dimension, None)

    def warm(self) -> None:
        """Load the model."""
        self.query(PROBE)

    def _bind(self) -> None:
        if not self._bound:
            probe = checked_documents(self._embedder, [PROBE])[0]
            self._core.bind_model(self._embedder.name, self._embedder.dimension, probe)
            self._bound = True

    @property
    def _window(self) -> int | None:
        window: int | None = getattr(self._embedder, "window", None)
        return window

    @property
    def _part_tokens(self) -> int | None:
        tokens: int | None = getattr(self._embedder, "part_tokens", None)
        return tokens

    def _number(self, attribute: str) -> float | None:
        value = getattr(self._embedder, attribute, None)
        return None if value is None else float(value)


def _wrong_dimension(embedder: Embedder, got: int) -> DimensionError:
    return DimensionError(
        f"the vectors have {got} dimensions, expected {embedder.dimension} of the embedder {embedder.name}; open the "
        "collection with the embedder that made them, for example CallableEmbedder(name, dimension, fn)",
        expected=embedder.dimension,
        got=got,
    )
