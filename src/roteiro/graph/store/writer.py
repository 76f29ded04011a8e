"""Writing the graph: one transaction a sync, or one fresh file put in place at the end.

Owns the numbers of nodes. Files that change are cleared first and put afterwards; a key that comes
back gets its old number, so that edges of unchanged files still point at it. Used by `graph.sync`
under the sync lock. Thread: the one that made it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from roteiro.graph.parcel import Parcel, Row
from roteiro.graph.store.connections import marks
from roteiro.graph.store.database import SYNC_HINT, Unreadable, create, open_writer, sqlite_errors
from roteiro.graph.store.rows import EDGE_COUNT, KNOWN, KnownFile
from roteiro.graph.store.schema import INDEXES, KIND_NUMBER, PROVENANCE_NUMBER, TABLES

_PUT_NODE: Final = "INSERT INTO nodes VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
_PUT_SEARCH: Final = (
    "INSERT INTO search (rowid, name, parts, path, signature, doc, body) VALUES (?,?,?,?,?,?,?)"
)
_PUT_EDGE: Final = "INSERT INTO edges VALUES (?,?,?,?,?,?,?,?)"
_PUT_FILE: Final = "INSERT INTO files VALUES (?,?,?,?,?,?,?,?,?,?,?)"
_CHUNK: Final = 900


class GraphWriter:
    """One sync's changes. Use it in a `with`; without `commit` nothing of it is ever seen.

    Args:
        path: the graph's file.
        fresh: build a new file instead of changing the one that is there.

    Raises:
        Unreadable: the file has to be built anew.
        StoreTooNew: a newer Roteiro wrote it.
    """

    def __init__(self, path: Path, *, fresh: bool) -> None:
        self.path = path
        self.fresh = fresh
        self._file = path.with_name(path.name + ".new") if fresh else path
        with sqlite_errors(self._file):
            if fresh:
                _remove_database(self._file)
                self._db = create(self._file)
                self._db.execute("BEGIN")
                for statement in TABLES.split(";\n"):
                    self._db.execute(statement)
            else:
                self._db = open_writer(path)
                self._db.execute("BEGIN IMMEDIATE")
            self._next_node = self._highest("nodes") + 1
            self._next_file = self._highest("files") + 1
        self._files: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        # Numbers of cleared nodes by key: given back to the key, or their edges go at the end.
        self._freed: dict[str, int] = {}

    def __enter__(self) -> GraphWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._db.close()
        if self.fresh:
            _remove_database(self._file)

    # -- what is known -----------------------------------------------------------------------------

    def known_files(self) -> dict[str, KnownFile]:
        """Every file of the last sync by its path."""
        known = {row[0]: KnownFile(*row[1:]) for row in self._run(KNOWN)}
        self._files.update((path, file.id) for path, file in known.items())
        return known

    def headers(self) -> Iterator[tuple[str, bytes]]:
        """(path, packed header) of every file, those put in this sync included."""
        yield from self._facts("header")

    def headers_of(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """(path, packed header) of the named files, as far as they have one."""
        for path in paths:
            for (header,) in self._run("SELECT header FROM facts WHERE file = ?", (self._files[path],)):
                yield path, header

    def mentions(self) -> Iterator[tuple[str, bytes]]:
        """(path, packed mentions) of every file."""
        yield from self._facts("mentions")

    def bodies(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """(path, packed body) of the named files, one at a time: they are the bulk of the facts."""
        for path in paths:
            for (body,) in self._run("SELECT body FROM facts WHERE file = ?", (self._files[path],)):
                yield path, body

    def meta(self, key: str) -> str | None:
        """A remark about the last sync."""
        rows = self._run("SELECT value FROM meta WHERE key = ?", (key,)).fetchall()
        return str(rows[0][0]) if rows else None

    def totals(self) -> tuple[int, int]:
        """How many nodes and edges there are."""
        nodes = self._run("SELECT count(*) FROM nodes").fetchone()[0]
        return int(nodes), int(self._run(EDGE_COUNT).fetchone()[0])

    def languages(self) -> dict[str, int]:
        """How many files are indexed, by language, the most first."""
        return dict(
            self._run(
                "SELECT lang, count(*) FROM files WHERE state = 'indexed'"
                " GROUP BY lang ORDER BY count(*) DESC, lang"
            )
        )

    def skipped(self) -> list[tuple[str, str]]:
        """(path, reason) of the files that were looked at and left out."""
        return list(self._run("SELECT path, reason FROM files WHERE state = 'skipped'"))

    def check(self) -> None:
        """Look for damage.

        Raises:
            Unreadable: there is some.
        """
        found = self._run("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise Unreadable(f"{found}.", hint=SYNC_HINT)

    # -- changes -----------------------------------------------------------------------------------

    def clear(self, paths: Iterable[str]) -> None:
        """Forget all that these files said; their numbers wait for keys that come back."""
        for path in paths:
            number = self._files.pop(path, None)
            if number is None:
                continue
            nodes = self._run("SELECT key, id FROM nodes WHERE file = ?", (number,)).fetchall()
            self._freed.update(nodes)
            self._many("DELETE FROM search WHERE rowid = ?", [(node,) for _, node in nodes])
            for table, column in _TABLES_BY_FILE:
                self._run(f"DELETE FROM {table} WHERE {column} = ?", (number,))

    def touch(self, path: str, *, mtime: int, ctime: int) -> None:
        """Note new times of a file whose content is the same."""
        self._run("UPDATE files SET mtime = ?, ctime = ? WHERE path = ?", (mtime, ctime, path))

    def put(self, parcel: Parcel, *, extractor: str) -> list[str]:
        """Store a file that is not there. Returns keys that another file has already."""
        number, self._next_file = self._next_file, self._next_file + 1
        self._files[parcel.path] = number
        head = (parcel.path, parcel.state, parcel.reason, parcel.lang, parcel.lines)
        times = (parcel.hash, parcel.size, parcel.mtime, parcel.ctime, extractor)
        self._run(_PUT_FILE, (number, *head, *times))
        if parcel.state != "indexed":
            return []
        self._run(
            "INSERT INTO facts VALUES (?,?,?,?)",
            (number, parcel.header, parcel.body, parcel.mentions),
        )
        taken = self._put_nodes(number, parcel)
        self._many("INSERT INTO markers VALUES (?,?,?,?,?,?)", [(number, *m) for m in parcel.markers])
        return taken

    def put_links(self, path: str, edges: Sequence[Row]) -> None:
        """Store the edges that linking found for a file, in place of the former ones."""
        number = self._files[path]
        if not self.fresh:
            self._run("DELETE FROM edges WHERE owner = ?", (number,))
        self._put_edges(number, edges)

    def drop_dangling(self) -> None:
        """Take out edges whose ends are gone: keys of cleared files that nothing put again."""
        gone = [(number,) for number in self._freed.values()]
        self._many("DELETE FROM edges WHERE target = ?", gone)
        self._many("DELETE FROM edges WHERE source = ?", gone)

    def commit(self, meta: Mapping[str, str], *, changed: bool) -> None:
        """Make it all seen at once."""
        stated = dict(meta)
        if changed:
            stated["generation"] = uuid.uuid4().hex
        self._many("INSERT OR REPLACE INTO meta VALUES (?,?)", list(stated.items()))
        with sqlite_errors(self._file):
            if self.fresh:
                for statement in INDEXES.split(";\n"):
                    self._db.execute(statement)
            self._db.execute("COMMIT")
            if self.fresh:
                self._put_in_place()
            elif changed:
                # Best effort: a reader in its snapshot only delays it.
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    # ----------------------------------------------------------------------------------------------

    def _put_nodes(self, file: int, parcel: Parcel) -> list[str]:
        taken = self._taken([row[0] for row in parcel.nodes])
        nodes: list[Row] = []
        search: list[Row] = []
        for (key, kind, name, *rest), texts in zip(parcel.nodes, parcel.search, strict=True):
            if key in taken or key in self._numbers:
                taken.add(key)
                continue
            number = self._freed.pop(key, None)
            if number is None:
                number, self._next_node = self._next_node, self._next_node + 1
            self._numbers[key] = number
            nodes.append((number, key, kind, name, file, *rest))
            search.append((number, *texts))
        self._many(_PUT_NODE, nodes)
        self._many(_PUT_SEARCH, search)
        return sorted(taken)

    def _taken(self, keys: list[str]) -> set[str]:
        """Keys of the store as it is; only ADRs' do not hold their file's path."""
        if self.fresh:
            return set()
        return set(self._looked_up([key for key in keys if key.startswith("adr:")]))

    def _put_edges(self, owner: int, edges: Sequence[Row]) -> None:
        numbers = self._numbers
        if not self.fresh:
            ends = {key for edge in edges for key in edge[:2]}
            numbers.update(self._looked_up([key for key in ends if key not in numbers]))
        rows: list[Row] = []
        for source, target, kind, line, sites, provenance, confidence in edges:
            ends_known = numbers.get(source), numbers.get(target)
            if None in ends_known:
                continue  # an end that an ignored duplicate would have been
            rows.append(
                (
                    *ends_known,
                    KIND_NUMBER[kind],
                    owner,
                    line,
                    sites,
                    PROVENANCE_NUMBER[provenance],
                    confidence,
                )
            )
        self._many(_PUT_EDGE, rows)

    def _looked_up(self, keys: Sequence[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for start in range(0, len(keys), _CHUNK):
            part = keys[start : start + _CHUNK]
            query = f"SELECT key, id FROM nodes WHERE key IN ({marks(part)})"
            found.update(self._run(query, part))
        return found

    def _put_in_place(self) -> None:
        self._db.execute("PRAGMA locking_mode = NORMAL").fetchall()
        self._db.execute("PRAGMA journal_mode = WAL").fetchall()
        self._db.close()
        with self._file.open("rb+") as file:
            os.fsync(file.fileno())
        # A journal left by the file that is replaced would be replayed into the new one.
        for suffix in ("-wal", "-shm", "-journal"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        self._file.replace(self.path)

    def _facts(self, column: str) -> Iterator[tuple[str, bytes]]:
        yield from self._run(
            f"SELECT f.path, x.{column} FROM facts x JOIN files f ON f.id = x.file ORDER BY f.path"
        )

    def _highest(self, table: str) -> int:
        return int(self._db.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()[0])

    def _run(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        with sqlite_errors(self._file):
            return self._db.execute(query, values)

    def _many(self, query: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            with sqlite_errors(self._file):
                self._db.executemany(query, rows)


_TABLES_BY_FILE: Final = (
    ("edges", "owner"),
    ("markers", "file"),
    ("facts", "file"),
    ("nodes", "file"),
    ("files", "id"),
)


def _remove_database(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
