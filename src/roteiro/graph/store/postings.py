"""Reads that ranking needs: who bears a term, what a row says, what meets a node, by number.

`GraphStore` inherits them. They hand out numbers where a query decides on a few of many, so that a
hub's thousands of callers are never made into objects. Knows no ranking. Thread: any.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from roteiro.graph.model import NodeKind
from roteiro.graph.store.connections import Connections, marks
from roteiro.graph.store.rows import NumberedEdge, numbered_edges


class Postings:
    """The part of a reader that answers in numbers."""

    _db: Connections

    def matching(self, match: str, *, limit: int = 0) -> list[int]:
        """Numbers of the nodes that an FTS5 expression finds, in their order, not ranked.

        Args:
            match: an FTS5 expression over the search columns.
            limit: the most numbers; 0 is all.
        """
        query = "SELECT rowid FROM search WHERE search MATCH ? LIMIT ?"
        return [row[0] for row in self._db.all(query, (match, limit or -1))]

    def index_rows(self, ids: Collection[int]) -> dict[int, tuple[str, ...]]:
        """What the search index holds of each node, one text per search column."""
        query = "SELECT rowid, name, parts, path, signature, doc, body FROM search WHERE rowid IN (%s)"
        return {row[0]: tuple(row[1:]) for row in self._db.chunked(query, list(ids))}

    def ids_of_kinds(self, kinds: Collection[NodeKind]) -> set[int]:
        """Numbers of every node of these kinds."""
        query = f"SELECT id FROM nodes WHERE kind IN ({marks(list(kinds))})"
        return {row[0] for row in self._db.all(query, list(kinds))}

    def node_count(self) -> int:
        """How many nodes there are."""
        return int(self._db.all("SELECT count(*) FROM nodes")[0][0])

    def ends(self, number: int, *, incoming: bool) -> list[NumberedEdge]:
        """The edges that arrive at (or leave) a node, by the number of the other end."""
        mine = "target" if incoming else "source"
        query = (
            "SELECT source, target, kind, provenance, confidence, owner, line, sites FROM edges"
            f" WHERE {mine} = ? ORDER BY source, target, kind, owner"
        )
        found = self._db.all(query, (number,))
        owners = list({row[5] for row in found})
        paths = dict[int, Any](self._db.chunked("SELECT id, path FROM files WHERE id IN (%s)", owners))
        return list(numbered_edges(found, paths))

    def named(self, pattern: str, *, limit: int) -> list[tuple[str, str]]:
        """(name, key) of nodes whose name is like an SQL pattern (`%`, `_`, escaped by a backslash).

        Case does not count. The shortest names come first, then by key.
        """
        query = "SELECT name, key FROM nodes WHERE name LIKE ? ESCAPE '\\' ORDER BY length(name), key LIMIT ?"
        return [(name, key) for name, key in self._db.all(query, (pattern, limit))]

    def keyed(self, pattern: str, *, limit: int) -> list[str]:
        """Keys that are like an SQL pattern, the shortest first, then by key."""
        query = "SELECT key FROM nodes WHERE key LIKE ? ESCAPE '\\' ORDER BY length(key), key LIMIT ?"
        return [row[0] for row in self._db.all(query, (pattern, limit))]
