"""A block of context for a prompt, inside a token budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from retentive import _clock, _lines, _reading, _times, _validate
from retentive._embedding import looked_for, query_terms
from retentive._recall import RecallOptions, decided, embedded, recall_request
from retentive._results import Dropped, Result
from retentive.embedders import StaticEmbedder

if TYPE_CHECKING:
    from retentive import _core
    from retentive._constants import User
    from retentive._embedding import Embedding
    from retentive._engine import Engine
    from retentive._requests import ContextRequest, Excerpts, RecallRequest
    from retentive._steps import Steps
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
        retrieved: the recalled memories that fit, best first; `excerpt` of one says what of it was packed.
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
        a `user` message that starts with the role; one with a speaker's name starts with the name, as in `text`. Where
        one message of a role starts with who speaks, all of that role do, so that no text can pose as somebody else's.
        The new message is the caller's to add.
        """
        background = [{"role": "system", "content": self._background}] if self._background else []
        spoken = {_chat_role(turn) for turn in self.recent if _is_marked(turn)}
        return background + [_message(turn, spoken) for turn in self.recent]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        parts = f"{len(self.pinned)} pinned, {len(self.recent)} recent, {len(self.retrieved)} retrieved"
        return f"<ContextBlock of {parts}, {self.token_estimate} of {self.token_budget} tokens>"

    def _repr_html_(self) -> str:
        """Return a small table, for notebooks."""
        from retentive import _html

        return _html.of_block(self)


def _chat_role(turn: Result) -> str:
    return _CHAT_ROLES.get((turn.role or "user").lower(), "user")


def _is_marked(turn: Result) -> bool:
    """Whether the message's role alone does not tell who speaks."""
    return turn.name is not None or (turn.role or "user").lower() not in _CHAT_ROLES


def _message(turn: Result, spoken: set[str]) -> dict[str, str]:
    role = _chat_role(turn)
    start = f"{_lines.speaker(turn.role or 'user', turn.name)}: " if role in spoken else ""
    return {"role": role, "content": start + turn.text}


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
) -> Steps[ContextBlock]:
    """Pack a block of context; see `Collection.context`."""
    start = _clock.stopwatch()
    _check_options(options)
    session, user = _validate.session(session), _validate.owner(user)
    token_budget = _validate.integer("token_budget", token_budget)
    reach_session = session if user is None else None  # with a user: everything the user owns
    checked = recall_request(settings, query, user, reach_session, limit, token_budget, now, options)
    recent = _recent(recent_turns, settings)

    def pack(embedding: Embedding) -> Steps[ContextBlock]:
        recall = yield from embedded(checked, embedding)
        excerpts = yield from _excerpts(embedding, excerpt, recall)
        request: ContextRequest = {"recall": recall, "recent_session": session, "recent_turns": recent}
        parts = engine.core.context(request)
        parts = parts.with_ranked((yield from decided(parts.ranked, query, embedding)))
        return _packed(engine, parts, recall, session, excerpts)

    block = yield from engine.embedded(pack)
    found = (*block.pinned, *block.recent, *block.retrieved)
    _reading.log("context", found, token_budget, _clock.milliseconds_since(start))
    return block


def _check_options(options: RecallOptions) -> None:
    unknown = sorted(options.keys() - RecallOptions.__annotations__.keys())
    if unknown:
        raise TypeError(f"context() got an unexpected keyword argument {_validate.shown(unknown[0])}")


def _recent(recent_turns: object, settings: ConversationMemory) -> int:
    wanted = _validate.integer("recent_turns", recent_turns)
    return wanted if settings.max_turns is None else min(wanted, settings.max_turns)


def _packed(
    engine: Engine, parts: _core.ContextParts, recall: RecallRequest, session: str | None, excerpts: Excerpts | None
) -> ContextBlock:
    token_budget = recall["token_budget"] or 0
    packed = engine.core.pack_context(parts, recall["limit"], token_budget, engine.counter, excerpts)
    ranked = parts.ranked
    sections = {"pinned": parts.pinned, "recent": parts.recent, "retrieved": ranked.memories}
    retrieved = zip(packed.retrieved, packed.excerpts, strict=True)
    dropped = [Dropped(sections[section][index].id, reason) for section, index, reason in packed.dropped]
    # A recent turn is ranked as well, so that it can be retrieved where it is cut: the gap is not what left it out.
    below_gap = ranked.below_gap
    if below_gap:
        named = {sections["recent"][index].id for index in packed.recent} | {drop.id for drop in dropped}
        dropped += [Dropped(below, _reading.BELOW_GAP) for below in below_gap if below not in named]
    return ContextBlock(
        query=recall["query"],
        session=session,
        pinned=tuple([Result(sections["pinned"][index]) for index in packed.pinned]),
        recent=tuple([Result(sections["recent"][index]) for index in packed.recent]),
        retrieved=tuple([Result(sections["retrieved"][index], excerpt=excerpt) for index, excerpt in retrieved]),
        token_budget=token_budget,
        token_estimate=packed.tokens,
        truncated=packed.truncated,
        cut_count=packed.cut_count,
        dropped=tuple(dropped),
        text=packed.text,
        _background=packed.background,
    )


def _excerpts(embedding: Embedding, excerpt: object, recall: RecallRequest) -> Steps[Excerpts | None]:
    """Return how to excerpt.

    Sentences are compared by the static model whatever the collection's embedder: its vectors take microseconds, and
    another model's milliseconds each. In lexical mode their words alone decide.
    """
    if excerpt is None:
        return None
    length = None if _validate.is_auto(excerpt) else _validate.integer("excerpt", excerpt, at_least=1)
    terms = zip(embedding.models, recall["query_terms"], strict=False)  # none in lexical mode
    known = next((terms for model, terms in terms if isinstance(model, StaticEmbedder)), None)
    model = None if recall["mode"] == "lexical" else StaticEmbedder()
    if model is not None and known is None and len(looked_for(model, recall["query"])) > 1:
        known = yield from query_terms(model, recall["query"])  # else the core asks, once a sentence is compared
    return {"length": length, "query": recall["query"], "query_terms": known, "model": model}
