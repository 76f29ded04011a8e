"""Reading the graph: everything that a query may ask of `graph.db`.

Every call sees the last whole sync; calls inside `snapshot()` all see the same one. Knows no ranking
and no rendering. Thread: any (one connection a thread).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from roteiro.graph.content import read_text
from roteiro.graph.model import EDGE_KINDS, Edge, EdgeKind, Marker, Node, NodeKind
from roteiro.graph.store import rows
from roteiro.graph.store.connections import Connections, marks
from roteiro.graph.store.postings import Postings
from roteiro.graph.store.rows import EDGE, MARKER, NODE, FileRecord, NumberedEdge, SearchRow, Skipped
from roteiro.graph.store.schema import KIND_NUMBER, SEARCH_COLUMNS


class GraphStore(Postings):
    """A reader of one graph. Close it, or use it in a `with`.

    Args:
        root: the root of the tree that the graph is about.
        path: the graph's file.

    Raises:
        NoGraph: there is none, or none that can be read.
        StoreTooNew: a newer Roteiro wrote it.
    """

    def __init__(self, root: Path, path: Path) -> None:
        self.root = root
        self.path = path
        self._db = Connections(path)
        self._db.one("SELECT 1")

    def __enter__(self) -> GraphStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<GraphStore {self.path}>"

    def close(self) -> None:
        """Close the connections; harmless when done twice."""
        self._db.close()

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reads of this thread inside see one and the same sync."""
        return self._db.snapshot()

    # -- the whole ---------------------------------------------------------------------------------

    def generation(self) -> str:
        """A text that is another after every sync that changed something: a key for caches."""
        return self.meta("generation") or ""

    def meta(self, key: str) -> str | None:
        """A remark about the last sync (`generation`, `synced_at`, `assets`)."""
        row = self._db.one("SELECT value FROM meta WHERE key = ?", (key,))
        return None if row is None else str(row[0])

    def counts(self) -> dict[str, int]:
        """How many `nodes` and `edges` there are, and nodes by kind as `kind:<kind>`."""
        kinds = self._db.all("SELECT kind, count(*) FROM nodes GROUP BY kind")
        counts = {f"kind:{kind}": int(number) for kind, number in kinds}
        counts["nodes"] = sum(counts.values())
        counts["edges"] = self.edge_count()
        return counts

    def edge_count(self) -> int:
        """How many edges there are."""
        found = self._db.one(rows.EDGE_COUNT)
        return int(found[0]) if found else 0

    def files(self) -> list[FileRecord]:
        """Every indexed file, by path."""
        found = self._db.all(
            "SELECT path, lang, lines, size FROM files WHERE state = 'indexed' ORDER BY path"
        )
        return [FileRecord(path=path, lang=lang, lines=lines, size=size) for path, lang, lines, size in found]

    def known_files(self) -> dict[str, rows.KnownFile]:
        """Every file that the last sync looked at, by path, to tell whether it changed since."""
        return {row[0]: rows.KnownFile(*row[1:]) for row in self._db.all(rows.KNOWN)}

    def skipped(self) -> list[Skipped]:
        """Every source-like file that was left out, by path."""
        found = self._db.all("SELECT path, reason FROM files WHERE state = 'skipped' ORDER BY path")
        listed = [Skipped(path=path, reason=reason) for path, reason in found]
        listed += [
            Skipped(path=path, reason=reason)
            for path, reason in [
                *json.loads(self.meta("left_out") or "[]"),
                *json.loads(self.meta("disputed") or "{}").items(),
            ]
        ]
        return sorted(listed, key=lambda item: item.path)

    # -- nodes -------------------------------------------------------------------------------------

    def node(self, key: str) -> Node | None:
        """The node with a key."""
        row = self._db.one(f"{NODE} WHERE n.key = ?", (key,))
        return None if row is None else rows.node(row)

    def nodes(self, ids: Collection[int]) -> dict[int, Node]:
        """Nodes by their numbers; unknown numbers are left out."""
        found = self._db.chunked(f"{NODE} WHERE n.id IN (%s)", list(ids))
        return {row[0]: rows.node(row) for row in found}

    def node_ids(self, keys: Collection[str]) -> dict[str, int]:
        """Numbers of nodes by their keys; unknown keys are left out. Numbers hold within a generation."""
        found = self._db.chunked("SELECT key, id FROM nodes WHERE key IN (%s)", list(keys))
        return dict(found)

    def nodes_by_name(self, name: str, *, ignore_case: bool = False) -> list[Node]:
        """Every node whose last name is `name`, by key."""
        exact = "" if ignore_case else " AND n.name = ?"
        values = (name,) if ignore_case else (name, name)
        where = f"WHERE n.name = ? COLLATE NOCASE{exact} ORDER BY n.key"
        return [rows.node(row) for row in self._db.all(f"{NODE} {where}", values)]

    def nodes_by_kind(self, kind: NodeKind, *, limit: int = 0, offset: int = 0) -> list[Node]:
        """Nodes of one kind, by key. A limit of 0 is none."""
        page = "WHERE n.kind = ? ORDER BY n.key LIMIT ? OFFSET ?"
        return [rows.node(row) for row in self._db.all(f"{NODE} {page}", (kind, limit or -1, offset))]

    def nodes_in(self, path: str) -> list[Node]:
        """The nodes of one file, by line, the file's own first."""
        where = "WHERE f.path = ? ORDER BY coalesce(n.line, 0), -coalesce(n.end_line, 1e9), n.id"
        return [rows.node(row) for row in self._db.all(f"{NODE} {where}", (path,))]

    def all_nodes(self) -> Iterator[tuple[int, Node]]:
        """Every node with its number, in the order of the numbers."""
        for row in self._db.stream(f"{NODE} ORDER BY n.id"):
            yield row[0], rows.node(row)

    def names(self) -> Iterator[tuple[str, str, int]]:
        """(name, key, number) of every node, for guesses at what a misspelt name meant."""
        yield from self._db.stream("SELECT name, key, id FROM nodes ORDER BY id")

    # -- edges -------------------------------------------------------------------------------------

    def edges_from(self, key: str) -> list[Edge]:
        """Edges that leave a node, by kind, place and target."""
        return self._edges("WHERE e.source = (SELECT id FROM nodes WHERE key = ?)", (key,))

    def edges_to(self, key: str) -> list[Edge]:
        """Edges that arrive at a node, by kind, place and source."""
        return self._edges("WHERE e.target = (SELECT id FROM nodes WHERE key = ?)", (key,))

    def edges_between(self, source: str, target: str) -> list[Edge]:
        """Edges from one node to another, by kind."""
        where = (
            "WHERE e.source = (SELECT id FROM nodes WHERE key = ?)"
            " AND e.target = (SELECT id FROM nodes WHERE key = ?)"
        )
        return self._edges(where, (source, target))

    def all_edges(self) -> Iterator[NumberedEdge]:
        """Every edge by numbers, ordered by source, target and kind."""
        paths = dict(self._db.all("SELECT id, path FROM files"))
        found = self._db.stream(
            "SELECT source, target, kind, provenance, confidence, owner, line, sites FROM edges"
            " ORDER BY source, target, kind, owner"
        )
        yield from rows.numbered_edges(found, paths)

    def all_links(self) -> Iterator[tuple[int, int, EdgeKind]]:
        """(source, target, kind) of every edge; a pair may come twice."""
        for source, target, kind in self._db.stream("SELECT source, target, kind FROM edges"):
            yield source, target, EDGE_KINDS[kind]

    def links_of(self, ids: Collection[int]) -> list[tuple[int, int, EdgeKind]]:
        """(source, target, kind) of the edges that start or end at one of the nodes."""
        found: set[tuple[int, int, int]] = set()
        for column in ("source", "target"):
            query = f"SELECT source, target, kind FROM edges WHERE {column} IN (%s)"
            found.update(self._db.chunked(query, list(ids)))
        return [(source, target, EDGE_KINDS[kind]) for source, target, kind in sorted(found)]

    def in_degrees(self, ids: Collection[int], kinds: Collection[EdgeKind] = ()) -> dict[int, int]:
        """How many edges arrive at each node, containment not counted unless asked for."""
        wanted = kinds or [kind for kind in EDGE_KINDS if kind not in ("contains", "defines")]
        numbers = ",".join(str(KIND_NUMBER[kind]) for kind in wanted)
        query = (
            f"SELECT target, count(*) FROM edges WHERE target IN (%s) AND kind IN ({numbers}) GROUP BY target"
        )
        return dict(self._db.chunked(query, list(ids)))

    # -- markers -----------------------------------------------------------------------------------

    def markers(
        self,
        *,
        categories: Collection[str] = (),
        path: str | None = None,
        symbol: str | None = None,
    ) -> list[Marker]:
        """Debt markers by path and line; the filters narrow together."""
        terms, values = ["1"], list[object]()
        if categories:
            terms.append(f"m.category IN ({marks(list(categories))})")
            values.extend(categories)
        for column, value in (("f.path", path), ("m.symbol", symbol)):
            if value is not None:
                terms.append(f"{column} = ?")
                values.append(value)
        where = f"WHERE {' AND '.join(terms)} ORDER BY f.path, m.line, m.key"
        return [rows.marker(row) for row in self._db.all(f"{MARKER} {where}", values)]

    # -- text --------------------------------------------------------------------------------------

    def search_rows(
        self,
        match: str,
        *,
        limit: int = 0,
        weights: Sequence[float] = (),
        kinds: Collection[NodeKind] = (),
    ) -> list[SearchRow]:
        """Full-text hits, best first, ties by key.

        Args:
            match: an FTS5 expression over the columns of `SEARCH_COLUMNS`.
            limit: the most rows; 0 is all.
            weights: bm25's weight of each column, all alike if left out.
            kinds: only nodes of these kinds.
        """
        scale = list(weights) or [1.0] * len(SEARCH_COLUMNS)
        only = f"AND n.kind IN ({marks(list(kinds))})" if kinds else ""
        rank = ", ".join(str(float(weight)) for weight in scale)
        columns = NODE.replace("SELECT n.id", f"SELECT bm25(search, {rank}) AS score, n.id")
        query = (
            f"{columns} JOIN search ON search.rowid = n.id WHERE search MATCH ? {only}"
            " ORDER BY score, n.key LIMIT ?"
        )
        found = self._db.all(query, [match, *kinds, limit or -1])
        return [SearchRow(id=row[1], node=rows.node(row[1:]), score=row[0]) for row in found]

    def match_count(self, match: str, *, kinds: Collection[NodeKind] = ()) -> int:
        """How many nodes an FTS5 expression finds in all."""
        only = f"AND n.kind IN ({marks(list(kinds))})" if kinds else ""
        query = f"SELECT count(*) FROM search JOIN nodes n ON n.id = search.rowid WHERE search MATCH ? {only}"
        return int(self._db.all(query, [match, *kinds])[0][0])

    def read_source(self, path: str) -> str | None:
        """A file's text as it is now, lines ended by LF; None where it is gone or no text.

        Nothing outside the root is read, whatever the path says.
        """
        return read_text(self.root, path)

    # ----------------------------------------------------------------------------------------------

    def _edges(self, where: str, values: Sequence[object]) -> list[Edge]:
        order = "ORDER BY e.kind, f.path, e.line, t.key, s.key"
        return rows.merged_edges(self._db.all(f"{EDGE} {where} {order}", values))
