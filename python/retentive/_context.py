"""A block of context for a prompt, inside a token budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from retentive import _clock, _core, _reading, _times, _validate
from retentive._recall import RecallOptions, recall_request
from retentive._results import Dropped, Result

if TYPE_CHECKING:
    from retentive._constants import User
    from retentive._engine import Engine
    from retentive._requests import ContextRequest
    from retentive.memory import ConversationMemory

# A chat API knows these; what else a role may be called is somebody who talks to the assistant.
_CHAT_ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
}


@dataclass(frozen=True, slots=True, repr=False)
class ContextBlock:
    """What to put before a user's message.

    Attributes:
        query: what was asked.
        session: the session, or None.
        pinned: the pinned facts, all of them.
        recent: the last turns of the session that fit, oldest first.
        retrieved: the recalled memories that fit, best first.
        token_budget: the budget.
        token_estimate: the tokens of `text`; above the budget only where the pinned facts alone are.
        truncated: something did not fit.
        cut_count: how many the budget cut.
        dropped: (id, reason) of each that was left out.
        text: the block itself; empty where there is nothing to say.
    """

    query: str
    session: str | None
    pinned: tuple[Result, ...]
    recent: tuple[Result, ...]
    retrieved: tuple[Result, ...]
    token_budget: int
    token_estimate: int
    truncated: bool
    cut_count: int
    dropped: tuple[Dropped, ...]
    text: str
    _background: str = field(compare=False)

    def messages(self) -> list[dict[str, str]]:
        """Return the block as messages for a chat API: what is known as a system message, then the recent turns.

        Each is `{"role": ..., "content": ...}`; the role is `system`, `user` or `assistant`. A turn of another role is
        a `user` message that starts with the role; one with a speaker's name starts with the name. The new message is
        the caller's to add.
        """
        background = [{"role": "system", "content": self._background}] if self._background else []
        return background + [_message(turn) for turn in self.recent]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        parts = f"{len(self.pinned)} pinned, {len(self.recent)} recent, {len(self.retrieved)} retrieved"
        return f"<ContextBlock of {parts}, {self.token_estimate} of {self.token_budget} tokens>"


def _message(turn: Result) -> dict[str, str]:
    spoken = turn.role or "user"
    role = _CHAT_ROLES.get(spoken.casefold())
    speaker = turn.name or (spoken if role is None else None)
    return {"role": role or "user", "content": turn.text if speaker is None else f"{speaker}: {turn.text}"}


def context(
    engine: Engine,
    settings: ConversationMemory,
    query: str,
    session: str | None,
    token_budget: int,
    recent_turns: int,
    limit: int | None,
    now: _times.Instant | None,
    user: User,
    excerpt: int | Literal["auto"] | None,
    options: RecallOptions,
) -> ContextBlock:
    """Pack a block of context; see `Collection.context`."""
    start = _clock.stopwatch()
    _check_options(options)
    session, user = _validate.session(session), _validate.owner(user)
    token_budget = _validate.integer("token_budget", token_budget)
    if excerpt != "auto" and excerpt is not None:
        _validate.integer("excerpt", excerpt, at_least=1)
    reach_session = session if user is None else None  # with a user: everything the user owns
    recall = recall_request(engine, settings, query, user, reach_session, limit, token_budget, now, options)
    request: ContextRequest = {
        "recall": recall,
        "recent_session": session,
        "recent_turns": _recent(recent_turns, settings),
    }
    block = _packed(engine, engine.core.context(request), query, session, recall["limit"], token_budget)
    found = (*block.pinned, *block.recent, *block.retrieved)
    _reading.log("context", found, token_budget, _clock.milliseconds_since(start))
    return block


def _check_options(options: RecallOptions) -> None:
    unknown = sorted(options.keys() - RecallOptions.__annotations__.keys())
    if unknown:
        raise TypeError(f"context() got an unexpected keyword argument {unknown[0]!r}")


def _recent(recent_turns: object, settings: ConversationMemory) -> int:
    wanted = _validate.integer("recent_turns", recent_turns)
    return wanted if settings.max_turns is None else min(wanted, settings.max_turns)


def _packed(
    engine: Engine,
    parts: _core.ContextParts,
    query: str,
    session: str | None,
    limit: int | None,
    token_budget: int,
) -> ContextBlock:
    sections = {"pinned": parts.pinned, "recent": parts.recent, "retrieved": parts.ranked.memories}
    packed = _core.pack_context(
        sections["pinned"], sections["recent"], sections["retrieved"], limit, token_budget, engine.counter
    )
    pinned = [sections["pinned"][index] for index in packed.pinned]
    retrieved = [sections["retrieved"][index] for index in packed.retrieved]
    dropped = [Dropped(sections[section][index].id, reason) for section, index, reason in packed.dropped]
    return ContextBlock(
        query=query,
        session=session,
        pinned=tuple([Result(memory) for memory in pinned]),
        recent=tuple([Result(sections["recent"][index]) for index in packed.recent]),
        retrieved=tuple([Result(memory) for memory in retrieved]),
        token_budget=token_budget,
        token_estimate=packed.tokens,
        truncated=packed.truncated,
        cut_count=packed.cut_count,
        dropped=(*dropped, *[Dropped(below, _reading.BELOW_GAP) for below in parts.ranked.below_gap]),
        text=packed.text,
        _background=_background(pinned, retrieved),
    )


def _background(pinned: list[_core.Memory], retrieved: list[_core.Memory]) -> str:
    """Return the block without the recent turns, which `messages()` gives a message each."""
    if not pinned and not retrieved:
        return ""
    return _core.pack_context(pinned, [], retrieved, None, _reading.UNLIMITED, None).text
