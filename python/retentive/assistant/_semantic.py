"""What was said or added, found by meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from retentive import _validate
from retentive._constants import K_KIND, TURN
from retentive._errors import InvalidInputError
from retentive.assistant import _session

if TYPE_CHECKING:
    from datetime import datetime

    from retentive._results import Result
    from retentive.assistant._owner import Owner


_LOOKED_AT = 8  # turns for a statement


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found.

    Attributes:
        text: the whole text.
        distance: `1 - similarity`.
        similarity: the cosine with the query.
        metadata: of a document as it was added; of a statement its `role`, `session`, and `image_path` if any.
        id: the `doc_id` of a document, the turn's id of a statement.
        timestamp: when it was said or added, in UTC.
    """

    text: str
    distance: float
    similarity: float
    metadata: dict[str, Any]
    id: str
    timestamp: datetime


class Semantic:
    """Documents and statements, found by meaning.

    Statements are those of the session; with a user, of everything the user said. Documents are the collection's: every
    session finds them.
    """

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    def add(self, text: str, doc_id: str, metadata: Mapping[str, Any] | None = None) -> None:
        """Store a document, in place of the one that has its id. Blank text is ignored.

        Args:
            text: the document.
            doc_id: its id: adding twice changes nothing.
            metadata: JSON of the caller's own; keys that start with `_vx_` are refused.

        Raises:
            InvalidInputError: an argument has the wrong type or value. Nothing was stored.
            ConflictError: the id is a turn's or a fact's.

        Examples:
            >>> from retentive.assistant import MemoryManager
            >>> semantic = MemoryManager().semantic
            >>> semantic.add("Refunds take five days", "refunds", {"source": "help"})
            >>> [found.metadata for found in semantic.search("how long do refunds take?")]
            [{'source': 'help'}]
        """
        _validate.memory_id(doc_id, "doc_id")
        if metadata is not None and not isinstance(metadata, Mapping):
            raise InvalidInputError(f"metadata is {_validate.shown(metadata)}, expected a dict or None")
        if not isinstance(text, str):
            raise InvalidInputError(f"text is {_validate.shown(text)}, expected a string")
        if not text.strip():
            return
        self._owner.collection.add(text, metadata=metadata, ids=doc_id)

    def search(self, query: str, k: int = 3, max_distance: float | Literal["auto"] | None = "auto") -> list[Found]:
        """Return the documents and statements nearest in meaning, best first; empty where nothing is near.

        Args:
            query: a question or a message.
            k: how many at most.
            max_distance: the greatest `1 - cosine` of each. `"auto"` is the embedder's own: what 98 of 100 unrelated
                pairs are beyond (no cut-off for an embedder without a `noise_floor`). A number is taken as it is: one
                that suits one embedder suits no other. None cuts nothing off.

        Raises:
            InvalidInputError: an argument has the wrong type or value.
            EmbedderError: the embedder failed.
        """
        k = _validate.integer("k", k)
        _validate.text(query, "query")
        owner = self._owner
        cut: dict[str, Any] = {"query": query, "mode": "dense", "max_distance": max_distance}
        said = self._statements(k, **cut, session=owner.reach, user=owner.user)
        documents = self._documents(k, **cut)
        measured = [(hit, hit.similarity) for hit in (*said, *documents)]
        hits = [_found(hit, similarity) for hit, similarity in measured if similarity is not None]
        return sorted(hits, key=lambda hit: hit.distance)[:k]

    def _statements(self, k: int, **search: Any) -> list[Result]:
        """Return the nearest statements.

        A filter reads the metadata of every turn there is, so the nearest turns are looked at first: mostly they hold
        as many statements as are wanted.
        """
        collection, most = self._owner.collection, _LOOKED_AT * (k + 1)
        nearest = collection.search(limit=most, **search)
        statements = [hit for hit in nearest if hit.kind == TURN and hit.metadata.get(_session.STATEMENT) is True]
        if len(statements) >= k or len(nearest) < most:
            return statements[:k]
        return list(collection.search(limit=k, filter={_session.STATEMENT: True, K_KIND: TURN}, **search))

    def _documents(self, k: int, **search: Any) -> list[Result]:
        """Return the nearest documents, without those that say where a conversation begins."""
        most = k
        while True:
            nearest = self._owner.collection.search(limit=most, filter={K_KIND: {"$exists": False}}, **search)
            documents = [hit for hit in nearest if not _session.is_start(hit)]
            if len(documents) >= k or len(nearest) < most:
                return documents[:k]
            most *= 2


def _found(hit: Result, similarity: float) -> Found:
    """Return what a search of the collection found, with the caller's own metadata only."""
    own = {key: value for key, value in hit.metadata.items() if not key.startswith("_vx_")}
    if hit.kind is not None:
        own.pop(_session.STATEMENT, None)
        own = {"role": hit.role, "session": hit.session} | own
    return Found(hit.text, 1.0 - similarity, similarity, own, hit.id, hit.timestamp)
