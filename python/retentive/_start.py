"""Ctrl-C while the program `retentive` imports the package: one sentence, as later on.

`main` is not there yet to catch it: importing this module takes it over, `give_back` ends that. In a process of another
program nothing is changed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED = 130


def _taken_over() -> Callable[[], None]:
    """Take Ctrl-C over, in the program's own process; what is returned gives it back."""
    if (
        not _is_program()
        or threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        return lambda: None
    signal.signal(signal.SIGINT, _end)
    return _give_back


def _is_program() -> bool:
    if sys.argv[:1] == ["-m"]:  # so it is while the module's package is imported
        following = sys.orig_argv[sys.orig_argv.index("-m") :] if "-m" in sys.orig_argv else []
        return following[1:2] == ["retentive"]
    return bool(sys.argv) and os.path.basename(sys.argv[0]).removesuffix(".exe") == "retentive"  # noqa: PTH119


def _give_back() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(_: int, __: object) -> None:
    os.write(2, b"retentive: interrupted\n")
    os._exit(INTERRUPTED)  # nothing is open yet


give_back = _taken_over()
