"""How much of the evidence a question needs is in what memory hands back, on public sets of conversations.

    python -m retentive.evaluate locomo --data locomo10.json --top 10 --budget 1500
    python -m retentive.evaluate longmemeval --data longmemeval_s.json --json figures.json

The data sets are not part of the package; `docs/evaluation.md` says what is measured and where they come from.
"""

from retentive.evaluate.conversations import Conversation, DataError, Dataset, Fact, Question, Turn
from retentive.evaluate.measure import Measured, Outcome, Run, Settings, measure, measure_runs
from retentive.evaluate.report import figures
from retentive.evaluate.tables import markdown
from retentive.evaluate.ways import Answer, Way, ways

__all__ = [
    "Answer",
    "Conversation",
    "DataError",
    "Dataset",
    "Fact",
    "Measured",
    "Outcome",
    "Question",
    "Run",
    "Settings",
    "Turn",
    "Way",
    "figures",
    "markdown",
    "measure",
    "measure_runs",
    "ways",
]
