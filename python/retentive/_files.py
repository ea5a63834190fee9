"""Files that a caller names, to be read or to be written: what no call may open, and what none may replace."""

from __future__ import annotations

import errno
import os
import stat
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from retentive import _validate
from retentive._errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retentive._engine import Engine

SUFFIX = ".db"
COMPANIONS = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a file that somebody has open

_Numbers = tuple[int, int]  # of a device, and of a file on it


class _OpenFile(NamedTuple):
    """A collection's file that this process has open.

    Attributes:
        engine: of the collection, as long as there is one.
        path: the file.
        numbers: what was there when it was opened: another file may have taken its name since.
    """

    engine: weakref.ref[Engine]
    path: Path
    numbers: _Numbers | None

    def all_numbers(self) -> Iterator[_Numbers | None]:
        """Yield those of the file, and of what SQLite keeps beside it."""
        engine = self.engine()
        if engine is None or engine.core.closed:
            return
        yield self.numbers
        for suffix in ("", *COMPANIONS):
            yield _numbers(Path(f"{self.path}{suffix}"))


# By the identity of its engine. Looked at and changed in one step each, without a lock that a signal handler waits for.
_open_files: dict[int, _OpenFile] = {}


def note_open(engine: Engine, path: Path) -> None:
    """Note that a collection has its file open, until it is closed or gone."""
    key = id(engine)
    gone = weakref.ref(engine, lambda _: _open_files.pop(key, None))
    _open_files[key] = _OpenFile(gone, path, _numbers(path))


def _numbers(path: Path) -> _Numbers | None:
    try:
        found = path.stat()
    except OSError:  # not there: nothing that could be opened
        return None
    return found.st_dev, found.st_ino


def is_open_database(path: Path) -> bool:
    """Return whether it is a collection's file that is open, or what SQLite keeps beside one, by whatever name.

    Of another process's, by the names: whether one of those stands beside the other.
    """
    stem = next((path.name[: -len(suffix)] for suffix in COMPANIONS if path.name.endswith(suffix)), None)
    if stem and path.with_name(stem).exists():
        return True
    if any(os.path.lexists(f"{path}{suffix}") for suffix in COMPANIONS):
        return True
    numbers = _numbers(path)
    return numbers is not None and any(numbers in one.all_numbers() for one in tuple(_open_files.values()))


def refuse_open_database(path: Path, name: str = "path") -> None:
    """Refuse to open a collection's file that is open: closing it again would drop SQLite's locks on it.

    Raises:
        InvalidInputError: it is one.
    """
    if is_open_database(path):
        raise InvalidInputError(
            f"{name} is {_validate.shown(str(path))}, a database that is open: a collection's own file, or what SQLite "
            "keeps beside one, expected another file; to open a collection pass its folder to Collection(name, "
            "path=folder)"
        )


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
        InvalidInputError: it is a device, which may give bytes without end, a socket, or a database that is open.
    """
    source = file(path)
    try:
        mode = source.stat().st_mode
    except OSError:
        return source
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise InvalidInputError(f"{source}: it is {kind(mode)}, expected a regular file or a pipe")
    refuse_open_database(source)
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


def outfile_of_text(path: object, writes: str) -> Path:
    """Return the absolute path of a file of text to write; see `outfile`.

    Args:
        path: what was given.
        writes: who writes what, and what to name instead, for the message.

    Raises:
        InvalidInputError: what stands there is no regular file, or is, or may be, somebody's collection.
    """
    target = outfile(path)
    if is_open_database(target) or (target.suffix == SUFFIX and target.exists()):
        raise InvalidInputError(
            f"path is {_validate.shown(str(target))}, a collection's own file by its name, or an open database; "
            f"{writes}"
        )
    return target


def kind(mode: int) -> str:
    """Return what stands there that is neither a regular file nor a folder."""
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"
