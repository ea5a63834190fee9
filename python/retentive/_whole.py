"""Imports that no interrupt cuts short.

A module in C that was interrupted in the middle of its import cannot be imported again in that process: numpy says
"cannot load module more than once per process" from then on. Handlers of signals run in the main thread alone, so what
such a module begins in the main thread, as Ctrl-C in a first call that seems slow would end it, another one imports.
"""

from __future__ import annotations

import _thread
import importlib
import sys
import threading


def import_whole(*names: str) -> None:
    """Import modules, to their end also where what waits for it is interrupted.

    Raises:
        ImportError: as importing raises it. So does whatever else a module raises.
    """
    if all(name in sys.modules for name in names):  # or being imported: the statement that follows waits, or goes on
        return
    if threading.current_thread() is not threading.main_thread():
        _import(names)
        return
    ended = threading.Lock()
    raised: list[BaseException] = []
    ended.acquire()

    def job() -> None:
        try:
            _import(names)
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            raised.append(error)
        finally:
            ended.release()

    try:
        _thread.start_new_thread(job, ())
    except RuntimeError:  # no more threads
        _import(names)
        return
    ended.acquire()
    if raised:
        raise raised.pop()


def _import(names: tuple[str, ...]) -> None:
    for name in names:
        importlib.import_module(name)
