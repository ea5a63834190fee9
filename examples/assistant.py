"""An assistant that remembers: a chat of two days with a stand-in for the model, in `MemoryManager`.

Usage: `python examples/assistant.py [FOLDER]`; without a folder in a temporary one.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from retentive.assistant import MemoryManager

MONDAY = [
    "Hi! My name is Sam and I live in Lyon",
    "I can't eat peanuts, they make my throat swell",
    "Allergy season in Boston was terrible when I visited",
    "ok",
    "My favourite coffee is a flat white",
    "thanks",
]
QUESTION = "which foods am I allergic to?"


def model(prompt: str) -> str:
    """Stand in for a language model: it answers from the first memory of the prompt."""
    for line in prompt.splitlines():
        if line.startswith("- (similarity"):
            return f"You once told me: {line.split(') ', 1)[1]}"
    return "Noted."


def answer(memory: MemoryManager, message: str) -> str:
    """Answer a message: what is known goes before it, and both sides are recorded."""
    reply = model(f"{memory.context_for(message)}\n\nUSER: {message}")
    memory.record("user", message)
    memory.record("assistant", reply)
    return reply


def main(arguments: list[str]) -> int:
    """Play the chat in the folder given, or in a temporary one."""
    with tempfile.TemporaryDirectory(prefix="retentive-assistant-") as temporary:
        play(Path(arguments[0] if arguments else temporary))
    return 0


def play(folder: Path) -> None:
    """Talk on one day, and ask on another."""
    with MemoryManager("sam", path=folder) as memory:
        memory.facts.remember("name", "Sam")
        memory.facts.remember("city", "Lyon")
        for message in MONDAY:
            print(f"> {message}\n{answer(memory, message)}")
        memory.facts.remember("City", "Paris")  # one value a key: the new one replaces the old one
        print(f"\nwritten to {memory.checkpoint().name}\n")

    with MemoryManager("sam", path=folder) as memory:  # another day, another process
        print(f"{len(memory.conversation)} turns are here again\n")
        print(memory.context_for(QUESTION, k_recent=2))
        print(f"\n> {QUESTION}\n{answer(memory, QUESTION)}")
        print("\nbefore Paris:", ", ".join(fact.text for fact in memory.facts.history("city")[:-1]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
