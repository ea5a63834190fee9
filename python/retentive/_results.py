"""What reads return: `Result`, `Results`, `ConsolidationReport`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, overload

from retentive import _constants as words
from retentive import _json, _times

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    import numpy.typing as npt


class Stored(Protocol):
    """The fields of the core's `Memory`."""

    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def user(self) -> str | None: ...
    @property
    def session(self) -> str | None: ...
    @property
    def role(self) -> str | None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def key(self) -> str | None: ...
    @property
    def turn(self) -> int | None: ...
    @property
    def ts(self) -> int: ...
    @property
    def expires(self) -> int | None: ...
    @property
    def supersedes(self) -> str | None: ...
    @property
    def superseded_by(self) -> str | None: ...
    @property
    def feedback(self) -> list[tuple[str, int]]: ...
    @property
    def consolidated_from(self) -> list[str]: ...
    @property
    def judge(self) -> str | None: ...
    @property
    def metadata(self) -> str | None: ...
    @property
    def score(self) -> float: ...
    @property
    def similarity(self) -> float | None: ...
    @property
    def scoring(self) -> dict[str, float] | None: ...


class Copy(NamedTuple):
    """A `Stored` that can be pickled and compared."""

    id: str
    text: str
    kind: str
    user: str | None
    session: str | None
    role: str | None
    name: str | None
    key: str | None
    turn: int | None
    ts: int
    expires: int | None
    supersedes: str | None
    superseded_by: str | None
    feedback: list[tuple[str, int]]
    consolidated_from: list[str]
    judge: str | None
    metadata: str | None
    score: float
    similarity: float | None
    scoring: dict[str, float] | None

    @classmethod
    def of(cls, stored: Stored) -> Copy:
        """Return the fields of `stored`."""
        return stored if isinstance(stored, cls) else cls(*[getattr(stored, field) for field in cls._fields])


class Result:
    """One memory or document, as a read found it. Frozen; can be pickled and compared.

    Attributes:
        id: its id.
        text: the whole text as stored.
        score: what it was ranked by; 0.0 where nothing was ranked.
        similarity: the cosine with the query, None where none was taken.
        distance: `1 - similarity`, or None.
        metadata: the caller's keys and the reserved `_vx_` keys.
        excerpt: what was packed of a text too long to pack whole, or None.
        vector: float32 `[d]`, or `[parts, d]` of a text embedded in parts; None unless `get(..., vectors=True)` asked.
    """

    __slots__ = ("_excerpt", "_metadata", "_stored", "_vector")

    _stored: Stored
    _metadata: dict[str, Any]
    _vector: npt.NDArray[np.float32]
    _excerpt: str

    def __init__(
        self, stored: Stored, vector: npt.NDArray[np.float32] | None = None, excerpt: str | None = None
    ) -> None:
        object.__setattr__(self, "_stored", stored)
        if vector is not None:  # what few results have is not set for the others: a read makes many
            object.__setattr__(self, "_vector", vector)
        if excerpt is not None:
            object.__setattr__(self, "_excerpt", excerpt)

    @property
    def id(self) -> str:
        """Its id."""
        return self._stored.id

    @property
    def text(self) -> str:
        """The whole text as stored."""
        return self._stored.text

    @property
    def score(self) -> float:
        """What it was ranked by; 0.0 where nothing was ranked."""
        return self._stored.score

    @property
    def similarity(self) -> float | None:
        """The cosine with the query, None where none was taken."""
        return self._stored.similarity

    @property
    def distance(self) -> float | None:
        """`1 - similarity`, or None."""
        similarity = self._stored.similarity
        return None if similarity is None else 1.0 - similarity

    @property
    def metadata(self) -> dict[str, Any]:
        """The caller's own keys, and the reserved `_vx_` keys that have something to say. Built once."""
        metadata: dict[str, Any] | None = getattr(self, "_metadata", None)
        if metadata is None:
            metadata = _metadata(self._stored)
            object.__setattr__(self, "_metadata", metadata)
        return metadata

    @property
    def kind(self) -> str | None:
        """`turn`, `fact` or `pinned`; None for a document."""
        kind = self._stored.kind
        return None if kind == words.DOCUMENT else kind

    @property
    def session(self) -> str | None:
        """The session it belongs to, or None."""
        return self._stored.session

    @property
    def user(self) -> str | None:
        """The user it belongs to, or None."""
        return self._stored.user

    @property
    def role(self) -> str | None:
        """Who said it: `user`, `assistant`, ..."""
        return self._stored.role

    @property
    def name(self) -> str | None:
        """The speaker's name, or None."""
        return self._stored.name

    @property
    def key(self) -> str | None:
        """The key of a keyed fact, trimmed and case-folded, or None."""
        return self._stored.key

    @property
    def turn(self) -> int | None:
        """The number of a turn in its session, from 0; None for what is no turn."""
        return self._stored.turn

    @property
    def timestamp(self) -> datetime:
        """When it was said, in UTC."""
        return _times.to_datetime(self._stored.ts)

    @property
    def expires_at(self) -> datetime | None:
        """When it expires, in UTC; None is never."""
        expires = self._stored.expires
        return None if expires is None else _times.to_datetime(expires)

    @property
    def supersedes(self) -> str | None:
        """The id of what it replaced, or None."""
        return self._stored.supersedes

    @property
    def superseded_by(self) -> str | None:
        """The id of what replaced it, `forgotten` where that is gone, or None."""
        return self._stored.superseded_by

    @property
    def excerpt(self) -> str | None:
        """What was packed of a text too long to pack whole; None where it was packed whole or not at all."""
        return getattr(self, "_excerpt", None)

    @property
    def vector(self) -> npt.NDArray[np.float32] | None:
        """The vector as it was given; None unless it was asked for."""
        return getattr(self, "_vector", None)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Result is frozen; cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Result is frozen; cannot delete {name}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        if self is other:
            return True
        return self.excerpt == other.excerpt and Copy.of(self._stored) == Copy.of(other._stored)

    def __hash__(self) -> int:
        return hash(self._stored.id)

    def __reduce__(self) -> tuple[type[Result], tuple[Copy, npt.NDArray[np.float32] | None, str | None]]:
        return Result, (Copy.of(self._stored), self.vector, self.excerpt)

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 50 else self.text[:49] + "…"
        return f"Result({self.id!r}, {text!r}, score={self.score:.3f})"


def _metadata(stored: Stored) -> dict[str, Any]:
    metadata = _json.loaded(stored.metadata)
    for key, value in _reserved(stored):
        if value is not None:
            metadata[key] = value
    return metadata


def _reserved(stored: Stored) -> Iterable[tuple[str, object]]:
    if stored.kind != words.DOCUMENT:
        yield words.K_KIND, stored.kind
    yield words.K_SESSION, stored.session
    yield words.K_USER, stored.user
    yield words.K_ROLE, stored.role
    yield words.K_NAME, stored.name
    yield words.K_KEY, stored.key
    yield words.K_TURN, stored.turn
    yield words.K_TS, _times.to_iso(stored.ts)
    yield words.K_EXPIRES, None if stored.expires is None else _times.to_iso(stored.expires)
    yield words.K_FEEDBACK, [{"outcome": what, "ts": _times.to_iso(ts)} for what, ts in stored.feedback] or None
    yield words.K_SUPERSEDES, stored.supersedes
    yield words.K_SUPERSEDED_BY, stored.superseded_by
    yield words.K_CONSOLIDATED_FROM, stored.consolidated_from or None
    yield words.K_JUDGE, stored.judge
    yield words.K_SCORING, stored.scoring


class Dropped(NamedTuple):
    """A memory that was left out, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class Results(Sequence[Result]):
    """What a recall or a search returned, best first: a sequence of `Result`.

    Attributes:
        items: the results.
        query: what was asked; None for a search by vector or filter alone.
        mode: `hybrid`, `dense` or `lexical`.
        time_ms: how long it took.
        truncated: the budget cut something, or the first result alone is over it.
        cut_count: how many the budget cut.
        token_estimate: the tokens of the texts kept, each counted after its speaker's name where it has one, as it is
            indexed.
        token_budget: the budget, or None.
        dropped: (id, reason) of each of the pool that was left out.
    """

    items: tuple[Result, ...]
    query: str | None
    mode: str
    time_ms: float = field(compare=False)
    truncated: bool
    cut_count: int
    token_estimate: int
    token_budget: int | None
    dropped: tuple[Dropped, ...]

    @property
    def texts(self) -> list[str]:
        """The texts, in order."""
        return [item.text for item in self.items]

    @property
    def ids(self) -> list[str]:
        """The ids, in order."""
        return [item.id for item in self.items]

    @property
    def scores(self) -> list[float]:
        """The scores, in order."""
        return [item.score for item in self.items]

    @property
    def top(self) -> Result | None:
        """The first result, or None."""
        return self.items[0] if self.items else None

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Result, ...]: ...
    def __getitem__(self, index: int | slice) -> Result | tuple[Result, ...]:
        return self.items[index]

    def __repr__(self) -> str:
        first = f", top={self.items[0].text[:50]!r}" if self.items else ""
        cut = f", {self.cut_count} cut" if self.cut_count else ""
        return f"<Results of {len(self.items)}{first}{cut}, {self.time_ms:.1f} ms>"

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        from retentive import _html

        return _html.of_results(self)


@dataclass(frozen=True, slots=True)
class ConsolidationReport:
    """What `consolidate` did.

    Attributes:
        session: the session.
        turn_ids: the turns that were summarised, oldest first.
        fact_ids: the facts that were stored.
        turns_removed: how many of the turns were deleted.
    """

    session: str
    turn_ids: tuple[str, ...]
    fact_ids: tuple[str, ...]
    turns_removed: int
