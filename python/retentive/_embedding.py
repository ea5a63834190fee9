"""Where texts become vectors: the embedder, or two, held to what the store was made with."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from retentive import _parts
from retentive._errors import DimensionError, FingerprintError, InvalidInputError
from retentive.embedders import (
    Embedder,
    EmbedderPair,
    checked_documents,
    checked_parts,
    checked_query,
    checked_query_terms,
    dense_weight_of,
    models_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retentive._core import Core
    from retentive._requests import Parts, QueryTerms, Vector

# Fixed for ever: the store keeps each embedder's vector for it.
PROBE = "The quick brown fox jumps over the lazy dog, 42 times."
GIVEN = "given-vectors"  # the name of a model nobody told us


class Embedding:
    """The embedder of one collection, or its two. No lock is held while one runs.

    `models` are in the order of the collection. What is of each model stands in a list of that order.
    """

    def __init__(self, embedder: Embedder | EmbedderPair, core: Core, *, chosen: bool) -> None:
        self._embedder = embedder
        self._chosen = chosen
        self._core = core
        self._probes: list[Vector] | None = None
        self._bound: int | None = None  # the model epoch in which the embedder was found to be the collection's
        self._empty: int | None = None  # that of a collection without a model
        self._given: int | None = None  # that of the caller's own vectors

    @property
    def model_epoch(self) -> int | None:
        """What goes with the vectors made here: the core refuses them when the collection has other models by then."""
        return self._empty if self._bound is None else self._bound

    @property
    def given_epoch(self) -> int | None:
        """What goes with vectors that the caller made, as `model_epoch`."""
        return self._given

    @property
    def embedder(self) -> Embedder | EmbedderPair:
        """What was resolved."""
        return self._embedder

    @property
    def models(self) -> tuple[Embedder, ...]:
        """The one embedder, or both of a pair."""
        return models_of(self._embedder)

    @property
    def dense_weights(self) -> tuple[float, ...]:
        """The weight of each model's cosine; their sum is that of the dense signal."""
        embedder = self._embedder
        return embedder.dense_weights if isinstance(embedder, EmbedderPair) else (dense_weight_of(embedder),)

    @property
    def refusal_floor(self) -> float | None:
        """What a query must reach, by the first model, to be answered at all; None where not known."""
        return _number(self.models[0], "refusal_floor")

    @property
    def noise_floor(self) -> float | None:
        """The cosine that unrelated pairs stay below, by the first model; None where not known."""
        return _number(self.models[0], "noise_floor")

    def documents(self, texts: Sequence[str]) -> list[list[Parts]]:
        """Return the vectors of each text, for storing: `[parts, d]` of each model."""
        if not texts:
            return []
        self._bind()
        return self.parts(texts)

    def parts(self, texts: Sequence[str]) -> list[list[Parts]]:
        """Return the vectors of each text, `[parts, d]` of each model, whatever the collection's models are."""
        return [list(parts) for parts in zip(*[_documents(model, texts) for model in self.models], strict=True)]

    def query(self, text: str) -> list[Vector]:
        """Return each model's vector `[d]` of a query.

        One longer than the window is the mean direction of its first and its last sentence, unless the embedder cuts
        texts itself.
        """
        if self._bound is None:
            self._empty = self._core.model_epoch()  # first: a model that comes meanwhile changes it
            if self._core.models():
                self._bind()  # without a model nothing is compared, and a read writes nothing
        return [_query(model, text) for model in self.models]

    def query_terms(self, text: str) -> list[QueryTerms | None]:
        """Return each token's vector and its characters, None for a model that does not tell them."""
        return [checked_query_terms(model, text) for model in self.models]

    def accept(self, dimension: int) -> None:
        """Hold vectors that the caller made for storing to the collection's model, which they are taken to come from.

        Raises:
            InvalidInputError: the collection has two models.
            DimensionError: the collection's vectors have another dimension.
        """
        known = self._known()
        if known is not None and known != self._core.model_epoch():
            self._given = known  # of a model that the collection no longer has: the core refuses them
            return
        found = self._one_model()
        embedder = self.models[0]
        if found:
            name = found[0][0]
        elif not self._chosen and dimension != embedder.dimension:
            name = GIVEN  # nobody chose an embedder, so the vectors are of a model we do not know
        else:
            name = embedder.name
            if dimension != embedder.dimension:
                raise _wrong_dimension(embedder, dimension)
        epoch = self._core.bind_models([(name, dimension, None)])
        if self._given is None:
            self._given = epoch if known is None else known

    def accept_query(self) -> int:
        """Return what goes with a query vector that the caller made: it is taken to be of the collection's model.

        Which one that is, the first of the caller's vectors decides.

        Raises:
            InvalidInputError: the collection has two models.
        """
        epoch, known = self._core.model_epoch(), self._known()
        if known is not None and known != epoch:
            return known
        if not self._one_model():
            return epoch
        if self._given is None:
            self._given = epoch
        return self._given

    def begin_move(self) -> tuple[int, int, int] | None:
        """Begin or go on with the move of the collection to this embedder; see `Core.begin_reembed`."""
        return self._core.begin_reembed(self._described())

    def moved(self, epoch: int) -> None:
        """Take note that the collection has this embedder now."""
        self._bound = epoch

    def rebound(self) -> bool:
        """Return whether the collection's models changed since they were compared, and are this embedder's again."""
        try:
            epoch = self._core.bind_models(self._described())
        except (FingerprintError, DimensionError):
            return False
        changed = epoch != self._bound
        if self._given == self._bound:
            self._given = None
        self._bound = epoch
        return changed

    def _known(self) -> int | None:
        return self._bound if self._given is None else self._given

    def _one_model(self) -> list[tuple[str, int]]:
        """Refuse a vector that the caller made where there are two models; return the collection's."""
        found = self._core.models()
        names = [name for name, _ in found] if len(found) > 1 else [model.name for model in self.models]
        if len(names) > 1:
            raise InvalidInputError(
                f"a vector is given, but the collection has two models ({' + '.join(names)}), expected none: leave it "
                "out and both are made here, or keep given vectors in a collection with one embedder"
            )
        return found

    def warm(self) -> None:
        """Load the models."""
        self.query(PROBE)

    def _bind(self) -> None:
        if self._bound is None:
            self._bound = self._core.bind_models(self._described())

    def _described(self) -> list[tuple[str, int, Vector]]:
        """Return name, dimension and probe vector of each model."""
        if self._probes is None:
            self._probes = [checked_documents(model, [PROBE])[0] for model in self.models]
        return [(model.name, model.dimension, probe) for model, probe in zip(self.models, self._probes, strict=True)]


def _documents(model: Embedder, texts: Sequence[str]) -> list[Parts]:
    parts_of = checked_parts(model, texts)
    if parts_of is not None:
        return parts_of
    window, part_tokens = _whole(model, "window"), _whole(model, "part_tokens")
    split = [_parts.split(text, window, part_tokens) for text in texts]
    rows = checked_documents(model, [part for parts in split for part in parts])
    starts = [0]
    for parts in split:
        starts.append(starts[-1] + len(parts))
    return [rows[start:end] for start, end in pairwise(starts)]


def _query(model: Embedder, text: str) -> Vector:
    cuts_itself = getattr(model, "embed_parts", None) is not None
    parts = [text] if cuts_itself else _parts.ends(text, _whole(model, "window"))
    if len(parts) == 1:
        return checked_query(model, text)
    import numpy as np

    rows = np.stack([checked_query(model, part) for part in parts])
    mean = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).mean(axis=0, dtype=np.float32)
    vector: Vector = mean if mean.any() else rows[0]
    return vector


def _whole(model: Embedder, attribute: str) -> int | None:
    value: int | None = getattr(model, attribute, None)
    return value


def _number(model: Embedder, attribute: str) -> float | None:
    value = getattr(model, attribute, None)
    return None if value is None else float(value)


def _wrong_dimension(embedder: Embedder, got: int) -> DimensionError:
    return DimensionError(
        f"the vectors have {got} dimensions, expected {embedder.dimension} of the embedder {embedder.name}; open the "
        "collection with the embedder that made them, for example CallableEmbedder(name, dimension, fn)",
        expected=embedder.dimension,
        got=got,
    )
