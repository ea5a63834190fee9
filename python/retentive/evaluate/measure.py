"""Remembers each conversation, asks its questions in every way, and notes what came back of evidence and answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import retentive
from retentive.embedders._pair import models_of
from retentive.evaluate import protocol
from retentive.evaluate.recorded import Recorded, recorded
from retentive.evaluate.ways import SESSION, Answer, Way, ask
from retentive.evaluate.words import answer_stems, stems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from retentive.embedders import Embedder, EmbedderPair
    from retentive.evaluate.conversations import Conversation, Dataset, Question

    Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How memory is set up: the embedder, what differs from the defaults, and whether facts stand beside the turns."""

    embedder: Embedder | EmbedderPair
    signals: Mapping[str, float] = field(default_factory=dict)
    recency_weight: float | None = None
    facts: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """Settings under measurement, by name, and the ways they are asked in. `protocol`: by LongMemEval's own, too."""

    name: str
    settings: Settings
    rows: tuple[Way, ...]
    protocol: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question, asked in one way.

    `found` of `labels` labelled turns were in the answer, and `stood` of the gold answer's `stems`.
    """

    question: str
    category: str
    way: Way
    found: int
    labels: int
    stood: int
    stems: int
    memories: int
    tokens: int
    seconds: float

    @property
    def evidence(self) -> float:
        """The share of the question's labelled turns that came back."""
        return self.found / self.labels


@dataclass(slots=True)
class Measured:
    """What a run came to: one outcome for each question and way, and one by LongMemEval's protocol where asked for."""

    run: Run
    outcomes: list[Outcome] = field(default_factory=list)
    protocol: list[protocol.Outcome] = field(default_factory=list)
    embedding_seconds: list[float] = field(default_factory=list)


def measure(
    dataset: Dataset, rows: Sequence[Way], settings: Settings, progress: Progress | None = None
) -> list[Outcome]:
    """Ask every question of a data set in every way, with one setup; see `measure_runs`.

    Returns:
        One outcome for each question and way, in order.
    """
    return measure_runs(dataset, [Run("", settings, tuple(rows))], progress)[0].outcomes


def measure_runs(dataset: Dataset, runs: Sequence[Run], progress: Progress | None = None) -> list[Measured]:
    """Ask every question of a data set in every way of every run.

    Args:
        dataset: what to ask, and of which conversations.
        runs: the settings, and the calls to measure with them. Those that share an embedder share a collection.
        progress: told how many questions are done, of how many, over all runs.

    Returns:
        What each run came to, in the order of `runs`.
    """
    measured = [Measured(run) for run in runs]
    total, done = dataset.questions * len(runs), 0
    for conversation in dataset.conversations:
        for embedder in {id(run.settings.embedder): run.settings.embedder for run in runs}.values():
            for _ in _conversation(conversation, embedder, measured):
                done += 1
                if progress is not None:
                    progress(done, total)
    return measured


def _conversation(
    conversation: Conversation, embedder: Embedder | EmbedderPair, measured: Sequence[Measured]
) -> Iterator[None]:
    """Run what belongs to an embedder over a conversation: first on its turns, then with the facts beside them."""
    kept = recorded(embedder)
    mine = [result for result in measured if result.run.settings.embedder is embedder]
    with retentive.Collection("evaluate", embedder=kept) as db:
        turns_of = _remember_turns(db, conversation)
        for result in sorted(mine, key=lambda result: result.run.settings.facts):
            if result.run.settings.facts and len(turns_of) == len(conversation.turns):
                turns_of |= _remember_facts(db, conversation)
            for question in conversation.questions:
                _ask(db, question, result, turns_of, conversation)
                yield
    seconds = [model.query_seconds for model in models_of(kept) if isinstance(model, Recorded)]
    mine[0].embedding_seconds += [sum(of_question) for of_question in zip(*seconds, strict=True)]


def _ask(
    db: retentive.Collection,
    question: Question,
    result: Measured,
    turns_of: Mapping[str, frozenset[str]],
    conversation: Conversation,
) -> None:
    for model in models_of(db.embedder):
        model.embed_query(question.text)  # so that no call's time has the embedding in it
    db.memory = _memory(db, result.run.settings)
    for way in result.run.rows:
        result.outcomes.append(judged(question, way, ask(db, question, way), turns_of))
    if result.run.protocol:
        outcome = protocol.measured(db, question, conversation, turns_of)
        result.protocol += [] if outcome is None else [outcome]


def _memory(db: retentive.Collection, settings: Settings) -> retentive.ConversationMemory:
    memory = retentive.ConversationMemory(db, signals=dict(settings.signals))
    if settings.recency_weight is not None:
        memory.recency_weight = settings.recency_weight
    return memory


def _remember_turns(db: retentive.Collection, conversation: Conversation) -> dict[str, frozenset[str]]:
    """Store the turns; returns the data set's turn ids that each memory id stands for, here one."""
    items = [
        {
            "text": turn.text,
            "session": SESSION,
            "role": turn.role,
            "timestamp": turn.timestamp,
            **({"name": turn.name} if turn.name else {}),
        }
        for turn in conversation.turns
    ]
    ids = db.remember_many(items)
    return {memory: frozenset({turn.id}) for memory, turn in zip(ids, conversation.turns, strict=True)}


def _remember_facts(db: retentive.Collection, conversation: Conversation) -> dict[str, frozenset[str]]:
    """Store the facts beside the turns, as what a summarizer returned; returns the turns that each cites."""
    index = {turn.id: at for at, turn in enumerate(conversation.turns)}
    noted = [{"text": fact.text, "turns": sorted(index[turn] for turn in fact.cites)} for fact in conversation.facts]
    report = db.consolidate(SESSION, lambda _: noted, keep_recent=0, batch_turns=len(conversation.turns), delete=False)
    return {memory: fact.cites for memory, fact in zip(report.fact_ids, conversation.facts, strict=True)}


def judged(question: Question, way: Way, answer: Answer, turns_of: Mapping[str, frozenset[str]]) -> Outcome:
    """Hold an answer against the labels of its question and the words of its gold answer."""
    covered = frozenset().union(*[turns_of[memory] for memory in answer.ids])
    wanted = answer_stems(question.text, question.answer)
    return Outcome(
        question=question.id,
        category=question.category,
        way=way,
        found=len(question.evidence & covered),
        labels=len(question.evidence),
        stood=len(wanted & stems(answer.text)),
        stems=len(wanted),
        memories=len(answer.ids),
        tokens=answer.tokens,
        seconds=answer.seconds,
    )
