"""`retentive`: a collection from the command line. `python -m retentive` is the same program.

Exit code 0; 1 where nothing was found, something was refused or could not be done; 2 for wrong arguments; 130 when
interrupted; 141 when the reader of a pipe has gone. An error is one sentence on standard error.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from retentive import _start

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

NEEDED = {"typer", "rich", "click", "pydantic"}  # the last two are what typer needs
FAILED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: without the program's name; None for those of the process.

    Returns:
        The exit code.
    """
    try:
        _start.take_over()
        try:
            from retentive.cli.program import run
        finally:
            _start.give_back()
        code = run(sys.argv[1:] if arguments is None else list(arguments))
        _start.take_over()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in NEEDED:
            raise
        _complain(
            f"the command line needs {error.name}, which is not installed; "
            'install it with: pip install "retentive[cli]"'
        )
        return FAILED
    except KeyboardInterrupt:
        _start.take_over()
        _complain("interrupted")
        return _start.INTERRUPTED
    return code


def _complain(sentence: str) -> None:
    from retentive._terminal import complain  # brings argparse

    complain(f"retentive: {sentence}")
