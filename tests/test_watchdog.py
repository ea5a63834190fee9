"""The tests' own watchdog: a deadlock is a failure with every thread's stack, never a run that stands still."""

import os
import subprocess
import sys

import pytest

# Holds the interpreter in native code: no signal handler, no other thread runs.
HANGS = """
import ctypes, threading, pytest


def sleeps_for_ever():
    threading.Event().wait()

{mark}
def test_that_hangs():
    threading.Thread(target=sleeps_for_ever, daemon=True).start()
    library, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
    for _ in range(2):  # no signal ends the second one
        library.pthread_mutex_lock(mutex)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no pthread to deadlock in")
@pytest.mark.parametrize(("mark", "option"), [("@pytest.mark.timeout(0.5)", "--timeout=300"), ("", "--timeout=0.5")])
def test_a_test_that_stands_still_in_native_code_ends_the_run_with_all_stacks(root, tmp_path, mark, option):
    (tmp_path / "test_hangs.py").write_text(HANGS.format(mark=mark))
    (tmp_path / "hasty.py").write_text("import watchdog\nwatchdog.GRACE_S = 1\n")
    settings = tmp_path / "pytest.ini"
    settings.write_text("[pytest]\n")
    options = [
        "-c",
        str(settings),
        "--rootdir",
        str(tmp_path),
        "-p",
        "watchdog",
        "-p",
        "hasty",
        "-p",
        "no:cacheprovider",
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, option, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "tests"), str(tmp_path)])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 1
    assert "Timeout" in ran.stderr
    assert "sleeps_for_ever" in ran.stderr
    assert "in test_that_hangs" in ran.stderr


def test_a_child_that_hangs_says_where(run):
    with pytest.raises(AssertionError, match="hangs") as failed:
        run("import threading\ndef stands_still():\n    threading.Event().wait()\nstands_still()", seconds=5)
    assert "in stands_still" in str(failed.value)
