"""What the store hands out, and how a row of a table becomes it. Thread: any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from roteiro.graph.model import EDGE_KINDS, Edge, EdgeKind, Marker, Node, Provenance
from roteiro.graph.store.schema import PROVENANCES

NODE: Final = """
SELECT n.id, n.key, n.kind, n.name, f.path, n.line, n.end_line, n.lang, n.signature, n.doc,
       n.number, n.title, n.status
FROM nodes n JOIN files f ON f.id = n.file
"""
EDGE: Final = """
SELECT s.key, t.key, e.kind, e.provenance, f.path, e.line, e.confidence, e.sites
FROM edges e JOIN nodes s ON s.id = e.source JOIN nodes t ON t.id = e.target
JOIN files f ON f.id = e.owner
"""
MARKER: Final = """
SELECT m.key, m.category, m.text, f.path, m.line, m.symbol
FROM markers m JOIN files f ON f.id = m.file
"""
KNOWN: Final = "SELECT path, id, state, lang, hash, size, mtime, ctime, extractor FROM files"
# Only edges that people wrote can be stated by two files (`supersedes` and `superseded by`).
EDGE_COUNT: Final = """
SELECT (SELECT count(*) FROM edges)
     - (SELECT count(*) FROM edges WHERE provenance = 1)
     + (SELECT count(*) FROM (SELECT DISTINCT source, target, kind FROM edges WHERE provenance = 1))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """One indexed file. `size` in bytes, as on disk."""

    path: str
    lang: str
    lines: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A source-like file that was left out, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRow:
    """A full-text hit. `score` is bm25 as SQLite gives it: the smaller, the better."""

    id: int
    node: Node
    score: float


class KnownFile(NamedTuple):
    """What the store remembers of a file, enough to tell whether it changed."""

    id: int
    state: str
    lang: str | None
    hash: bytes
    size: int
    mtime: int
    ctime: int
    extractor: str


class NumberedEdge(NamedTuple):
    """An edge by node numbers, for passes over the whole graph."""

    source: int
    target: int
    kind: EdgeKind
    provenance: Provenance
    confidence: float | None
    path: str
    line: int
    sites: int


def node(row: Sequence[Any]) -> Node:
    """A row of `NODE`."""
    return Node(
        key=row[1],
        kind=row[2],
        name=row[3],
        path=row[4],
        line=row[5],
        end_line=row[6],
        lang=row[7],
        signature=row[8],
        doc=row[9],
        number=row[10],
        title=row[11],
        status=row[12],
    )


def merged_edges(rows: Iterable[Sequence[Any]]) -> list[Edge]:
    """Rows of `EDGE`, one edge per (source, target, kind): two files may say the same of two ADRs."""
    first: dict[tuple[str, str, int], Sequence[Any]] = {}
    sites: dict[tuple[str, str, int], int] = {}
    for row in rows:
        what = (row[0], row[1], row[2])
        first.setdefault(what, row)
        sites[what] = sites.get(what, 0) + row[7]
    return [_edge(row, sites[what]) for what, row in first.items()]


def numbered_edges(rows: Iterable[Sequence[Any]], paths: dict[int, str]) -> Iterable[NumberedEdge]:
    """Rows ordered by (source, target, kind) as edges, equal neighbours made one."""
    last: NumberedEdge | None = None
    for source, target, kind, provenance, confidence, owner, line, sites in rows:
        name = EDGE_KINDS[kind]
        if last is not None and (source, target, name) == last[:3]:
            last = last._replace(sites=last.sites + sites)
            continue
        if last is not None:
            yield last
        last = NumberedEdge(
            source, target, name, PROVENANCES[provenance], confidence, paths[owner], line, sites
        )
    if last is not None:
        yield last


def marker(row: Sequence[Any]) -> Marker:
    """A row of `MARKER`."""
    key, category, text, path, line, symbol = row
    return Marker(key=key, category=category, text=text, path=path, line=line, symbol=symbol)


# --------------------------------------------------------------------------------------------------


def _edge(row: Sequence[Any], sites: int) -> Edge:
    source, target, kind, provenance, path, line, confidence, _ = row
    return Edge(
        source=source,
        target=target,
        kind=EDGE_KINDS[kind],
        provenance=PROVENANCES[provenance],
        path=path,
        line=line,
        confidence=confidence,
        sites=sites,
    )
