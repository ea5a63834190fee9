"""What `Collection(embedder=...)` accepts."""

from __future__ import annotations

from retentive._errors import ConfigurationError
from retentive.embedders._callable import checked_dimension, checked_name
from retentive.embedders._known import recognised
from retentive.embedders._protocol import Embedder
from retentive.embedders._static import StaticEmbedder

_ACCEPTED = 'pass "static" or an object with name, dimension, embed_documents and embed_query'


def resolve(spec: object) -> Embedder:
    """Return the embedder that `spec` stands for.

    Args:
        spec: `"static"` for the model in the package, or an object that satisfies `Embedder`.

    Raises:
        ConfigurationError: anything else; its hint says what to pass instead.

    >>> resolve("static").name
    'retentive-static-256'
    """
    if isinstance(spec, str):
        if spec == "static":
            return StaticEmbedder()
        hint = f"pass OnnxEmbedder({spec!r})" if recognised(spec) else _ACCEPTED
        raise ConfigurationError(f"there is no embedder named {spec!r}", hint=hint)
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
            raise ConfigurationError(f"{method} of embedder {embedder.name!r} is not callable", hint=_ACCEPTED)
    return embedder


def _name_of(function: object) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _shortfall(spec: object) -> str:
    kind = type(spec).__name__
    missing = [name for name in ("name", "dimension", "embed_documents", "embed_query") if not hasattr(spec, name)]
    return kind if len(missing) == 4 else f"{kind}, which lacks {', '.join(missing)}"
