"""The words of the API: kinds, outcomes, reserved keys, and `ANY`."""

from __future__ import annotations

import enum
from typing import Final, Literal, TypeAlias

TURN: Final = "turn"
FACT: Final = "fact"
PINNED: Final = "pinned"
DOCUMENT: Final = "document"  # what `add()` stores; callers cannot name it

KINDS: Final[tuple[str, ...]] = (TURN, FACT, PINNED)
OUTCOMES: Final[tuple[str, ...]] = ("useful", "dead_end", "corrected")

RESERVED_PREFIX: Final = "_vx_"
K_KIND: Final = "_vx_kind"
K_SESSION: Final = "_vx_session"
K_USER: Final = "_vx_user"
K_ROLE: Final = "_vx_role"
K_NAME: Final = "_vx_name"
K_KEY: Final = "_vx_key"
K_TURN: Final = "_vx_turn"
K_TS: Final = "_vx_ts"
K_EXPIRES: Final = "_vx_expires"
K_FEEDBACK: Final = "_vx_feedback"
K_SUPERSEDES: Final = "_vx_supersedes"
K_SUPERSEDED_BY: Final = "_vx_superseded_by"
K_CONSOLIDATED_FROM: Final = "_vx_consolidated_from"
K_JUDGE: Final = "_vx_judge"
K_SCORING: Final = "_vx_scoring"
"""The parts of a result's score. The guide to signals says what each is, and how they make the score."""


class AnyUser(enum.Enum):
    """The type of `ANY`."""

    ANY = "ANY"

    def __repr__(self) -> str:
        return "retentive.ANY"


ANY: Final = AnyUser.ANY
"""Every user, and what has no user: for maintenance with `recall`, `search`, `count`, `sessions` and `forget`."""

User: TypeAlias = str | Literal[AnyUser.ANY] | None
