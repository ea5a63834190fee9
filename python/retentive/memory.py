"""Conversation memory and its settings, the reserved keys of `metadata`, and `feedback_score`.

The settings of a collection are its `memory`:

Examples:
    >>> from retentive import Collection
    >>> from retentive.embedders import HashEmbedder
    >>> db = Collection("chat", embedder=HashEmbedder(64))
    >>> db.memory = ConversationMemory(db, half_life_days=30, recency_weight=0.3)
    >>> db.memory.half_life_days
    30.0
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from retentive import _core, _times, _validate
from retentive._constants import (
    ANY,
    K_CONSOLIDATED_FROM,
    K_EXPIRES,
    K_FEEDBACK,
    K_JUDGE,
    K_KEY,
    K_KIND,
    K_NAME,
    K_ROLE,
    K_SCORING,
    K_SESSION,
    K_SUPERSEDED_BY,
    K_SUPERSEDES,
    K_TS,
    K_TURN,
    K_USER,
    KINDS,
    OUTCOMES,
)
from retentive._conversation import Conversation
from retentive._engine import Engine
from retentive._errors import InvalidInputError
from retentive._setting import Setting

if TYPE_CHECKING:
    from retentive._collection import Collection
    from retentive._judge import AsyncJudge, Judge
    from retentive._requests import Settings

__all__ = [
    "ANY",
    "KINDS",
    "K_CONSOLIDATED_FROM",
    "K_EXPIRES",
    "K_FEEDBACK",
    "K_JUDGE",
    "K_KEY",
    "K_KIND",
    "K_NAME",
    "K_ROLE",
    "K_SCORING",
    "K_SESSION",
    "K_SUPERSEDED_BY",
    "K_SUPERSEDES",
    "K_TS",
    "K_TURN",
    "K_USER",
    "OUTCOMES",
    "ConversationMemory",
    "feedback_score",
]


def _days(name: str, value: object) -> float:
    return _validate.number(name, value, above=0)


_MOST_WEIGHT = 1e6  # far beyond what anything else is worth; near the largest float a score is infinite


def _weight(name: str, value: object) -> float:
    return _validate.number(name, value, at_least=0, at_most=_MOST_WEIGHT)


def _whole(name: str, value: object) -> int:
    return _validate.integer(name, value)


def _at_least_one(name: str, value: object) -> int:
    return _validate.integer(name, value, at_least=1)


def _turns(name: str, value: object) -> int | None:
    return _validate.integer_or_none(name, value)


def _judge(name: str, value: object) -> Judge | AsyncJudge | None:
    return _validate.callable_or_none(name, value)


def _on_judge_error(name: str, value: object) -> str:
    return _validate.choice(name, value, ("keep", "raise"))


def _roles(name: str, value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    return tuple([_validate.label(role, f"a role of {name}") for role in _validate.items(value, name, "roles")])


def _signals(name: str, value: object) -> Mapping[str, float]:
    if value is None:
        return MappingProxyType({})
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{name} is {_validate.shown(value)}, expected a mapping of signal to weight")
    for signal in value:
        if not isinstance(signal, str) or len(signal) > _validate.MAX_LABEL_CHARACTERS:
            raise InvalidInputError(f"{name} has the key {_validate.shown(signal)}, expected a signal's name")
    weights = {key: _weight(f"{name}[{_validate.shown(key)}]", weight) for key, weight in value.items()}
    _core.validate_signals(list(weights.items()))
    return MappingProxyType(weights)


_LONGEST_GAP_HOURS = 24 * 366 * 10_000  # the whole calendar


class ConversationMemory(Conversation):
    """The settings by which a collection remembers and recalls, and its verbs with these settings.

    Every setting can be changed later: `db.memory.half_life_days = 30`. Each change is checked.

    Args:
        db: the collection.
        half_life_days: after how many days recency counts half; above 0.
        recency_weight: what being new is worth beside relevance, which is 0 to 1; 0 to 1e6.
        feedback_weight: what a point of feedback is worth; 0 to 1e6.
        feedback_half_life_days: after how many days feedback counts half; above 0.
        ttl_days: time to live in days: a number for all kinds, a mapping of kind to days, or None for ever.
        judge: `judge(new_text, candidate_texts)` returns one bool a candidate, True where the new text replaces it.
            An async function serves the async twins, and is refused by the blocking methods.
        judge_candidates: how many candidates it is shown at most.
        max_turns: turns older than the last so many are in neither `turns()` nor the recent part of a context.
        recall_roles: the roles whose turns are recalled; None for all.
        recall_min_words: turns of fewer words are never recalled.
        sitting_gap_hours: a pause longer than this starts a new sitting.
        signals: weights of signals by name, 0 to 1e6, in place of the defaults; 0 switches one off. They are
            `dense`, `lexical`, `window`, `neighbours`, `sitting`, `sitting_words`, `role`, `named`, `date`, `cues`.
        on_judge_error: `"keep"` stores the new fact when the judge fails, `"raise"` raises and stores nothing.

    Raises:
        InvalidInputError: a setting has the wrong type or value.

    Examples:
        >>> from retentive import Collection
        >>> from retentive.embedders import HashEmbedder
        >>> db = Collection("chat", embedder=HashEmbedder(64))
        >>> db.memory = ConversationMemory(db, ttl_days={"turn": 30}, max_turns=200)
    """

    half_life_days = Setting(_days, "After how many days recency counts half.")
    recency_weight = Setting(_weight, "What being new is worth beside relevance, which is 0 to 1.")
    feedback_weight = Setting(_weight, "What a point of feedback is worth.")
    feedback_half_life_days = Setting(_days, "After how many days feedback counts half.")
    judge = Setting(_judge, "Who says whether a new text replaces a candidate.")
    judge_candidates = Setting(_at_least_one, "How many candidates the judge is shown at most.")
    max_turns = Setting(_turns, "How many turns a thread shows at most.")
    recall_roles = Setting(_roles, "The roles whose turns are recalled; None for all.")
    recall_min_words = Setting(_whole, "Turns of fewer words are never recalled.")
    sitting_gap_hours = Setting(_days, "A pause longer than this starts a new sitting.")
    signals = Setting(_signals, "Weights of signals by name, in place of the defaults.")
    on_judge_error = Setting(_on_judge_error, "Whether a judge's failure keeps the new fact or raises.")

    def __init__(
        self,
        db: Collection,
        half_life_days: float = 7.0,
        recency_weight: float = 0.5,
        feedback_weight: float = 0.25,
        feedback_half_life_days: float = 30.0,
        ttl_days: _times.Ttl = None,
        judge: Judge | AsyncJudge | None = None,
        judge_candidates: int = 5,
        *,
        max_turns: int | None = None,
        recall_roles: Iterable[str] | None = None,
        recall_min_words: int = 1,
        sitting_gap_hours: float = 1.0,
        signals: Mapping[str, float] | None = None,
        on_judge_error: str = "keep",
    ) -> None:
        engine = getattr(db, "_engine", None)
        if not isinstance(engine, Engine):
            raise InvalidInputError(f"db is {_validate.shown(db)}, expected a Collection")
        self._engine = engine  # not the collection: no cycle keeps a file open
        self.half_life_days = half_life_days
        self.recency_weight = recency_weight
        self.feedback_weight = feedback_weight
        self.feedback_half_life_days = feedback_half_life_days
        self.ttl_days = ttl_days
        self.judge = judge
        self.judge_candidates = judge_candidates
        self.max_turns = max_turns
        self.recall_roles = _roles("recall_roles", recall_roles)
        self.recall_min_words = recall_min_words
        self.sitting_gap_hours = sitting_gap_hours
        self.signals = _signals("signals", signals)
        self.on_judge_error = on_judge_error

    @property
    def ttl_days(self) -> _times.Ttl:
        """Time to live in days: a number for all kinds, a mapping of kind to days, or None for ever."""
        return self._ttl_days

    @ttl_days.setter
    def ttl_days(self, value: _times.Ttl) -> None:
        self._ttl = _times.ttl_per_kind(value)
        self._ttl_days = MappingProxyType(dict(value)) if isinstance(value, Mapping) else value

    def ttl_of(self, kind: str) -> float | None:
        """Return the time to live of a kind in days; None for ever."""
        return self._ttl[kind]

    def native(self, dense_weights: Sequence[float]) -> Settings:
        """Return the settings as the core takes them."""
        return {
            "half_life_days": self.half_life_days,
            "recency_weight": self.recency_weight,
            "feedback_weight": self.feedback_weight,
            "feedback_half_life_days": self.feedback_half_life_days,
            "sitting_gap_us": round(min(self.sitting_gap_hours, _LONGEST_GAP_HOURS) * _times.HOUR_US),
            "recall_roles": self.recall_roles,
            "recall_min_words": min(self.recall_min_words, _validate.MAX_TEXT_BYTES),  # no text has more words
            "max_turns": self.max_turns,
            "signals": dict(self.signals),
            "dense_weights": dense_weights,
        }

    def bound_to(self, engine: Engine) -> ConversationMemory:
        """Return these settings for the collection of `engine`: themselves where they are its own, else a copy."""
        if self._engine is engine:
            return self
        bound = copy.copy(self)
        vars(bound)["_engine"] = engine
        return bound

    @property
    def _settings(self) -> ConversationMemory:
        return self

    def __repr__(self) -> str:
        return (
            f"ConversationMemory(half_life_days={self.half_life_days:g}, recency_weight={self.recency_weight:g}, ...)"
        )


def feedback_score(meta: Mapping[str, Any], now: _times.Instant, half_life_days: float) -> float:
    """Return the sum of a memory's feedback, each entry halved every `half_life_days`.

    Args:
        meta: the `metadata` of a `Result`.
        now: a datetime or ISO 8601 string.
        half_life_days: above 0.

    Returns:
        `useful` counts 1, `dead_end` and `corrected` -1; 0.0 without feedback. What ranking clips to -2 to 2 is not
        clipped here.

    Raises:
        InvalidInputError: `now`, `half_life_days` or the entries are of the wrong type or value.

    Examples:
        >>> feedback_score({"_vx_feedback": [{"outcome": "useful", "ts": "2026-01-01T00:00:00Z"}]}, "2026-01-31", 30)
        0.5
    """
    if not isinstance(meta, Mapping):
        raise InvalidInputError(f"meta is {_validate.shown(meta)}, expected the metadata of a Result")
    entries = []
    given = meta.get(K_FEEDBACK)
    for entry in () if given is None else _validate.items(given, K_FEEDBACK, "mappings of outcome and ts"):
        if not isinstance(entry, Mapping):
            raise InvalidInputError(f"{K_FEEDBACK} has {_validate.shown(entry)}, expected a mapping of outcome and ts")
        entries.append((_validate.outcome(entry.get("outcome")), _times.instant("ts", entry.get("ts"))))
    days = _validate.number("half_life_days", half_life_days, above=0)
    return _core.feedback_score(entries, _times.instant("now", now), days)
