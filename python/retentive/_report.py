"""What `verify` says, `Report` and `Problem`, and what `import_` did, `ImportReport`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retentive._requests import Found


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a file. It never has a text of anybody's.

    Attributes:
        kind: `"checksum"` (a row is damaged), `"structure"` (SQLite cannot read it, or a table and its indexes do not
            agree), `"missing"` (a row that another one needs), `"duplicate"`, `"chain"` (links of corrections),
            `"count"` (a stored count is wrong), `"number"` (one out of its range, or of another row), `"not erased"`
            (bytes that belong to nothing).
        table: the table, as `docs/format.md` names it; `sqlite_schema` for the file as a whole.
        row: the row's number in it; None for the table as a whole.
        id: the memory's id, where it can be read.
        what: what is wrong, in words.
    """

    kind: str
    table: str
    row: int | None
    id: str | None
    what: str

    def __str__(self) -> str:
        row = "" if self.row is None else f" row {self.row}"
        memory = "" if self.id is None else f" ({self.id})"
        return f"{self.table}{row}{memory}: {self.kind}: {self.what}"


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What `Collection.verify` read and found.

    Attributes:
        rows_checked: how many rows were read, by table.
        problems: what is wrong, at most 1,000.
        more: how many problems are not listed.
    """

    rows_checked: dict[str, int]
    problems: tuple[Problem, ...]
    more: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __repr__(self) -> str:
        rows = sum(self.rows_checked.values())
        count = len(self.problems) + self.more
        return f"<Report: {'ok' if self.ok else f'{count:,} problems'}, {rows:,} rows checked>"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What `import_` did.

    Attributes:
        imported: how many memories and documents of the file are in the collection now.
        skipped: how many were left out, with `on_conflict="skip"`.
        replaced: how many of those imported took the place of one with their id.
        renumbered: how many turns got another number, because the session had turns with theirs.
        embedded: how many texts were embedded, because the file had no vectors of the collection's embedder.
    """

    imported: int
    skipped: int
    replaced: int
    renumbered: int
    embedded: int


def report(found: Found) -> Report:
    """Return a report of what the core found."""
    checked, problems, more = found
    return Report(checked, tuple(Problem(*problem) for problem in problems), more)
