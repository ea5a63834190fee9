"""Forgetting: real deletion, never of everything by mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retentive import _clock, _times, _validate
from retentive._constants import ANY, User
from retentive._engine import Engine, reach
from retentive._errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from retentive._requests import Forget


def forget(
    engine: Engine,
    session: str | None,
    kinds: Iterable[str],
    older_than: float | datetime | str | None,
    ids: Iterable[str] | None,
    superseded: bool,
    now: _times.Instant | None,
    user: User,
    everything: bool,
) -> int:
    """Delete what is selected; see `Collection.forget`."""
    session, user = _validate.session(session), _validate.user(user)
    instant = _times.instant_or("now", now, _clock.now())
    request: Forget = {
        "reach": reach(user, session),
        "kinds": _validate.kinds(kinds),
        "before": _times.before(older_than, instant),
        "ids": None if ids is None else _validate.memory_ids(ids),
        "superseded": _validate.boolean("superseded", superseded),
        "now": instant,
    }
    _validate.boolean("all", everything)
    selected = session is not None or user not in {None, ANY} or request["superseded"]
    if not selected and request["before"] is None and request["ids"] is None and not everything:
        raise InvalidInputError(
            "forget() without a session, user, older_than, ids or superseded would delete everything of a kind, "
            "expected a selection; pass all=True if that is meant"
        )
    if request["ids"] is not None and session is None and user is None:
        request["reach"] = reach(ANY, None)  # an id says itself whose it is
    return engine.core.forget(request)
