"""A real graph store with rows of the test's own: no sync, no parser.

`build_graph(root, files=..., nodes=..., edges=..., markers=...)` writes the files and a `graph.db`
beside them. Features: every read of `GraphStore`, the search index filled by `index_text`, spans of
inner definitions left out of a body as sync does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from roteiro.graph.model import Edge, Marker, Node
from roteiro.graph.store import GraphStore
from roteiro.graph.store.database import create
from roteiro.graph.store.schema import INDEXES, KIND_NUMBER, PROVENANCE_NUMBER, TABLES
from roteiro.graph.words import index_text


def build_graph(
    root: Path,
    *,
    files: Mapping[str, str],
    nodes: Iterable[Node],
    edges: Iterable[Edge] = (),
    markers: Iterable[Marker] = (),
) -> GraphStore:
    """A store under `root/.roteiro` that holds what is given; every file gets its `file:` node."""
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    store_path = root / ".roteiro" / "graph.db"
    store_path.parent.mkdir(parents=True, exist_ok=True)
    database = create(store_path)
    database.executescript(TABLES)
    database.execute("INSERT INTO meta VALUES ('generation', '1')")
    numbers = {path: number for number, path in enumerate(files, 1)}
    for path, number in numbers.items():
        length, size = files[path].count("\n"), len(files[path].encode())
        database.execute(
            "INSERT INTO files (id, path, state, lang, lines, hash, size, mtime, ctime, extractor)"
            " VALUES (?, ?, 'indexed', 'python', ?, x'', ?, -1, 0, '')",
            (number, path, length, size),
        )
    listed = [file_node(path) for path in files] + list(nodes)
    ids = {node.key: number for number, node in enumerate(listed, 1)}
    lines = {path: text.splitlines() for path, text in files.items()}
    spans: dict[str, list[tuple[int, int]]] = {path: [] for path in files}
    for node in listed:
        if node.line is not None and node.kind != "marker":
            spans[node.path].append((node.line, node.end_line or node.line))
    for node in listed:
        database.execute(
            "INSERT INTO nodes (id, key, kind, name, file, line, end_line, lang, signature, doc,"
            " number, title, status) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                ids[node.key], node.key, node.kind, node.name, numbers[node.path], node.line,
                node.end_line, node.lang, node.signature, node.doc, node.number, node.title,
                node.status,
            ),
        )  # fmt: skip
        inner = [span for span in spans[node.path] if _inside(span, node)]
        text = index_text(node, lines[node.path], inner=inner)
        values = (text.name, text.parts, text.path, text.signature, text.doc, text.body)
        database.execute(
            "INSERT INTO search (rowid, name, parts, path, signature, doc, body) VALUES (?,?,?,?,?,?,?)",
            (ids[node.key], *values),
        )
    for edge in edges:
        database.execute(
            "INSERT INTO edges (source, target, kind, owner, line, sites, provenance, confidence)"
            " VALUES (?,?,?,?,?,?,?,?)",
            (
                ids[edge.source], ids[edge.target], KIND_NUMBER[edge.kind], numbers[edge.path],
                edge.line, edge.sites, PROVENANCE_NUMBER[edge.provenance], edge.confidence,
            ),
        )  # fmt: skip
    for marker in markers:
        values = (numbers[marker.path], marker.line, marker.key, marker.category, marker.text)
        database.execute(
            "INSERT INTO markers (file, line, key, category, text, symbol) VALUES (?,?,?,?,?,?)",
            (*values, marker.symbol),
        )
    database.executescript(INDEXES)
    database.close()
    return GraphStore(root, store_path)


def file_node(path: str) -> Node:
    """The node of a file."""
    return Node(key=f"file:{path}", kind="file", name=path, path=path, lang="python")


def symbol(
    path: str,
    qualified: str,
    kind: str = "fn",
    lines: tuple[int, int] = (1, 1),
    *,
    signature: str | None = None,
    doc: str | None = None,
) -> Node:
    """A Python symbol with the key that an extractor gives it."""
    return Node(
        key=key(path, qualified), kind=kind, name=qualified.rpartition(".")[2], path=path,
        line=lines[0], end_line=lines[1], lang="python", signature=signature, doc=doc,
    )  # type: ignore[arg-type]  # fmt: skip


def key(path: str, qualified: str) -> str:
    """The key of a Python symbol."""
    return f"sym:python:{path}#{qualified}"


def edge(source: str, target: str, kind: str = "calls", at: str = "a.py:1", **more: object) -> Edge:
    """A derived edge at `path:line` unless told otherwise."""
    path, _, line = at.rpartition(":")
    values: dict[str, object] = {"provenance": "derived", **more}
    return Edge(source=source, target=target, kind=kind, path=path, line=int(line), **values)  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------------


def _inside(span: tuple[int, int], node: Node) -> bool:
    if node.line is None:
        return node.kind == "file"
    whole = (node.line, node.end_line or node.line)
    return span != whole and whole[0] <= span[0] and span[1] <= whole[1]
