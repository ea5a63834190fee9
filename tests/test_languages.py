"""The signals that need a language, in German and Spanish: small conversations and questions written for it."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from retentive import Collection, ConversationMemory

DATA = Path(__file__).parent / "data"
LANGUAGES = ["german", "spanish"]
TOP = 3


def evidence_recall(name, signals):
    """The mean share of a question's labelled turns that are among the best, and how many questions there are."""
    written = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    now = datetime.fromisoformat(written["now"])
    found = []
    with Collection("talk", language=name) as db:
        place_of = {memory: place for place, memory in remembered(db, written["sittings"])}
        db.memory = ConversationMemory(db, signals=signals)
        for question, evidence in written["questions"]:
            hits = db.recall(question, session="s", limit=TOP, now=now, min_relevance=None)
            places = {place_of[hit.id] for hit in hits}
            found.append(len(places.intersection(evidence)) / len(evidence))
    return sum(found) / len(found), len(found)


def remembered(db, sittings):
    """Store the turns; each one's place, as "sitting.turn", and its id."""
    for number, sitting in enumerate(sittings):
        at = datetime.fromisoformat(sitting["at"])
        for place, (role, text) in enumerate(sitting["turns"]):
            said = at + timedelta(seconds=10 * place)
            yield f"{number}.{place}", db.remember(text, session="s", role=role, timestamp=said)


@pytest.mark.parametrize("name", LANGUAGES)
def test_questions_find_more_with_the_words_of_their_language(name):
    recall, questions = evidence_recall(name, signals=None)
    without, _ = evidence_recall(name, signals={"date": 0, "cues": 0, "role": 0})
    assert questions == 50
    assert recall > without + 0.1


@pytest.mark.parametrize(
    ("language", "query"),
    [
        ("german", "Welchen Rabatt hast du mir angeboten?"),
        ("german", "Was haben Sie mir letzte Woche empfohlen?"),
        ("german", "dein Vorschlag zum Abendessen"),
        ("german", "Erinnere mich, wie das Hotel hieß"),
        ("spanish", "¿Qué descuento me ofreciste?"),
        ("spanish", "¿Qué me recomendó usted la semana pasada?"),
        ("spanish", "tu sugerencia para la cena"),
        ("spanish", "Recuérdame cómo se llamaba el hotel"),
    ],
)
def test_questions_for_what_the_assistant_said_are_recognised(language, query):
    with Collection("talk", language=language) as db:
        db.remember("Hotel Azul, 20 %", session="s", role="user")
        top = db.recall(query, session="s", min_relevance=None).top
        assert top.metadata["_vx_scoring"]["role"] == 0
