"""A file of text that is replaced whole or not at all: written beside its place, and renamed."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from retentive._core import is_open_file
from retentive._lock import lock

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, content: str, given: Path | None = None) -> None:
    """Write a file, and make it durable.

    Args:
        path: the file, as `outfile_of_text` returns it.
        content: all of it.
        given: what the caller named, for an error; None for `path`.

    Raises:
        OSError: it cannot be written; the one before it is as it was.
    """
    beginning = f".{path.name[:50]}.{hashlib.blake2b(path.name.encode(), digest_size=4).hexdigest()}."
    _remove_dead(path.parent, beginning)
    temporary, file = _held(path, beginning, given or path)
    try:
        with file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if os.name != "nt":  # which renames no open file, and removes none: there the lock is not needed
                temporary.replace(path)
        if os.name == "nt":
            temporary.replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


def _remove_dead(folder: Path, beginning: str) -> None:
    """Remove what killed processes left of a file: it may hold what was forgotten since."""
    for left in folder.iterdir() if folder.is_dir() else ():
        ours = left.name.startswith(beginning) and left.name.endswith(".tmp")
        if ours and not is_open_file(left):  # a link of that name may lead there, and closing it drops SQLite's locks
            with suppress(FileNotFoundError, PermissionError), left.open("rb") as file:
                if lock(file):
                    left.unlink()


def _held(path: Path, beginning: str, given: Path) -> tuple[Path, IO[str]]:
    """Return a new file beside `path` that is locked, and its name.

    Another call that looked for dead ones between its making and its lock may have removed it: then there is one more.
    """
    while True:
        temporary = path.with_name(f"{beginning}{os.urandom(6).hex()}.tmp")
        file = _opened(temporary, given)
        try:
            is_ours = _is_held(file, temporary)
        except BaseException:
            file.close()
            raise
        if is_ours:
            return temporary, file
        file.close()


def _is_held(file: IO[str], temporary: Path) -> bool:
    if os.name == "nt":  # which removes no open file
        return True
    if lock(file) is False:
        return False
    try:
        return os.path.samestat(os.fstat(file.fileno()), temporary.stat())
    except FileNotFoundError:
        return False


def _opened(temporary: Path, path: Path) -> IO[str]:
    """Return the file to write; an error names the one that was asked for."""
    try:
        return temporary.open("x", encoding="utf-8", newline="\n")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error


def _sync_folder(folder: Path) -> None:
    """Make the new name durable. Windows has no folders that can be opened."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
