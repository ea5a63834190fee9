"""The caller's judge: does a new text contradict what is remembered?"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from retentive import _steps, _validate
from retentive._constants import TURN
from retentive._errors import ConfigurationError, JudgeError
from retentive.tokens import callable_name

if TYPE_CHECKING:
    from retentive._engine import Engine
    from retentive._requests import NewMemory
    from retentive._steps import Steps
    from retentive.memory import ConversationMemory

Judge: TypeAlias = Callable[[str, list[str]], Iterable[bool]]
AsyncJudge: TypeAlias = Callable[[str, list[str]], Awaitable[Iterable[bool]]]

OK = "ok"
FAILED = "failed"

logger = logging.getLogger("retentive")


def wanted(settings: ConversationMemory, kind: str, check: object) -> bool:
    """Return whether a judge must see a new memory: facts and pinned facts, others only with `check=True`."""
    if check is not None and _validate.boolean("check", check):
        if settings.judge is None:
            raise ConfigurationError(
                "check is True without a judge", hint="pass judge= to ConversationMemory and set it as db.memory"
            )
        return True
    return check is None and settings.judge is not None and kind != TURN


def announced(settings: ConversationMemory) -> Steps[None]:
    """Say that the judge may be asked; see `_steps.announced`."""
    if settings.judge is not None:
        yield from _steps.announced(f"the judge {callable_name(settings.judge)}", settings.judge)


def apply(engine: Engine, settings: ConversationMemory, memory: NewMemory, now: int) -> Steps[None]:
    """Ask the judge about the nearest facts of the same owner, and write its verdict into `memory`.

    Raises:
        JudgeError: the judge failed and `on_judge_error` is "raise".
    """
    judge = settings.judge
    vectors = memory["vectors"]
    if judge is None:
        return
    candidates = engine.core.judge_candidates(
        memory["text"],
        vectors[0][0] if vectors else None,
        memory["model_epoch"],
        memory["user"],
        memory["session"],
        settings.judge_candidates,
        now,
    )
    if not candidates:
        return
    try:
        verdicts = yield from _verdicts(judge, memory["text"], [text for _, text in candidates])
    except JudgeError as error:
        if settings.on_judge_error == "raise":
            raise
        # No text: what the judge raised may quote one.
        cause = type(error.__cause__).__name__ if error.__cause__ else "a bad answer"
        logger.warning(
            "the judge %s failed (%s) on %r: stored, nothing superseded", callable_name(judge), cause, memory["id"]
        )
        memory["judge"] = FAILED
        return
    memory["judge"] = OK
    memory["supersedes"] = [old for (old, _), verdict in zip(candidates, verdicts, strict=True) if verdict]


def _verdicts(judge: Judge | AsyncJudge, text: str, candidates: list[str]) -> Steps[list[bool]]:
    name = callable_name(judge)
    expected = f"{len(candidates)} bools, one a candidate"
    try:
        returned: object = yield from _steps.called(f"the judge {name}", judge, text, list(candidates))
        verdicts = _listed(returned, len(candidates) + 1)
    except ConfigurationError:
        raise  # an async judge in a blocking method: not for `on_judge_error`
    except Exception as error:  # noqa: BLE001 - the cause of what is raised
        cause = _steps.raised_by_callable(error)
        raise JudgeError(f"the judge {name} raised {type(cause).__name__}") from cause
    if verdicts is None:
        raise JudgeError(f"the judge {name} returned {type(returned).__name__}, expected {expected}")
    wrong = next((type(verdict).__name__ for verdict in verdicts if not _is_bool(verdict)), None)
    if wrong is not None or len(verdicts) != len(candidates):
        many = "more than " * (len(verdicts) > len(candidates)) + str(min(len(verdicts), len(candidates)))
        got = f"a {wrong} among them" if wrong else f"{many} of them"
        raise JudgeError(f"the judge {name} returned {got}, expected {expected}")
    return [bool(verdict) for verdict in verdicts]


def _listed(returned: object, most: int) -> list[object] | None:
    """Return what a judge answered, as far as `most`: an answer may have no end."""
    # A set has no order, so none of its bools is of any candidate.
    if isinstance(returned, str | bytes | Mapping | AbstractSet) or not isinstance(returned, Iterable):
        return None
    return list(islice(returned, most))


def _is_bool(value: object) -> bool:
    if isinstance(value, bool):
        return True
    return getattr(getattr(value, "dtype", None), "kind", "") == "b" and getattr(value, "shape", None) == ()  # numpy's
