"""The files that every library reads: the same texts and vectors for all."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conversation import PER_SESSION, Conversation, session_of

SESSIONS_ASKED = 20
_BATCH = 5_000

Embed = Callable[[list[str]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A folder with `turns.jsonl` and `turns.f32`, and beside them what is written and asked one by one."""

    folder: Path
    size: int
    dimension: int
    sessions: int
    writes: int
    questions: int

    def session_asked(self, question: int) -> int:
        """The number of the session that a question is asked of: at most twenty of them, spread over all."""
        asked = min(self.sessions, SESSIONS_ASKED)
        return (question % asked) * self.sessions // asked

    def session_written(self, write: int) -> int:
        """The number of the session that a single write goes to."""
        return self.session_asked(write)


def build(folder: Path, size: int, writes: int, questions: int, embed: Embed) -> Dataset:
    """Write the turns of `size` and what comes one by one; `embed` is asked for texts in batches."""
    talk = Conversation()
    dimension = embed(["one text"]).shape[1]
    data = Dataset(folder, size, dimension, max(size // PER_SESSION, 1), writes, questions)
    _write(folder / "turns", [asdict(turn) for turn in talk.turns(size)], embed)
    single = [talk.turn(size + write, session_of(PER_SESSION * data.session_written(write))) for write in range(writes)]
    _write(folder / "writes", [asdict(turn) for turn in single], embed)
    asked = [
        {"number": question, "session": f"session-{data.session_asked(question)}", "text": talk.question()}
        for question in range(questions)
    ]
    _write(folder / "questions", asked, embed)
    return data


def _write(path: Path, rows: Sequence[dict[str, object]], embed: Embed) -> None:
    with path.with_suffix(".jsonl").open("w", encoding="utf-8") as lines, path.with_suffix(".f32").open("wb") as file:
        for first in range(0, len(rows), _BATCH):
            batch = rows[first : first + _BATCH]
            lines.writelines(json.dumps(row) + "\n" for row in batch)
            file.write(np.ascontiguousarray(embed([str(row["text"]) for row in batch]), np.float32).tobytes())
