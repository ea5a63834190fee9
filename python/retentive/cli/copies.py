"""`export`, `import`, `backup`: a collection into a file and back, and chat logs of other programs."""

from __future__ import annotations

import enum
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retentive import importers
from retentive._errors import InvalidInputError
from retentive._terminal import shown_in_line
from retentive.cli import options, pipes, place
from retentive.cli.progress import bar, waiting
from retentive.cli.terminal import USAGE, console, fail, print_json
from retentive.cli.wording import in_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Origin(enum.StrEnum):
    """Which program wrote the file."""

    RETENTIVE = "retentive"
    OPENAI = "openai"
    CHATGPT = "chatgpt"
    SHAREGPT = "sharegpt"
    LANGCHAIN = "langchain"
    MEM0 = "mem0"
    CHROMA = "chroma"


# Whose logs name a session, and whose do not.
_MESSAGES: dict[Origin, Callable[..., Any]] = {
    Origin.OPENAI: importers.openai_messages,
    Origin.SHAREGPT: importers.sharegpt,
    Origin.LANGCHAIN: importers.langchain_messages,
}
_OWN_SESSIONS: dict[Origin, Callable[..., Any]] = {Origin.CHATGPT: importers.chatgpt, Origin.MEM0: importers.mem0}


class OnConflict(enum.StrEnum):
    """What becomes of a memory whose id or key is taken."""

    ERROR = "error"
    SKIP = "skip"
    REPLACE = "replace"


def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to write; `-` is standard output.")],
    vectors: Annotated[bool, typer.Option("--vectors", help="With the vectors: larger, and quick to import.")] = False,
    db: options.Db = None,
    as_json: options.Json = False,
) -> None:
    """Write everything into a file of JSON Lines."""
    piped = file in pipes.OUT
    if piped and as_json:
        fail(f"--json says what was written where, and `{file}` writes the export itself, expected one of them", USAGE)
    if piped and (sys.stdout.isatty() or sys.stdout.name == os.devnull):  # what stands in for one that is closed
        state = "a terminal" if sys.stdout.isatty() else "closed"
        fail(f"standard output is {state}, expected a pipe or the name of a file", USAGE)
    with place.opened(db) as collection, bar("exporting") as progress:
        count = collection.export(sys.stdout.buffer if piped else file, vectors=vectors, progress=progress)
    if piped:
        return
    if as_json:
        print_json({"exported": count, "path": file})
    else:
        console().print(shown_in_line(f"exported {_memories(count)} to {file}"))


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to read; `-` is standard input.")],
    origin: Annotated[
        Origin, typer.Option("--from", metavar="PROGRAM", help=f"Which program wrote it: {', '.join(Origin)}.")
    ] = Origin.RETENTIVE,
    on_conflict: Annotated[
        OnConflict | None,
        typer.Option("--on-conflict", help="Where an id or a key is taken: error; replace for documents of chroma."),
    ] = None,
    session: Annotated[str | None, typer.Option("--session", "-s", metavar="NAME", help="Of a chat log.")] = None,
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="NAME", help="Of a chat log: whose.")] = None,
    collection_name: Annotated[
        str | None, typer.Option("--collection", metavar="NAME", help="Of Chroma: which collection of the folder.")
    ] = None,
    db: options.Db = None,
    embedder: options.Embedder = None,
    as_json: options.Json = False,
) -> None:
    """Store what `export` wrote, or another program's log."""
    _check_options(origin, session, user, collection_name)
    if on_conflict is None:
        on_conflict = OnConflict.REPLACE if origin is Origin.CHROMA else OnConflict.ERROR
    try:
        with (
            pipes.readable(file) as path,
            place.filled(db, embedder) as collection,
            bar("importing") as progress,
        ):
            if origin is Origin.RETENTIVE:
                done = collection.import_(path, on_conflict, progress=progress)
            else:
                items = _items(origin, path, session, user, collection_name)
                done = collection.import_items(items, on_conflict, progress=progress)
    except InvalidInputError as error:  # of the file, not of an option
        fail(in_options(str(error)))
    report = asdict(done)
    if as_json:
        print_json(report)
    else:
        more = [f"{count:,} {what}" for what, count in report.items() if count and what != "imported"]
        console().print(", ".join([f"imported {_memories(report['imported'])}", *more]))


def _check_options(origin: Origin, session: str | None, user: str | None, collection: str | None) -> None:
    if session is not None and origin not in _MESSAGES:
        fail(f"--session: what {origin} wrote has sessions of its own, or none", USAGE)
    if user is not None and origin not in {*_MESSAGES, *_OWN_SESSIONS}:
        fail(f"--user: what {origin} wrote has users of its own, or none", USAGE)
    if collection is not None and origin is not Origin.CHROMA:
        fail("--collection is for --from chroma", USAGE)


def _items(
    origin: Origin, path: Path, session: str | None, user: str | None, collection: str | None
) -> Iterator[dict[str, Any]]:
    if origin is Origin.CHROMA:
        return importers.chroma(path, collection=collection)
    named = {} if session is None else {"session": session}
    items: Iterator[dict[str, Any]] = (_MESSAGES | _OWN_SESSIONS)[origin](path, user=user, **named)
    return items


def backup(
    path: Annotated[str, typer.Argument(metavar="FILE.db", help="The new file, or a folder for it.")],
    db: options.Db = None,
    as_json: options.Json = False,
) -> None:
    """Copy the collection, also while it is in use."""
    with place.opened(db) as collection, waiting("copying"):
        made = collection.backup(path)
    if as_json:
        print_json({"path": str(made)})
    else:
        here = Path.cwd()
        console().print(shown_in_line(f"copied to {made.relative_to(here) if made.is_relative_to(here) else made}"))


def _memories(count: int) -> str:
    return f"{count:,} {'memory' if count == 1 else 'memories'}"
