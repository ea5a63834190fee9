"""Feedback: how a memory turned out, and what is right instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retentive import _clock, _ids, _times, _validate
from retentive._constants import DOCUMENT, FACT, PINNED
from retentive._errors import InvalidInputError

if TYPE_CHECKING:
    from retentive._embedding import Embedding
    from retentive._engine import Engine
    from retentive._requests import Correction
    from retentive._steps import Steps
    from retentive.memory import ConversationMemory


def feedback(
    engine: Engine,
    settings: ConversationMemory,
    id: str,
    outcome: str,
    correction: str | None,
    timestamp: _times.Instant | None,
) -> Steps[str | None]:
    """Record feedback, and a correction in the same transaction; see `Collection.feedback`."""
    _validate.memory_id(id)
    _validate.outcome(outcome)
    now = _clock.now()
    ts = _times.instant_or("timestamp", timestamp, now)
    if correction is None:
        return engine.core.feedback(id, outcome, ts, None, now)
    if outcome != "corrected":
        raise InvalidInputError(f'a correction comes with outcome {outcome!r}, expected "corrected"')
    _validate.text(correction, "correction")
    new: Correction = {
        "id": _ids.memory_id(),
        "text": correction,
        "ts": ts,
        "vectors": (),
        "model_epoch": None,
        "expires": {
            FACT: _times.expiry(ts, settings.ttl_of(FACT)),
            PINNED: _times.expiry(ts, settings.ttl_of(PINNED)),
            DOCUMENT: None,
        },
    }

    def store(embedding: Embedding) -> Steps[str | None]:
        (new["vectors"],) = yield from embedding.documents([correction])
        new["model_epoch"] = embedding.model_epoch
        return engine.core.feedback(id, outcome, ts, new, now)

    return (yield from engine.embedded(store))
