"""Opening a collection: its arguments, checked, and the file they name."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from retentive import _validate
from retentive._core import Core
from retentive._errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    from retentive._engine import Engine
    from retentive._steps import Steps

DURABILITIES = ("full", "normal")
MAX_WAIT_S = 31_536_000  # a year
MOST_CACHE_MB = 2**40  # in bytes it is still a number of 64 bits


def open_core(
    name: str,
    path: str | os.PathLike[str] | None,
    durability: str,
    language: str,
    cache_mb: int,
    busy_timeout_s: float,
    readonly: bool,
) -> tuple[Core, Path | None]:
    """Return the open core and its file. Only SQLite ever opens that file."""
    _validate.collection_name(name)
    _validate.choice("durability", durability, DURABILITIES)
    _validate.label(language, "language")
    cache_mb = min(_validate.integer("cache_mb", cache_mb, at_least=1), MOST_CACHE_MB)
    busy_timeout_s = _validate.number("busy_timeout_s", busy_timeout_s, at_least=0, at_most=MAX_WAIT_S)
    _validate.boolean("readonly", readonly)
    file = None if path is None else _file(name, path, readonly)
    core = Core(
        None if file is None else str(file),
        name=name,
        language=language,
        durability=durability,
        cache_mb=cache_mb,
        busy_timeout_s=busy_timeout_s,
        readonly=readonly,
        entropy=os.urandom(32),
    )
    return core, file


def warmup(engine: Engine) -> Steps[None]:
    """Load the model and the index."""
    yield from engine.embedding.warm()
    engine.core.warmup()


def _file(name: str, path: object, readonly: bool) -> Path:
    """Return the file of a collection, absolute: a later change of folder must not move it.

    A folder whose parent exists is made; anything else that is missing, or in the way, is the system's `OSError`.
    """
    expected = "a folder; None keeps the collection in memory"
    if str(_validate.path(path, "path", expected)) == ":memory:":
        raise InvalidInputError(f"path is {_validate.shown(path)}, expected {expected}")
    folder = _validate.absolute_path(path, "path", "a folder")
    if not folder.is_dir():
        _refuse_what_is_there(folder)
        if not readonly:
            folder.mkdir(exist_ok=True)
    return folder / f"{name}.db"


def _refuse_what_is_there(folder: Path) -> None:
    """Raise what the system says of a path that is no folder, unless nothing is there: it can be made."""
    try:
        folder.stat()
    except FileNotFoundError as error:
        if folder.is_symlink():
            target = str(folder.resolve())
            raise FileNotFoundError(error.errno, error.strerror, str(folder), None, target) from error
        return
    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
