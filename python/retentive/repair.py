"""What is left of a damaged collection, in a new one: `python -m retentive.repair DAMAGED.db --into NEW.db`.

Exit code 0 when everything was saved, 1 when something was lost (and is listed) or the report could not be written, 2
when nothing could be read or the arguments were wrong, 130 when interrupted. The damaged file is not written.
"""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from retentive import _core, _validate
from retentive._errors import FullError, InvalidInputError, RetentiveError
from retentive._files import COMPANIONS, kind, refuse_name
from retentive._report import Problem
from retentive._terminal import INTERRUPTED, Arguments, complain, run, shown_in_line
from retentive._working_folder import working_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["RepairReport", "main", "repair"]

# Closing a file that this process has open as a collection would drop SQLite's locks on it: another process copies it.
_COPY = """
import os, shutil, sys
source, target = sys.argv[1:]
try:
    shutil.copyfile(source, target)
    if os.path.isfile(source + "-wal"):
        shutil.copyfile(source + "-wal", target + "-wal")
except OSError as error:
    print(error.errno)
    raise
"""
_FULL = {str(getattr(errno, name)) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name)}  # a full disk


@dataclass(frozen=True, slots=True, repr=False)
class RepairReport:
    """What `repair` saved, and what it could not.

    Attributes:
        rows_saved: how many rows were saved, by table: `memory` counts the memories.
        lost: what could not be saved, at most 1,000 of them, by table, row, and id where it is known; never a text.
        more: how many losses are not listed.
    """

    rows_saved: dict[str, int]
    lost: tuple[Problem, ...]
    more: int = 0

    @property
    def complete(self) -> bool:
        """Whether everything was saved."""
        return not self.lost

    def __repr__(self) -> str:
        lost = len(self.lost) + self.more
        return f"<RepairReport: {self.rows_saved.get('memory', 0):,} memories saved, {lost:,} losses>"


def repair(path: str | os.PathLike[str], into: str | os.PathLike[str], *, language: str = "english") -> RepairReport:
    """Save what can be read of a damaged collection into a new file.

    Every row that matches its checksum is kept, with ids, turn numbers, times, links, keys, feedback, vectors and
    models as they were; links over lost memories are closed as forgetting closes them. Works past pages that SQLite
    cannot read, and on a copy: the damaged file, and its `-wal` if there is one, are only read. Nobody should be
    writing to it. All memories' numbers, not their texts, are held in memory.

    Args:
        path: the damaged file.
        into: the new one, `<name>.db`; it must not exist. It is there when it is whole. The copy is made in its folder,
            and removed; what a killed process left there is removed by the next one.
        language: of the collection, where the file does not say it any more.

    Returns:
        What was saved, and what was lost.

    Raises:
        InvalidInputError: `into` exists or is not named like a collection's file, `path` is a pipe or a device, an
            argument is no path, or the language is not known.
        CorruptError: nothing of a collection can be read in it.
        VersionError: it was made by a newer version.
        FullError: the disk is full; no new file is left.
        OSError: `path` or the folder of `into` is not there, is no file or folder, or may not be read.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from retentive import Collection
        >>> from retentive.embedders import HashEmbedder
        >>> folder = Path(tempfile.mkdtemp())
        >>> with Collection("chat", path=folder, embedder=HashEmbedder(64)) as db:
        ...     id = db.remember("I'd like the report as a PDF", session="u42")
        >>> repair(folder / "chat.db", folder / "saved.db")
        <RepairReport: 1 memories saved, 0 losses>
    """
    # Absolute: SQLite gets them as URIs.
    source = _validate.path(path, "path", "the damaged file").absolute()
    target = _validate.absolute_path(into, "into", "the new file")
    _validate.label(language, "language")
    refuse_name(target, into, "into")
    _refuse_what_is_no_file(source)
    for beside in ("", *COMPANIONS):
        found = target.with_name(f"{target.name}{beside}")
        if os.path.lexists(found):
            raise InvalidInputError(f"{found} exists; name a file that does not, repair makes a new one")
    if not stat.S_ISDIR(target.parent.stat().st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(target.parent))
    with working_folder(target.parent, ".repair-", "copy.db") as folder:
        copy = folder / "copy.db"
        _copy(source, copy, target)
        try:
            saved, lost, more = _core.repair(copy, target, language, os.urandom(32))
        except RetentiveError as error:
            raise _about(source, copy, error) from None
    problems = _without_log(source) + [Problem(*loss) for loss in lost]
    return RepairReport(saved, tuple(problems), more)


def _refuse_what_is_no_file(source: Path) -> None:
    mode = source.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(source))
    if not stat.S_ISREG(mode):
        raise InvalidInputError(f"path is {_validate.shown(str(source))}, {kind(mode)}, expected a regular file")


def _without_log(source: Path) -> list[Problem]:
    """Return what is lost where something that is no file stands in the place of the log."""
    log = source.with_name(f"{source.name}-wal")
    if log.is_file() or not log.exists():
        return []
    what = f"{log.name} is not a file: commits that were only in the log are lost"
    return [Problem("missing", "sqlite_schema", None, None, what)]


def _copy(source: Path, copy: Path, target: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", _COPY, str(source), str(copy)], check=False, capture_output=True, text=True
    )
    if done.returncode and done.stdout.strip() in _FULL:
        raise FullError(
            f"{target}: the disk is full: free some space and try again; nothing was saved, and nothing is left",
            path=str(target),
        )
    if done.returncode:
        why = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise OSError(f"{source} could not be copied: {why[0]}")


def _about(source: Path, copy: Path, error: RetentiveError) -> RetentiveError:
    """Return the error as one of the damaged file, not of its copy."""
    error.args = tuple(str(part).replace(str(copy), str(source)) for part in error.args)
    if getattr(error, "path", None) == str(copy):
        error.path = str(source)  # type: ignore[attr-defined]
    return error


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = Arguments(
        prog="python -m retentive.repair",
        description="Save what can be read of a damaged collection into a new file. The damaged one is not written.",
        epilog="exit code: 0 all saved, 1 something lost, 2 unreadable or wrong arguments",
    )
    parser.add_argument("damaged", type=Path, metavar="DAMAGED.db")
    parser.add_argument("--into", type=Path, required=True, metavar="NEW.db", help="the new file; must not exist")
    parser.add_argument("--language", default="english", help="where the file does not say it any more")
    options = parser.parse_args(argv)
    try:
        report = repair(options.damaged, options.into, language=options.language)
    except (RetentiveError, OSError) as error:
        complain(f"repair: {error}")
        return 2
    except KeyboardInterrupt:
        complain("repair: interrupted, nothing was saved")
        return INTERRUPTED
    print(shown_in_line(f"saved {report.rows_saved.get('memory', 0):,} memories into {options.into}"))
    for loss in report.lost:
        print(shown_in_line(f"lost: {loss}"))
    if report.more:
        print(f"lost: {report.more:,} more")
    return 0 if report.complete else 1


if __name__ == "__main__":
    sys.exit(run(main, "repair"))
