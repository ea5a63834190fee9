"""Conversations with their own questions, read from LoCoMo and LongMemEval files."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# LoCoMo's fifth category asks about things that were never said.
ANSWERABLE = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said, and questions that it answers."""

    source: str
    turns: list[str]
    questions: list[str]


def read_locomo(path: Path) -> list[Conversation]:
    """Return one conversation a sample, turns as `name: text [caption of a shared image]`."""
    return [_locomo_sample(path.stem, sample) for sample in json.loads(path.read_text())]


def read_longmemeval(path: Path) -> list[Conversation]:
    """Return one conversation a question, without those that have no answer."""
    items = json.loads(path.read_text())
    return [_longmemeval_item(path.stem, item) for item in items if not item["question_id"].endswith("_abs")]


def _locomo_sample(source: str, sample: dict[str, Any]) -> Conversation:
    sessions = (value for value in sample["conversation"].values() if isinstance(value, list))
    turns = [_locomo_text(turn) for session in sessions for turn in session]
    questions = [item["question"] for item in sample["qa"] if item["category"] in ANSWERABLE]
    return Conversation(source, turns, questions)


def _longmemeval_item(source: str, item: dict[str, Any]) -> Conversation:
    turns = [turn["content"] for session in item["haystack_sessions"] for turn in session]
    return Conversation(source, turns, [item["question"]])


def _locomo_text(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['speaker']}: {turn['text']}" + (f" [{caption}]" if caption else "")
