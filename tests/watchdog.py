"""A test that hangs ends the run with the stacks of all threads, also where no signal handler runs any more.

`pytest-timeout` fails a test that takes too long, by a handler that Python runs between two bytecodes. A thread that
stands still in native code, or that holds the interpreter there, never comes to that. Python's watchdog is a C thread.
"""

import faulthandler
import os
from typing import TextIO

import pytest

GRACE_S = 30  # for `pytest-timeout` to fail the test, and for the fixtures to end
STDERR = pytest.StashKey[TextIO]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the real standard error: what a test prints is captured, and lost when the process ends."""
    config.stash[STDERR] = os.fdopen(os.dup(2), "w")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let go of it."""
    config.stash[STDERR].close()


def limit_s(item: pytest.Item) -> float:
    """What `pytest-timeout` gives this test."""
    marker = item.get_closest_marker("timeout")
    if marker is not None:
        return float(marker.args[0])
    asked = item.config.getoption("timeout")  # of the command line, which is above the file
    return float(item.config.getini("timeout") or 300) if asked is None else float(asked)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    """Watch over one test with its fixtures."""
    watch(item.config, limit_s(item) + GRACE_S)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def watch(config: pytest.Config, seconds: float) -> None:
    """End the run with all stacks, unless it is called again or cancelled by then."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=config.stash[STDERR])
