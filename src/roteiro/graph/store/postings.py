"""Reads that ranking needs: who bears a term, what a row says, what meets a node, by number.

`GraphStore` inherits them. They hand out numbers where a query decides on a few of many, so that a
hub's thousands of callers are never made into objects. Knows no ranking. Thread: any.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from roteiro.graph.model import EDGE_KINDS, EdgeKind, NodeKind
from roteiro.graph.store.connections import Connections, marks
from roteiro.graph.store.rows import NumberedEdge
from roteiro.graph.store.schema import KIND_NUMBER, PROVENANCES

# Two files may state these of the same two nodes ("supersedes", "superseded by").
_TOLD_TWICE: frozenset[EdgeKind] = frozenset({"supersedes", "authored_by"})


class Postings:
    """The part of a reader that answers in numbers."""

    _db: Connections
    _counted: tuple[object, int] | None = None

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

    def keys(self, ids: Collection[int]) -> list[str]:
        """The keys of nodes, in order."""
        found = self._db.chunked("SELECT key FROM nodes WHERE id IN (%s)", list(ids))
        return sorted(row[0] for row in found)

    def ids_by_name(self, name: str, *, limit: int = 0) -> list[int]:
        """Numbers of the first nodes that bear a name, by key; a limit of 0 is none."""
        query = "SELECT id FROM nodes WHERE name = ? COLLATE NOCASE AND name = ? ORDER BY key LIMIT ?"
        return [row[0] for row in self._db.all(query, (name, name, limit or -1))]

    def node_count(self) -> int:
        """How many nodes there are; counted once a generation, since every search asks."""
        generation = self._db.one("SELECT value FROM meta WHERE key = 'generation'")
        if self._counted is None or self._counted[0] != generation:
            self._counted = generation, int(self._db.all("SELECT count(*) FROM nodes")[0][0])
        return self._counted[1]

    def end_counts(self, number: int, *, incoming: bool) -> dict[EdgeKind, int]:
        """How many edges of each kind arrive at (or leave) a node."""
        mine, other = ("target", "source") if incoming else ("source", "target")
        query = f"SELECT kind, count(*) FROM edges WHERE {mine} = ? GROUP BY kind"
        counts = {EDGE_KINDS[kind]: int(count) for kind, count in self._db.all(query, (number,))}
        for kind in _TOLD_TWICE & counts.keys():
            distinct = f"SELECT count(DISTINCT {other}) FROM edges WHERE {mine} = ? AND kind = ?"
            counts[kind] = self._db.all(distinct, (number, KIND_NUMBER[kind]))[0][0]
        return counts

    def ends(self, number: int, kind: EdgeKind, *, incoming: bool, limit: int) -> list[NumberedEdge]:
        """The first edges of a kind that arrive at (or leave) a node: the certain ones, by place."""
        mine, other = ("target", "source") if incoming else ("source", "target")
        query = (
            "SELECT e.source, e.target, e.kind, e.provenance, e.confidence, f.path, e.line, e.sites"
            f" FROM edges e JOIN files f ON f.id = e.owner WHERE e.{mine} = ? AND e.kind = ?"
            f" ORDER BY e.confidence IS NOT NULL, f.path, e.line, e.{other} LIMIT ?"
        )
        twice = kind in _TOLD_TWICE
        found = self._db.all(query, (number, KIND_NUMBER[kind], -1 if twice else limit))
        edges = [_edge(row) for row in found]
        return _merged(edges)[:limit] if twice else edges

    def decisions_at(self, ids: Collection[int]) -> set[int]:
        """Numbers of the ADRs and their sections that people connected with one of the nodes."""
        found: set[int] = set()
        for mine, other in (("source", "target"), ("target", "source")):
            query = (
                f"SELECT e.{other} FROM edges e JOIN nodes n ON n.id = e.{other}"
                f" WHERE e.{mine} IN (%s) AND e.provenance = 1 AND n.kind IN ('adr', 'adr_section')"
            )
            found.update(row[0] for row in self._db.chunked(query, list(ids)))
        return found

    def named(self, pattern: str, *, limit: int) -> list[tuple[str, str]]:
        """(name, key) of nodes whose name is like an SQL pattern (`%`, `_`, escaped by a backslash).

        Case does not count. The shortest names come first, then by key.
        """
        query = "SELECT name, key FROM nodes WHERE name LIKE ? ESCAPE '\\' ORDER BY length(name), key LIMIT ?"
        return [(name, key) for name, key in self._db.all(query, (pattern, limit))]

    def keyed(self, pattern: str, *, limit: int) -> list[str]:
        """Keys that are like an SQL pattern, the shortest first, then by key.

        What the pattern begins with literally narrows the reading to a stretch of the index.
        """
        start = re.split(r"[%_\\]", pattern, maxsplit=1)[0]
        query = (
            "SELECT key FROM nodes WHERE key >= ? AND key < ? AND key LIKE ? ESCAPE '\\'"
            " ORDER BY length(key), key LIMIT ?"
        )
        return [row[0] for row in self._db.all(query, (start, start + chr(0x10FFFF), pattern, limit))]


# --------------------------------------------------------------------------------------------------


def _edge(row: tuple[Any, ...]) -> NumberedEdge:
    source, target, kind, provenance, confidence, path, line, sites = row
    return NumberedEdge(
        source, target, EDGE_KINDS[kind], PROVENANCES[provenance], confidence, path, line, sites
    )


def _merged(edges: list[NumberedEdge]) -> list[NumberedEdge]:
    """One edge for each pair of nodes: the first place, and the sites of all."""
    first: dict[tuple[int, int], NumberedEdge] = {}
    for edge in edges:
        pair = (edge.source, edge.target)
        known = first.get(pair)
        first[pair] = edge if known is None else known._replace(sites=known.sites + edge.sites)
    return list(first.values())
