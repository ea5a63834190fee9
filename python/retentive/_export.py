"""Writing a collection into a file: as lines, or as a copy."""

from __future__ import annotations

import errno
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retentive import _clock, _steps, _validate
from retentive._errors import InvalidInputError
from retentive._files import SUFFIX, outfile, outfile_of_text, refuse_name

if TYPE_CHECKING:
    from retentive._bulk import Progress
    from retentive._engine import Engine

_UNNAMED = "retentive-export"
_PIECE = 1 << 18  # bytes


def export(engine: Engine, path: object, vectors: bool, progress: Progress | None) -> int:
    """Write all that has not expired; see `Collection.export`."""
    _validate.callable_or_none("progress", progress)
    _steps.plain("progress", progress)
    with_vectors = _validate.boolean("vectors", vectors)
    if callable(getattr(path, "write", None)):
        written = _export_into(engine, path, with_vectors, progress)
    else:
        target = outfile_of_text(
            path, "export() writes lines: name a file like 'chat.jsonl', or call backup() for a copy"
        )
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
            rest = rest[_taken(out, rest) :]
    return written


def _taken(out: Any, rest: memoryview) -> int:
    """Write, and return how many bytes the file took. A raw one may take less than all, or None if it had to wait."""
    count = out.write(rest)
    if count is None:
        if isinstance(out, io.RawIOBase):
            raise BlockingIOError(errno.EAGAIN, "the file would have to wait, and does not: pass one that does")
        return len(rest)
    if not isinstance(count, int) or not 0 < count <= len(rest):
        raise InvalidInputError(
            f"path.write() answered {_validate.shown(count)} for {len(rest)} bytes, expected how many it took, or None "
            "for all of them"
        )
    return count


def backup(engine: Engine, name: str, path: object) -> Path:
    """Copy the collection's file; see `Collection.backup`."""
    target = outfile(path)
    if target.is_dir():
        target = outfile(target / f"{name}{SUFFIX}")
    refuse_name(target, path, "path", ", or a folder that exists")
    engine.core.backup(target)
    return target
