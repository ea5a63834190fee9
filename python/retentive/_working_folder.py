"""A folder for what is needed while a call runs, and that the next such call removes where this one is killed."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from retentive._core import is_open_file
from retentive._lock import lock

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCK = "lock"  # a file that is held while the folder is in use


@contextmanager
def working_folder(parent: Path, prefix: str, file: str) -> Iterator[Path]:
    """Make a folder that only its owner may look into, and remove it at the end.

    Args:
        parent: where. What killed processes left there of this prefix is removed first.
        prefix: how its name begins.
        file: how the names of all files in it begin; no others are removed.
    """
    for left in parent.glob(f"{prefix}*"):
        _remove_dead(left, file)
    with ExitStack() as held:
        folder = _held(parent, prefix, held)
        try:
            yield folder
        finally:
            held.close()
            _remove(folder, file)


def _held(parent: Path, prefix: str, held: ExitStack) -> Path:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with suppress(FileNotFoundError):  # somebody took it for a dead one before it was held
            mark = held.enter_context((folder / _LOCK).open("xb"))
            lock(mark)
            if (folder / _LOCK).exists():
                return folder


def _remove_dead(folder: Path, file: str) -> None:
    if folder.is_symlink() or not folder.is_dir() or is_open_file(folder / _LOCK):  # closing that drops SQLite's locks
        return
    try:
        with (folder / _LOCK).open("rb") as mark:
            if lock(mark):
                _remove(folder, file)
    except FileNotFoundError:  # killed before it had one: nothing else is in it
        with suppress(OSError):
            folder.rmdir()
    except PermissionError:  # somebody else's
        pass


def _remove(folder: Path, file: str) -> None:
    for found in [*folder.glob(f"{file}*"), folder / _LOCK]:
        found.unlink(missing_ok=True)
    with suppress(OSError):  # somebody put something into it, or removed it
        folder.rmdir()
