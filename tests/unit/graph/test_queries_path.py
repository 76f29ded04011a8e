"""How two nodes are connected, said step by step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes import sample_graph as s
from fakes.graph_store import build_graph, edge, key, symbol
from roteiro.errors import NodeNotFound, UsageError
from roteiro.graph.queries.path import path
from roteiro.graph.store import GraphStore
from roteiro.graph.view import GraphView


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    with s.sample_graph(tmp_path) as store:
        yield store


def test_each_step_has_kind_provenance_and_place(store: GraphStore) -> None:
    found = path(store, "test_send", "connect", directed=True)
    assert found.reason == "connected"
    assert [(step.kind, step.end, step.path, step.line) for step in found.steps] == [
        ("calls", s.SEND, "tests/test_client.py", 2),
        ("calls", s.HANDLE, "pkg/client.py", 17),
        ("calls", s.CONNECT, "pkg/transport.py", 6),
    ]
    assert [step.confidence for step in found.steps] == [None, 0.5, None]
    assert [node.key for node in found.nodes] == [s.TEST_SEND, s.SEND, s.HANDLE, s.CONNECT]


def test_a_step_against_the_edge_says_so(store: GraphStore) -> None:
    found = path(store, "connect", "Transport.handle")
    assert [(step.start, step.end, step.reversed) for step in found.steps] == [(s.CONNECT, s.HANDLE, True)]
    assert path(store, "connect", "Transport.handle", directed=True).reason == "no_path"


def test_too_far_is_told_apart_from_unconnected(store: GraphStore) -> None:
    assert path(store, "test_send", "connect", directed=True, max_depth=2).reason == "not_within_depth"
    assert path(store, "test_send", "unrelated").reason == "no_path"
    assert not path(store, "test_send", "unrelated").found


def test_a_node_to_itself_is_found_with_no_steps(store: GraphStore) -> None:
    found = path(store, "connect", "connect")
    assert (found.found, found.steps, len(found.nodes)) == (True, (), 1)


def test_kinds_are_kept_to(store: GraphStore) -> None:
    found = path(store, "Client", "mask_secrets", kinds=["contains"])
    assert [step.kind for step in found.steps] == ["contains", "contains"]
    assert path(store, "Client", "mask_secrets", kinds=["calls"]).reason == "no_path"


def test_among_equals_the_smaller_keys_win_whatever_was_stored_first(tmp_path: Path) -> None:
    names = ["start", "way_b", "way_a", "end"]
    edges = [
        edge(key("a.py", one), key("a.py", other))
        for way in ("way_b", "way_a")
        for one, other in (("start", way), (way, "end"))
    ]
    nodes = [symbol("a.py", name) for name in names]
    with build_graph(tmp_path, files={"a.py": "\n"}, nodes=nodes, edges=edges) as store:
        assert path(store, "start", "end").nodes[1].name == "way_a"


def test_a_kept_view_answers_alike(store: GraphStore) -> None:
    view = GraphView(store)
    view.fill()
    assert path(store, "test_send", "connect", view=view) == path(store, "test_send", "connect")


def test_how_one_comes_to_call_the_other_is_told_beside_a_shorter_way(tmp_path: Path) -> None:
    names = ["start", "one", "two", "end", "Shared"]
    k = {name: key("a.py", name) for name in names}
    edges = [
        edge(k["start"], k["one"]),
        edge(k["one"], k["two"], at="a.py:2"),
        edge(k["two"], k["end"], at="a.py:3"),
        edge(k["start"], k["Shared"], "inherits"),
        edge(k["end"], k["Shared"], "inherits"),
    ]
    nodes = [symbol("a.py", name) for name in names]
    with build_graph(tmp_path, files={"a.py": "\n"}, nodes=nodes, edges=edges) as store:
        found = path(store, "start", "end", kinds=["inherits", "calls"])
        assert found.call_chain == ()
        found = path(store, "start", "end")
        assert [node.name for node in found.nodes] == ["start", "Shared", "end"]
        assert [(step.end, step.line) for step in found.call_chain] == [
            (k["one"], 1), (k["two"], 2), (k["end"], 3),
        ]  # fmt: skip
        assert path(store, "end", "start").call_chain == ()


def test_mistakes_are_refused(store: GraphStore) -> None:
    with pytest.raises(UsageError, match="depth is -1"):
        path(store, "Client", "connect", max_depth=-1)
    with pytest.raises(NodeNotFound):
        path(store, "Client", "no_such_thing_at_all")
