"""LanceDB: one table, the session as a column with an index that each query filters by, its hybrid search."""

from __future__ import annotations

from pathlib import Path

import lancedb
import pyarrow as pa

from serve import GivenVectors, Row

PACKAGE = "lancedb"
MODE = "hybrid, exact cosine"
SCOPE = "where filter before the search, with an index"
DURABLE = "no fsync: a power cut may lose it"
BATCH = 50_000


def open(folder: Path, dimension: int, _: GivenVectors) -> Store:  # noqa: A001 - the name each adapter has
    """An empty store."""
    return Store(folder, dimension)


class Store:
    """One table, no index over its vectors: within a session the exact search is the faster one."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self._schema = pa.schema(
            [
                ("number", pa.int64()),
                ("session", pa.string()),
                ("role", pa.string()),
                ("time", pa.string()),
                ("text", pa.string()),
                ("vector", pa.list_(pa.float32(), dimension)),
            ]
        )
        self._table = lancedb.connect(str(folder)).create_table("memory", schema=self._schema)

    def add(self, rows: list[Row]) -> None:
        """One Arrow table."""
        fields = ("number", "session", "role", "time", "text")
        columns = {name: [getattr(row, name) for row in rows] for name in fields}
        columns["vector"] = [row.vector for row in rows]
        self._table.add(pa.Table.from_pydict(columns, schema=self._schema))

    def finish(self) -> None:
        """Index texts and sessions, and put what was added together."""
        self._table.create_fts_index("text")
        self._table.create_scalar_index("session")
        self._table.optimize()

    def remember(self, row: Row) -> None:
        """A call of one."""
        self.add([row])

    def recall(self, question: Row, limit: int) -> list[int]:
        """Vectors and words together."""
        found = (
            self._table.search(query_type="hybrid", vector_column_name="vector", fts_columns="text")
            .vector(question.vector)
            .text(question.text)
            .distance_type("cosine")
            .where(f"session = '{question.session}'", prefilter=True)
            .limit(limit)
            .to_list()
        )
        return [hit["number"] for hit in found]

    def close(self) -> None:
        """Nothing is held open."""
