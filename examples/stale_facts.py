"""Two jobs and two salaries, a year and a half apart: three ways to be told the current one.

    python examples/stale_facts.py

Exit code: 0 when everything shown is so, 1 when not.
"""

from __future__ import annotations

from retentive import Collection

THEN, NOW = "2025-05-12T09:00:00+00:00", "2026-11-16T09:00:00+00:00"
OLD = {"job": "I work as a nurse at Mercy Hospital", "salary": "My salary is 52,000 dollars a year"}
NEW = {"job": "I work as a data analyst at Northwind", "salary": "My salary is 71,000 dollars a year"}
QUESTIONS = {"job": "Where do I work?", "salary": "What is my salary?"}


def by_cosine() -> dict[str, list[str]]:
    """A vector store: both statements are as near to the question as they ever were."""
    with Collection("plain") as db:
        for text in (*OLD.values(), *NEW.values()):
            db.add(text)
        return {key: db.search(question, limit=2, mode="dense").texts for key, question in QUESTIONS.items()}


def by_key() -> dict[str, list[str]]:
    """The application knows what the statement is about: a new value under a key takes the place of the old one."""
    with Collection("keyed") as db:
        for at, values in ((THEN, OLD), (NOW, NEW)):
            for key, text in values.items():
                db.remember(text, kind="fact", user="ann", key=key, timestamp=at)
        claim({fact.key: fact.text for fact in db.facts(user="ann")} == NEW, "a key has one current value")
        return answers(db)


def by_correction() -> dict[str, list[str]]:
    """Somebody says that what was recalled is no longer so: the correction supersedes it."""
    with Collection("corrected") as db:
        said = {key: db.remember(text, kind="fact", user="ann", timestamp=THEN) for key, text in OLD.items()}
        for key, memory in said.items():
            db.feedback(memory, "corrected", correction=NEW[key], timestamp=NOW)
            claim([result.text for result in db.history(memory)] == [OLD[key], NEW[key]], "history keeps both")
        return answers(db)


def by_judge() -> dict[str, list[str]]:
    """Nobody says what replaces what: a judge, in a real program a language model, compares new facts with old ones."""
    with Collection("judged") as db:
        db.memory.judge = same_subject
        for at, values in ((THEN, OLD), (NOW, NEW)):
            for text in values.values():
                db.remember(text, kind="fact", user="ann", timestamp=at)
        return answers(db)


def same_subject(new: str, candidates: list[str]) -> list[bool]:
    """Say of each candidate whether the new statement replaces it: here, whether both begin with the same two words."""
    return [new.split()[:2] == candidate.split()[:2] for candidate in candidates]


def answers(db: Collection) -> dict[str, list[str]]:
    """Return what is recalled for each question, of what is about it."""
    found = {key: db.recall(question, user="ann", now=NOW).texts for key, question in QUESTIONS.items()}
    return {key: [text for text in texts if text in (OLD[key], NEW[key])] for key, texts in found.items()}


def claim(holds: bool, what: str) -> None:
    """End the program where something shown is not so."""
    if not holds:
        raise SystemExit(f"not so: {what}")


def main() -> int:
    """Show all four; 0 when cosine alone gives both and each of the others the current one."""
    both = by_cosine()
    claim(all(set(both[key]) == {OLD[key], NEW[key]} for key in both), f"cosine alone returns both: {both}")
    print("cosine alone", *(text for texts in both.values() for text in texts), sep="\n  ")
    for way, ask in (("a keyed fact", by_key), ("a correction", by_correction), ("a judge", by_judge)):
        current = ask()
        claim(current == {key: [text] for key, text in NEW.items()}, f"{way} leaves the current one: {current}")
        print(way, *(text for texts in current.values() for text in texts), sep="\n  ")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
