"""What the facade hands to the core: the engine's requests, field by field. Times are integer microseconds UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypedDict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from retentive.embedders import StaticEmbedder

    Vector: TypeAlias = npt.NDArray[np.float32]  # [d]
    Parts: TypeAlias = npt.NDArray[np.float32]  # [parts, d], parts >= 1
    QueryTerms: TypeAlias = tuple[npt.NDArray[np.float32], list[tuple[int, int]]]  # [t, d], characters [start, end)

Counter: TypeAlias = Callable[[str], int]  # checked: returns a valid count or raises CounterError


# rows by table; kind, table, row, id and what is wrong of each problem; how many more there are
Found: TypeAlias = tuple[dict[str, int], list[tuple[str, str, int | None, str | None, str]], int]


class Reach(TypedDict):
    """Which memories a call may see. `user=None` with `any_user=False` is what has no user."""

    user: str | None
    any_user: bool
    session: str | None


class NewMemory(TypedDict):
    """One memory to store."""

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
    metadata: str | None
    vectors: Sequence[Parts]  # of each model; empty: stored without vectors
    model_epoch: int | None  # what the vectors were made for; None is not checked
    judge: str | None
    supersedes: Sequence[str]
    replace: bool


class Restored(TypedDict):
    """What a memory of a file has beside what a new one has."""

    line: int
    supersedes: str | None
    superseded: tuple[str | None, int] | None  # the successor's id, where it is known, and its time
    cited: bool
    consolidated_from: Sequence[str]
    feedback: Sequence[tuple[str, int]]


class FileExtras(TypedDict):
    """What a file says beside its memories."""

    unused: Sequence[tuple[str | None, str | None, int]]  # user, session, next turn number
    models: Sequence[tuple[str, int, Vector | None]]
    with_vectors: bool  # vectors without an epoch are of these models
    calibration: tuple[float | None, float | None, str] | None


class Correction(TypedDict):
    """The text that corrects a memory. `expires` is by the kind it will have."""

    id: str
    text: str
    ts: int
    vectors: Sequence[Parts]
    model_epoch: int | None  # what the vectors were made for; None is not checked
    expires: dict[str, int | None]


class Settings(TypedDict):
    """What recall weighs by."""

    half_life_days: float
    recency_weight: float
    feedback_weight: float
    feedback_half_life_days: float
    sitting_gap_us: int
    recall_roles: Sequence[str] | None
    recall_min_words: int
    max_turns: int | None
    signals: dict[str, float]
    dense_weights: Sequence[float]  # of each model


class RecallRequest(TypedDict):
    """A recall."""

    query: str
    vectors: Sequence[Vector]  # by each model; empty: by words alone
    query_terms: Sequence[QueryTerms | None]
    model_epoch: int | None  # what the vectors were made for; None is not checked
    reach: Reach
    limit: int | None
    token_budget: int | None
    score_gap: float | None
    kinds: Sequence[str]
    include_superseded: bool
    mode: str
    now: int
    as_of: int | None
    exclude_ids: Sequence[str]
    filter: str | None
    min_relevance: float | None
    refusal_floor: float | None
    late_interaction_floor: float | None  # in its place: the ranking is undecided until that is told
    calibrated: bool  # a measured floor takes their place
    settings: Settings


class SearchRequest(TypedDict):
    """A search."""

    query: str | None
    vectors: Sequence[Vector]
    model_epoch: int | None  # what the vectors were made for; None is not checked
    reach: Reach
    limit: int | None
    token_budget: int | None
    score_gap: float | None
    mode: str
    now: int
    filter: str | None
    max_distance: float | None
    calibrated: bool  # a measured floor takes its place
    dense_weights: Sequence[float]
    explain: bool


class ContextRequest(TypedDict):
    """What a context block is packed from."""

    recall: RecallRequest
    recent_session: str | None
    recent_turns: int


class Excerpts(TypedDict):
    """How long memories are excerpted: to a length in tokens (None: by the room left); without a model, by words."""

    length: int | None
    query: str
    query_terms: QueryTerms | None  # of the model, where they are known
    model: StaticEmbedder | None


class Forget(TypedDict):
    """What to delete."""

    reach: Reach
    kinds: Sequence[str]
    before: int | None
    ids: Sequence[str] | None
    superseded: bool
    now: int


class Question(TypedDict):
    """A question to find the evidence for; `own` is the id of the memory that it was taken from."""

    text: str
    vector: Vector
    own: str | None


class Sampled(TypedDict):
    """A stored text of a sample."""

    id: str
    text: str
    vectors: Parts
    session: int
    sitting: int


class Sample(TypedDict):
    """A sample of cosines in numbers."""

    count: int
    quantiles: list[tuple[float, float]]
    histogram: list[int]


class Measured(TypedDict):
    """What samples of cosines say; None where one is empty."""

    noise_floor: float | None
    cutoff: float | None
    refusal_floor: float | None
    auc: float | None
    related: Sample
    unrelated: Sample


class Selection(TypedDict):
    """What fits a limit and a budget: indexes kept, and (index, reason) dropped."""

    kept: list[int]
    tokens: int
    truncated: bool
    cut_count: int
    dropped: list[tuple[int, str]]
