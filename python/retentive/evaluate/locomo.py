"""LoCoMo (snap-research/locomo): long conversations of two people, with the turns each answer rests on."""

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
    Fact,
    Question,
    Turn,
    entries,
    expect,
    read_json,
)

if TYPE_CHECKING:
    from pathlib import Path

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""What is measured; category 5 asks about things never said, so it has no evidence to find."""

LITERAL = frozenset({"multi-hop", "single-hop"})
"""The others ask for a date or an inference, whose words nobody said."""

ADVERSARIAL = 5

_WHAT = "LoCoMo: objects with `conversation` (session_1, session_1_date_time, ...) and `qa`"
_DATE = "%I:%M %p on %d %B, %Y"
_SESSION = re.compile(r"session_(\d+)")
_TURN_ID = re.compile(r"D:?\s*(\d+)\s*:\s*(\d+)")


def load(path: Path) -> Dataset:
    """Read a LoCoMo file.

    Raises:
        DataError: the file is missing or is not LoCoMo.
    """
    content, digest = read_json(path)
    skipped: Counter[str] = Counter()
    conversations = tuple(
        _conversation(entry, str(entry.get("sample_id", index)), skipped)
        for index, entry in enumerate(entries(content, path, ("conversation", "qa"), _WHAT))
    )
    return Dataset("locomo", path.name, digest, conversations, dict(skipped), LITERAL)


def evidence_ids(evidence: list[Any]) -> list[str]:
    """Return the turn ids in a question's evidence, however they are written, in order and once each.

    Examples:
        >>> evidence_ids(["D8:6; D9:17", "D", "D:11:26", " D1:03"])
        ['D8:6', 'D9:17', 'D11:26', 'D1:3']
    """
    found = (match for item in evidence for match in _TURN_ID.finditer(str(item)))
    return list(dict.fromkeys(f"D{int(session)}:{int(turn)}" for session, turn in (match.groups() for match in found)))


def _conversation(entry: dict[str, Any], sample: str, skipped: Counter[str]) -> Conversation:
    sessions = expect(entry["conversation"], dict, f"conversation of {sample}")
    numbers = sorted(int(match[1]) for key in sessions if (match := _SESSION.fullmatch(key)))
    if not numbers:
        raise DataError(f"conversation of {sample} has no session_1: expected {_WHAT}")
    turns = tuple(turn for number in numbers for turn in _session(sessions, number, sample))
    if not turns:
        raise DataError(f"the sessions of {sample} hold no turns: expected {_WHAT}")
    return Conversation(sample, turns, _questions(entry, sample, turns, skipped), _observations(entry, sample, turns))


def _session(sessions: dict[str, Any], number: int, sample: str) -> list[Turn]:
    where = f"session_{number} of {sample}"
    start = _date(sessions.get(f"session_{number}_date_time"), where)
    turns: list[Turn] = []
    for index, said in enumerate(expect(sessions[f"session_{number}"], list, where)):
        place = f"turn {index} of {where}"
        text = _text(expect(said, dict, place), place)
        if text.strip():
            name = expect(said.get("speaker"), str, f"speaker of {place}")
            moment = start + timedelta(seconds=TURN_SECONDS * index)
            turns.append(Turn(_turn_id(said, place), text, "user", moment, name, str(number)))
    return turns


def _text(said: dict[str, Any], place: str) -> str:
    text = expect(said.get("text"), str, f"text of {place}")
    caption = said.get("blip_caption")
    return f"{text} [{caption}]" if caption else text


def _turn_id(said: dict[str, Any], place: str) -> str:
    ids = evidence_ids([expect(said.get("dia_id"), str, f"dia_id of {place}")])
    if len(ids) != 1:
        raise DataError(f"dia_id of {place} is {said['dia_id']!r}, expected D<session>:<turn>")
    return ids[0]


def _date(value: object, where: str) -> datetime:
    text = expect(value, str, f"date of {where}")
    try:
        return datetime.strptime(text.strip(), _DATE).replace(tzinfo=UTC)
    except ValueError:
        raise DataError(f"date of {where} is {text!r}, expected one like '1:56 pm on 8 May, 2023'") from None


def _questions(
    entry: dict[str, Any], sample: str, turns: tuple[Turn, ...], skipped: Counter[str]
) -> tuple[Question, ...]:
    known = {turn.id for turn in turns}
    now = turns[-1].timestamp + timedelta(days=1)
    questions: list[Question] = []
    for index, asked in enumerate(expect(entry["qa"], list, f"qa of {sample}")):
        where = f"question {index} of {sample}"
        category = expect(expect(asked, dict, where).get("category"), int, f"category of {where}")
        if category not in CATEGORIES:
            skipped["adversarial" if category == ADVERSARIAL else "unknown category"] += 1
            continue
        labels = known.intersection(evidence_ids(expect(asked.get("evidence"), list, f"evidence of {where}")))
        if not labels:
            skipped["without labelled turns"] += 1
            continue
        text = expect(asked.get("question"), str, f"question of {where}")
        answer = str(asked.get("answer", ""))  # years are numbers in the file
        questions.append(Question(f"{sample}:{index}", text, CATEGORIES[category], frozenset(labels), now, answer))
    return tuple(questions)


def _observations(entry: dict[str, Any], sample: str, turns: tuple[Turn, ...]) -> tuple[Fact, ...]:
    """Return what LoCoMo's authors had noted down of each session; one that cites no turn of the file is left out."""
    times = {turn.id: turn.timestamp for turn in turns}
    facts: list[Fact] = []
    for session, by_speaker in expect(entry.get("observation", {}), dict, f"observation of {sample}").items():
        for speaker, noted in expect(by_speaker, dict, f"{session} of {sample}").items():
            for index, pair in enumerate(expect(noted, list, f"{session} of {sample}")):
                text, cited = _observation(pair, f"observation {index} of {speaker} in {session} of {sample}")
                cites = frozenset(times.keys() & set(evidence_ids(cited)))
                if text.strip() and cites:
                    facts.append(Fact(text, max(times[turn] for turn in cites), cites, speaker))
    return tuple(sorted(facts, key=lambda fact: fact.timestamp))


def _observation(pair: object, place: str) -> tuple[str, list[Any]]:
    if not isinstance(pair, list) or len(pair) != 2:
        raise DataError(f"{place} is {pair!r}, expected a text and the turns it cites")
    text, cited = pair
    return expect(text, str, place), cited if isinstance(cited, list) else [cited]
