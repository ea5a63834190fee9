"""`remember`, `feedback`: one memory at a time, or a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from retentive import _clock
from retentive._collection import Collection
from retentive._remember import new_memory
from retentive._terminal import shown_in_line
from retentive.cli import options, place
from retentive.cli.progress import bar
from retentive.cli.terminal import USAGE, console, fail, print_json, say, standard_input

if TYPE_CHECKING:
    from collections.abc import Mapping


def remember(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="What was said or is known; `-` reads it from standard input.")
    ],
    session: options.Session = None,
    user: options.UserOption = None,
    role: Annotated[str, typer.Option("--role", "-r", metavar="ROLE", help="Who said it.")] = "user",
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="The speaker's name.")] = None,
    kind: Annotated[options.Kind | None, typer.Option("--kind", "-k", help="What it is, a turn without it.")] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="The same as --kind pinned: always in the context.")] = False,
    key: Annotated[str | None, typer.Option("--key", metavar="KEY", help="Of a fact: its new value replaces.")] = None,
    timestamp: Annotated[str | None, typer.Option("--time", metavar="TIME", help="When it was said; ISO 8601.")] = None,
    ttl_days: Annotated[float | None, typer.Option("--ttl-days", metavar="DAYS", help="Days to live.")] = None,
    metadata: Annotated[str | None, typer.Option("--metadata", metavar="JSON", help="A JSON object.")] = None,
    id: Annotated[str | None, typer.Option("--id", metavar="ID", help="An id of your own.")] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Each line is a memory; blank ones are left out.")] = False,
    db: options.Db = None,
    embedder: options.Embedder = None,
    as_json: options.Json = False,
) -> None:
    """Store a memory and print its id; the collection is made if it is not there."""
    if lines and id is not None:
        fail("--id names one memory and --lines stores many, expected one of them", USAGE)
    if pinned and kind not in {None, options.Kind.PINNED}:
        fail(f"--pinned and --kind {kind} exclude each other", USAGE)
    fields: dict[str, Any] = {
        "session": session,
        "user": user,
        "role": role,
        "name": name,
        "kind": "pinned" if pinned else (kind or options.Kind.TURN).value,
        "key": key,
        "timestamp": timestamp,
        "ttl_days": ttl_days,
        "metadata": options.mapping("--metadata", metadata),
        "id": id,
    }
    text = standard_input(text, "text")
    texts = [line.removesuffix("\r") for line in text.split("\n") if line.strip()] if lines else [text]
    if not "".join(texts).strip():
        fail("the text is blank, expected something to remember", USAGE)
    _check(fields, texts[0])
    with place.opened_or_made(db, embedder) as collection:
        if lines:
            with bar("remembering") as progress:
                ids = collection.remember_many([{**fields, "text": line} for line in texts], progress=progress)
        else:
            ids = [collection.remember(text, **fields)]
    for stored in ids:
        if as_json:
            print_json({"id": stored})
        else:
            console().print(shown_in_line(stored))


def _check(fields: Mapping[str, Any], text: str) -> None:
    """Refuse what cannot be stored before a file is made for it."""
    with Collection("check") as nowhere:
        new_memory(nowhere.memory, _clock.now(), text=text, **fields)


def feedback(
    id: Annotated[str, typer.Argument(metavar="ID", help="The memory's id.")],
    outcome: Annotated[options.Outcome, typer.Argument(metavar="OUTCOME", help="How it turned out.")],
    correction: Annotated[
        str | None,
        typer.Option("--correction", metavar="TEXT", help="What is right; `-` reads it from standard input."),
    ] = None,
    db: options.Db = None,
    embedder: options.Embedder = None,
    as_json: options.Json = False,
) -> None:
    """Say how a memory turned out; a correction supersedes it, and its id is printed."""
    if correction is not None:
        correction = standard_input(correction, "correction")
    with place.opened_to_embed(db, embedder) as collection:
        corrected = collection.feedback(id, outcome.value, correction)
    if as_json:
        print_json({"id": id, "outcome": outcome.value, "correction": corrected})
    elif corrected is not None:
        console().print(shown_in_line(corrected))
    else:
        say("noted")
