"""What `Collection(embedder=...)` accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retentive._errors import ConfigurationError
from retentive.embedders._pair import EmbedderPair
from retentive.embedders._single import resolve_one

if TYPE_CHECKING:
    from retentive.embedders._protocol import Embedder


def resolve(spec: object) -> Embedder | EmbedderPair:
    """Return the embedder, or the pair, that `spec` stands for.

    Args:
        spec: `"static"` for the model in the package, an object that satisfies `Embedder`, an `EmbedderPair`, or a list
            of one or two of the former.

    Raises:
        ConfigurationError: anything else; its hint says what to pass instead.

    Examples:
        >>> resolve(["static"]).name
        'retentive-static-256'
    """
    spec = only(spec)
    if isinstance(spec, EmbedderPair):
        return spec
    if not isinstance(spec, list | tuple):
        return resolve_one(spec)
    if len(spec) == 2:
        return EmbedderPair(spec[0], spec[1])
    raise ConfigurationError(
        f"embedder is a list of {len(spec)}, expected one or two embedders",
        hint="pass the two that complement each other best, the better one first",
    )


def only(spec: object) -> object:
    """Return what a list of one holds, anything else as it is."""
    return spec[0] if isinstance(spec, list | tuple) and len(spec) == 1 else spec
