"""What can go wrong. One tree, raised by the core and the facade alike.

* RetentiveError
  x InvalidInputError (ValueError)
    - DimensionError
  x NotFoundError (LookupError)
  x ConflictError
  x ClosedError (RuntimeError)
  x ConfigurationError
  x EmbedderError
  x JudgeError
  x SummarizeError
  x CounterError
  x StoreError
    - BusyError
    - CorruptError
    - VersionError
    - FingerprintError
    - FullError

A folder that is missing or may not be read is the system's own `OSError`, with its errno and file name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retentive._results import ConsolidationReport


class RetentiveError(Exception):
    """The base class of everything retentive raises on its own account.

    The message says what came, what was expected and what to do.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(message)

    @property
    def message(self) -> str:
        """What `str()` of the error says."""
        return str(self)


class InvalidInputError(RetentiveError, ValueError):
    """An argument has the wrong type, shape or value. Nothing was stored."""


class DimensionError(InvalidInputError):
    """A vector's length is not the collection's.

    Attributes:
        expected: the dimension of the collection's vectors.
        got: the dimension that came.
    """

    def __init__(self, message: str = "", *, expected: int | None = None, got: int | None = None) -> None:
        super().__init__(message)
        self.expected = expected
        self.got = got


class NotFoundError(RetentiveError, LookupError):
    """No memory has that id.

    Attributes:
        id: the id that was asked for.
    """

    def __init__(self, message: str = "", *, id: str | None = None) -> None:
        super().__init__(message)
        self.id = id


class ConflictError(RetentiveError):
    """An id is in use, or somebody else changed the chain meanwhile. Nothing was stored."""


class ClosedError(RetentiveError, RuntimeError):
    """The collection was closed."""


class ConfigurationError(RetentiveError):
    """The collection cannot work as it was set up.

    Attributes:
        hint: what to do about it.
    """

    def __init__(self, message: str = "", *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        """Return the message, and the hint after it."""
        message = super().__str__()
        return f"{message}; {self.hint}" if self.hint else message


class EmbedderError(RetentiveError):
    """The embedder raised (its exception is the cause) or returned something that is no vector."""


class JudgeError(RetentiveError):
    """The judge raised (its exception is the cause) or did not return one bool a candidate."""


class SummarizeError(RetentiveError):
    """The summarizer raised (its exception is the cause) or returned something that is no list of facts.

    Attributes:
        report: what was consolidated before; those batches stay committed.
    """

    def __init__(self, message: str = "", *, report: ConsolidationReport | None = None) -> None:
        super().__init__(message)
        self.report = report


class CounterError(RetentiveError):
    """The token counter raised (its exception is the cause) or did not return a whole number of at least 0."""


class StoreError(RetentiveError):
    """The file of a collection cannot be used.

    Attributes:
        path: the file, None for a collection in memory.
    """

    def __init__(self, message: str = "", *, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path


class BusyError(StoreError):
    """Another process kept the file locked for longer than `busy_timeout_s`."""


class CorruptError(StoreError):
    """The file is damaged, or a row of it is."""


class VersionError(StoreError):
    """The file is of another version, or not one of retentive's at all.

    Attributes:
        found: the version in the file, None where it is not one of ours.
        supported: the newest version this release reads and writes.
    """

    def __init__(
        self, message: str = "", *, path: str | None = None, found: int | None = None, supported: int | None = None
    ) -> None:
        super().__init__(message, path=path)
        self.found = found
        self.supported = supported


class FingerprintError(StoreError):
    """The collection's vectors were made by another embedder."""


class FullError(StoreError):
    """The disk is full. What was stored before is there and readable."""
