"""Calibration: how near related and unrelated texts of a collection are, by its own embedder."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from retentive import _clock, _core, _validate
from retentive._calibration import Calibration, judged, restored, unmeasured
from retentive._embedding import GIVEN
from retentive._errors import DimensionError, InvalidInputError, NotFoundError
from retentive._vectors import given_vector, length
from retentive.embedders._protocol import DEFAULT_DENSE_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from retentive._engine import Engine
    from retentive._requests import Parts, Sampled, SearchRequest, Vector
    from retentive._steps import Steps

    Query: TypeAlias = str | npt.ArrayLike
    Pair: TypeAlias = tuple[Query, str]
    Rows: TypeAlias = list[tuple[Vector, Parts]]  # a query and the vectors of a text

TEXTS = 256  # of the collection, at most
PARTNERS = 25  # unrelated texts for each question, at most
WORDS = 6  # of a text make a question that is as far from other texts as real questions are: ADR 0043
_SITTING_GAP_US = 3_600_000_000
_MADE_ID = re.compile(r"(mem|doc)_\w+")
_WORD = re.compile(r"\w+")


class Question(NamedTuple):
    """Something asked, with what must not count as unrelated to it."""

    text: str | None
    vector: Vector
    answers: frozenset[str] = frozenset()  # ids and texts
    own: str | None = None  # id of the memory that it was made of


def calibrate(
    engine: Engine,
    queries: Iterable[Query] | None,
    related: Iterable[Pair] | None,
    unrelated: Iterable[Pair] | None,
) -> Steps[Calibration]:
    """Measure, and store what was measured; see `Collection.calibrate`."""
    asked = None if queries is None else _validate.items(queries, "queries", "questions")
    near, far = _pairs(related, "related"), _pairs(unrelated, "unrelated")
    models = engine.core.models()
    sample = engine.core.calibration_sample(TEXTS, _SITTING_GAP_US, _clock.now())
    if not models or sample is None:
        reason = "the collection holds no vectors yet: add texts, then calibrate"
        return unmeasured(engine.embedding.models[0].name, reason)
    model_id, texts = sample
    name, dimension = models[0]
    ask = Asking(engine, name, dimension)
    made = asked is None and near is None
    questions, rows = yield from ask.made_of(texts) if made else ask.given(asked or [], near or [])
    questions = _merged(questions)
    apart = _unrelated(texts, questions) if far is None else (yield from ask.resolved(far, "unrelated"))[1]
    evidence = ask.evidence(questions)
    measured = _core.measure(_cosines(rows), _cosines(apart), evidence, made)
    calibration = judged(name, measured, len(evidence))
    if calibration.enough:
        report = json.dumps(asdict(calibration))
        engine.core.set_calibration(model_id, calibration.noise_floor, calibration.refusal_floor, report)
    return calibration


def stored(engine: Engine) -> Calibration | None:
    """Return what is stored for the collection's model."""
    report = engine.core.calibration()
    return None if report is None else restored(json.loads(report))


class Asking:
    """Turns what is asked into vectors of the collection's first model."""

    def __init__(self, engine: Engine, model: str, dimension: int) -> None:
        self._engine = engine
        self._dimension = dimension
        self._embeds = model != GIVEN

    def made_of(self, texts: Sequence[Sampled]) -> Steps[tuple[list[Question], Rows]]:
        """Return a question made of each text, and those that leave words out with their own text.

        Where nothing embeds, the questions are the texts' own vectors, which say nothing of what is related.
        """
        if not self._embeds:
            return [
                Question(None, text["vectors"][0], frozenset((text["text"],)), own=text["id"]) for text in texts
            ], []
        questions, rows = [], []
        for text, made in zip(texts, _rarest_words([text["text"] for text in texts]), strict=True):
            vector = yield from self._embedded(made or text["text"])
            questions.append(Question(made or text["text"], vector, frozenset((text["text"],)), own=text["id"]))
            rows += [] if made is None else [(vector, text["vectors"])]
        return questions, rows

    def given(self, queries: Sequence[Any], related: Sequence[tuple[Any, str]]) -> Steps[tuple[list[Question], Rows]]:
        """Return the questions, each with its best hit, and the related pairs."""
        questions, rows = yield from self.resolved(related, "related")
        asked = set()
        for index, query in enumerate(queries):
            text, vector = yield from self._query(query, f"queries[{index}]")
            if (key := text or vector.tobytes()) in asked:
                continue  # a question that is repeated measures nothing more
            asked.add(key)
            hit = self._best_hit(vector)
            answers = frozenset(() if hit is None else (hit.id, hit.text))
            questions.append(Question(text, vector, answers))
            found = [] if hit is None else self._engine.core.vectors([hit.id])
            rows += [(vector, parts) for parts in found if parts is not None]
        return questions, rows

    def resolved(self, pairs: Sequence[tuple[Any, str]], name: str) -> Steps[tuple[list[Question], Rows]]:
        """Return the questions and the vectors of pairs of a query and a text, or the id of one."""
        ids = [second for _, second in pairs]
        found = dict(zip(ids, self._engine.core.vectors(ids), strict=True))
        texts = list(dict.fromkeys(second for second in ids if found[second] is None))
        for second in texts:
            if _MADE_ID.fullmatch(second):
                raise NotFoundError(f"{name} has the id {second!r}, which nothing in the collection has", id=second)
        vectors = yield from self._engine.embedding.documents(texts)
        embedded = {second: parts[0] for second, parts in zip(texts, vectors, strict=True)}
        questions, rows, asked = [], [], set()
        for index, (query, second) in enumerate(pairs):
            text, vector = yield from self._query(query, f"{name}[{index}][0]")
            if (key := (text or vector.tobytes(), second)) in asked:
                continue
            asked.add(key)
            parts = found[second]
            questions.append(Question(text, vector, frozenset((second,))))
            rows.append((vector, embedded[second] if parts is None else parts))
        return questions, rows

    def evidence(self, questions: Sequence[Question]) -> list[float]:
        """Return what the collection's memories hold for each question in words that could be refused."""
        now = _clock.now()
        found = [
            self._engine.core.evidence({"text": text, "vector": vector, "own": own}, now)
            for text, vector, _, own in questions
            if text is not None
        ]
        return [best for best in found if best is not None]

    def _embedded(self, text: str) -> Steps[Vector]:
        return (yield from self._engine.embedding.query(text))[0]

    def _query(self, query: Any, name: str) -> Steps[tuple[str | None, Vector]]:
        if isinstance(query, str):
            return query, (yield from self._embedded(_validate.text(query, name)))
        if query is None or isinstance(query, bytes | Mapping):
            raise InvalidInputError(f"{name} is {_validate.shown(query)}, expected a text, or a vector of shape [d]")
        vector = given_vector(query, name)
        if len(vector) != self._dimension:
            raise DimensionError(
                f"{name} has {len(vector)} dimensions, expected {self._dimension} as in the collection",
                expected=self._dimension,
                got=len(vector),
            )
        return None, vector

    def _best_hit(self, vector: Vector) -> _core.Memory | None:
        request: SearchRequest = {
            "query": None,
            "vectors": [vector],
            "model_epoch": None,
            "reach": {"user": None, "any_user": True, "session": None},
            "limit": 1,
            "token_budget": None,
            "score_gap": None,
            "mode": "dense",
            "now": _clock.now(),
            "filter": None,
            "max_distance": None,
            "calibrated": False,
            "dense_weights": [DEFAULT_DENSE_WEIGHT],
            "explain": False,
        }
        return next(iter(self._engine.core.search(request).memories), None)


def _merged(questions: Sequence[Question]) -> list[Question]:
    """Return each question once, with all of its answers."""
    merged: dict[object, Question] = {}
    for question in questions:
        key = question.text or question.vector.tobytes(), question.own
        answers = merged.get(key, question).answers | question.answers
        merged[key] = question._replace(answers=answers)
    return list(merged.values())


def _pairs(pairs: object, name: str) -> list[tuple[Any, str]] | None:
    if pairs is None:
        return None
    checked = []
    for index, pair in enumerate(_validate.items(pairs, name, "pairs of a query and a text or an id")):
        if isinstance(pair, str | bytes) or length(pair) != 2:
            raise InvalidInputError(
                f"{name}[{index}] is {_validate.shown(pair)}, expected a pair of a query and a text or an id"
            )
        query, second = pair
        checked.append((query, _validate.text(second, f"{name}[{index}][1]")))
    return checked


def _rarest_words(texts: Sequence[str]) -> list[str | None]:
    """Return of each text six words (or half) that fewest of the texts have, in their order; None for a lone word."""
    split = [_WORD.findall(text) for text in texts]
    held = Counter(word for words in split for word in {word.casefold() for word in words})
    rarest: list[str | None] = []
    for words in split:
        by_rarity = sorted(range(len(words)), key=lambda place: (held[words[place].casefold()], -len(words[place])))
        kept = sorted(by_rarity[: WORDS if len(words) > WORDS else (len(words) + 1) // 2])
        rarest.append(" ".join(words[place] for place in kept) if len(words) > 1 else None)
    return rarest


def _unrelated(texts: Sequence[Sampled], questions: Sequence[Question]) -> Rows:
    """Pair each question with texts that follow in the sample: of another session, where it was made of a text."""
    place = {text["id"]: index for index, text in enumerate(texts)}
    thread = _threads(texts)
    rows: Rows = []
    for number, question in enumerate(questions):
        own = question.own
        # Two texts of the sample meet once: of the circle one looks at the half before it.
        start, steps = (number * PARTNERS, len(texts)) if own is None else (place[own] + 1, (len(texts) - 1) // 2)
        circle = (texts[(start + step) % len(texts)] for step in range(steps))
        others = (
            text["vectors"]
            for text in circle
            if not question.answers & {text["id"], text["text"]} and (own is None or thread[own] != thread[text["id"]])
        )
        rows += [(question.vector, parts) for parts in islice(others, PARTNERS)]
    return rows


def _threads(texts: Sequence[Sampled]) -> dict[str, int]:
    """Return by id what a text shares with those it may be related to: its session, or its sitting in a single one."""
    sessions = {text["id"]: text["session"] for text in texts}
    sittings = {text["id"]: text["sitting"] for text in texts}
    several = [threads for threads in (sessions, sittings) if len(set(threads.values())) > 1]
    return several[0] if several else dict(zip(sessions, range(len(texts)), strict=True))


def _cosines(rows: Rows) -> list[float]:
    return [cosine for cosine in _core.cosines(rows) if cosine is not None]
