"""The graph for other programs, and lists of nodes."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

from fakes import sample_graph as s
from fakes.graph_store import build_graph, edge, key, symbol
from roteiro.errors import UsageError
from roteiro.graph.queries.export import export
from roteiro.graph.queries.listing import list_nodes
from roteiro.graph.store import GraphStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    with s.sample_graph(tmp_path) as store:
        yield store


def test_networkx_reads_the_json(store: GraphStore) -> None:
    graph = nx.node_link_graph(json.loads("".join(export(store))), edges="edges")
    assert graph.number_of_nodes() == 17
    assert graph.number_of_edges() == 19
    assert graph.nodes[s.ADR]["title"] == "Use one transport"
    ((_, _, attributes),) = graph.out_edges(s.SEND, data=True)
    assert attributes == {
        "kind": "calls", "provenance": "inferred", "confidence": 0.5, "path": "pkg/client.py",
        "line": 17, "sites": 1,
    }  # fmt: skip


def test_networkx_reads_the_graphml(store: GraphStore) -> None:
    graph = nx.read_graphml(io.BytesIO("".join(export(store, "graphml")).encode()))
    assert graph.number_of_edges() == 19
    assert graph.nodes[s.SEND]["signature"] == "def send(self, request)"


def test_dot_quotes_what_it_must(tmp_path: Path) -> None:
    nodes = [symbol("a.py", "f", signature='def f(x="\\\\")'), symbol("a.py", 'odd"name')]
    edges = [edge(nodes[0].key, nodes[1].key, "calls", provenance="inferred", confidence=0.5)]
    with build_graph(tmp_path, files={"a.py": "\n"}, nodes=nodes, edges=edges) as store:
        text = "".join(export(store, "dot"))
    assert text.startswith("digraph roteiro {\n")
    assert f'"{key("a.py", "f")}" -> "sym:python:a.py#odd\\"name" [label="calls", style=dashed];' in text


def test_the_same_graph_is_the_same_text(store: GraphStore) -> None:
    assert "".join(export(store)) == "".join(export(store))


def test_an_unknown_format_is_refused(store: GraphStore) -> None:
    with pytest.raises(UsageError, match="'yaml' is no format"):
        "".join(export(store, "yaml"))


def test_markers_are_listed_as_nodes(store: GraphStore) -> None:
    found = list_nodes(store, "marker", limit=1, offset=1)
    assert (found.total, found.nodes[0].key) == (3, "marker:pkg/transport.py#5")
    assert (found.nodes[0].name, found.nodes[0].signature) == ("HACK: no pool", "hack")


def test_a_list_has_pages_and_a_total(store: GraphStore) -> None:
    found = list_nodes(store, "method", limit=2, offset=1)
    assert found.total == 5
    assert [node.key for node in found.nodes] == [s.CLOSE, s.SEND]
    assert list_nodes(store, "enum").total == 0
    with pytest.raises(UsageError, match="'thing' is no kind"):
        list_nodes(store, "thing")
