"""One turn of a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from retentive._results import Result

IMAGE_PATH = "image_path"  # in the metadata of a turn


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One turn.

    Attributes:
        role: who said it: `user`, `assistant`, ...
        content: what was said.
        timestamp: when, in UTC.
        image_path: the image that came with it, or None.
        id: of the turn in the collection.
    """

    role: str
    content: str
    timestamp: datetime
    image_path: str | None
    id: str


def chat_turn(turn: Result) -> ChatTurn:
    """Return a turn of the collection as one of a conversation."""
    image = turn.metadata.get(IMAGE_PATH)
    return ChatTurn(turn.role or "user", turn.text, turn.timestamp, image if isinstance(image, str) else None, turn.id)
