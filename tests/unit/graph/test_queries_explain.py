"""What `explain` tells of a node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes import sample_graph as s
from fakes.graph_store import build_graph, edge, key, symbol
from roteiro.errors import AmbiguousName, NodeNotFound, UsageError
from roteiro.graph.queries.explain import candidates, explain
from roteiro.graph.store import GraphStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    with s.sample_graph(tmp_path) as store:
        yield store


def test_edges_come_with_kind_provenance_and_place(store: GraphStore) -> None:
    (end,) = explain(store, "Client.send").outgoing
    assert end.to_json() == {
        "kind": "calls", "provenance": "inferred", "confidence": 0.5, "node": s.HANDLE,
        "name": "handle", "node_kind": "method", "defined_at": "pkg/transport.py:4",
        "path": "pkg/client.py", "line": 17, "sites": 1,
    }  # fmt: skip
    (caller, container) = explain(store, "Client.send").incoming
    assert (caller.node.key, caller.kind) == (s.TEST_SEND, "calls")
    assert (container.node.key, container.kind) == (s.CLIENT_KEY, "contains")


def test_totals_count_kinds(store: GraphStore) -> None:
    found = explain(store, "Client")
    assert found.outgoing_by_kind == {"authored_by": 1, "contains": 3}
    assert found.outgoing_total == 4
    assert found.incoming_by_kind == {"calls": 1, "references": 1, "contains": 1}


def test_kinds_narrow_edges_and_totals(store: GraphStore) -> None:
    found = explain(store, "Client", kinds=["contains"])
    assert (found.outgoing_total, found.incoming_total) == (3, 1)


def test_decisions_reach_members_and_markers_their_container(store: GraphStore) -> None:
    assert [adr.key for adr in explain(store, "Client.send").decisions] == [s.ADR, s.ADR_CONTEXT]
    assert [marker.line for marker in explain(store, "Client").markers] == [16]
    assert [marker.line for marker in explain(store, "pkg/transport.py").markers] == [5, 9]
    assert explain(store, "mask_secrets").markers == ()
    assert explain(store, "unrelated").decisions == ()


def test_a_hub_shows_some_of_every_kind_and_counts_the_rest(tmp_path: Path) -> None:
    """Five hundred callers do not push out the subclasses."""
    names = [f"caller_{number:03}" for number in range(500)]
    nodes = [symbol("a.py", name) for name in ["Hub", "Sub", *names]]
    hub = key("a.py", "Hub")
    edges = [edge(key("a.py", name), hub, "calls", f"a.py:{at}") for at, name in enumerate(names, 1)]
    edges.append(edge(key("a.py", "Sub"), hub, "inherits", "a.py:900"))
    with build_graph(tmp_path, files={"a.py": "\n" * 1000}, nodes=nodes, edges=edges) as store:
        found = explain(store, "Hub")
        assert (len(found.incoming), found.incoming_total) == (50, 501)
        assert "inherits" in {end.kind for end in found.incoming}
        assert len(explain(store, "Hub", limit=0).incoming) == 501
        pages = [explain(store, "Hub", limit=200, offset=at).incoming for at in (0, 200, 400)]
        assert len({end.node.key for page in pages for end in page}) == 501


def test_an_ambiguous_name_lists_the_nodes(store: GraphStore) -> None:
    with pytest.raises(AmbiguousName) as caught:
        explain(store, "close")
    found = candidates(store, caught.value).to_json()
    assert [node["key"] for node in found["ambiguous"]] == [s.CLOSE, s.T_CLOSE]


def test_a_marker_is_explained_by_what_it_lies_in(store: GraphStore) -> None:
    found = explain(store, "marker:pkg/transport.py#5")
    assert (found.node.kind, found.node.line) == ("marker", 5)
    assert [(end.kind, end.node.key) for end in found.incoming] == [("contains", s.HANDLE)]
    with pytest.raises(NodeNotFound):
        explain(store, "marker:pkg/transport.py#6")


def test_unknown_names_and_kinds_are_refused(store: GraphStore) -> None:
    with pytest.raises(NodeNotFound):
        explain(store, "nowhere_to_be_found")
    with pytest.raises(UsageError, match="'call' is no edge kind"):
        explain(store, "Client", kinds=["call"])


def test_what_two_files_state_of_two_decisions_is_one_edge(tmp_path: Path) -> None:
    one, other = symbol("one.md", "new"), symbol("other.md", "old")
    edges = [
        edge(one.key, other.key, "supersedes", "other.md:3", provenance="authored"),
        edge(one.key, other.key, "supersedes", "one.md:2", provenance="authored"),
    ]
    files = {"one.md": "\n\n\n", "other.md": "\n\n\n"}
    with build_graph(tmp_path, files=files, nodes=[one, other], edges=edges) as store:
        found = explain(store, "new")
        assert (found.outgoing_total, found.outgoing_by_kind) == (1, {"supersedes": 1})
        assert [(end.path, end.line, end.sites) for end in found.outgoing] == [("one.md", 2, 2)]
