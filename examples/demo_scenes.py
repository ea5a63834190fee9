"""The scenes of the demo: each shows one thing that memory does, and checks it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from demo_processes import in_another_process
from demo_script import KITCHEN, NOW, PORTUGUESE, Script, day
from demo_stage import ask, bars, check, framed, line_of, quote, say
from retentive import Collection, ConversationMemory

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from retentive import Result

KEY_BOX_CODE = "KESTREL-4471"


def play(db: Collection, script: Script) -> dict[str, str]:
    """Remember the whole conversation; returns each text's id."""
    first, last = script.turns[0]["timestamp"], script.turns[-1]["timestamp"]
    say(
        f"Two people talk to the same assistant: Maya {script.users['maya']}, Jonas {script.users['jonas']}. "
        f"{len(script.turns)} turns in {script.sittings} sittings, from {first:%d %B} to {last:%d %B %Y}."
    )
    print()
    for turn in script.turns[:4]:
        quote(turn["text"], f"  {turn['user'] if turn['role'] == 'user' else 'assistant':<10}")
    quote("...", "  ")
    ids = db.remember_many(script.turns)
    print()
    check(db.count() == len(script.turns), f"{db.count()} turns are remembered, in one SQLite file")
    check(len(set(ids)) == len(ids), '"Ok" and "Thanks!" are turns of their own, each with its own id')
    return {turn["text"]: memory for turn, memory in zip(script.turns, ids, strict=True)}


def recall_with_parts(db: Collection) -> None:
    """A question to each user's memory, and what the scores are made of."""
    say("Each memory's score is a sum whose parts can be read: what it means, its words, its neighbours, its age.")
    question = "When is my lesson with Beatriz?"
    ask(f"Jonas: {question}")
    hits = db.recall(question, user="jonas", limit=3, now=NOW)
    for rank, hit in enumerate(hits, 1):
        print()
        quote(line_of(hit), f"{rank}. ")
        if rank == 1:
            _parts(hit)
        else:
            quote(f"score {hit.score:.3f}, cosine {hit.similarity or 0:.3f}", "   ", "dim")
    print()
    check("Thursdays at 18:30" in hits[0].text, "the lesson was moved in April, and that comes first")
    check(
        all(hit.user == "maya" for hit in db.recall(question, user="maya", limit=20, min_relevance=None, now=NOW)),
        "the same question in Maya's name never reaches Jonas's memories",
    )


def correction(db: Collection, ids: dict[str, str]) -> None:
    """A turn is corrected: what was said stays in the thread, and is not recalled."""
    old = next(memory for text, memory in ids.items() if text.startswith("As a PDF please"))
    say("What was true in March need not be true in April.")
    question = "In which format should summaries be sent?"
    ask(f"Maya: {question}")
    before = db.recall(question, user="maya", limit=5, now=NOW)
    _list(before, old)
    check(old in before.ids, "in March she asked for PDFs, and that is recalled")
    print()
    say('db.feedback(id, "corrected", correction="Maya wants summaries as a plain e-mail, no PDF")')
    new = db.feedback(
        old, "corrected", correction="Maya wants summaries as a plain e-mail, no PDF", timestamp=day("04-03")
    )
    ask(f"Maya: {question}")
    after = db.recall(question, user="maya", limit=5, now=NOW)
    _list(after, new)
    check(new is not None and new in after.ids, "the correction is recalled")
    check(
        old not in after.ids,
        "the turn it corrects is not; what others said about it stays, since only this was corrected",
    )
    chain = db.history(old)
    check([item.id for item in chain] == [old, new], "history() keeps both, oldest first:")
    for item in chain:
        quote(line_of(item), "    ")
    said = next(turn for turn in db.turns(KITCHEN, user="maya") if turn.id == old)
    check(said.superseded_by == new, "the thread still holds her words, marked as superseded")


def contradiction(db: Collection) -> None:
    """Two facts cannot both be true: a callable of the application says so when the second is stored."""
    say("A judge is a function: it sees a new fact and the nearest old ones, and says which of them no longer hold.")
    print()
    asked: list[tuple[str, list[str], list[bool]]] = []
    food = re.compile(r"\b(vegetarian|fish|meat)\b")

    def judge(new: str, candidates: list[str]) -> list[bool]:
        """Two facts about meat or fish contradict each other. A product would ask a model here."""
        verdicts = [bool(food.search(new) and food.search(candidate)) for candidate in candidates]
        asked.append((new, candidates, verdicts))
        return verdicts

    allergy = db.remember("Jonas is severely allergic to peanuts", kind="fact", user="jonas", timestamp=day("03-15"))
    old = db.remember("Jonas is a vegetarian, no meat and no fish", kind="fact", user="jonas", timestamp=day("03-16"))
    default = db.memory
    db.memory = ConversationMemory(db, judge=judge)
    new = db.remember("Jonas eats fish again, but no meat", kind="fact", user="jonas", timestamp=day("04-01"))
    db.memory = default
    for text, candidates, verdicts in asked:
        quote(text, "  new    ", "bold")
        for candidate, wrong in zip(candidates, verdicts, strict=True):
            quote(f"{candidate}  ({'no longer true' if wrong else 'still true'})", "  known  ")
    print()
    facts = db.recall("What does Jonas eat?", user="jonas", kinds=("fact",), limit=10, min_relevance=None, now=NOW)
    check(new in facts.ids and allergy in facts.ids, "the new fact and the allergy are live")
    check(old not in facts.ids, "the vegetarian of March is superseded")
    superseded = db.get_one(old)
    check(superseded is not None and superseded.superseded_by == new, "and it says by what")


def keyed_fact(db: Collection) -> None:
    """A value under a key: the next one replaces it."""

    def put(text: str, date: str) -> str:
        return db.remember(text, kind="fact", user="maya", key="worktop date", timestamp=day(date))

    first = put("The worktop is fitted on Tuesday 21 April", "04-03")
    second = put("The worktop is fitted on Friday 24 April", "04-17")
    again = put("The worktop is fitted on Friday 24 April", "04-18")
    current = db.fact("worktop date", user="maya")
    say('db.fact("worktop date", user="maya")')
    quote(current.text if current else "nothing", "  ", "bold")
    check(current is not None and current.id == second, "the second value under the key is the one that counts")
    check(again == second, "saying it once more changes nothing")
    check([item.id for item in db.history(second)] == [first, second], "its history has the Tuesday as well")


def nothing_relevant(db: Collection) -> None:
    """A question that nothing in memory answers."""
    say("Most questions to an assistant are about something that was never talked about.")
    question = "How does the garbage collector of a Java virtual machine choose its generations?"
    ask(f"Maya: {question}")
    hits = db.recall(question, user="maya", now=NOW)
    say(f"{list(hits.ids)}")
    check(len(hits) == 0, "nothing relevant is an answer: an empty list, not the ten least bad turns")
    forced = db.recall(question, user="maya", limit=1, min_relevance=None, now=NOW)
    check(len(forced) == 1, "min_relevance=None would have handed back this:")
    quote(line_of(forced[0]), "    ", "dim")


def context_block(db: Collection) -> None:
    """What goes in front of the next model call, inside 300 tokens."""
    db.remember(
        "Maya is renovating her kitchen, the budget is 21,500 euros",
        pinned=True,
        user="maya",
        session=KITCHEN,
        timestamp=day("04-03"),
    )
    say("Before each call of a model: what is pinned, what was said last, and what is recalled, in one text.")
    question = "When are the worktop and the plumber coming, and what do they cost?"
    ask(f"Maya: {question}")
    block = db.context(question, session=KITCHEN, user="maya", token_budget=300, recent_turns=4, limit=20, now=NOW)
    print()
    framed(block.text)
    print()
    check(block.token_estimate <= 300, f"{block.token_estimate} of 300 tokens, counted on exactly this text")
    check("21,500" in block.text, "the pinned fact is in it")
    check("24 April" in block.text, "so is the date that counts")
    check("fitted on Tuesday" not in block.text, "the superseded fact, Tuesday, is not")
    check(len(block.dropped) > 0, f"{len(block.dropped)} more were considered and left out, each with its reason:")
    dropped = list(block.dropped)[:5]
    for item, (_, reason) in zip(db.get([memory for memory, _ in dropped]), dropped, strict=True):
        quote(f"{reason}: {line_of(item)}", "    ", "dim")
    if len(block.dropped) > len(dropped):
        quote(f"... and {len(block.dropped) - len(dropped)} more", "    ", "dim")


def summarize(turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make facts of the user's sentences in the first person that hold a number or a name.

    A rule of three lines, so that the demo needs no model. A product would ask one.
    """
    facts = []
    for index, turn in enumerate(turns):
        for sentence in re.split(r"(?<=[.!?])\s+", turn["text"]):
            telling = re.search(r"\b(I'm|I|my)\b", sentence) and re.search(
                r"\d|\b(?!I\b)[A-Z]\w|allergic", sentence[1:]
            )
            if turn["role"] == "user" and telling and not sentence.endswith("?"):
                facts.append({"text": f"Jonas said: {sentence}", "turns": [index]})
    return facts


def consolidation(db: Collection) -> None:
    """Old turns become a few facts."""
    say("summarize() here is a rule of three lines (first person, with a number or a name), not a model.")
    before = len(db.turns(PORTUGUESE, user="jonas"))
    report = db.consolidate(PORTUGUESE, summarize, keep_recent=6, user="jonas", now=NOW)
    left = db.turns(PORTUGUESE, user="jonas")
    print()
    check(
        report.turns_removed == before - 6 and len(left) == 6,
        f"{report.turns_removed} turns became {len(report.fact_ids)} facts, the last 6 turns are kept:",
    )
    facts = db.get(list(report.fact_ids))
    for fact in facts[:6]:
        quote(line_of(fact), "    ")
    quote(f"... and {len(facts) - 6} more", "    ", "dim")
    check(
        bool(facts) and all(fact.metadata["_vx_consolidated_from"] for fact in facts),
        "each of them carries the ids of the turns it came from",
    )
    question = "When do my flights leave?"
    ask(f"Jonas: {question}")
    hits = db.recall(question, user="jonas", limit=3, now=NOW)
    _list(hits, None)
    check(any("9 May" in hit.text for hit in hits), "and they answer as the turns did")


def forgetting(db: Collection, folder: Path) -> None:
    """What is forgotten is gone from the files, not only from the answers."""
    say("Maya gave the builders the code of a key box, and asked to be reminded to take it back.")
    question = "What is the code of the key box?"
    ask(f"Maya: {question}")
    hits = [hit for hit in db.recall(question, user="maya", limit=5, now=NOW) if KEY_BOX_CODE in hit.text]
    for hit in hits:
        quote(line_of(hit), "    ")
    check(len(hits) == 1, "the builders are done, so this must go")
    found = in_another_process("search", folder, [KEY_BOX_CODE])[KEY_BOX_CODE]
    check(found > 0, f"another process finds {KEY_BOX_CODE} in the files {_times(found)}")
    print()
    say(f"db.forget(ids=[...], user='maya') -> {db.forget(ids=[hit.id for hit in hits], user='maya')}")
    found = in_another_process("search", folder, [KEY_BOX_CODE])[KEY_BOX_CODE]
    check(found == 0, f"the same search finds {KEY_BOX_CODE} nowhere now, with the collection still open")
    rest = db.recall(question, user="maya", limit=20, min_relevance=None, now=NOW)
    check(all(KEY_BOX_CODE not in hit.text for hit in rest), "and no answer holds it")


def restart(db: Collection, folder: Path) -> None:
    """A new process opens the file and answers as this one did."""
    questions = [
        {"query": "How large is the budget for the kitchen?", "user": "maya"},
        {"query": "In which format should summaries be sent?", "user": "maya"},
        {"query": "What am I allergic to?", "user": "jonas"},
    ]
    here = [db.recall(q["query"], user=q["user"], limit=3, now=NOW) for q in questions]
    db.close()
    there = in_another_process("answer", folder, questions)
    for question, hits in zip(questions, there, strict=True):
        ask(f"{question['user'].capitalize()}: {question['query']}")
        quote(hits[0][1] if hits else "nothing", "    ")
    print()
    check(
        [[hit.id for hit in hits] for hits in here] == [[hit[0] for hit in hits] for hits in there],
        "after a restart in a new process the same questions get the same memories, in the same order",
    )
    check(
        all(
            abs(mine.score - theirs[2]) < 1e-6
            for ours, others in zip(here, there, strict=True)
            for mine, theirs in zip(ours, others, strict=True)
        ),
        "with the same scores",
    )


def _parts(hit: Result) -> None:
    """Draw what a score is made of: first what is blended, then the signals whose sum is the relevance."""
    scoring = hit.metadata["_vx_scoring"]
    blended = ("relevance_norm", "recency", "feedback")
    quote(f"score {hit.score:.3f}, cosine {hit.similarity or 0:.3f}, from", "   ", "dim")
    bars({name: scoring[name] for name in blended})
    quote("and the relevance, over all of Jonas's memories, from", "   ", "dim")
    bars({name: value for name, value in scoring.items() if name not in {*blended, "relevance"}})


def _list(hits: Iterable[Result], marked: str | None) -> None:
    """Print results on a line each, the marked one in bold."""
    for hit in hits:
        if hit.id == marked:
            quote(line_of(hit), " > ", "bold")
        else:
            quote(line_of(hit), "   ")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
