"""Edges from what people wrote: `[[path#Symbol]]`, mentions of an ADR, one ADR superseding another.

Knows keys and headers' documents; binds a name only where exactly one thing bears it. Thread: one linker.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from roteiro.graph.extract.facts import FileHeader, Link, symbol_key
from roteiro.graph.link.edges import EdgeRow, EdgeSet
from roteiro.graph.link.survey import Survey
from roteiro.graph.model import EdgeKind

_ADR: Final = "adr:"
_NAME: Final = re.compile(r"[^\W\d][\w$.]*")


class Authored:
    """Resolves links against the tree's files, symbols and documents."""

    def __init__(self, headers: Mapping[str, FileHeader], survey: Survey) -> None:
        self._headers = headers
        self._survey = survey

    def rows(self, links: Sequence[Link]) -> list[EdgeRow]:
        """The authored edges of one file, and those from a document to its sections."""
        if not links:
            return []
        found, parts = EdgeSet(), EdgeSet()
        for link in links:
            if link.kind == "contains":
                parts.add(link.source, link.target, "contains", link.line)
                continue
            target = self._target(link)
            if target is None or target == link.source:
                continue
            kind: EdgeKind = "supersedes" if link.kind == "supersedes" else "references"
            found.add(link.source, target, kind, link.line)
            if link.source.startswith(_ADR) and target.startswith("sym:"):
                found.add(target, link.source.partition("#")[0], "authored_by", link.line)
        return parts.rows() + found.rows("authored")

    def _target(self, link: Link) -> str | None:
        if link.kind in {"adr", "supersedes"}:
            key = f"{_ADR}{link.target}"
            return key if key in self._survey.documents else None
        return self._named(link.target)

    def _named(self, text: str) -> str | None:
        path, mark, name = text.partition("#")
        path = path.strip().removeprefix("file:").removeprefix("./")
        if mark:
            return self._part(path, name)
        if path in self._headers:
            keys = self._headers[path].keys
            return keys[0] if keys else f"file:{path}"
        if path in self._survey.documents:
            return path
        return self._survey.symbol(path) if _NAME.fullmatch(path) else None

    def _part(self, path: str, name: str) -> str | None:
        """A symbol of a file, or a section of a document."""
        header = self._headers.get(path)
        if header is None:
            return None
        if any(row.qualname == name for row in header.defs):
            return symbol_key(header.lang, path, name)
        return next((key for key in header.keys if key.endswith(f"#{name}")), None)
