"""retentive: conversation memory for chat backends.

Keeps turns and facts in one SQLite file, and before each model call hands back the few that matter now, inside a token
budget.

Examples:
    >>> from retentive import Collection
    >>> from retentive.embedders import HashEmbedder
    >>> db = Collection("chat", embedder=HashEmbedder(64))
    >>> id = db.remember("I'd like the report as a PDF", session="u42", role="user")
    >>> db.context("what format did they want for the report", session="u42", token_budget=300).recent[0].text
    "I'd like the report as a PDF"
"""

from retentive import _start  # before what takes long

# isort: split
from retentive._calibration import Calibration, Distribution
from retentive._collection import Collection
from retentive._constants import (
    ANY,
    K_CONSOLIDATED_FROM,
    K_EXPIRES,
    K_FEEDBACK,
    K_JUDGE,
    K_KEY,
    K_KIND,
    K_NAME,
    K_ROLE,
    K_SCORING,
    K_SESSION,
    K_SUPERSEDED_BY,
    K_SUPERSEDES,
    K_TS,
    K_TURN,
    K_USER,
    KINDS,
    OUTCOMES,
)
from retentive._context import ContextBlock
from retentive._core import __version__ as __version__
from retentive._errors import (
    BusyError,
    ClosedError,
    ConfigurationError,
    ConflictError,
    CorruptError,
    CounterError,
    DimensionError,
    EmbedderError,
    FingerprintError,
    FullError,
    InvalidInputError,
    JudgeError,
    NotFoundError,
    RetentiveError,
    StoreError,
    SummarizeError,
    VersionError,
)
from retentive._report import ImportReport, Problem, Report
from retentive._results import ConsolidationReport, Result, Results
from retentive.embedders import (
    AsyncEmbedder,
    CallableEmbedder,
    Embedder,
    EmbedderPair,
    HashEmbedder,
    OnnxEmbedder,
    StaticEmbedder,
)
from retentive.memory import ConversationMemory, feedback_score

__all__ = [
    "ANY",
    "KINDS",
    "K_CONSOLIDATED_FROM",
    "K_EXPIRES",
    "K_FEEDBACK",
    "K_JUDGE",
    "K_KEY",
    "K_KIND",
    "K_NAME",
    "K_ROLE",
    "K_SCORING",
    "K_SESSION",
    "K_SUPERSEDED_BY",
    "K_SUPERSEDES",
    "K_TS",
    "K_TURN",
    "K_USER",
    "OUTCOMES",
    "AsyncEmbedder",
    "BusyError",
    "Calibration",
    "CallableEmbedder",
    "ClosedError",
    "Collection",
    "ConfigurationError",
    "ConflictError",
    "ConsolidationReport",
    "ContextBlock",
    "ConversationMemory",
    "CorruptError",
    "CounterError",
    "DimensionError",
    "Distribution",
    "Embedder",
    "EmbedderError",
    "EmbedderPair",
    "FingerprintError",
    "FullError",
    "HashEmbedder",
    "ImportReport",
    "InvalidInputError",
    "JudgeError",
    "NotFoundError",
    "OnnxEmbedder",
    "Problem",
    "Report",
    "Result",
    "Results",
    "RetentiveError",
    "StaticEmbedder",
    "StoreError",
    "SummarizeError",
    "VersionError",
    "feedback_score",
]

_start.package_is_imported()
