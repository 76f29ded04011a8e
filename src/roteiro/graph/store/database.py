"""Connections to `graph.db`: opening, checking, and what SQLite's complaints mean.

The one place that turns `sqlite3` errors into `roteiro.errors`. Thread: a connection belongs to the
thread that opened it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from roteiro.errors import GraphError, NoGraph, StoreLocked, StoreTooNew
from roteiro.graph.store.schema import APPLICATION_ID, SCHEMA_VERSION

BUSY_SECONDS = 10.0
SYNC_HINT = "Run `roteiro sync` to build it."


class Unreadable(GraphError):
    """Raised when the file is no graph of this version: damaged, older or foreign. A sync rebuilds it."""

    code = "store_unreadable"


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that only reads.

    Raises:
        NoGraph: there is no graph that this version can read.
        StoreTooNew: a newer Roteiro wrote it.
    """
    if not path.is_file():
        raise NoGraph(f"There is no graph at {str(path)!r}.", hint=SYNC_HINT)
    try:
        connection = _connect(path)
        connection.execute("PRAGMA query_only = ON")
    except Unreadable as error:
        raise NoGraph(
            f"The graph at {str(path)!r} cannot be read: {error.message}", hint=SYNC_HINT
        ) from error
    return connection


def open_writer(path: Path) -> sqlite3.Connection:
    """A connection to an existing graph that may be changed.

    Raises:
        Unreadable: it has to be built anew.
        StoreTooNew: a newer Roteiro wrote it; it is left alone.
    """
    connection = _connect(path)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA cache_size = -65536")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def create(path: Path) -> sqlite3.Connection:
    """A connection to a fresh file that nobody else knows yet: no journal, no waiting for the disk."""
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in (
        "journal_mode = OFF",
        "synchronous = OFF",
        "locking_mode = EXCLUSIVE",
        "cache_size = -32768",
        "temp_store = MEMORY",
        f"application_id = {APPLICATION_ID}",
        f"user_version = {SCHEMA_VERSION}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()
    return connection


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite raises inside into errors that say what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StoreLocked(
                f"The graph at {str(path)!r} is in use by another process.",
                hint="Try again when it has finished.",
            ) from error
        raise GraphError(
            f"The graph at {str(path)!r} cannot be used: {error}.",
            hint="Check the folder's permissions and the free space of its disk.",
        ) from error
    except sqlite3.ProgrammingError:
        raise  # our own mistake, nothing that a rebuild would mend
    except sqlite3.DatabaseError as error:
        raise Unreadable(f"{error}.", hint=SYNC_HINT) from error


@contextmanager
def sync_lock(path: Path, *, wait_seconds: float) -> Iterator[None]:
    """Hold the right to sync the graph at `path`; the kernel gives it back if the process dies.

    The lock is SQLite's own on an empty database beside the graph, so it works on every platform
    and readers of the graph are not in its way.

    Raises:
        StoreLocked: another process kept it for longer than `wait_seconds`.
    """
    lock = path.with_name("sync.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(lock, isolation_level=None, timeout=wait_seconds)
    except (OSError, sqlite3.Error) as error:
        raise _cannot_write(lock, error) from error
    with closing(connection):
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise _cannot_write(lock, error) from error
            raise StoreLocked(
                f"Another process is syncing this tree (it holds {str(lock)!r}).",
                hint="Wait for it to finish and try again.",
            ) from error
        yield


# --------------------------------------------------------------------------------------------------


def _cannot_write(path: Path, error: Exception) -> GraphError:
    return GraphError(
        f"The graph's folder {str(path.parent)!r} cannot be written: {error}.",
        hint="Check its permissions and the free space of its disk.",
    )


def _connect(path: Path) -> sqlite3.Connection:
    with sqlite_errors(path):
        try:
            return _checked(_opened(path.absolute().as_uri() + "?mode=rw"), path)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (
                sqlite3.SQLITE_CANTOPEN,
                sqlite3.SQLITE_READONLY,
            ):
                raise
            # A folder we may not write to: WAL needs its index there, a still file does not.
            uri = f"{path.absolute().as_uri()}?immutable=1"
            return _checked(_opened(uri), path)


def _opened(uri: str) -> sqlite3.Connection:
    # A reader's connections are each used by one thread, and closed by whoever closes the reader.
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False)


def _checked(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        _check_versions(path, application, version)
        connection.execute("SELECT count(*) FROM meta").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _check_versions(path: Path, application: int, version: int) -> None:
    if application != APPLICATION_ID:
        raise Unreadable("it is not a graph of Roteiro.", hint=SYNC_HINT)
    if version > SCHEMA_VERSION:
        raise StoreTooNew(
            f"The graph at {str(path)!r} has schema {version}; "
            f"this Roteiro knows schemas up to {SCHEMA_VERSION}.",
            hint="Upgrade Roteiro, or remove the file to build it anew.",
        )
    if version < SCHEMA_VERSION:
        raise Unreadable(f"it has the older schema {version}.", hint=SYNC_HINT)
