"""Conversations made of sentence patterns: the same texts in every run, with words that the static model knows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

START = datetime(2025, 1, 1, tzinfo=UTC)
PER_SESSION = 500

_WORDS = {
    "who": "Anna,Boris,Carla,David,Elena,Farid,Grace,Hugo,Ingrid,Jonas,Kim,Lena,Marta,Nils,Olga,Pablo,Rosa,Sven",
    "place": "Lisbon,Oslo,Prague,Vienna,Kyoto,Bergen,Toronto,Dublin,Seville,Ghent,Riga,Porto,Zagreb,Tallinn",
    "thing": "bicycle,camera,kayak,guitar,oven,tent,lamp,printer,sofa,drone,telescope,piano,stove,boat,drill",
    "food": "lentils,salmon,rhubarb,tofu,mushrooms,noodles,pancakes,olives,barley,pumpkin,cheese,walnuts",
    "day": "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday",
    "task": "invoice,tax return,annual report,insurance claim,rental contract,visa application,school form,garden plan",
    "mood": "happy,tired,worried,excited,annoyed,calm,curious,nervous",
}
_SLOTS = {slot: words.split(",") for slot, words in _WORDS.items()}
_TURNS = (
    "I met {who} in {place} on {day} and we talked about the {task} for {number} minutes.",
    "The {thing} broke again, so {who} lent me another one until {day}.",
    "For dinner we had {food} with {food}, {who} was {mood} about it.",
    "Please move the {task} to {day}, the one with {who} in {place} takes {number} minutes.",
    "My {thing} cost {number} euros in {place}, that is more than {who} paid.",
    "I feel {mood} about the {task}; {who} said that {day} would be early enough.",
    "We could take the train to {place} at {number} past nine and bring the {thing}.",
    "{who} is allergic to {food}, so let us cook {food} on {day} instead.",
    "The order {number} with the {thing} and the {food} has still not come from {place}.",
    "Thanks, that helped. I told {who} about the {task} and about {place}.",
)
_QUESTIONS = (
    "What did {who} say about the {task}?",
    "When do we go to {place} with the {thing}?",
    "Who is allergic to {food}?",
    "How much was the {thing} in {place}?",
    "Which day was the {task} moved to?",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One memory: its number is its name."""

    number: int
    session: str
    role: str
    time: str
    text: str


def session_of(number: int) -> str:
    """The session that a turn belongs to."""
    return f"session-{number // PER_SESSION}"


class Conversation:
    """Draws turns and questions with a fixed seed."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)

    def turns(self, size: int) -> Iterator[Turn]:
        """`size` turns in sessions of 500, a minute apart."""
        for number in range(size):
            yield self.turn(number, session_of(number))

    def turn(self, number: int, session: str) -> Turn:
        """One turn of a session."""
        role = "user" if number % 2 == 0 else "assistant"
        text = self._filled(self._random.choice(_TURNS)) + " " + self._filled(self._random.choice(_TURNS))
        return Turn(number, session, role, (START + timedelta(minutes=number)).isoformat(), text)

    def question(self) -> str:
        """One question, as a user would ask it."""
        return self._filled(self._random.choice(_QUESTIONS))

    def _filled(self, pattern: str) -> str:
        parts = pattern.split("{")
        filled = [parts[0]]
        for part in parts[1:]:
            slot, _, rest = part.partition("}")
            drawn = str(self._random.randint(2, 999)) if slot == "number" else self._random.choice(_SLOTS[slot])
            filled += [drawn, rest]
        return "".join(filled)
