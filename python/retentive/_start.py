"""Ctrl-C while the program `retentive` imports the package: one sentence, as later on.

`main` is not there yet to catch it, and what is imported may turn a `KeyboardInterrupt` into an error of its own.
Importing this module takes Ctrl-C over, `give_back` ends that. In a process of another program nothing is changed.
"""

import _signal  # type: ignore[import-not-found]  # `signal` itself takes as long to import as all before it
import os
import sys

INTERRUPTED = 130


def take_over() -> None:
    """End the process with a sentence at Ctrl-C, where it is the program's own."""
    if not _is_program() or _signal.getsignal(_signal.SIGINT) is not _signal.default_int_handler:
        return
    try:
        _signal.signal(_signal.SIGINT, _end)
    except ValueError:  # not the main thread, which alone is interrupted
        return


def give_back() -> None:
    """Let Ctrl-C be a `KeyboardInterrupt` again."""
    if _signal.getsignal(_signal.SIGINT) is _end:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def _is_program() -> bool:
    if sys.argv[:1] == ["-m"]:  # so it is while the module's package is imported
        following = sys.orig_argv[sys.orig_argv.index("-m") :] if "-m" in sys.orig_argv else []
        return following[1:2] == ["retentive"]
    if not sys.argv:
        return False
    folder, name = os.path.split(sys.argv[0])
    return name.removesuffix(".exe") == "retentive" or (name == "__main__.py" and folder == os.path.dirname(__file__))  # noqa: PTH120


def _end(_: int, __: object) -> None:
    os.write(2, b"retentive: interrupted\n")
    os._exit(INTERRUPTED)  # nothing is open yet


take_over()
