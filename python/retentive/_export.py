"""Writing a collection into a file: as lines, or as a copy."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retentive import _clock, _steps, _validate
from retentive._errors import InvalidInputError

if TYPE_CHECKING:
    from retentive._bulk import Progress
    from retentive._engine import Engine

SUFFIX = ".db"
_UNNAMED = "retentive-export"
_PIECE = 1 << 18  # bytes
COMPANIONS = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a file that somebody has open


def export(engine: Engine, path: object, vectors: bool, progress: Progress | None) -> int:
    """Write all that has not expired; see `Collection.export`."""
    _validate.callable_or_none("progress", progress)
    _steps.plain("progress", progress)
    with_vectors = _validate.boolean("vectors", vectors)
    if callable(getattr(path, "write", None)):
        written = _export_into(engine, path, with_vectors, progress)
    else:
        target = outfile(path)
        _refuse_collection(target)
        written = engine.core.export(target, with_vectors, _clock.now(), progress)
    if progress is not None:
        progress(written, written)
    return written


def _export_into(engine: Engine, out: Any, with_vectors: bool, progress: Progress | None) -> int:
    """Write into an open file what is whole by then, and had no name."""
    if isinstance(out, io.TextIOBase):
        raise InvalidInputError(
            f"path is {_validate.shown(out)}, a file of text, expected one of bytes: open it with 'wb', or pass .buffer"
        )
    import tempfile  # and with it megabytes of others, for nothing where there is a path

    beside = Path(tempfile.gettempdir()) / _UNNAMED
    written, exported = engine.core.export_unnamed(beside, with_vectors, _clock.now(), progress)
    while piece := exported.read(_PIECE):
        rest = memoryview(piece)
        while rest:
            count = out.write(rest)  # of a raw file, maybe not all
            rest = rest[count if isinstance(count, int) else len(rest) :]
    return written


def _refuse_collection(target: Path) -> None:
    """Refuse to write over a file that is, or may be, somebody's collection."""
    is_open = any(os.path.lexists(f"{target}{suffix}") for suffix in COMPANIONS)
    if is_open or (target.suffix == SUFFIX and target.exists()):
        raise InvalidInputError(
            f"path is {_validate.shown(str(target))}, a collection's own file by its name, or an open database; "
            "export() writes lines: name a file like 'chat.jsonl', or call backup() for a copy"
        )


def backup(engine: Engine, name: str, path: object) -> Path:
    """Copy the collection's file; see `Collection.backup`."""
    target = outfile(path)
    if target.is_dir():
        target = outfile(target / f"{name}{SUFFIX}")
    refuse_name(target, path, "path", ", or a folder that exists")
    engine.core.backup(target)
    return target


def refuse_name(target: Path, given: object, label: str, instead: str = "") -> None:
    """Refuse a new collection's file that no collection could have: nothing would open it.

    Args:
        target: the file.
        given: what it was called.
        label: the name of the argument.
        instead: what else is taken, for the message.
    """
    if target.suffix != SUFFIX or not _validate.is_collection_name(target.stem):
        raise InvalidInputError(
            f"{label} is {_validate.shown(str(given))}, expected a file like 'chat.db', which Collection('chat', "
            f"path=folder) opens{instead}"
        )


def file(path: object) -> Path:
    """Return a file's absolute path; of a link, what it leads to."""
    absolute = _validate.absolute_path(path, "path", "the path of a file")
    if not absolute.is_symlink():
        return absolute
    try:
        target = absolute.resolve()
    except RuntimeError as error:  # a ring of links, before Python 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(absolute)) from error
    return absolute if absolute.exists() and not target.exists() else target  # of a descriptor it names no file


def infile(path: object) -> Path:
    """Return the absolute path of a file to read: a regular one, or a pipe. What is not there shows when it is opened.

    Raises:
        InvalidInputError: it is a device, which may give bytes without end, or a socket.
    """
    source = file(path)
    try:
        mode = source.stat().st_mode
    except OSError:
        return source
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise InvalidInputError(f"{source}: it is {kind(mode)}, expected a regular file or a pipe")
    return source


def outfile(path: object) -> Path:
    """Return the absolute path of a file to write, which a rename will replace; a folder is left to the caller.

    Raises:
        InvalidInputError: a device, a pipe or a socket stands there, or at the end of a link there.
    """
    target = file(path)
    given = _validate.path(path, "path", "the path of a file")
    try:
        mode = given.stat().st_mode  # of the given path: links like /dev/stdout resolve to a name that is nowhere
    except OSError:
        return target  # not there; or what is wrong with it shows when it is written
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InvalidInputError(
            f"path is {_validate.shown(str(given))}, {kind(mode)}, expected a regular file or a name that is free: "
            "the file is written beside its place and renamed; write a file and copy it there"
        )
    return target


def kind(mode: int) -> str:
    """Return what stands there that is neither a regular file nor a folder."""
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"
