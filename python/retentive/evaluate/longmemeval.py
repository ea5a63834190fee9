"""LongMemEval (xiaowu0162/LongMemEval): a question each over its own haystack of chats with an assistant."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from retentive.evaluate.conversations import (
    TURN_SECONDS,
    Conversation,
    DataError,
    Dataset,
    Question,
    Turn,
    entries,
    expect,
    read_json,
)

if TYPE_CHECKING:
    from pathlib import Path

_WHAT = "LongMemEval: objects with `question_id`, `question`, `question_date`, `haystack_sessions`, `haystack_dates`"
_FIELDS = ("question_id", "question", "question_type", "question_date", "haystack_sessions", "haystack_dates")
_ABSTENTION = "_abs"
# The others ask for a count, a span of time or a preference, whose words nobody said.
_LITERAL = frozenset({"single-session-user", "single-session-assistant", "knowledge-update"})
_WEEKDAY = re.compile(r"\s*\(\w+\)\s*")


def load(path: Path) -> Dataset:
    """Read a LongMemEval file (oracle, S or M).

    Raises:
        DataError: the file is missing or is not LongMemEval.
    """
    content, digest = read_json(path)
    skipped: Counter[str] = Counter()
    conversations: list[Conversation] = []
    for index, entry in enumerate(entries(content, path, _FIELDS, _WHAT)):
        identity = expect(entry["question_id"], str, f"question_id of entry {index}")
        if _ABSTENTION in identity:
            skipped["abstention"] += 1
            continue
        turns, labels = _haystack(entry, identity)
        if not labels:
            skipped["without labelled turns"] += 1
            continue
        conversations.append(Conversation(identity, turns, (_question(entry, identity, labels),)))
    return Dataset("longmemeval", path.name, digest, tuple(conversations), dict(skipped), _LITERAL)


def _question(entry: dict[str, Any], identity: str, labels: frozenset[str]) -> Question:
    return Question(
        identity,
        expect(entry["question"], str, f"question of {identity}"),
        expect(entry["question_type"], str, f"question_type of {identity}"),
        labels,
        _date(entry["question_date"], f"question_date of {identity}"),
        str(entry.get("answer", "")),  # counts are numbers in the file
    )


def _haystack(entry: dict[str, Any], identity: str) -> tuple[tuple[Turn, ...], frozenset[str]]:
    sessions = expect(entry["haystack_sessions"], list, f"haystack_sessions of {identity}")
    dates = expect(entry["haystack_dates"], list, f"haystack_dates of {identity}")
    if len(sessions) != len(dates):
        raise DataError(f"{identity} has {len(sessions)} haystack_sessions and {len(dates)} haystack_dates")
    starts = [_date(date, f"haystack_dates[{index}] of {identity}") for index, date in enumerate(dates)]
    turns: list[Turn] = []
    labels: set[str] = set()
    for number in sorted(range(len(sessions)), key=starts.__getitem__):
        for turn, labelled in _session(sessions[number], number, starts[number], identity):
            turns.append(turn)
            if labelled:
                labels.add(turn.id)
    return tuple(turns), frozenset(labels)


def _session(session: object, number: int, start: datetime, identity: str) -> list[tuple[Turn, bool]]:
    where = f"haystack_sessions[{number}] of {identity}"
    turns: list[tuple[Turn, bool]] = []
    for index, said in enumerate(expect(session, list, where)):
        place = f"turn {index} of {where}"
        text = expect(expect(said, dict, place).get("content"), str, f"content of {place}")
        if text.strip():
            role = expect(said.get("role"), str, f"role of {place}")
            moment = start + timedelta(seconds=TURN_SECONDS * index)
            turns.append(
                (Turn(f"{number}:{index}", text, role, moment, session=str(number)), said.get("has_answer") is True)
            )
    return turns


def _date(value: object, where: str) -> datetime:
    text = expect(value, str, where)
    try:
        return datetime.strptime(_WEEKDAY.sub(" ", text.strip()), "%Y/%m/%d %H:%M").replace(tzinfo=UTC)
    except ValueError:
        raise DataError(f"{where} is {text!r}, expected one like '2023/05/25 (Thu) 19:20'") from None
