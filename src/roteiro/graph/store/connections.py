"""One reader's connections: one a thread, opened anew when a rebuild has replaced the file.

Knows no table. Thread: any.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from roteiro.graph.store.database import open_reader, sqlite_errors

# SQLite's default bound on `?` in one statement is 32,766 since 3.32; older builds have 999.
_CHUNK: Final = 900

Values = Sequence[object]


class Connections:
    """Runs read statements for any thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._guard = threading.Lock()

    def close(self) -> None:
        """Close every thread's connection; harmless when done twice."""
        with self._guard:
            opened, self._opened = self._opened, []
        for connection in opened:
            connection.close()
        self._local = threading.local()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads of this thread inside see one and the same commit."""
        connection = self._connection()
        if connection.in_transaction:
            yield
            return
        connection.execute("BEGIN")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")

    def all(self, query: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Every row."""
        with sqlite_errors(self._path):
            return self._connection().execute(query, values).fetchall()

    def one(self, query: str, values: Values = ()) -> tuple[Any, ...] | None:
        """The first row."""
        rows = self.all(query, values)
        return rows[0] if rows else None

    def chunked(self, query: str, values: Values) -> list[tuple[Any, ...]]:
        """Every row of a query whose `%s` stands for a list of any length."""
        rows: list[tuple[Any, ...]] = []
        for start in range(0, len(values), _CHUNK):
            part = values[start : start + _CHUNK]
            rows += self.all(query % marks(part), part)
        return rows

    def stream(self, query: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        """Every row, as the caller takes them."""
        with sqlite_errors(self._path):
            yield from self._connection().execute(query, values)

    # ----------------------------------------------------------------------------------------------

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        identity = _identity(self._path)
        if connection is not None:
            if connection.in_transaction or self._local.identity == identity:
                return connection
            with self._guard:
                self._opened.remove(connection)
            connection.close()
        self._local.connection = None
        connection = open_reader(self._path)
        self._local.connection, self._local.identity = connection, identity
        with self._guard:
            self._opened.append(connection)
        return connection


def marks(values: Sequence[object]) -> str:
    """As many `?` as there are values."""
    return ",".join("?" * len(values))


# --------------------------------------------------------------------------------------------------


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
