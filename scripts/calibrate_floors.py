"""Measure the floors of an embedder: `noise_floor`, `refusal_floor` and, where it tells that, `late_interaction_floor`.

    python scripts/calibrate_floors.py --locomo FILE --longmemeval FILE [--embedder FOLDER] [--write]

noise_floor: the cosine that 98 % of unrelated pairs stay below. Pairs are questions of one conversation against the
turns of others, within a data set and across, and sentences that come from neither; all of them in one pool.

refusal_floor: what the best `(similarity + 0.5 * coverage) * min(1, 80 / L)^(1/4)` over 500 turns of 40 tokens must
reach for a question to be answered; `rust/core/src/rank/refuse.rs` has what less or more text changes. It is the
largest with which at most 2 % of a conversation's own questions are refused, at each of four sizes from ten memories to
the whole conversation: a question's evidence and random others. Own questions are those of the data sets and of two
sets written here. Fitted on every second conversation of each set, reported on the others. Coverage is the share of the
question's idf that a memory holds; terms that are in no memory count in full. Questions that name a date or earlier
talk are never refused, so they are left out.

late_interaction_floor: the same with the best late interaction of the five best memories, each with the turns beside
it, added to that. So much is refused of what is foreign that the floor may be lower: 500 memories and the whole
conversation count as two sizes.
"""

# The checks run without what only calibration needs.
# mypy: disable-error-code="import-untyped, import-not-found"

import argparse
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from conversations import Conversation, Question, read_locomo, read_longmemeval, read_pairs, read_written, rows_of
from refusals import ALL, FEWEST, REFERENCE, SIZES, Asked, Judge, Memory, Trial, auc
from retentive.embedders import Embedder
from retentive.evaluate.embedder import embedder_for

Floats = npt.NDArray[np.float32]

NOISE_SHARE = 0.98
REFUSED_SHARE = 0.02
HERE = Path(__file__).parent
ABOUT = HERE.parent / "python" / "retentive" / "models" / "static" / "model.json"
DEMO = HERE.parent / "examples" / "conversation.json"
KINDS = ("own", "outside", "other set", "swapped")

# Everyday questions and remarks on unrelated subjects: any pair of one with another is noise.
OUTSIDE_QUESTIONS = (
    "Which foods am I allergic to?",
    "What is the capital of Mongolia?",
    "How do I renew my passport?",
    "When does the next train to Leeds leave?",
    "What size of tyres does my bicycle take?",
    "Did the landlord answer about the broken boiler?",
    "Which database did we settle on for the billing service?",
    "How much did the new roof cost?",
    "Who won the chess tournament last year?",
    "What colour should we paint the kitchen?",
)
OUTSIDE_REMARKS = (
    "The volcano erupted twice during the eighteenth century.",
    "Please keep the invoices in the blue folder.",
    "My sister plays the cello in a youth orchestra.",
    "Rust checks the lifetimes of references at compile time.",
    "The goalkeeper broke his wrist in the second half.",
    "We moved the meeting to Thursday at three.",
    "Honey bees tell each other about flowers by dancing.",
    "The museum is closed on public holidays.",
    "I prefer window seats on long flights.",
    "Add the flour slowly and keep stirring.",
    "Parliament rejected the bill by four votes.",
    "His grandfather repaired watches for a living.",
)


def main() -> None:
    """Read the arguments, measure both floors, print them, and write them where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo", type=Path, action="append", default=[])
    parser.add_argument("--longmemeval", type=Path, action="append", default=[])
    parser.add_argument("--embedder", default="static", help="as for retentive.evaluate; a folder, for example")
    parser.add_argument("--write", action="store_true", help="put the floors into the static model's model.json")
    arguments = parser.parse_args()
    sets = [*map(read_locomo, arguments.locomo), *map(read_longmemeval, arguments.longmemeval)]

    embedder = embedder_for(arguments.embedder)
    floors = {"noise_floor": noise_floor(sets, embedder), "refusal_floor": refusal_floor(sets, Judge(embedder))}
    late = getattr(embedder, "late_interaction", None)
    if late is not None:
        print("with late interaction")
        floors["late_interaction_floor"] = refusal_floor(sets, Judge(embedder, late))
    print(json.dumps(floors))
    if arguments.write and arguments.embedder == "static":
        ABOUT.write_text(json.dumps({**json.loads(ABOUT.read_text()), **floors}, indent=2) + "\n")


class Embedded:
    """A conversation with the vectors of its turns and questions."""

    def __init__(self, conversation: Conversation, embedder: Embedder) -> None:
        self.source, self.questions = conversation.source, conversation.questions
        self.turn_vectors = embedder.embed_documents(conversation.turns)
        self.question_vectors = np.stack([embedder.embed_query(text) for text in self.questions])


def noise_floor(sets: Sequence[Sequence[Conversation]], embedder: Embedder) -> float:
    """Return the cosine that 98 % of the pairs stay below, and print that of each sample."""
    asked = [Question(text) for text in OUTSIDE_QUESTIONS]
    outside = Embedded(Conversation("outside", list(OUTSIDE_REMARKS), asked), embedder)
    embedded = [[Embedded(conversation, embedder) for conversation in each] for each in sets]
    queries = outside.question_vectors
    every = [conversation for each in embedded for conversation in each]
    samples = {"outside x outside": [queries @ outside.turn_vectors.T]}
    samples["outside x turns"] = [queries @ other.turn_vectors.T for other in every]
    for one in embedded:
        for other in embedded:
            label = f"{one[0].source} x {other[0].source}"
            samples[label] = [a.question_vectors @ b.turn_vectors.T for a in one for b in other if not _shared(a, b)]
    for label, cosines in samples.items():
        pairs = _flat(cosines)
        print(f"noise, {label}: {np.quantile(pairs, NOISE_SHARE):.3f} over {pairs.size:,} pairs")
    pool = _flat(cosine for cosines in samples.values() for cosine in cosines)
    return round(float(np.quantile(pool, NOISE_SHARE)), 3)


def refusal_floor(sets: Sequence[Sequence[Conversation]], judge: Judge) -> float:
    """Fit the floor on every second conversation of each set, and print what it refuses in the others."""
    written = read_written(DEMO, HERE / "conversation_questions.txt"), read_pairs(HERE / "small_memories.txt")
    memories = [[Memory(conversation, judge.embedder) for conversation in each] for each in (*sets, *written)]
    outside = [row[0] for row in rows_of(HERE / "outside_questions.txt")]
    pools = {each[0].source: [text for conversation in each for text in conversation.questions] for each in sets}
    trial = Trial(judge, outside, pools)
    asked = list(trial.run(memories))
    fitted, held_out = ([one for one in asked if one.half == half] for half in (0, 1))
    # Few conversations have more than 500 turns: without late interaction those samples and the whole are one size.
    largest = [[REFERENCE], [ALL]] if judge.late else [[REFERENCE, ALL]]
    floor, other = _fitted(fitted, largest), _fitted(held_out, largest)
    print(f"floor {floor:.3f} (the other half alone would give {other:.3f})")
    print(f"the product agrees on {trial.agreement(memories[0][:2], floor):.1%} of the outside questions")
    print(f"refused in per cent, held out: {' / '.join(KINDS)} (AUC of own against swapped)")
    report(held_out, floor)
    print("the halves changed over: fitted on those, held out the others")
    report(fitted, other)
    print("all conversations, by the first floor")
    report(asked, floor)
    report_whole(trial, memories, floor, other)
    return floor


def report_whole(trial: Trial, memories: Sequence[Sequence[Memory]], floor: float, other: float) -> None:
    """Print what whole conversations refuse of all questions: all by the first floor, each half by the other's."""
    print("whole conversations, every question: own / outside refused in per cent, and how many were asked")
    print("| conversations | all, by the first floor | the held-out half | the halves changed over |")
    print("|---|---:|---:|---:|")
    for each in memories:
        asked = [one for at, memory in enumerate(each) for one in trial.whole(memory, at % 2)]
        halves = [[one for one in asked if one.half == half] for half in (0, 1)]
        cells = [_whole(asked, floor), _whole(halves[1], floor), _whole(halves[0], other)]
        print(f"| {each[0].source} | {' | '.join(cells)} |")


def _whole(asked: Sequence[Asked], floor: float) -> str:
    by_kind = [[one for one in asked if one.kind == kind] for kind in KINDS[:2]]
    return " / ".join(f"{_refused(of, floor)} of {len(of):,}" for of in by_kind)


def _fitted(asked: Sequence[Asked], largest: Sequence[Sequence[int]]) -> float:
    own = [one for one in asked if one.kind == "own"]
    sizes = [[size] for size in SIZES if FEWEST <= size < REFERENCE] + [*largest]
    margins = [[one.margin for one in own if one.size in these] for these in sizes]
    return math.floor(1000 * min(float(np.quantile(of, REFUSED_SHARE)) for of in margins)) / 1000


def report(asked: Sequence[Asked], floor: float) -> None:
    """Print the share refused: a row a size, a column a set of conversations, in a cell a number a kind of question."""
    sources = list(dict.fromkeys(one.source for one in asked))
    print(f"| memories | floor | all: own | {' | '.join(sources)} |")
    print("|---:|---:|---:|" + "---:|" * len(sources))
    for size in (*SIZES, ALL):
        here = [one for one in asked if one.size == size]
        cells = [_cell([one for one in here if one.source == source], floor) for source in sources]
        own = [one for one in here if one.kind == "own"]
        shifts = [one.shift for one in here]
        at = f"{floor + min(shifts):.2f} to {floor + max(shifts):.2f}" if size >= FEWEST else ""
        print(f"| {_sized(size)} | {at} | {_refused(own, floor)} | {' | '.join(cells)} |")


def _cell(asked: Sequence[Asked], floor: float) -> str:
    by_kind = [[one for one in asked if one.kind == kind] for kind in KINDS]
    if not by_kind[0]:
        return ""
    own, swapped = ([one.evidence for one in of] for of in (by_kind[0], by_kind[-1]))
    return " / ".join(_refused(of, floor) for of in by_kind) + (f" ({auc(own, swapped):.2f})" if swapped else "")


def _refused(asked: Sequence[Asked], floor: float) -> str:
    return f"{100 * np.mean([one.margin < floor for one in asked]):.1f}" if asked else "-"


def _sized(size: int) -> str:
    return str(size) if size else "all"


def _flat(arrays: Iterable[Floats]) -> Floats:
    parts = [array.ravel() for array in arrays]
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def _shared(one: Embedded, other: Embedded) -> bool:
    return bool(set(one.questions) & set(other.questions))


if __name__ == "__main__":
    main()
