"""Environments of other libraries: one each, filled by `pip`, kept where it was finished."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_INSTALL_SECONDS = 1200


class PeerError(Exception):
    """A peer could not be installed, or failed. The message is its own last words."""


@contextmanager
def environments_in(folder: Path | None) -> Iterator[Path]:
    """Give the folder that environments are kept in: the caller's, or one that is gone afterwards."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="retentive-peers-") as temporary:
        yield Path(temporary)


def environment(name: str, requirements: Sequence[str], environments: Path) -> Path:
    """Return the Python of a peer's environment, made where there is none that was finished with these requirements.

    Args:
        name: names its folder.
        requirements: what `pip` installs beside numpy.
        environments: the folder that it is in, or is made in.

    Raises:
        PeerError: it cannot be made, or `pip` failed.
    """
    wanted = "\n".join(requirements)
    folder = environments / f"{name}-python{sys.version_info[0]}.{sys.version_info[1]}"
    python, finished = folder / "bin" / "python", folder / "finished.txt"
    if finished.is_file() and finished.read_text(encoding="utf-8") == wanted:
        return python
    execute([sys.executable, "-m", "venv", "--clear", str(folder)], "its environment", _INSTALL_SECONDS)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "numpy"]
    execute([*install, *requirements], "pip install", _INSTALL_SECONDS)
    finished.write_text(wanted, encoding="utf-8")
    return python


def execute(command: Sequence[str], what: str, seconds: int, cwd: Path | None = None) -> None:
    """Run a command; one that fails or takes too long is a `PeerError` that begins with `what`."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds, cwd=cwd)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerError(f"{what}: {error}") from error
    if done.returncode != 0:
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise PeerError(f"{what} exited with {done.returncode}: {said[-1] if said else 'no message'}")
