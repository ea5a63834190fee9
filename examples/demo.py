"""Plays a written conversation of several weeks and shows what memory makes of it; every claim is checked.

    python examples/demo.py            # in a temporary folder
    python examples/demo.py ./somewhere

Exit code: 0 when everything shown is so, 1 when a claim does not hold, 2 when the folder cannot be used.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from demo_processes import COLLECTION
from demo_scenes import (
    consolidation,
    context_block,
    contradiction,
    correction,
    forgetting,
    keyed_fact,
    nothing_relevant,
    play,
    recall_with_parts,
    restart,
)
from demo_script import read_script
from demo_stage import CROSS, TICK, ClaimError, heading, paint, say
from retentive import Collection

SEEN = [
    "recall that says why",
    "a correction that holds",
    "a contradiction settled when it was stored",
    "a key with one current value",
    "an empty answer where there is none",
    "a block that fits its budget to the token",
    "old turns turned into facts",
    "a text gone from the disk",
    "the same answers after a restart",
]


def main(arguments: list[str]) -> int:
    """Run the demo in the folder given, or in a temporary one; returns the exit code."""
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print("usage: python examples/demo.py [FOLDER]", file=sys.stderr)
        return 2
    if not arguments:
        with tempfile.TemporaryDirectory(prefix="retentive-demo-") as folder:
            return _checked(Path(folder))
    folder_given = Path(arguments[0])
    if folder_given.joinpath(f"{COLLECTION}.db").exists():
        print(f"{folder_given} holds a {COLLECTION}.db already: remove it or name another folder", file=sys.stderr)
        return 2
    folder_given.mkdir(parents=True, exist_ok=True)
    return _checked(folder_given)


def _checked(folder: Path) -> int:
    start = time.perf_counter()
    try:
        _scenes(folder)
    except ClaimError as error:
        sys.stdout.flush()
        print(f"{paint(CROSS, 'bold', 'red')} NOT SO: {error}", file=sys.stderr)
        return 1
    print(f"\n{paint('What you saw', 'bold')}, in {time.perf_counter() - start:.1f} seconds and without a network:")
    for item in SEEN:
        print(f"  {paint(TICK, 'green')} {item}")
    return 0


def _scenes(folder: Path) -> None:
    print(paint("retentive: conversation memory, shown on a written conversation", "bold"))
    with Collection(COLLECTION, path=folder) as db:
        heading(1, "Seven weeks of conversation")
        ids = play(db, read_script())
        heading(2, "Recall, and what a score is made of")
        recall_with_parts(db)
        heading(3, "A correction")
        correction(db, ids)
        heading(4, "A contradiction, settled by a judge")
        contradiction(db)
        heading(5, "A keyed fact, replaced")
        keyed_fact(db)
        heading(6, "A question with no answer in memory")
        nothing_relevant(db)
        heading(7, "A context block of 300 tokens")
        context_block(db)
        heading(8, "Consolidation")
        consolidation(db)
        heading(9, "Forgetting, down to the bytes")
        forgetting(db, folder)
        heading(10, "A restart in a new process")
        say("The collection is closed here and opened by another Python.")
        restart(db, folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
