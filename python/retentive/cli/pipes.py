"""What goes through a pipe: kept in files without a name, or in a folder that does not outlive the command."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from retentive._errors import InvalidInputError, VersionError
from retentive.cli.terminal import fail
from retentive.cli.wording import in_options
from retentive.importers._source import keep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

OUT = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}
_DESCRIPTORS = Path(
    "/proc/self/fd"
)  # of Linux, where each opening begins at the start; those of /dev/fd elsewhere do not
_PREFIX = "retentive-"
# It ends when its standard input does: when this process has ended, however it did.
_SWEEP = 'read -r _; rm -rf -- "$1"'


@contextmanager
def readable(file: str) -> Iterator[Path]:
    """Give a path that can be read more than once: the file's, or of a copy of what a pipe gives.

    A file that is missing is an error here. What is wrong with a copy is said of what it is a copy of.
    """
    if file != "-" and not _is_pipe(Path(file)):
        yield Path(file)
        return
    name = "standard input" if file == "-" else file
    with _copy(file) as copy:
        try:
            yield copy
        except (InvalidInputError, VersionError) as error:
            _say_of(copy, name, error)


def _is_pipe(path: Path) -> bool:
    return stat.S_ISFIFO(path.stat().st_mode)  # devices and sockets are refused by whoever reads them


@contextmanager
def _copy(file: str) -> Iterator[Path]:
    if _DESCRIPTORS.exists():
        with tempfile.TemporaryFile(prefix=_PREFIX) as whole:
            _fill(whole, file)
            yield _DESCRIPTORS / str(whole.fileno())
        return
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder, _swept(folder):
        copy = Path(folder) / "standard-input"
        with copy.open("wb") as whole:
            _fill(whole, file)
        yield copy


def _fill(whole: IO[bytes], file: str) -> None:
    if file == "-":
        keep(sys.stdin.buffer, whole, "standard input")
    else:
        with Path(file).open("rb") as pipe:
            keep(pipe, whole, file)
    whole.flush()


@contextmanager
def _swept(folder: str) -> Iterator[None]:
    """Have another process delete the folder when this one has ended: nothing in here can after SIGKILL."""
    shell = shutil.which("sh")
    if shell is None:
        yield
        return
    nowhere = subprocess.DEVNULL
    command = [shell, "-c", _SWEEP, shell, folder]
    sweeper = subprocess.Popen(  # noqa: S603 - nothing in the command is of a user
        command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, start_new_session=True, cwd="/"
    )
    try:
        yield
    finally:
        sweeper.communicate()


def _say_of(copy: Path, name: str, error: Exception) -> NoReturn:
    fail(in_options(str(error).replace(str(copy), name)))
