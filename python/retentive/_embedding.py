"""Where texts become vectors: the embedder, or two, held to what the store was made with."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from retentive import _core, _parts
from retentive._errors import DimensionError, FingerprintError, InvalidInputError
from retentive._give_way import giving_way
from retentive.embedders._check import (
    checked_documents,
    checked_late_interaction,
    checked_parts,
    checked_query,
    checked_query_terms,
)
from retentive.embedders._pair import EmbedderPair, dense_weight_of, models_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retentive._core import Core
    from retentive._requests import Parts, QueryTerms, Vector
    from retentive._steps import Steps
    from retentive.embedders import Embedder

# Fixed for ever: the store keeps each embedder's vector for it.
PROBE = "The quick brown fox jumps over the lazy dog, 42 times."
GIVEN = "given-vectors"  # the name of a model nobody told us
SAME_MODEL = 0.999  # the cosine of two probes, as in the core
# What a reply asks twice (`recall`, then `context`) is embedded once.
KEPT_QUERIES = 16
LONGEST_KEPT = 4_096  # characters


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
        self._queries: dict[str, list[Vector]] = {}  # never changed, only replaced: a lock could be copied by a fork

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
    def late_interaction_floor(self) -> float | None:
        """In place of `refusal_floor`: what evidence and late interaction together must reach, by the first model."""
        model = self.models[0]
        return None if getattr(model, "late_interaction", None) is None else _number(model, "late_interaction_floor")

    @property
    def noise_floor(self) -> float | None:
        """The cosine that unrelated pairs stay below, by the first model; None if not known, as for others' vectors."""
        models = None if self._bound is not None else self._core.models()
        own = not models or models[0][0] == self.models[0].name
        return _number(self.models[0], "noise_floor") if own else None

    def documents(self, texts: Sequence[str]) -> Steps[list[list[Parts]]]:
        """Return the vectors of each text, for storing: `[parts, d]` of each model."""
        if not texts:
            return []
        yield from self.bind()
        return (yield from self.parts(texts))

    def parts(self, texts: Sequence[str]) -> Steps[list[list[Parts]]]:
        """Return the vectors of each text, `[parts, d]` of each model, whatever the collection's models are."""
        each: list[list[Parts]] = []
        for model in self.models:
            each.append((yield from _documents(model, texts)))  # noqa: PERF401 - no `yield` in those
        return [list(parts) for parts in zip(*each, strict=True)]

    def query(self, text: str) -> Steps[list[Vector]]:
        """Return each model's vector `[d]` of a query.

        One longer than the window is the mean direction of its first and its last sentence, unless the embedder cuts
        texts itself.
        """
        if self._bound is None:
            self._empty = self._core.model_epoch()  # first: a model that comes meanwhile changes it
            if self._core.models():
                yield from self.bind()  # without a model nothing is compared, and a read writes nothing
        known = self._queries.get(text)
        if known is not None:
            return known
        vectors: list[Vector] = []
        for model in self.models:
            vectors.append((yield from _query(model, text)))  # noqa: PERF401 - no `yield` in those
        self._keep(text, vectors)
        return vectors

    def _keep(self, text: str, vectors: list[Vector]) -> None:
        if len(text) <= LONGEST_KEPT:
            kept = list(self._queries.items())[1 - KEPT_QUERIES :]
            self._queries = dict([*kept, (text, vectors)])

    def query_terms(self, text: str) -> Steps[list[QueryTerms | None]]:
        """Return each token's vector and its characters, None for a model that does not tell them.

        Of a query longer than the window only those of its first and its last sentence, as `query`.
        """
        terms: list[QueryTerms | None] = []
        for model in self.models:
            terms.append((yield from query_terms(model, text)))  # noqa: PERF401 - no `yield` in those
        return terms

    def late_interaction(self, query: str, texts: Sequence[str]) -> Steps[list[float]]:
        """Return how well the words of each text answer those of the query, by the first model, which must tell."""
        return (yield from checked_late_interaction(self.models[0], query, texts))

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
        epoch = self._core.bind_models([self.model_of_given(dimension)])
        if self._given is None:
            self._given = epoch if known is None else known

    def model_of_given(self, dimension: int) -> tuple[str, int, None]:
        """Return of which model vectors are that the caller made: the collection's, or what it gets with them.

        Raises:
            InvalidInputError: the collection has two models.
            DimensionError: the embedder's vectors, which they are to be of, have another dimension.
        """
        found = self._one_model()
        if found:
            return found[0][0], dimension, None
        embedder = self.models[0]
        if dimension == embedder.dimension:
            return embedder.name, dimension, None
        if self._chosen:
            raise _wrong_dimension(embedder, dimension)
        return GIVEN, dimension, None  # nobody chose an embedder, so the vectors are of a model we do not know

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

    def bind(self) -> Steps[int]:
        """Compare with the collection's models, or set them; return what goes with the vectors made here."""
        if self._bound is None:
            self._bound = self._core.bind_models((yield from self._described()))
        return self._bound

    def begin_move(self) -> Steps[tuple[int, int, int] | None]:
        """Begin or go on with the move of the collection to this embedder; see `Core.begin_reembed`."""
        return self._core.begin_reembed((yield from self._described()))

    def is_of(self, models: Sequence[tuple[str, int, Vector | None]]) -> Steps[bool]:
        """Return whether vectors of these models are the collection's, or can be the first of one without a model."""
        if self._core.models():
            return self._core.has_models(models)
        if len(models) == 1 and models[0][2] is None:  # made by a caller
            name, dimension, _ = models[0]
            own = self.models[0]
            unknown = name == GIVEN and not self._chosen
            return unknown or (len(self.models) == 1 and (name, dimension) == (own.name, own.dimension))
        described = yield from self._described()
        return len(models) == len(described) and all(map(_is_same, models, described))

    def moved(self, epoch: int) -> None:
        """Take note that the collection has this embedder now."""
        self._bound = epoch

    def rebound(self) -> Steps[bool]:
        """Compare anew; return whether the collection's models are this embedder's."""
        described = yield from self._described()
        try:
            epoch = self._core.bind_models(described)
        except (FingerprintError, DimensionError):
            return False
        if self._given == self._bound:
            self._given = None
        self._bound = epoch
        return True

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

    def warm(self) -> Steps[None]:
        """Load the models."""
        yield from self.query(PROBE)

    def _described(self) -> Steps[list[tuple[str, int, Vector]]]:
        """Return name, dimension and probe vector of each model."""
        if self._probes is None:
            probes: list[Vector] = []
            for model in self.models:
                probes.append((yield from checked_documents(model, [PROBE]))[0])  # noqa: PERF401 - no `yield` in those
            self._probes = probes
        return [(model.name, model.dimension, probe) for model, probe in zip(self.models, self._probes, strict=True)]


def _is_same(model: tuple[str, int, Vector | None], own: tuple[str, int, Vector]) -> bool:
    name, dimension, probe = model
    if (name, dimension) != own[:2] or probe is None:
        return False
    cosine = _core.cosines([(probe, own[2].reshape(1, -1))])[0]
    return cosine is not None and cosine >= SAME_MODEL


def _documents(model: Embedder, texts: Sequence[str]) -> Steps[list[Parts]]:
    parts_of = yield from checked_parts(model, texts)
    if parts_of is not None:
        return parts_of
    window, part_tokens = _whole(model, "window"), _whole(model, "part_tokens")
    split = [_parts.split(text, window, part_tokens) for text in giving_way(texts)]
    rows = yield from checked_documents(model, [part for parts in split for part in parts])
    starts = [0]
    for parts in split:
        starts.append(starts[-1] + len(parts))
    return [rows[start:end] for start, end in pairwise(starts)]


def query_terms(model: Embedder, text: str) -> Steps[QueryTerms | None]:
    """Return what `Embedding.query_terms` does, of one model."""
    parts = looked_for(model, text)
    if len(parts) == 1:
        return (yield from checked_query_terms(model, text))
    import numpy as np

    each: list[QueryTerms] = []
    for start, end in dict.fromkeys(parts):
        found = yield from checked_query_terms(model, text[start:end])
        if found is None:
            return None
        each.append((found[0], [(start + first, start + last) for first, last in found[1]]))
    return np.concatenate([vectors for vectors, _ in each]), [span for _, spans in each for span in spans]


def looked_for(model: Embedder, text: str) -> list[tuple[int, int]]:
    """Return the characters of a query that its vector stands for: all, or those of its first and its last sentence."""
    cuts_itself = getattr(model, "embed_parts", None) is not None
    return [(0, len(text))] if cuts_itself else _parts.ends(text, _whole(model, "window"))


def _query(model: Embedder, text: str) -> Steps[Vector]:
    parts = looked_for(model, text)
    if len(parts) == 1:
        return (yield from checked_query(model, text))
    import numpy as np

    each: list[Vector] = []
    for start, end in parts:
        each.append((yield from checked_query(model, text[start:end])))
    rows = np.stack(each)
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
