"""The JSON of the graph's values, field by field as promised under `roteiro.query/v1`.

Every front door sends these; they are the one place that knows the field names. Thread: any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from roteiro.graph.model import SCHEMA, Edge, EdgeKind, Marker, Node, Provenance

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeEnd:
    """One edge as seen from one of its nodes: the node at the other end, and where the edge is."""

    kind: EdgeKind
    provenance: Provenance
    confidence: float | None
    node: Node
    path: str
    line: int
    sites: int

    def to_json(self) -> Json:
        """The promised fields; `name` and `node_kind` spare the reader taking the key apart."""
        return {
            "kind": self.kind,
            "provenance": self.provenance,
            "confidence": self.confidence,
            "node": self.node.key,
            "name": self.node.name,
            "node_kind": self.node.kind,
            "defined_at": place(self.node),
            "path": self.path,
            "line": self.line,
            "sites": self.sites,
        }


def envelope(**fields: Any) -> Json:
    """An answer: the schema tag and the fields in the order given."""
    return {"schema": SCHEMA, **fields}


def node_json(node: Node) -> Json:
    """A node; ADRs bear number, title and status too."""
    shape: Json = {
        "key": node.key,
        "kind": node.kind,
        "name": node.name,
        "path": node.path,
        "line": node.line,
        "end_line": node.end_line,
        "lang": node.lang,
        "signature": node.signature,
        "doc": node.doc,
    }
    if node.kind in ("adr", "adr_section"):
        shape |= {"number": node.number, "title": node.title, "status": node.status}
    return shape


def marker_json(marker: Marker) -> Json:
    """A debt finding."""
    return {
        "key": marker.key,
        "category": marker.category,
        "text": marker.text,
        "path": marker.path,
        "line": marker.line,
        "symbol": marker.symbol,
    }


def edge_json(edge: Edge) -> Json:
    """An edge with both its ends, as an export lists it."""
    return {
        "source": edge.source,
        "target": edge.target,
        "kind": edge.kind,
        "provenance": edge.provenance,
        "confidence": edge.confidence,
        "path": edge.path,
        "line": edge.line,
        "sites": edge.sites,
    }


def place(node: Node) -> str:
    """`path:line` of a definition; files and whole docs begin at line 1."""
    return f"{node.path}:{node.line or 1}"
