"""`turns`, `facts`, `history`: what is stored, in order, without a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from retentive import _validate
from retentive._constants import ANY, K_KIND, K_SESSION, TURN
from retentive.cli import options, place, records
from retentive.cli.listing import print_heading, print_results
from retentive.cli.superseded import superseded
from retentive.cli.terminal import fail, print_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from retentive._collection import Collection
    from retentive._results import Result


def turns(
    session: options.Session = None,
    user: options.UserOption = None,
    any_user: options.AnyUser = False,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", metavar="N", help="Only the last N of each session."),
    ] = None,
    db: options.Db = None,
    as_json: options.Json = False,
) -> None:
    """Show what was said, in order: one session, or each, and then what has none."""
    owner = options.owner(user, any_user)
    _validate.integer_or_none("limit", limit)
    with place.opened(db) as collection:
        owners = [None, *collection.users()] if owner is ANY else [user]
        found = False
        for whose in owners:
            for thread in [session] if session is not None else [*collection.sessions(whose), None]:
                if thread is None:
                    said = _without_session(collection, limit, whose)
                else:
                    said = collection.turns(thread, limit, user=whose)
                if said and session is None and not as_json:
                    heading = "without a session" if thread is None else f"session {thread}"
                    print_heading(heading + (f" of user {whose}" if whose else ""))
                _print(said, as_json=as_json)
                found = found or bool(said)
        if not found:
            fail(f"no turns{_of(session, user)}{_others(collection, owner)}")


def _without_session(collection: Collection, limit: int | None, user: str | None) -> list[Result]:
    """Return turns without a session, in order; those that were superseded too, as `Collection.turns` does."""
    alone = {K_SESSION: {"$exists": False}}
    turn = {**alone, K_KIND: TURN}
    current: Iterable[Result] = ()
    if count := collection.count(turn, user=user):
        current = collection.search(limit=count, filter=turn, user=user)
    said = [*reversed(list(current)), *reversed(superseded(collection, alone, [TURN], None, user))]
    said.sort(key=lambda result: (result.turn or 0, result.timestamp))
    return said if limit is None else said[max(len(said) - limit, 0) :]


def facts(
    session: options.Session = None,
    user: options.UserOption = None,
    key: Annotated[str | None, typer.Option("--key", metavar="KEY", help="Only the fact under this key.")] = None,
    db: options.Db = None,
    as_json: options.Json = False,
) -> None:
    """Show the current facts that have a key."""
    with place.opened(db) as collection:
        if key is None:
            live = collection.facts(session=session, user=user)
        else:
            fact = collection.fact(key, session=session, user=user)
            live = [] if fact is None else [fact]
        _print(live, as_json=as_json)
        if not live:
            what = "no keyed facts" if key is None else f"no fact under the key {key}"
            fail(f"{what}{_of(session, user)}{_others(collection, user)}")


def history(
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of any memory of the chain.")],
    db: options.Db = None,
    as_json: options.Json = False,
) -> None:
    """Show a memory and its corrections, oldest first."""
    with place.opened(db) as collection:
        _print(collection.history(id), as_json=as_json, counted=True)


def _print(results: Iterable[Result], *, as_json: bool, counted: bool = False) -> None:
    if as_json:
        for result in results:
            print_json(records.of_result(result))
    else:
        print_results(results, counted=counted)


def _of(session: str | None, user: str | None) -> str:
    return ("" if session is None else f" in session {session}") + ("" if user is None else f" of user {user}")


def _others(collection: Collection, owner: object) -> str:
    """Return where else to look: what has no user is asked for where nobody is named."""
    if owner is not None or not collection.users():
        return ""
    return "; only what has no user was looked at, --user NAME is for what users have"
