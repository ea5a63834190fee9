"""What the demo does in another process: look at the bytes of its files, and open its store again.

A process that has a collection open must not open its files itself: closing them would drop SQLite's locks.

    python demo_processes.py search FOLDER < '["a text", "another"]'
    python demo_processes.py answer FOLDER < '[{"query": "...", "user": "..."}]'
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from demo_script import NOW

COLLECTION = "demo"


def in_another_process(command: str, folder: Path, question: object) -> Any:
    """Run one of this file's commands in a new Python process and return what it printed as JSON.

    Raises:
        RuntimeError: that process failed.
    """
    done = subprocess.run(
        [sys.executable, __file__, command, str(folder)],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"the second process failed at {command}:\n{done.stderr}")
    return json.loads(done.stdout)


def search_bytes(folder: Path, texts: list[str]) -> dict[str, int]:
    """Count how often each text's UTF-8 bytes stand in any file of a folder, whatever the file's format."""
    contents = [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]
    return {text: sum(content.count(text.encode()) for content in contents) for text in texts}


def answer(folder: Path, questions: list[dict[str, str]]) -> list[list[list[Any]]]:
    """Open the collection anew and recall three memories for each question: id, text and score."""
    import retentive

    with retentive.Collection(COLLECTION, path=folder) as db:
        return [
            [[hit.id, hit.text, hit.score] for hit in db.recall(q["query"], user=q["user"], limit=3, now=NOW)]
            for q in questions
        ]


def main(command: str, folder: str) -> None:
    """Read the question from standard input, print the answer to standard output, both as JSON."""
    question = json.load(sys.stdin)
    result = search_bytes(Path(folder), question) if command == "search" else answer(Path(folder), question)
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
