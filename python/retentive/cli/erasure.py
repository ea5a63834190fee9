"""`forget`, `expire`: what goes, shown before it goes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from retentive import _clock, _times
from retentive._constants import ANY, K_KIND, K_SUPERSEDED_BY, K_TS, User
from retentive.cli import options, place, records
from retentive.cli.listing import print_results
from retentive.cli.superseded import superseded
from retentive.cli.terminal import USAGE, console, fail, print_json, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retentive._collection import Collection
    from retentive._results import Result, Results

SHOWN = 5
_PLURALS = {"turn": "turns", "fact": "facts", "document": "documents"}


class Selection(NamedTuple):
    """What `forget` was asked for, with the age as an instant: what is shown is what goes."""

    session: str | None
    user: User
    kinds: tuple[str, ...]
    before: str | None
    ids: Sequence[str] | None
    superseded: bool

    def found(self, collection: Collection) -> Found:
        """Count what would go, and read the newest of it."""
        return self._named(collection) if self.ids else self._selected(collection)

    def _named(self, collection: Collection) -> Found:
        before = None if self.before is None else _times.instant("older_than", self.before)
        wide = self.session is None and self.user is None
        there = {result.id: result for result in collection.get(self.ids or ())}
        taken = [
            result
            for result in there.values()
            if (wide or self.user in {ANY, result.user})
            and self.session in {None, result.session}
            and (before is None or _times.instant("timestamp", result.timestamp) < before)
            and (not self.superseded or result.superseded_by is not None)
        ]
        counts: dict[str, int] = {}
        for result in taken:
            kind = result.kind or "document"
            counts[kind] = counts.get(kind, 0) + 1
        return Found(counts, taken[:SHOWN])

    def _selected(self, collection: Collection) -> Found:
        conditions: dict[str, Any] = {}
        if self.before is not None:
            conditions[K_TS] = {"$lt": self.before}
        if self.superseded:
            conditions[K_SUPERSEDED_BY] = {"$exists": True}
        counts = {
            kind: collection.count({**conditions, K_KIND: kind}, session=self.session, user=self.user)
            for kind in dict.fromkeys(self.kinds)
        }
        newest = [] if self.superseded else list(self._current(collection, conditions))
        newest += superseded(collection, conditions, self.kinds, self.session, self.user)[:SHOWN]
        newest.sort(key=lambda result: result.timestamp, reverse=True)  # those of one time stay newest first
        return Found({kind: count for kind, count in counts.items() if count}, newest[:SHOWN])

    def _current(self, collection: Collection, conditions: dict[str, Any]) -> Results:
        chosen = {**conditions, K_KIND: {"$in": list(self.kinds)}}
        return collection.search(limit=SHOWN, filter=chosen, session=self.session, user=self.user)


class Found(NamedTuple):
    """What would go: how many of each kind, and the newest of them."""

    counts: dict[str, int]
    newest: list[Result]

    @property
    def total(self) -> int:
        """How many in all."""
        return sum(self.counts.values())

    def __str__(self) -> str:
        kinds = ", ".join(
            f"{count:,} {_PLURALS.get(kind, kind) if count > 1 else kind}" for kind, count in self.counts.items()
        )
        return f"{self.total:,} {'memory' if self.total == 1 else 'memories'} ({kinds})"


def forget(
    session: options.Session = None,
    user: options.UserOption = None,
    any_user: options.AnyUser = False,
    kinds: Annotated[
        list[options.Kind] | None,
        typer.Option("--kind", "-k", help="Of this kind, only turns without it; may be given again."),
    ] = None,
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="DAYS|TIME", help="Only what was said longer ago.")
    ] = None,
    ids: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="Only this, of any kind; may be given again.")
    ] = None,
    superseded: Annotated[bool, typer.Option("--superseded", help="Only what was superseded.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Where nothing above selects.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    db: options.Db = None,
    as_json: options.Json = False,
) -> None:
    """Delete memories for good, after showing what goes."""
    owner = options.owner(user, any_user)
    if not (session is not None or user is not None or older_than is not None or ids or superseded or everything):
        fail("name what to forget: --session, --user, --older-than, --id or --superseded; --all for all turns", USAGE)
    cutoff = _times.before(options.days_or_instant(older_than), _clock.now())
    selection = Selection(
        session,
        owner,
        tuple([kind.value for kind in kinds]) if kinds else ("turn",),
        None if cutoff is None else _times.to_iso(cutoff),
        ids or None,
        superseded,
    )
    with place.opened(db) as collection:
        found = selection.found(collection)
        if dry_run or not yes:
            _show(found, asked=not dry_run, as_json=as_json and dry_run)
        if dry_run:
            raise typer.Exit(0 if found.total else 1)
        if not yes and found.total:
            _ask(found)
        forgotten = _forget(collection, selection, everything=everything) if yes or found.total else 0
        _report(collection, forgotten, as_json=as_json)


def _show(found: Found, *, asked: bool, as_json: bool) -> None:
    """Print what would go: on standard error before a question, which is no part of what the command says."""
    if as_json:
        newest = [records.of_result(result) for result in found.newest]
        print_json({"count": found.total, "kinds": found.counts, "newest": newest})
    elif found.total:
        more = ", among them:" if found.total > len(found.newest) > 0 else ":"
        console(stderr=asked).print(f"would forget {found}{more}")
        print_results(found.newest, counted=True, stderr=asked)
    elif not asked:  # else it is said of what was forgotten
        say("nothing to forget")


def _ask(found: Found) -> None:
    if not sys.stdin.isatty():
        fail("nothing was forgotten: this is no terminal to ask on, --yes forgets without asking")
    screen = console(stderr=True)
    screen.print(f"Forget {'it' if found.total == 1 else 'them'} for good? [y/N] ", end="")
    screen.file.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        screen.print()
    if answer.strip().lower() not in {"y", "yes"}:
        fail("nothing was forgotten")


def _forget(collection: Collection, selection: Selection, *, everything: bool) -> int:
    return collection.forget(
        selection.session,
        selection.kinds,
        selection.before,
        selection.ids,
        selection.superseded,
        user=selection.user,
        all=everything,
    )


def _report(collection: Collection, forgotten: int, *, as_json: bool) -> None:
    if as_json:
        print_json({"forgotten": forgotten})
    elif forgotten:
        say(f"forgot {forgotten:,} {'memory' if forgotten == 1 else 'memories'}")
        if collection.stats()["erasure_pending"]:
            say("another process is reading: their old bytes are overwritten in the log once it has ended")
    if not forgotten:
        fail("nothing to forget")


def expire(db: options.Db = None, as_json: options.Json = False) -> None:
    """Delete what is past its time to live."""
    with place.opened(db) as collection:
        expired = collection.expire()
    if as_json:
        print_json({"expired": expired})
    else:
        say(f"{expired:,} expired")
