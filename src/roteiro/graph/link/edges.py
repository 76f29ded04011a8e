"""Collects a file's edges: one for each source, target and kind, with its first place and its count.

Knows keys and nothing of how a target was found. Thread: one linker.
"""

from __future__ import annotations

from typing import Any

from roteiro.graph.model import Edge, EdgeKind, Provenance

EdgeRow = tuple[str, str, EdgeKind, int, int, Provenance, float | None]
"""Source, target, kind, first line, sites, provenance, confidence."""


class EdgeSet:
    """The edges of one file while they are being collected."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str, EdgeKind], list[Any]] = {}

    def add(
        self, source: str, target: str, kind: EdgeKind, line: int, confidence: float | None = None
    ) -> None:
        """Count one occurrence; `confidence` None says that it is derived."""
        key = (source, target, kind)
        row = self._rows.get(key)
        strength = 1.0 if confidence is None else confidence
        if row is None:
            self._rows[key] = [line, 1, strength]
            return
        row[0] = min(row[0], line)
        row[1] += 1
        row[2] = max(row[2], strength)

    def rows(self, provenance: Provenance = "derived") -> list[EdgeRow]:
        """What was collected, as the store takes it; an edge that was derived once is derived."""
        return [
            (*key, line, sites, provenance, None)
            if strength >= 1.0
            else (*key, line, sites, "inferred", strength)
            for key, (line, sites, strength) in self._rows.items()
        ]


def edge_of(path: str, row: EdgeRow) -> Edge:
    """The edge that a row of a file stands for."""
    source, target, kind, line, sites, provenance, confidence = row
    return Edge(
        source=source,
        target=target,
        kind=kind,
        provenance=provenance,
        path=path,
        line=line,
        confidence=confidence,
        sites=sites,
    )
