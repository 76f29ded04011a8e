"""The networkx view: what it reads, and the connections it finds."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roteiro.graph.view import (
    GraphView,
    LatestView,
    Link,
    Route,
    best_kind,
    graphml_lines,
    kind_bits,
    node_link,
)


class Links:
    """A source that counts what is read from it."""

    def __init__(self, links: Iterable[Link]) -> None:
        self.links = list(links)
        self.asked: list[int] = []

    def links_of(self, ids: Collection[int]) -> list[Link]:
        self.asked += ids
        return [link for link in self.links if link[0] in ids or link[1] in ids]

    def all_links(self) -> list[Link]:
        return self.links


def chain(length: int) -> list[Link]:
    return [(at, at + 1, "calls") for at in range(length)]


def test_a_search_reads_only_what_it_reaches() -> None:
    source = Links([*chain(4), *((100 + at, 101 + at, "calls") for at in range(50))])
    view = GraphView(source)
    assert view.route(0, 4, max_depth=12).layers == ((0,), (1,), (2,), (3,), (4,))
    assert max(source.asked) < 100
    assert len(source.asked) == len(set(source.asked))


def test_a_filled_view_asks_no_more() -> None:
    source = Links(chain(4))
    view = GraphView(source)
    view.fill()
    assert len(view.route(0, 4, max_depth=0).layers) == 5
    assert source.asked == []
    assert repr(view) == "<GraphView 5 nodes, 4 edges, whole>"


@pytest.mark.parametrize(
    ("max_depth", "expected"),
    [(3, Route()), (4, 5), (0, 5)],
)
def test_a_bound_on_depth_is_told_apart_from_no_connection(max_depth: int, expected: object) -> None:
    route = GraphView(Links(chain(4))).route(0, 4, max_depth=max_depth)
    assert (len(route.layers) or route) == expected


def test_no_connection_is_exhausted() -> None:
    assert GraphView(Links(chain(2))).route(0, 9, max_depth=1) == Route(exhausted=True)


def test_direction_matters_only_when_asked() -> None:
    view = GraphView(Links(chain(2)))
    assert view.route(2, 0, max_depth=9).layers == ((2,), (1,), (0,))
    assert view.route(2, 0, max_depth=9, directed=True).exhausted
    assert view.route(0, 2, max_depth=9, directed=True).layers == ((0,), (1,), (2,))


def test_a_node_to_itself_has_no_steps() -> None:
    assert GraphView(Links([])).route(3, 3, max_depth=12).layers == ((3,),)


def test_kinds_limit_the_walk() -> None:
    view = GraphView(Links([(0, 1, "imports"), (1, 2, "calls"), (0, 2, "contains")]))
    assert view.route(0, 2, max_depth=9, kinds=kind_bits(["imports", "calls"])).layers[1] == (1,)
    assert view.route(0, 2, max_depth=9, kinds=kind_bits(["calls"])).exhausted


def test_of_equally_short_connections_the_telling_one_wins() -> None:
    shared_folder: list[Link] = [(5, 0, "contains"), (5, 9, "contains")]
    view = GraphView(Links([*shared_folder, (0, 7, "calls"), (7, 9, "calls")]))
    assert view.route(0, 9, max_depth=12).layers == ((0,), (7,), (9,))


def test_equal_connections_are_all_offered() -> None:
    view = GraphView(Links([(0, 1, "calls"), (0, 2, "calls"), (1, 3, "calls"), (2, 3, "calls")]))
    route = view.route(0, 3, max_depth=12)
    assert route.layers == ((0,), (1, 2), (3,))
    assert sorted(route.links[2, 3]) == [1, 2]


def test_two_kinds_between_two_nodes_are_one_edge() -> None:
    view = GraphView(Links([(0, 1, "contains"), (0, 1, "calls"), (2, 3, "contains")]))
    view.fill()
    (ahead,) = view.adjacent(0, forward=True, backward=False)
    assert {other: data["kinds"] for other, data in ahead.items()} == {1: kind_bits(["contains", "calls"])}
    assert best_kind(kind_bits(["contains", "calls"])) == "calls"
    (behind,) = view.adjacent(3, forward=False, backward=True)
    assert {other: data["kinds"] for other, data in behind.items()} == {2: kind_bits(["contains"])}
    assert view.adjacent(77, forward=True, backward=True) == []


def test_a_dense_graph_is_searched_in_a_moment() -> None:
    links: list[Link] = [(a, b, "calls") for a, b in itertools.permutations(range(300), 2)]
    view = GraphView(Links([*links, (300, 301, "calls")]))
    view.fill()
    assert len(view.route(0, 299, max_depth=12).layers) == 2
    assert view.route(0, 301, max_depth=12).exhausted


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=30),
    st.integers(0, 8),
    st.integers(0, 8),
    st.booleans(),
)
def test_the_length_is_that_of_a_plain_search(
    pairs: list[tuple[int, int]], start: int, end: int, directed: bool
) -> None:
    """A breadth-first search by the book is the oracle, and every offered step exists."""
    links: list[Link] = [(a, b, "calls") for a, b in pairs]
    steps = {(a, b) for a, b in pairs} | (set() if directed else {(b, a) for a, b in pairs})
    reached, frontier = {start: 0}, [start]
    for number in frontier:
        for a, b in sorted(steps):
            if a == number and b not in reached:
                reached[b] = reached[number] + 1
                frontier.append(b)
    route = GraphView(Links(links)).route(start, end, max_depth=0, directed=directed)
    assert (len(route.layers) - 1 if route.layers else None) == reached.get(end)
    for depth in range(1, len(route.layers)):
        for number in route.layers[depth]:
            assert all((before, number) in steps for before in route.links[depth, number])


def test_a_kept_view_is_filled_once_a_generation() -> None:
    source = Links(chain(2))
    latest = LatestView(source)
    first = latest.of("1")
    assert latest.of("1") is first
    source.links = chain(5)
    assert repr(latest.of("2")) == "<GraphView 6 nodes, 5 edges, whole>"
    assert repr(first) == "<GraphView 3 nodes, 2 edges, whole>"


def test_documents_keep_parallel_edges_and_leave_out_unknowns_in_graphml() -> None:
    nodes = [{"id": "a", "kind": "fn", "doc": None}, {"id": "b", "kind": "fn", "doc": "B & b"}]
    edges = [
        {"source": "a", "target": "b", "kind": kind, "confidence": None, "sites": 1}
        for kind in ("calls", "references")
    ]
    document = node_link(nodes, edges)
    assert document["nodes"][0] == {"id": "a", "kind": "fn", "doc": None}
    assert [edge["kind"] for edge in document["edges"]] == ["calls", "references"]
    text = "\n".join(graphml_lines(nodes, edges))
    assert "B &amp; b" in text
    assert text.count("<edge ") == 2
