"""A session in the collection: which of its turns are the conversation, and how they are replaced.

All turns of a session stay in the collection. Where its conversation begins is written in documents of the collection,
without vectors or words, so that they are near to nothing: one for `load`, one for `prune`, so that neither undoes what
the other does at the same time.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from retentive import _bulk, _clock, _reading, _steps, _times, _validate
from retentive._constants import DOCUMENT
from retentive._errors import ConflictError
from retentive._remember import new_memory
from retentive._results import Result
from retentive.assistant import _file
from retentive.assistant._statement import is_statement
from retentive.assistant._turn import IMAGE_PATH, ChatTurn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from retentive._embedding import Embedding
    from retentive._requests import NewMemory
    from retentive._steps import Steps
    from retentive.assistant._file import Entry
    from retentive.assistant._owner import Owner

STATEMENT = "statement"
START_TEXT = "."

_START_ID = re.compile(r"assistant_[0-9a-f]{32}")

_ATTEMPTS = 5


class Start(NamedTuple):
    """Where a conversation begins: at a turn, and without what was said before an instant up to another turn."""

    from_turn: int = 0
    since: int | None = None  # microseconds UTC
    up_to_turn: int = -1  # a clock that was set back hides nothing that is said later

    def admits(self, turn: Result) -> bool:
        """Return whether a turn belongs to the conversation."""
        number = turn.turn or 0
        if number < self.from_turn:
            return False
        old = self.since is not None and _times.instant("timestamp", turn.timestamp) < self.since
        return not (old and number <= self.up_to_turn)


def metadata(image_path: str | None, *, searchable: bool) -> dict[str, Any]:
    """Return what is stored with a turn."""
    image = {} if image_path is None else {IMAGE_PATH: image_path}
    return image | ({STATEMENT: True} if searchable else {})


def store(owner: Owner, role: str, content: str, image_path: object, *, searchable: bool) -> ChatTurn:
    """Store a turn; `searchable` makes it a statement."""
    _validate.text(content, "content")
    own = metadata(_file.image_path(image_path), searchable=searchable)
    said = _times.to_datetime(_clock.now())
    stored = owner.collection.remember(
        content, session=owner.session, user=owner.user, role=role, timestamp=said, metadata=own
    )
    return ChatTurn(role, content, said, own.get(IMAGE_PATH), stored)


def load_new(owner: Owner, path: Path) -> None:
    """Load a file where the session has no turns yet and the file exists."""
    if not all_turns(owner, 1) and path.exists():
        replace(owner, _file.read(path), only_new=True)


def all_turns(owner: Owner, limit: int | None = None) -> list[Result]:
    """Return the turns of the session, in the conversation or not; only the last `limit`."""
    turns = owner.engine.core.turns(owner.session, owner.user, limit, _clock.now())
    return [Result(turn) for turn in turns]


def conversation(owner: Owner, limit: int | None = None) -> list[Result]:
    """Return the turns of the conversation; only the last `limit`."""
    most = min([number for number in (limit, owner.max_turns) if number is not None], default=None)
    start = _start(owner)
    while True:
        turns = all_turns(owner, most)
        start, before = _start(owner), start
        if start == before:  # else it was replaced between the two reads, and this would be some of both
            return [turn for turn in turns if start.admits(turn)]


def hide_before(owner: Owner, edge: int) -> None:
    """Take what was said before an instant out of the conversation."""
    start = _start(owner)
    last = all_turns(owner, 1)
    since = edge if start.since is None else max(edge, start.since)
    pruned = {"since": since, "up_to_turn": last[0].turn or 0 if last else -1}
    owner.engine.core.remember([_start_row(_pruned_id(owner), pruned)], _clock.now(), [])


def erase_others(owner: Owner) -> int:
    """Erase the turns of the session that are not in its conversation; return how many."""
    turns = all_turns(owner)  # read first: what is said before the conversation is read is not among them
    kept = {turn.id for turn in conversation(owner)}
    return _erase(owner, [turn.id for turn in turns if turn.id not in kept])


def replace(owner: Owner, entries: Sequence[Entry], *, only_new: bool = False) -> None:
    """Replace the conversation by `entries`: the old turns, the new ones and the beginning in one transaction.

    The core's transaction of consolidation is the one that deletes turns and stores memories. It takes no turns that a
    fact cites or that were corrected: those leave the conversation with it, and are erased in a transaction after it.

    What left the conversation before stays in the collection, but for turns that `entries` has too.

    With `only_new`, a session that has turns stays as it is: of many processes that start at once, one loads the file.

    Raises:
        ConflictError: another process kept changing the conversation.
    """
    _steps.blocking(owner.engine.embedded(partial(_replace, owner, entries, only_new)))


def _replace(owner: Owner, entries: Sequence[Entry], only_new: bool, embedding: Embedding) -> Steps[None]:
    core = owner.engine.core
    rows = yield from _rows(owner, entries, embedding)
    said = {(entry.role, entry.content, entry.timestamp) for entry in entries}
    for _ in range(_ATTEMPTS):
        now = _clock.now()
        first = owner.collection.get_one(_loaded_id(owner)) is None
        if only_new and all_turns(owner, 1):
            return
        turns = all_turns(owner)  # read first: what is said meanwhile comes after them, and stays
        shown = {turn.id for turn in conversation(owner)}
        old = [turn.id for turn in turns if turn.id in shown or _said(turn) in said]
        last = turns[-1:]
        loaded = {"from_turn": (last[0].turn or 0) + 1 if last else 0}
        free = core.consolidation_batch(owner.session, owner.user, 0, None, _reading.UNLIMITED, now, ())
        replaceable = {turn.id for turn in free}
        stored: list[tuple[NewMemory, Sequence[str]]] = [
            (row, ()) for row in [*rows, _start_row(_loaded_id(owner), loaded, first=first)]
        ]
        erased = [turn for turn in old if turn in replaceable]
        try:
            committed = core.commit_consolidation(erased, stored, delete=True, now=now)
        except ConflictError:  # another process was the first to store where it begins
            continue
        if committed is not None:
            _erase(owner, [turn for turn in old if turn not in replaceable])
            return
    raise ConflictError(
        f"the session {owner.session!r} changed during {_ATTEMPTS} attempts to replace it, expected it to rest; "
        "nothing was changed, try later"
    )


def _said(turn: Result) -> tuple[str, str, int]:
    return turn.role or "user", turn.text, _times.instant("timestamp", turn.timestamp)


def _erase(owner: Owner, ids: list[str]) -> int:
    return owner.collection.forget(ids=ids) if ids else 0


def _rows(owner: Owner, entries: Sequence[Entry], embedding: Embedding) -> Steps[list[NewMemory]]:
    """Return turns to store, with their vectors: no embedder runs in a transaction."""
    now = _clock.now()
    rows = [
        new_memory(
            owner.collection.memory,
            now,
            text=entry.content,
            session=owner.session,
            user=owner.user,
            role=entry.role,
            timestamp=_times.to_datetime(entry.timestamp),
            metadata=metadata(entry.image_path, searchable=is_statement(entry.role, entry.content)),
        )
        for entry in entries
    ]
    yield from _bulk.embed(embedding, [_bulk.Item(row, judged=False, vector=None) for row in rows])
    return rows


def _start(owner: Owner) -> Start:
    found = owner.collection.get([_loaded_id(owner), _pruned_id(owner)])
    stored = {key: value for document in found for key, value in document.metadata.items()}
    return Start(**{field: stored[field] for field in Start._fields if field in stored})


def _start_row(id: str, start: Mapping[str, int], *, first: bool = False) -> NewMemory:
    return {
        "id": id,
        "text": START_TEXT,
        "kind": DOCUMENT,
        "user": None,
        "session": None,
        "role": None,
        "name": None,
        "key": None,
        "turn": None,
        "ts": _clock.now(),
        "expires": None,
        "metadata": json.dumps(start),
        "vectors": (),
        "model_epoch": None,
        "judge": None,
        "supersedes": (),
        "replace": not first,
    }


def _loaded_id(owner: Owner) -> str:
    return _start_id(owner.user, owner.session)


def _pruned_id(owner: Owner) -> str:
    return _start_id(owner.user, owner.session, "pruned")


def _start_id(*names: str | None) -> str:
    return "assistant_" + hashlib.blake2b(json.dumps(names).encode(), digest_size=16).hexdigest()


def is_start(document: Result) -> bool:
    """Return whether a document says where a conversation begins: of any session, `reembed` gives it a vector."""
    return document.text == START_TEXT and _START_ID.fullmatch(document.id) is not None
