"""An agent that remembers: the last turns and what was said before, in one file, across two runs.

    python examples/agent.py            # in a temporary folder
    python examples/agent.py ./somewhere

The model is a stand-in: it answers with what its memory gives it. Exit code: 0 when every answer is what memory should
make of it, 1 when one is not, 2 when the folder cannot be used.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from retentive import Collection
from retentive.agents import CompositeMemory, Message, VectorMemory, WindowMemory

MONDAY = [
    "I am allergic to peanuts; they make my throat swell",
    "The report should be a PDF, please",
    "My train to Lyon leaves at nine",
    "What a grey morning",
]
QUESTIONS = {
    "Which foods am I allergic to?": "peanuts",
    "What format should the report have?": "PDF",
    "Which plan is the customer on?": "annual plan",
}


def opened(folder: Path) -> tuple[Collection, CompositeMemory, VectorMemory]:
    """Return a collection and two memories over it, as one: each message is stored once."""
    db = Collection("agent", path=folder)
    vector = VectorMemory(collection=db, top_k=3)
    return db, CompositeMemory([vector, WindowMemory(window=2, collection=db)]), vector


def model(messages: list[Message]) -> str:
    """Stand in for a language model: say what was recalled for the last message."""
    recalled = [message.content for message in messages if message.metadata.get("recalled")]
    return "You said: " + " | ".join(recalled) if recalled else "I see."


async def turn(memory: CompositeMemory, thread: str, said: str) -> str:
    """Answer one message: recall, ask the model, store both sides."""
    message = Message.user(said)
    reply = Message.assistant(model([*await memory.aget(thread_id=thread, query=said), message]))
    await memory.aadd([message, reply], thread_id=thread)
    return reply.content


async def monday(folder: Path) -> None:
    """Talk, and learn a fact on the side."""
    db, memory, vector = opened(folder)
    with db:
        for said in MONDAY:
            print(f"  user       {said}\n  assistant  {await turn(memory, 'maya', said)}")
        await vector.aremember("The customer is on the annual plan", thread_id="maya", source="crm")


async def tuesday(folder: Path) -> list[str]:
    """Open the file again and ask; return what went wrong."""
    wrong: list[str] = []
    db, memory, _ = opened(folder)
    with db:
        for question, expected in QUESTIONS.items():
            answer = await turn(memory, "maya", question)
            print(f"  user       {question}\n  assistant  {answer}")
            if expected not in answer:
                wrong.append(f"{question!r} was answered without {expected!r}: {answer}")
        stranger = await memory.aget(thread_id="jonas", query="Which foods am I allergic to?")
        if stranger:
            wrong.append(f"another thread sees {stranger}")
        turns = len(db.turns("maya"))
        print(f"  {turns} turns stored for two memories, {db.count() - turns} fact")
        if turns != 2 * (len(MONDAY) + len(QUESTIONS)):
            wrong.append(f"{turns} turns are stored, which is not once each")
        await memory.aclear("maya")
        print(f"  cleared: {db.count()} left")
        if db.count():
            wrong.append(f"{db.count()} are left after clearing")
    return wrong


def play(folder: Path) -> int:
    """Run both days; return the exit code."""
    print("Monday")
    asyncio.run(monday(folder))
    print("Tuesday, from the same file")
    wrong = asyncio.run(tuesday(folder))
    for line in wrong:
        print(f"NOT SO: {line}", file=sys.stderr)
    return 1 if wrong else 0


def main(arguments: list[str]) -> int:
    """Return the exit code."""
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print("usage: python examples/agent.py [FOLDER]", file=sys.stderr)
        return 2
    if not arguments:
        with tempfile.TemporaryDirectory(prefix="retentive-agent-") as folder:
            return play(Path(folder))
    folder_given = Path(arguments[0])
    if (folder_given / "agent.db").exists():
        print(f"{folder_given} has an agent.db already; name another folder", file=sys.stderr)
        return 2
    try:
        folder_given.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"{folder_given} cannot be used: {error}", file=sys.stderr)
        return 2
    return play(folder_given)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
