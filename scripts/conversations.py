"""Conversations with their own questions: LoCoMo, LongMemEval, and those written for this project."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# LoCoMo's fifth category asks about things that were never said.
ANSWERABLE = (1, 2, 3, 4)
_TURN_ID = re.compile(r"D\d+:\d+")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the indexes of the turns that answer it (none where nobody labelled them)."""

    text: str
    evidence: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said, and questions that it answers."""

    source: str
    turns: list[str]
    asked: list[Question]
    names: tuple[str, ...] = ()

    @property
    def questions(self) -> list[str]:
        """The questions' texts."""
        return [question.text for question in self.asked]


def read_locomo(path: Path) -> list[Conversation]:
    """Return one conversation a sample, turns as `name: text [caption of a shared image]`."""
    return [_locomo_sample(path.stem, sample) for sample in json.loads(path.read_text())]


def read_longmemeval(path: Path) -> list[Conversation]:
    """Return one conversation a question, without those that have no answer."""
    items = json.loads(path.read_text())
    return [_longmemeval_item(path.stem, item) for item in items if not item["question_id"].endswith("_abs")]


def read_written(conversation: Path, questions: Path) -> list[Conversation]:
    """Return one conversation a session of the demo's, with the questions of `session | question | words of a turn`."""
    sittings = json.loads(conversation.read_text())["sittings"]
    asked = rows_of(questions)
    written = []
    for session in dict.fromkeys(row[0] for row in asked):
        turns = [text for sitting in sittings if sitting["session"] == session for _role, text in sitting["turns"]]
        found = [Question(text, _holding(words, turns)) for of, text, words in asked if of == session]
        written.append(Conversation(conversation.stem, turns, found))
    return written


def read_pairs(path: Path) -> list[Conversation]:
    """Return two conversations of unrelated memories, from lines of `memory | question`."""
    rows = rows_of(path)
    halves = (rows[::2], rows[1::2])
    return [
        Conversation(path.stem, [row[0] for row in half], [Question(row[1], (at,)) for at, row in enumerate(half)])
        for half in halves
    ]


def rows_of(path: Path) -> list[list[str]]:
    """Return the lines of a text file, split at ` | `, without comments and empty lines."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return [line.split(" | ") for line in lines if line and not line.startswith("#")]


def _holding(words: str, turns: list[str]) -> tuple[int, ...]:
    found = tuple(at for at, text in enumerate(turns) if words in text)
    if not found:
        raise ValueError(f"no turn holds {words!r}")
    return found


def _locomo_sample(source: str, sample: dict[str, Any]) -> Conversation:
    said = [turn for session in sample["conversation"].values() if isinstance(session, list) for turn in session]
    index = {turn["dia_id"]: at for at, turn in enumerate(said)}
    asked = []
    for item in sample["qa"]:
        if item["category"] in ANSWERABLE:
            named = (name for text in item["evidence"] for name in _TURN_ID.findall(text))
            cited = {index[name] for name in named if name in index}
            asked.append(Question(item["question"], tuple(sorted(cited))))
    names = (sample["conversation"]["speaker_a"], sample["conversation"]["speaker_b"])
    return Conversation(source, [_locomo_text(turn) for turn in said], asked, names)


def _longmemeval_item(source: str, item: dict[str, Any]) -> Conversation:
    said = [turn for session in item["haystack_sessions"] for turn in session]
    evidence = tuple(at for at, turn in enumerate(said) if turn.get("has_answer"))
    return Conversation(source, [turn["content"] for turn in said], [Question(item["question"], evidence)])


def _locomo_text(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['speaker']}: {turn['text']}" + (f" [{caption}]" if caption else "")
