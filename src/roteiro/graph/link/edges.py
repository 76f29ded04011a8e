"""Collects a file's edges: one for each source, target and kind, with its first place and its count.

Knows keys and nothing of how a target was found. Thread: one linker.
"""

from __future__ import annotations

from roteiro.graph.model import Edge, EdgeKind, Provenance


class EdgeSet:
    """The edges of one file while they are being collected."""

    __slots__ = ("_path", "_rows")

    def __init__(self, path: str) -> None:
        self._path = path
        self._rows: dict[tuple[str, str, EdgeKind], list[float]] = {}

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

    def edges(self, provenance: Provenance = "derived") -> list[Edge]:
        """What was collected; an edge that was derived once is derived."""
        return [
            Edge(
                source=source,
                target=target,
                kind=kind,
                provenance=provenance if strength >= 1.0 else "inferred",
                path=self._path,
                line=int(line),
                confidence=None if strength >= 1.0 else strength,
                sites=int(sites),
            )
            for (source, target, kind), (line, sites, strength) in self._rows.items()
        ]
