"""What a data set is once it is read: conversations of dated turns, and questions whose evidence is labelled."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from retentive._errors import InvalidInputError
from retentive._files import infile

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

T = TypeVar("T")

TURN_SECONDS = 5
"""Seconds between two turns of a session: the sets date sessions, and the order within one must survive."""


class DataError(ValueError):
    """The file is not the data set it was said to be. The message says what was expected, and where."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Something said: `id` is the data set's own name for it, unique in its conversation, as `session` is."""

    id: str
    text: str
    role: str
    timestamp: datetime
    name: str | None = None
    session: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """What somebody noted down from turns: `cites` are their ids, `timestamp` is that of the newest."""

    text: str
    timestamp: datetime
    cites: frozenset[str]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question asked at `now`; `evidence` are the ids of the turns that hold its answer, at least one."""

    id: str
    text: str
    category: str
    evidence: frozenset[str]
    now: datetime
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One memory: its turns, oldest first, what is asked of it, and the facts that the data set noted down."""

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Dataset:
    """A file, read.

    `skipped` counts the questions that are not measured, by reason. `literal` are the categories whose gold answers are
    worded as in the conversation: only there does an answer whose every word stands in the block mean something.
    """

    name: str
    file: str
    sha256: str
    conversations: tuple[Conversation, ...]
    skipped: Mapping[str, int]
    literal: frozenset[str] = frozenset()

    @property
    def questions(self) -> int:
        """How many questions are measured."""
        return sum(len(conversation.questions) for conversation in self.conversations)

    @property
    def turns(self) -> int:
        """How many turns are remembered, over all conversations."""
        return sum(len(conversation.turns) for conversation in self.conversations)

    @property
    def facts(self) -> int:
        """How many facts the data set has, over all conversations."""
        return sum(len(conversation.facts) for conversation in self.conversations)

    def first(self, limit: int | None) -> Dataset:
        """Keep the first `limit` questions in the file's order and the conversations they are asked of."""
        if limit is None:
            return self
        kept: list[Conversation] = []
        left = limit
        for conversation in self.conversations:
            questions = conversation.questions[:left]
            if not questions:
                continue
            kept.append(replace(conversation, questions=questions))
            left -= len(questions)
        return replace(self, conversations=tuple(kept))


def read_json(path: Path) -> tuple[Any, str]:
    """Return a JSON file's content and the SHA-256 of its bytes.

    Raises:
        DataError: it cannot be read or is not JSON.
    """
    try:
        raw = infile(path).read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    except InvalidInputError as error:
        raise DataError(f"cannot read the data: {error}") from error
    try:
        return json.loads(raw), hashlib.sha256(raw).hexdigest()
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}") from error


def expect(value: object, kind: type[T], where: str) -> T:
    """Return `value` if it is a `kind`; otherwise say where what was expected.

    Examples:
        >>> expect("a text", str, "question")
        'a text'
    """
    if not isinstance(value, kind):
        raise DataError(f"{where} is {_described(value)}, expected {_NAMES.get(kind, kind.__name__)}")
    return value


def entries(content: object, path: Path, fields: tuple[str, ...], what: str) -> list[dict[str, Any]]:
    """Return the objects of a data set's outer list, each checked for `fields`."""
    if not isinstance(content, list) or not content:
        raise DataError(f"{path} holds {_described(content)}, expected {what}: a non-empty list of objects")
    for index, entry in enumerate(content):
        missing = [field for field in fields if field not in expect(entry, dict, f"entry {index} of {path}")]
        if missing:
            raise DataError(f"entry {index} of {path} lacks {', '.join(missing)}: expected {what}")
    return content


_NAMES: dict[type, str] = {str: "a string", list: "a list", dict: "an object", int: "an integer"}


def _described(value: object) -> str:
    if value is None:
        return "nothing"
    if value == []:
        return "an empty list"
    return _NAMES.get(type(value), type(value).__name__)
