"""`export`: the whole graph as node-link JSON, GraphML or DOT, in the order of the keys. Thread: any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal, TypeAlias, get_args

from roteiro.graph.queries.pages import checked_choice
from roteiro.graph.queries.shapes import Json, envelope, node_json
from roteiro.graph.store import GraphStore
from roteiro.graph.view import graphml_lines, node_link

Format: TypeAlias = Literal["json", "graphml", "dot"]
FORMATS: tuple[Format, ...] = get_args(Format)


def export(store: GraphStore, file_format: str = "json", *, stale: bool = False) -> Iterator[str]:
    """The graph as text, in pieces that may be written one after the other.

    Args:
        store: the graph.
        file_format: `json` (networkx reads it with `node_link_graph(data, edges="edges")`), `graphml`
            or `dot` (Graphviz).
        stale: what the JSON says of the graph's freshness.

    Raises:
        UsageError: an unknown format.
    """
    checked_choice(file_format, FORMATS, what="format")
    with store.snapshot():
        nodes, edges = _rows(store)
    if file_format == "graphml":
        yield from (f"{line}\n" for line in graphml_lines(nodes, edges))
    elif file_format == "dot":
        yield from _dot(nodes, edges)
    else:
        document = envelope(stale=stale, **node_link(nodes, edges))
        yield from json.JSONEncoder(ensure_ascii=False).iterencode(document)
        yield "\n"


# --------------------------------------------------------------------------------------------------


def _rows(store: GraphStore) -> tuple[list[Json], list[Json]]:
    found = dict(store.all_nodes())
    nodes = [{"id": node.key, **node_json(node)} for node in found.values()]
    edges = [
        {
            "source": found[edge.source].key,
            "target": found[edge.target].key,
            "kind": edge.kind,
            "provenance": edge.provenance,
            "confidence": edge.confidence,
            "path": edge.path,
            "line": edge.line,
            "sites": edge.sites,
        }
        for edge in store.all_edges()
    ]
    nodes.sort(key=lambda node: node["id"])
    edges.sort(key=lambda edge: (edge["source"], edge["target"], edge["kind"]))
    return nodes, edges


def _dot(nodes: list[Json], edges: list[Json]) -> Iterator[str]:
    yield "digraph roteiro {\n"
    for node in nodes:
        yield f"  {_quoted(node['id'])} [label={_quoted(node['name'])}, kind={_quoted(node['kind'])}];\n"
    for edge in edges:
        style = ", style=dashed" if edge["provenance"] == "inferred" else ""
        ends = f"{_quoted(edge['source'])} -> {_quoted(edge['target'])}"
        yield f"  {ends} [label={_quoted(edge['kind'])}{style}];\n"
    yield "}\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
