"""What a program of this package does before and after all else: Ctrl-C is one sentence, standard streams are there.

Its `main` is not there yet to catch a `KeyboardInterrupt`, and what is imported may turn that into an error of its own.
Importing this module takes Ctrl-C over, `give_back` ends that; at its end the program takes it over again, since nobody
catches anything from there on. In a process of another program nothing is changed.
"""

import _signal  # type: ignore[import-not-found]  # `signal` itself takes as long to import as all before it
import atexit
import os
import sys

INTERRUPTED = 130
_SCRIPT = "retentive"
# What `python -m` runs, and what stands before the sentences of each.
_MODULES = {_SCRIPT: _SCRIPT, "retentive.repair": "repair", "retentive.evaluate": "python -m retentive.evaluate"}
_STANDARD = 3  # descriptors: input, output, errors


def take_over() -> None:
    """End the process with a sentence at Ctrl-C, and have its standard streams open, where it is the program's own."""
    if _program() is None:
        return
    open_standard_streams()
    if _signal.getsignal(_signal.SIGINT) is not _signal.default_int_handler:
        return
    try:
        _signal.signal(_signal.SIGINT, _end)
    except ValueError:  # not the main thread, which alone is interrupted
        return


def give_back() -> None:
    """Let Ctrl-C be a `KeyboardInterrupt` again: whoever calls this catches it."""
    if _signal.getsignal(_signal.SIGINT) is _end:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def package_is_imported() -> None:
    """Give Ctrl-C back, but where `python -m` goes on to a program of ours, which does it itself."""
    if not _is_imported_for_module():
        give_back()


def open_standard_streams() -> None:
    """Open the null device for each standard stream that is closed.

    The next file that is opened would get its number, be it a database, and be read as standard input or get what is
    printed.
    """
    for number in range(_STANDARD):
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
            os.set_inheritable(nowhere, True)  # programs that this one starts have no other either


def _program() -> str | None:
    """Return what the process calls itself in its sentences, where it is a program of this package."""
    if _is_imported_for_module():
        return _MODULES.get(_module())
    if not sys.argv:
        return None
    path = sys.argv[0]
    for module, name in _MODULES.items():
        if path in _files(module):
            return name
    return _SCRIPT if os.path.basename(path).removesuffix(".exe") == _SCRIPT else None  # noqa: PTH119


def _is_imported_for_module() -> bool:
    """Whether `python -m` has not come to the module itself yet: it imports the module's package first."""
    return sys.argv[:1] == ["-m"]


def _module() -> str:
    """Return what follows `-m`, alone or behind other flags, as in `-um`."""
    for at, word in enumerate(sys.orig_argv[1:], 1):
        flags, given, name = word.partition("m")
        if given and flags[:1] == "-" and not set(flags[1:]) & set("-WXc"):
            return name or "".join(sys.orig_argv[at + 1 : at + 2])
    return ""


def _files(module: str) -> tuple[str, str]:
    """Return where a module's program may be: its own file, or its package's."""
    folder = os.path.dirname(__file__)  # noqa: PTH120
    parts = module.split(".")[1:]
    return os.path.join(folder, *parts, "__main__.py"), f"{os.path.join(folder, *parts)}.py"  # noqa: PTH118


def _end(_: int, __: object) -> None:
    try:
        os.write(2, f"{_program() or _SCRIPT}: interrupted\n".encode())
    finally:  # where nobody can be told, the exit code tells
        os._exit(INTERRUPTED)  # nothing is open yet, or any more


def _leave() -> None:
    """Have Ctrl-C ignored while the interpreter takes itself down: it would end the process by the signal."""
    if _signal.getsignal(_signal.SIGINT) is _end:
        _signal.signal(_signal.SIGINT, _signal.SIG_IGN)


if _program() is not None:
    atexit.register(_leave)  # the first to be registered is the last to be called
take_over()
