"""The graph's values: nodes, edges, markers, and the vocabulary that names their kinds.

Pure data; knows no file system, no SQL and no tree-sitter. Thread: any.

Keys (see docs/architecture.md): ``file:<path>``, ``sym:<lang>:<path>#<Qualified.name>``, ``adr:<id>``,
``adr:<id>#<section-slug>``, ``doc:<path>``, ``marker:<path>#<line>``. Paths are relative to the root of the
work tree and use ``/``. Lines count from 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

SCHEMA = "roteiro.query/v1"

NodeKind = Literal[
    "file", "module", "class", "fn", "method", "const", "interface", "struct", "enum", "trait",
    "adr", "adr_section", "doc", "marker",
]  # fmt: skip
EdgeKind = Literal[
    "defines", "contains", "calls", "imports", "inherits", "references", "supersedes",
    "authored_by", "related",
]  # fmt: skip
Provenance = Literal["derived", "authored", "inferred"]
MarkerCategory = Literal["todo", "fixme", "hack", "stub", "deferred"]

NODE_KINDS: tuple[NodeKind, ...] = get_args(NodeKind)
EDGE_KINDS: tuple[EdgeKind, ...] = get_args(EdgeKind)
MARKER_CATEGORIES: tuple[MarkerCategory, ...] = get_args(MarkerCategory)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One thing in the repository.

    `line`/`end_line` span the definition, decorators included; both None for files and whole docs.
    `name` is the last part of the qualified name (or the path of a file, the title of a doc).
    `doc` is the first line of the docstring or doc comment. `number`, `title`, `status` are set for ADRs.
    """

    key: str
    kind: NodeKind
    name: str
    path: str
    line: int | None = None
    end_line: int | None = None
    lang: str | None = None
    signature: str | None = None
    doc: str | None = None
    number: int | None = None
    title: str | None = None
    status: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One relation; there is one edge per (source, target, kind).

    `path`/`line` are the place of its first occurrence and `sites` how often it occurs.
    `confidence` is in (0, 1) for `inferred` edges and None for the others.
    """

    source: str
    target: str
    kind: EdgeKind
    provenance: Provenance
    path: str
    line: int
    confidence: float | None = None
    sites: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """One debt finding. `symbol` is the key of its innermost enclosing symbol, None at file level."""

    key: str
    category: MarkerCategory
    text: str
    path: str
    line: int
    symbol: str | None = None
