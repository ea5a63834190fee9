"""What every verb works with: the core, the embedding, the counter, the pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from retentive._constants import ANY, User
from retentive._errors import FingerprintError
from retentive._open_handle import OpenHandle

if TYPE_CHECKING:
    from collections.abc import Callable

    from retentive._core import Core
    from retentive._embedding import Embedding
    from retentive._pool import Pool
    from retentive._requests import Counter, Reach
    from retentive._steps import Steps

T = TypeVar("T")


@dataclass(slots=True, eq=False, weakref_slot=True)
class Engine(OpenHandle):
    """One open collection, without its defaults.

    Attributes:
        core: the open file.
        embedding: where texts become vectors; another one after `reembed`.
        counter: the caller's token counter.
        pool: the threads of the async twins.
        target: what `embedding` will be when a move that runs now is done.
    """

    _known_as = "Collection"

    core: Core
    embedding: Embedding
    counter: Counter | None
    pool: Pool
    target: Embedding | None = None

    def embedded(self, step: Callable[[Embedding], Steps[T]]) -> Steps[T]:
        """Run a step that embeds texts and hands the vectors to the core.

        The core refuses them when the collection was moved to other vectors in between. If the collection's own
        embedder is known by then, as where another thread moved it, the step runs again with that.
        """
        while True:
            embedding = self.embedding
            compared = embedding.model_epoch
            try:
                return (yield from step(embedding))
            except FingerprintError:
                if not (yield from self._follow(embedding, compared)):
                    raise

    def _follow(self, embedding: Embedding, compared: int | None) -> Steps[bool]:
        """Return whether there is something else to try than what `embedding`, last compared then, has tried."""
        target = self.target
        if target is not None and target is not embedding and (yield from target.rebound()):
            self.embedding = target
        # Another thread may have moved on meanwhile, so this is asked last.
        ours = self.embedding is embedding and (yield from embedding.rebound())
        return self.embedding is not embedding or (ours and embedding.model_epoch != compared)


def reach(user: User, session: str | None) -> Reach:
    """Return which memories a call may see; arguments are checked already."""
    if user is ANY:
        return {"user": None, "any_user": True, "session": session}
    return {"user": user, "any_user": False, "session": session}
