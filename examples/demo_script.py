"""The written conversation, as the memories it is remembered as."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

NOW = datetime.fromisoformat("2026-04-18T09:00:00+00:00")
"""The morning on which everything is asked: the day after the last turn."""

KITCHEN = "maya-kitchen"
PORTUGUESE = "jonas-portuguese"

_FILE = Path(__file__).with_name("conversation.json")


class Script(NamedTuple):
    """What is said, in order, and who the users are."""

    turns: list[dict[str, Any]]
    users: dict[str, str]
    sittings: int


def read_script() -> Script:
    """Read `conversation.json`: one item for `remember_many` a turn, dated from its sitting."""
    content = json.loads(_FILE.read_text(encoding="utf-8"))
    pause = timedelta(seconds=content["seconds_between_turns"])
    turns = [
        {
            "text": text,
            "user": sitting["user"],
            "session": sitting["session"],
            "role": role,
            "timestamp": datetime.fromisoformat(sitting["at"]) + index * pause,
        }
        for sitting in content["sittings"]
        for index, (role, text) in enumerate(sitting["turns"])
    ]
    return Script(turns, content["users"], len(content["sittings"]))


def day(text: str) -> datetime:
    """Return noon of a day in the year of the conversation, as `day("03-20")`."""
    return datetime.fromisoformat(f"2026-{text}T12:00:00+00:00")
