"""The files of a collection damaged at any place and in any way: right, or a typed error; `verify` says what is wrong.

Each damage is done to a copy in a child process, so that a crash is one. `RETENTIVE_SOAK=1` takes every 64th offset of
every file; else a drawn sample.
"""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

SOAK = bool(os.environ.get("RETENTIVE_SOAK"))
PROGRAM = Path(__file__).with_name("damaged_reader.py")
FILES = [("closed", ""), ("left", ""), ("left", "-wal"), ("left", "-shm")]
LAYOUTS = ("closed", "left")
BYTES = ("flip", "cut")
PAGES = ("zeroed", "noise", "swapped", "sector", "grown")
STEP, PAGE = 64, 4_096
BATCH = 2_000  # damages a process
SAMPLE = 24

pytestmark = [pytest.mark.soak, pytest.mark.skipif(sys.platform == "win32", reason="kills by signal")]


def program(*arguments, tasks=()):
    lines = "".join(json.dumps(task) + "\n" for task in tasks)
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    told = done.stdout.splitlines()
    assert done.returncode == 0, f"ended with {done.returncode} at {told[-1:]}: {done.stderr}"
    return json.loads(told[-1].removeprefix("done "))


def every(folder, hows, step):
    """Each kind of damage at each step of each file."""
    sizes = {
        (layout, end): (folder / ("left" if layout == "left" else "") / f"test.db{end}").stat().st_size
        for layout, end in FILES
    }
    return [[how, *file, at] for how in hows for file, size in sizes.items() for at in range(0, size, step)]


def fields():
    """Odd values in each field of the headers of a file, of its log and of the memory that is shared."""
    numbers = ("00000000", "00000001", "00000002", "00010000", "0000ffff", "7fffffff", "80000000", "ffffffff")
    yield from (["set " + value, layout, "", at] for at in range(16, 100, 4) for value in numbers for layout in LAYOUTS)
    small = ("00", "01", "02", "03", "40", "7f", "ff")
    yield from (["set " + value, layout, "", at] for at in range(16, 24) for value in small for layout in LAYOUTS)
    page_sizes = ("0000", "0001", "0200", "0400", "1001", "2000", "8000")
    yield from (["set " + value, layout, "", 16] for value in page_sizes for layout in LAYOUTS)
    # The log's header is 32 bytes, that of its first frame 24; the shared memory begins with two copies of one.
    yield from (["set " + value, "left", "-wal", at] for at in range(0, 56, 4) for value in numbers)
    yield from (["set " + value, "left", "-shm", at] for at in range(0, 136, 4) for value in numbers)


@pytest.mark.parametrize("kind", ["plain", "parts", "two models", "half moved"])
def test_damage_anywhere_opens_right_or_is_a_typed_error_and_verify_says_so(tmp_path, counted, kind):
    program("fill", tmp_path, kind)
    tasks = [*every(tmp_path, BYTES, STEP), *every(tmp_path, PAGES, PAGE // 4), *fields()]
    if not SOAK:
        drawn = random.Random(len(kind))
        tasks = [task for file in FILES for task in drawn.sample([t for t in tasks if t[1:3] == [*file]], SAMPLE // 4)]
    total = Counter()
    for start in range(0, len(tasks), BATCH):
        counts, wrong = program("read", tmp_path, kind, tasks=tasks[start : start + BATCH])
        assert wrong == []
        total.update(counts)
        counted(damaged_files=counts["damaged_files"])
    # Of all kinds of damage together: a batch may be of files that are cut, none of which opens.
    assert total["opened"] > total["damaged_files"] // 3
    assert total["memories saved"] > total["damaged_files"]
