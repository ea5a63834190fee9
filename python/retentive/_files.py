"""Files that a caller names, to be read or to be written: what no call may open, and what none may replace."""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import TYPE_CHECKING

from retentive import _validate
from retentive._core import is_open_file
from retentive._errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = ".db"
COMPANIONS = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a file that somebody has open

_SQLITE = b"SQLite format 3\0"  # how each of its files begins
_LOOKED_AT = 1 << 16  # bytes; a page of SQLite's has zeroes in it
# Of `store/outfile.rs`, and of `_text_file`.
_UNFINISHED = re.compile(r"\.[0-9]+-[0-9]+\.part$|^\..*\.[0-9a-f]{8}\.[0-9a-f]{12}\.tmp$", re.DOTALL)


def is_open_database(path: Path) -> bool:
    """Return whether it is a collection's file that is open, or what SQLite keeps beside one, by whatever name.

    Of another process's, by the names: whether one of those stands beside the other.
    """
    stem = next((path.name[: -len(suffix)] for suffix in COMPANIONS if path.name.endswith(suffix)), None)
    if stem and path.with_name(stem).exists():
        return True
    if any(os.path.lexists(f"{path}{suffix}") for suffix in COMPANIONS):
        return True
    return is_open_file(path)


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
    if why := _kept_for_others(target) or _holds_others(target):
        raise InvalidInputError(f"path is {_validate.shown(str(target))}, {why}: nothing was written there; {writes}")
    return target


def _kept_for_others(target: Path) -> str | None:
    """Return why nothing is written at a name, whether or not something is there."""
    if is_open_database(target):
        return "a collection's own file that is open, or what SQLite keeps beside one"
    if target.name.endswith(tuple(f"{SUFFIX}{suffix}" for suffix in COMPANIONS)):
        return "a name that SQLite has for what it keeps beside a collection's file"
    if _UNFINISHED.search(target.name):
        return "a name of an unfinished file, which the next call that writes there would remove"
    return None


def _holds_others(target: Path) -> str | None:
    """Return why what stands at a name stays there: its content counts, since a collection's file may have any name."""
    if not target.is_file():
        return None
    with target.open("rb") as file:  # not one that is open here
        head = file.read(_LOOKED_AT)
    if head and _SQLITE.startswith(head[: len(_SQLITE)]):
        return "a database: a collection's own file, or a backup of one"
    if target.suffix == SUFFIX and b"\0" in head:
        return "named like a collection's file, and not text: it may be a damaged one"
    return None


def kind(mode: int) -> str:
    """Return what stands there that is neither a regular file nor a folder."""
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"
