"""The conversation: the newest turns of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retentive import _clock, _times, _validate
from retentive.assistant import _file, _session
from retentive.assistant._lines import spoken
from retentive.assistant._turn import chat_turn

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from retentive._results import Result
    from retentive.assistant._owner import Owner
    from retentive.assistant._turn import ChatTurn


class Conversation:
    """The newest turns of a session: at most `max_turns`, and none that `prune` took out.

    What has left the conversation is still in the collection, and its statements are found by meaning.
    """

    def __init__(self, owner: Owner, retention_days: float | None, checkpoint: Path | None) -> None:
        self._owner = owner
        self._retention_days = retention_days
        self._checkpoint = checkpoint

    @property
    def turns(self) -> list[ChatTurn]:
        """The turns, oldest first."""
        return [chat_turn(turn) for turn in _session.conversation(self._owner)]

    def add(self, role: str, content: str, image_path: str | os.PathLike[str] | None = None) -> ChatTurn:
        """Store a turn that is not searched; `MemoryManager.record` is what makes statements searchable.

        Args:
            role: who said it: `user`, `assistant`, ...
            content: what was said.
            image_path: an image that came with it; the path is kept, the image is not read.

        Returns:
            The turn.

        Raises:
            InvalidInputError: the content is blank, or an argument has the wrong type. Nothing was stored.

        Examples:
            >>> from retentive.assistant import MemoryManager
            >>> conversation = MemoryManager().conversation
            >>> conversation.add("user", "hello").role
            'user'
        """
        return _session.store(self._owner, role, content, image_path, searchable=False)

    def recent(self, k: int = 5) -> str:
        """Return the last turns as lines `ROLE: content`, oldest first; empty without turns.

        Args:
            k: how many at most. Line breaks within a turn are indented.

        Examples:
            >>> from retentive.assistant import MemoryManager
            >>> conversation = MemoryManager().conversation
            >>> turns = conversation.add("user", "hello"), conversation.add("assistant", "hi, what can I do?")
            >>> print(conversation.recent())
            USER: hello
            ASSISTANT: hi, what can I do?
        """
        turns = _session.conversation(self._owner, _validate.integer("k", k))
        return "\n".join([spoken(turn.role or "user", turn.text) for turn in turns])

    def prune(self, forget: bool = False) -> int:
        """Take turns older than `retention_days` out of the conversation. The cap works by itself.

        Args:
            forget: also erase whatever of the session is outside the conversation, by age, cap or an earlier `prune`:
                its bytes in the collection are overwritten, and a checkpoint that exists is written anew.

        Returns:
            How many turns left the conversation; with `forget`, how many were erased.

        Examples:
            >>> from retentive.assistant import MemoryManager
            >>> MemoryManager(retention_days=30).conversation.prune()
            0
        """
        _validate.boolean("forget", forget)
        before = _session.conversation(self._owner)
        if self._retention_days is not None:
            edge = _clock.now() - round(self._retention_days * _times.DAY_US)
            if any(_microseconds(turn) < edge for turn in before):
                _session.hide_before(self._owner, edge)
        if not forget:
            kept = {turn.id for turn in _session.conversation(self._owner)}
            return sum(turn.id not in kept for turn in before)
        erased = _session.erase_others(self._owner)
        if self._checkpoint is not None and self._checkpoint.exists():
            self.save(self._checkpoint)
        return erased

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the conversation as JSON: a list of `{role, content, timestamp, image_path}`.

        The file is written beside its place and renamed when it is whole; of a link, what it leads to is replaced. The
        collection needs no saving: what was added is stored.

        Args:
            path: of the file; its folder must exist.

        Returns:
            The path.

        Raises:
            InvalidInputError: what stands there is a collection's file, what SQLite keeps beside one, a device, a pipe
                or a socket; it is as it was.
            OSError: the file cannot be written; the one before it is as it was.
        """
        file = _file.checked_path(path)
        _file.write(file, [_plain(turn) for turn in self.turns])
        return file

    def load(self, path: str | os.PathLike[str]) -> int:
        """Replace the conversation by a file that `save` wrote, in one transaction.

        What is replaced is erased; what had left the conversation before stays to be found by meaning, once where the
        file has it too. Statements of the user in the file are searchable, by the rule of `record`.

        Args:
            path: of the file.

        Returns:
            How many turns it had.

        Raises:
            FileNotFoundError: there is no such file.
            SessionFileError: it is damaged, not a session, a device, or a collection's file that is open; its path and
                the line are in the message.
            ConflictError: another process kept changing the conversation.
        """
        entries = _file.read(_file.checked_path(path))
        _session.replace(self._owner, entries)
        return len(entries)

    def __len__(self) -> int:
        """Return how many turns there are."""
        return len(_session.conversation(self._owner))

    def __repr__(self) -> str:
        return f"<Conversation {self._owner.session!r}>"


def _microseconds(turn: Result) -> int:
    return _times.instant("timestamp", turn.timestamp)


def _plain(turn: ChatTurn) -> dict[str, str | None]:
    return {
        "role": turn.role,
        "content": turn.content,
        "timestamp": turn.timestamp.isoformat(),
        "image_path": turn.image_path,
    }
