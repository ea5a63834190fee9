"""Consolidation: old turns become a few facts, by the caller's summarizer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from retentive import _clock, _core, _ids, _steps, _times, _validate
from retentive._constants import FACT, PINNED
from retentive._core import give_way
from retentive._errors import ConfigurationError, ConflictError, InvalidInputError, SummarizeError
from retentive._give_way import giving_way
from retentive._remember import normalised_key
from retentive._results import ConsolidationReport
from retentive._steps import CHECKPOINT, Steps
from retentive.tokens import callable_name

if TYPE_CHECKING:
    from datetime import datetime

    from retentive._bulk import Progress
    from retentive._embedding import Embedding
    from retentive._engine import Engine
    from retentive._requests import NewMemory
    from retentive.memory import ConversationMemory

Summarize: TypeAlias = Callable[[list[dict[str, str]]], Sequence[str | Mapping[str, Any]]]
AsyncSummarize: TypeAlias = Callable[[list[dict[str, str]]], Awaitable[Sequence[str | Mapping[str, Any]]]]

_FACT_FIELDS = frozenset({"text", "turns", "key", "pinned"})
_ATTEMPTS = 5  # at a batch whose turns somebody else keeps changing


class Fact(NamedTuple):
    """One fact of a summary, checked."""

    text: str
    turns: list[_core.Memory]
    key: str | None
    pinned: bool


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of one consolidation, checked."""

    session: str
    user: str | None
    keep_recent: int
    before: int | None
    batch_turns: int
    delete: bool
    pinned: bool
    now: int


def checked_request(
    session: str,
    user: str | None,
    keep_recent: int,
    older_than: float | datetime | str | None,
    batch_turns: int,
    delete: bool,
    pinned: bool,
    now: _times.Instant | None,
) -> Request:
    """Return the arguments of `Collection.consolidate` that are not callables, checked."""
    instant = _times.instant_or("now", now, _clock.now())
    return Request(
        session=_validate.named_session(session),
        user=_validate.owner(user),
        keep_recent=_validate.integer("keep_recent", keep_recent),
        before=_times.before(older_than, instant),
        batch_turns=_validate.integer("batch_turns", batch_turns, at_least=1),
        delete=_validate.boolean("delete", delete),
        pinned=_validate.boolean("pinned", pinned),
        now=instant,
    )


def consolidate(
    engine: Engine,
    settings: ConversationMemory,
    request: Request,
    summarize: Summarize | AsyncSummarize,
    progress: Progress | None,
) -> Steps[ConsolidationReport]:
    """Summarise batch by batch; see `Collection.consolidate`."""
    if not callable(summarize):
        raise InvalidInputError(f"summarize is {_validate.shown(summarize)}, expected a callable")
    _validate.callable_or_none("progress", progress)
    _steps.plain("progress", progress)
    yield from _steps.announced(f"the summarizer {callable_name(summarize)}", summarize)
    report = ConsolidationReport(request.session, (), (), 0)
    end = _end(engine, request)
    try:
        while committed := (yield from _one_batch(engine, settings, request, report, end, summarize)):
            report = committed
            if progress is not None:
                progress(len(report.turn_ids), None)
            yield CHECKPOINT
    except BaseException as error:  # Ctrl-C and a cancelled task too: what is committed stays
        error.report = report  # type: ignore[attr-defined]
        raise
    return report


def _one_batch(
    engine: Engine,
    settings: ConversationMemory,
    request: Request,
    report: ConsolidationReport,
    end: int,
    summarize: Summarize | AsyncSummarize,
) -> Steps[ConsolidationReport | None]:
    """Summarise the next batch and commit it; return the report with it, None where no turns are left."""
    for _ in range(_ATTEMPTS):
        turns = _next_batch(engine, request, report, end)
        if not turns:
            return None
        facts = yield from _facts(summarize, turns, request.pinned)
        committed = yield from _commit(engine, settings, request, turns, facts)
        if committed is not None:
            fact_ids, removed = committed
            return ConsolidationReport(
                session=report.session,
                turn_ids=(*report.turn_ids, *[turn.id for turn in turns]),
                fact_ids=(*report.fact_ids, *fact_ids),
                turns_removed=report.turns_removed + removed,
            )
    raise ConflictError(f"the turns changed during {_ATTEMPTS} summaries, expected them to rest; try later")


def _end(engine: Engine, request: Request) -> int:
    """Return the number of the first turn to keep. What is said meanwhile must not move it: there would be no end."""
    last = engine.core.turns(request.session, request.user, max(request.keep_recent, 1), request.now)
    if not last or len(last) < request.keep_recent:
        return 0
    edge = last[0].turn or 0
    return edge if request.keep_recent else edge + 1


def _next_batch(engine: Engine, request: Request, report: ConsolidationReport, end: int) -> list[_core.Memory]:
    batch = engine.core.consolidation_batch(
        request.session,
        request.user,
        request.keep_recent,
        request.before,
        request.batch_turns,
        request.now,
        () if request.delete else report.turn_ids,
    )
    return [turn for turn in batch if turn.turn is not None and turn.turn < end]


def _commit(
    engine: Engine, settings: ConversationMemory, request: Request, turns: list[_core.Memory], facts: list[Fact]
) -> Steps[tuple[list[str], int] | None]:
    give_way()
    rows = [(_row(settings, request, fact), [turn.id for turn in fact.turns]) for fact in giving_way(facts)]

    def store(embedding: Embedding) -> Steps[tuple[list[str], int] | None]:
        vectors = yield from embedding.documents([fact.text for fact in facts])
        for (row, _), parts in zip(rows, vectors, strict=True):
            row["vectors"], row["model_epoch"] = parts, embedding.model_epoch
        give_way()
        return engine.core.commit_consolidation([turn.id for turn in turns], rows, request.delete, request.now)

    return (yield from engine.embedded(store))


def _row(settings: ConversationMemory, request: Request, fact: Fact) -> NewMemory:
    kind = PINNED if fact.pinned else FACT
    ts = max(turn.ts for turn in fact.turns)
    return {
        "id": _ids.memory_id(),
        "text": fact.text,
        "kind": kind,
        "user": request.user,
        "session": request.session,
        "role": None,
        "name": None,
        "key": fact.key,
        "turn": None,
        "ts": ts,
        "expires": _times.expiry(ts, settings.ttl_of(kind)),
        "metadata": None,
        "vectors": (),
        "model_epoch": None,
        "judge": None,
        "supersedes": (),
        "replace": False,
    }


def _facts(summarize: Summarize | AsyncSummarize, turns: list[_core.Memory], pinned: bool) -> Steps[list[Fact]]:
    """Call the summarizer and check what it returned.

    Raises:
        SummarizeError: it raised, or returned something else than a list of facts.
    """
    name = callable_name(summarize)
    try:
        said = [_said(turn) for turn in giving_way(turns)]
        returned: object = yield from _steps.called(f"the summarizer {name}", summarize, said)
    except ConfigurationError:
        raise  # an async summarizer in a blocking method
    except Exception as error:  # noqa: BLE001 - the cause of what is raised
        cause = _steps.raised_by_callable(error)
        raise SummarizeError(f"the summarizer {name} raised {type(cause).__name__}") from cause
    if isinstance(returned, str | bytes) or not isinstance(returned, Sequence):
        raise SummarizeError(
            f"the summarizer {name} returned {type(returned).__name__}, expected a list of strings or mappings; "
            "[] where nothing is worth keeping"
        )
    try:
        return [_fact(item, turns, pinned) for item in _listed(returned)]
    except InvalidInputError as error:
        raise SummarizeError(f"the summarizer {name} returned a list in which {error}") from error
    except Exception as error:
        raise SummarizeError(f"the summarizer {name} returned a list that raised {type(error).__name__}") from error


def _listed(returned: Sequence[object]) -> list[object]:
    length = len(returned)
    items = list(islice(returned, length + 1))
    if len(items) > length:
        raise InvalidInputError(f"there are more than the {length} that it has by its length")
    return items


def _said(turn: _core.Memory) -> dict[str, str]:
    said = {"role": turn.role or "user", "text": turn.text, "ts": _times.to_iso(turn.ts)}
    return said if turn.name is None else said | {"name": turn.name}


def _fact(item: object, turns: list[_core.Memory], pinned: bool) -> Fact:
    if isinstance(item, str):
        return Fact(_validate.text(item, "a fact"), turns, None, pinned)
    if not isinstance(item, Mapping):
        raise InvalidInputError(f"an item is {_validate.shown(item)}, expected a string or a mapping")
    if not item.keys() <= _FACT_FIELDS:
        unknown = min(map(str, item.keys() - _FACT_FIELDS))
        raise InvalidInputError(f"a fact has the field {_validate.shown(unknown)}, expected of {sorted(_FACT_FIELDS)}")
    key = item.get("key")
    own_pinned = item.get("pinned")
    return Fact(
        text=_validate.text(item.get("text"), "a fact's text"),
        turns=_cited(item.get("turns"), turns),
        key=None if key is None else normalised_key(key),
        pinned=pinned if own_pinned is None else _validate.boolean("a fact's pinned", own_pinned),
    )


def _cited(indexes: object, turns: list[_core.Memory]) -> list[_core.Memory]:
    if indexes is None:
        return turns
    most = len(turns)
    given = list(islice(_validate.iterable(indexes, "turns", "indexes"), most + 1))  # there may be no end
    cited = {_validate.integer("a turn's index", index) for index in given}
    if not cited or len(given) > most or max(cited) >= most:
        high = f"has the index {max(cited)}" if cited and max(cited) >= most else None
        got = high or (f"has more than {most} indexes" if cited else "is empty")
        raise InvalidInputError(f"a fact's turns {got}, expected indexes of 0 to {most - 1}, each once")
    return [turns[index] for index in sorted(cited)]
