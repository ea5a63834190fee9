"""Two models in one collection."""

from __future__ import annotations

from collections.abc import Sequence

from retentive._errors import ConfigurationError
from retentive._validate import shown
from retentive.embedders._protocol import DEFAULT_DENSE_WEIGHT, Embedder
from retentive.embedders._single import is_weight, resolve_one

# What a weaker model has, half of it at the cost of the stronger; the share of the first of two equals; and the most
# that both can weigh: the rest of a hybrid search is that of words. Figures: docs/adr/0040-two-models.md.
_WEAKER = 0.1
_FIRST_OF_EQUALS = 0.6
_MOST = 1.0


class EmbedderPair:
    """Two embedders for one collection: each memory has the vectors of both. `embedder=[a, b]` makes one.

    The dense signal is the weighted sum of the two cosines, each scaled to 0 to 1 over what is searched. What means a
    plain cosine (`similarity`, `min_relevance`, `search(mode="dense")`, `similar`) is of the first: put the better one
    there.

    Args:
        first: the better one.
        second: another one, of another name.
        dense_weights: the weight of each, of 0 to 1 and together at most 1; None for the rule below.

    The weights, where none are given, are made of the embedders' own `dense_weight`. Equal ones share it, three fifths
    for the first. Else the weaker has 0.1 (or its own, where that is less), half of it at the cost of the stronger: an
    ONNX model (0.65) with the static one (0.5) has 0.6 and 0.1.

    Raises:
        ConfigurationError: both have one name, or the weights are no two such numbers.

    Examples:
        >>> from retentive.embedders import HashEmbedder
        >>> pair = EmbedderPair(HashEmbedder(64), HashEmbedder(32))
        >>> pair.name, pair.dense_weights
        ('hash-64 + hash-32', (0.3, 0.2))
    """

    def __init__(
        self, first: str | Embedder, second: str | Embedder, *, dense_weights: Sequence[float] | None = None
    ) -> None:
        self.first = resolve_one(first)
        self.second = resolve_one(second)
        if self.first.name == self.second.name:
            raise ConfigurationError(
                f"both embedders are {self.first.name!r}, expected two models", hint="pass one embedder, not a list"
            )
        self.dense_weights = _default(self.first, self.second) if dense_weights is None else _checked(dense_weights)

    @property
    def models(self) -> tuple[Embedder, Embedder]:
        """Both."""
        return self.first, self.second

    @property
    def name(self) -> str:
        """The names of both."""
        return f"{self.first.name} + {self.second.name}"

    def __repr__(self) -> str:
        return f"EmbedderPair({self.first!r}, {self.second!r}, dense_weights={self.dense_weights})"


def models_of(embedder: Embedder | EmbedderPair) -> tuple[Embedder, ...]:
    """Return the one embedder, or both of a pair, in order."""
    return embedder.models if isinstance(embedder, EmbedderPair) else (embedder,)


def dense_weight_of(embedder: Embedder) -> float:
    """Return the weight of an embedder's cosine against words."""
    weight = getattr(embedder, "dense_weight", None)
    return DEFAULT_DENSE_WEIGHT if weight is None else float(weight)


def _default(first: Embedder, second: Embedder) -> tuple[float, float]:
    weights = dense_weight_of(first), dense_weight_of(second)
    if weights[0] == weights[1]:
        share = round(_FIRST_OF_EQUALS * weights[0], 6)
        return share, round(weights[0] - share, 6)
    weaker = min(_WEAKER, *weights)
    stronger = round(min(max(weights) - weaker / 2, _MOST - weaker), 6)
    return (stronger, weaker) if weights[0] > weights[1] else (weaker, stronger)


def _checked(weights: object) -> tuple[float, float]:
    given = list(weights) if isinstance(weights, Sequence) and not isinstance(weights, str) else []
    if len(given) == 2 and all(map(is_weight, given)) and sum(given) <= _MOST:
        return float(given[0]), float(given[1])
    raise ConfigurationError(
        f"dense_weights is {shown(weights)}, expected two numbers of 0 to 1, together at most 1",
        hint="leave it out for the default weights",
    )
