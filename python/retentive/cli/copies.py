"""`export`, `import`, `backup`: a collection into a file and back, and chat logs of other programs."""

from __future__ import annotations

import enum
import json
import shutil
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retentive import _ids, importers
from retentive._errors import ConflictError, InvalidInputError, RetentiveError
from retentive.cli import options, pipes, place
from retentive.cli.progress import bar, waiting
from retentive.cli.terminal import USAGE, console, fail, print_json, shown_in_line
from retentive.cli.wording import in_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from retentive._collection import Collection


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


_ASKED = 1_000  # ids asked for at once


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
    if piped and sys.stdout.isatty():
        fail("standard output is a terminal, expected a pipe or the name of a file", USAGE)
    with place.opened(db) as collection:
        if piped:
            _export_to_pipe(collection, vectors=vectors)
            return
        with bar("exporting") as progress:
            count = collection.export(file, vectors=vectors, progress=progress)
    if as_json:
        print_json({"exported": count, "path": file})
    else:
        console().print(shown_in_line(f"exported {_memories(count)} to {file}"))


def _export_to_pipe(collection: Collection, *, vectors: bool) -> None:
    with pipes.passing() as whole, bar("exporting") as progress:
        collection.export(whole, vectors=vectors, progress=progress)
        with whole.open("rb") as lines:
            shutil.copyfileobj(lines, sys.stdout.buffer)


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to read; `-` is standard input.")],
    origin: Annotated[
        Origin, typer.Option("--from", metavar="PROGRAM", help=f"Which program wrote it: {', '.join(Origin)}.")
    ] = Origin.RETENTIVE,
    on_conflict: Annotated[
        OnConflict, typer.Option("--on-conflict", help="Where an id or a key is taken.")
    ] = OnConflict.ERROR,
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
    _check_options(origin, on_conflict, session, user, collection_name)
    try:
        with pipes.readable(file) as path:
            if origin is Origin.RETENTIVE:
                with place.filled(db, embedder) as collection, bar("importing") as progress:
                    report = asdict(collection.import_(path, on_conflict=on_conflict.value, progress=progress))
            elif origin is Origin.CHROMA:
                report = _documents(path, collection_name, db, embedder)
            else:
                report = _log(origin, path, session, user, db, embedder)
    except InvalidInputError as error:  # of the file, not of an option
        fail(in_options(str(error)))
    if as_json:
        print_json(report)
    else:
        more = [f"{count:,} {what}" for what, count in report.items() if count and what != "imported"]
        console().print(", ".join([f"imported {_memories(report['imported'])}", *more]))


def _check_options(
    origin: Origin, on_conflict: OnConflict, session: str | None, user: str | None, collection: str | None
) -> None:
    if session is not None and origin not in _MESSAGES:
        fail(f"--session: what {origin} wrote has sessions of its own, or none", USAGE)
    if user is not None and origin not in {*_MESSAGES, *_OWN_SESSIONS}:
        fail(f"--user: what {origin} wrote has users of its own, or none", USAGE)
    if on_conflict is not OnConflict.ERROR and origin is not Origin.RETENTIVE:
        fail("--on-conflict is for what `retentive export` wrote", USAGE)
    if collection is not None and origin is not Origin.CHROMA:
        fail("--collection is for --from chroma", USAGE)


def _log(
    origin: Origin, path: Path, session: str | None, user: str | None, db: str | None, embedder: str | None
) -> dict[str, int]:
    named = {} if session is None else {"session": session}
    items = [{"id": _ids.memory_id(), **item} for item in (_MESSAGES | _OWN_SESSIONS)[origin](path, user=user, **named)]
    with place.filled(db, embedder) as collection, bar("importing") as progress:
        _refuse_taken(collection, [item["id"] for item in items])
        try:
            return {"imported": len(collection.remember_many(items, progress=progress))}
        except BaseException as error:
            # Of many transactions some may be done: all of a log or nothing.
            stored = getattr(error, "stored", 0)
            collection.delete([item["id"] for item in items[:stored]])
            raise


def _refuse_taken(collection: Collection, ids: list[str]) -> None:
    """Refuse ids that are here already, or come twice, before anything is stored."""
    twice = next((name for name, count in Counter(ids).items() if count > 1), None)
    if twice is not None:
        raise ConflictError(f"the log has the id {json.dumps(twice, ensure_ascii=False)} twice; nothing was imported")
    for start in range(0, len(ids), _ASKED):
        here = collection.get(ids[start : start + _ASKED])
        if here:
            name = json.dumps(here[0].id, ensure_ascii=False)
            raise ConflictError(f"the id {name} of the log is in use here; nothing was imported")


def _documents(path: Path, name: str | None, db: str | None, embedder: str | None) -> dict[str, int]:
    batches = importers.chroma(_got(path) if path.is_file() else path, collection=name)
    texts: list[str] = []
    ids: list[str] = []
    metadata: list[Any] = []
    for batch in batches:  # all of them are read before anything is stored
        texts += batch["texts"]
        ids += batch["ids"]
        metadata += batch["metadata"] or [None] * len(batch["ids"])
    with place.filled(db, embedder) as collection, bar("importing") as progress:
        try:
            return {"imported": len(collection.add(texts, metadata, ids, progress=progress))}
        except RetentiveError as error:
            stored = getattr(error, "stored", 0)
            if not stored:
                raise
            count = f"{stored:,} of {len(ids):,} documents were stored"
            fail(f"{in_options(str(error))}; {count}: import them again, which replaces them")


def _got(path: Path) -> Any:
    """Return what Chroma's `get` returned, from a file of JSON."""
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        fail(f"what was to be read is no JSON: {error}")


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
