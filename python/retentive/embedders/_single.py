"""What one embedder may be."""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, Any

from retentive._errors import ConfigurationError
from retentive._validate import shown
from retentive.embedders._callable import checked_dimension, checked_name
from retentive.embedders._known import recognised
from retentive.embedders._protocol import Embedder
from retentive.embedders._static import StaticEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable

_ACCEPTED = 'pass "static" or an object with name, dimension, embed_documents and embed_query'


def resolve_one(spec: object) -> Embedder:
    """Return the embedder that `spec` stands for.

    Args:
        spec: `"static"` for the model in the package, or an object that satisfies `Embedder`.

    Raises:
        ConfigurationError: anything else; its hint says what to pass instead.

    Examples:
        >>> resolve_one("static").name
        'retentive-static-256'
    """
    if isinstance(spec, str):
        if spec == "static":
            return StaticEmbedder()
        hint = f"pass OnnxEmbedder({spec!r})" if recognised(spec) else _ACCEPTED
        raise ConfigurationError(f"there is no embedder named {shown(spec)}", hint=hint)
    if isinstance(spec, type):
        raise ConfigurationError(
            f"embedder is the class {spec.__name__}, expected an instance", hint=f"pass {spec.__name__}(...)"
        )
    if isinstance(spec, Embedder):
        return _validated(spec)
    if callable(spec):
        raise ConfigurationError(
            f"embedder is a bare callable ({_name_of(spec)}), which has no name and no dimension",
            hint="wrap it: CallableEmbedder(name, dimension, fn)",
        )
    raise ConfigurationError(f"embedder is {_shortfall(spec)}", hint=_ACCEPTED)


def _validated(embedder: Embedder) -> Embedder:
    checked_name(embedder.name)
    checked_dimension(embedder.dimension)
    for method in ("embed_documents", "embed_query"):
        if not callable(getattr(embedder, method)):
            raise ConfigurationError(f"{method} of embedder {shown(embedder.name)} is not callable", hint=_ACCEPTED)
    for attribute, (is_valid, expected) in _OPTIONAL.items():
        value = getattr(embedder, attribute, None)
        if value is not None and not is_valid(value):
            raise ConfigurationError(
                f"{attribute} of embedder {shown(embedder.name)} is {shown(value)}, expected {expected} or None",
                hint="leave out what is not known",
            )
    return embedder


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float holds
        return False


def is_weight(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST_TOKENS


_MOST_TOKENS = 2**31 - 1

_OPTIONAL: dict[str, tuple[Callable[[object], bool], str]] = {
    "noise_floor": (_is_number, "a finite number"),
    "refusal_floor": (_is_number, "a finite number"),
    "late_interaction_floor": (_is_number, "a finite number"),
    "dense_weight": (is_weight, "a number of 0 to 1"),
    "window": (_is_count, "a whole number of tokens from 1 to 2**31 - 1"),
    "part_tokens": (_is_count, "a whole number of tokens from 1 to 2**31 - 1"),
    "query_terms": (callable, "a method"),
    "late_interaction": (callable, "a method"),
    "embed_parts": (callable, "a method"),
}


def _name_of(function: object) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _shortfall(spec: object) -> str:
    kind = type(spec).__name__
    missing = [name for name in ("name", "dimension", "embed_documents", "embed_query") if not hasattr(spec, name)]
    return kind if len(missing) == 4 else f"{kind}, which lacks {', '.join(missing)}"
