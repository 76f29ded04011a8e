"""The graph as networkx sees it: nodes by number, one edge object per pair, filled as far as asked.

The only door to networkx. A question from the terminal touches a few hundred nodes, so a view reads the
adjacency of what a search reaches and no more, into plain dicts of networkx's form (its import costs
0.25 s); a server fills a networkx graph once (`fill`) and keeps it for one generation of the store. It
knows no keys, no places and no SQL: those stay in the store. Thread: one at a time (the caller's).
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from roteiro.graph.model import EDGE_KINDS, EdgeKind

if TYPE_CHECKING:
    import networkx as nx

    IntGraph: TypeAlias = "nx.DiGraph[int]"

Link: TypeAlias = tuple[int, int, EdgeKind]

_BIT: dict[str, int] = {kind: 1 << at for at, kind in enumerate(EDGE_KINDS)}
ALL_KINDS = (1 << len(EDGE_KINDS)) - 1
# Among connections of equal length the one that says most: a call tells more than a shared folder.
_COST: dict[str, int] = {
    "calls": 2, "inherits": 2, "supersedes": 2, "references": 3, "authored_by": 3, "related": 4,
    "imports": 4, "defines": 6, "contains": 6,
}  # fmt: skip


class LinkSource(Protocol):
    """Where a view reads from; the store is one."""

    def links_of(self, ids: Collection[int]) -> Iterable[Link]:
        """Every edge that starts or ends at one of the nodes."""

    def all_links(self) -> Iterable[Link]:
        """Every edge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What a search for a connection found.

    `layers` are the nodes of the best shortest connections, step by step from the start, and `links`
    says which of a layer's nodes precede a node of the next; the caller picks one by name.
    `exhausted` tells that there is no connection at all, whatever the depth.
    """

    layers: tuple[tuple[int, ...], ...] = ()
    links: Mapping[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    exhausted: bool = False


class GraphView:
    """A directed graph over node numbers, read from a `LinkSource` where it is looked at."""

    def __init__(self, source: LinkSource) -> None:
        self._source = source
        self._shared = _Shared()
        self._graph: _Part | IntGraph = _Part(self._shared)
        self._known: set[int] = set()
        self._full = False

    def __repr__(self) -> str:
        state = "whole" if self._full else f"{len(self._known)} expanded"
        nodes, edges = self._graph.number_of_nodes(), self._graph.number_of_edges()
        return f"<GraphView {nodes} nodes, {edges} edges, {state}>"

    def fill(self) -> None:
        """Read every edge now, so that no later question waits for the store."""
        if not self._full:
            graph = _empty_graph(self._shared)
            # networkx asks for an edge's dict after it drew the pair: `_pairs` says which one is next.
            graph.add_edges_from(self._pairs(graph, self._source.all_links()))
            self._graph = graph
            self._full = True

    def expand(self, ids: Collection[int]) -> None:
        """Make sure that the edges of these nodes are in the view."""
        if self._full:
            return
        missing = [number for number in ids if number not in self._known]
        if missing and isinstance(self._graph, _Part):
            self._graph.add(self._source.links_of(missing))
            self._known.update(missing)

    def adjacent(
        self, number: int, *, forward: bool, backward: bool
    ) -> list[Mapping[int, Mapping[str, int]]]:
        """The neighbours of an expanded node along and against its edges, each with their kinds."""
        if number not in self._graph:
            return []
        # The dicts themselves: networkx's views of them walk in Python, five times slower.
        found: list[Any] = [vars(self._graph)["_succ"][number]] if forward else []
        return [*found, vars(self._graph)["_pred"][number]] if backward else found

    def route(
        self, start: int, end: int, *, max_depth: int, kinds: int = ALL_KINDS, directed: bool = False
    ) -> Route:
        """The shortest connections of two nodes that say most, searched from both ends.

        Args:
            start: where the connection begins.
            end: where it ends.
            max_depth: the most steps it may have; 0 is any number.
            kinds: the edges that may be walked, see `kind_bits`.
            directed: walk edges only from source to target.
        """
        if start == end:
            return Route(layers=((start,),))
        ahead = _Side(self, start, kinds, forward=True, backward=not directed)
        behind = _Side(self, end, kinds, forward=not directed, backward=True)
        while ahead.frontier and behind.frontier:
            smaller, other = sorted((ahead, behind), key=self._width)
            smaller.advance(other.frontier)
            if not smaller.frontier.keys().isdisjoint(other.frontier):
                steps = ahead.depth + behind.depth
                return _join(ahead, behind) if steps <= max_depth or not max_depth else Route()
        return Route(exhausted=True)

    def _width(self, side: _Side) -> int:
        """How much work the next layer of a side is; what is not read yet counts as one each."""
        if isinstance(self._graph, _Part):
            return len(side.frontier)
        return sum(self._graph.degree(number) for number in side.frontier if number in self._graph)

    def _pairs(self, graph: IntGraph, links: Iterable[Link]) -> Iterator[tuple[int, int]]:
        shared = self._shared
        for source, target, kind in links:
            data = graph.get_edge_data(source, target)
            shared.bits = _BIT[kind]
            if data is not None:
                shared.bits |= data["kinds"]
                if shared.bits == data["kinds"]:
                    continue
                graph.remove_edge(source, target)
            yield source, target


class LatestView:
    """A whole view for a process that stays: filled once per generation, shared by its threads.

    Args:
        source: where views read from.
    """

    def __init__(self, source: LinkSource) -> None:
        self._source = source
        self._guard = threading.Lock()
        self._generation: str | None = None
        self._view: GraphView | None = None

    def of(self, generation: str) -> GraphView:
        """The view of a generation; nothing is added to it any more, so threads may share it."""
        with self._guard:
            if self._view is None or self._generation != generation:
                # The former is let go first: two of them would take twice the memory.
                self._view = None
                view = GraphView(self._source)
                view.fill()
                self._view, self._generation = view, generation
            return self._view


def kind_bits(kinds: Collection[EdgeKind]) -> int:
    """A set of edge kinds as bits; an empty one is every kind."""
    return sum(_BIT[kind] for kind in set(kinds)) or ALL_KINDS


def best_kind(bits: int) -> EdgeKind:
    """Of several kinds between two nodes the one that says most."""
    return min((kind for kind in EDGE_KINDS if bits & _BIT[kind]), key=lambda kind: _COST[kind])


def node_link(nodes: Iterable[Mapping[str, Any]], edges: Iterable[Mapping[str, Any]]) -> Any:
    """The node-link document of networkx (`edges="edges"`).

    Args:
        nodes: mappings with an `id` and whatever else a node has.
        edges: mappings with `source`, `target`, `kind` and whatever else an edge has.
    """
    import networkx as nx

    return nx.node_link_data(_multi_graph(nodes, edges), edges="edges")


def graphml_lines(nodes: Iterable[Mapping[str, Any]], edges: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A GraphML document, line by line; what is unknown (None) is left out, as the format wants."""
    import networkx as nx

    yield from nx.generate_graphml(_multi_graph(map(_present, nodes), map(_present, edges)))


# --------------------------------------------------------------------------------------------------


class _Shared:
    """One attribute dict per combination of kinds: 400,000 edges would hold 90 MB of them else."""

    def __init__(self) -> None:
        self.bits = 0
        self._dicts: dict[int, dict[str, Any]] = {}
        self.nothing: dict[str, Any] = {}

    def edge(self) -> dict[str, Any]:
        return self._dicts.setdefault(self.bits, {"kinds": self.bits})

    def node(self) -> dict[str, Any]:
        return self.nothing


class _Part:
    """The adjacency of what was read, in the form that networkx has it, without its import."""

    def __init__(self, shared: _Shared) -> None:
        self._shared = shared
        self._succ: dict[int, dict[int, dict[str, Any]]] = {}
        self._pred: dict[int, dict[int, dict[str, Any]]] = {}

    def __contains__(self, number: int) -> bool:
        return number in self._succ

    def number_of_nodes(self) -> int:
        return len(self._succ)

    def number_of_edges(self) -> int:
        return sum(map(len, self._succ.values()))

    def add(self, links: Iterable[Link]) -> None:
        succ, pred, shared = self._succ, self._pred, self._shared
        for source, target, kind in links:
            for number in (source, target):
                if number not in succ:
                    succ[number], pred[number] = {}, {}
            known = succ[source].get(target)
            shared.bits = _BIT[kind] | (known["kinds"] if known is not None else 0)
            succ[source][target] = pred[target][source] = shared.edge()


def _empty_graph(shared: _Shared) -> IntGraph:
    import networkx as nx

    graph: IntGraph = nx.DiGraph()
    # The documented way to share attribute dicts, on this graph alone and not on a class of our own.
    vars(graph).update(edge_attr_dict_factory=shared.edge, node_attr_dict_factory=shared.node)
    return graph


def _multi_graph(nodes: Iterable[Mapping[str, Any]], edges: Iterable[Mapping[str, Any]]) -> Any:
    import networkx as nx

    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for node in nodes:
        graph.add_node(node["id"], **{key: value for key, value in node.items() if key != "id"})
    for edge in edges:
        ends = ("source", "target")
        rest = {key: value for key, value in edge.items() if key not in ends}
        graph.add_edge(edge["source"], edge["target"], key=edge["kind"], **rest)
    return graph


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


class _Side:
    """One end of a two-ended search: whole layers at a time, with every equally good predecessor."""

    def __init__(self, view: GraphView, origin: int, kinds: int, *, forward: bool, backward: bool) -> None:
        self._view = view
        self._kinds = kinds
        self._forward = forward
        self._backward = backward
        self.depth = 0
        self.frontier: dict[int, int] = {origin: 0}
        self._seen = {origin}
        self.parents: dict[int, list[int]] = {origin: []}

    def advance(self, goal: Mapping[int, int]) -> None:
        """Take the next layer: its nodes, the least cost to reach them, and from where.

        Once a node of the goal is next to this layer, every shortest connection ends in the goal,
        so nothing else is looked at; the test is a set operation and spares walking a hub's edges.
        """
        self._view.expand(self.frontier)
        reached = self._reach(goal) or self._reach(None)
        self._seen.update(reached)
        self.frontier = reached
        self.depth += 1

    def _reach(self, goal: Mapping[int, int] | None) -> dict[int, int]:
        reached: dict[int, int] = {}
        kinds, seen, parents = self._kinds, self._seen, self.parents
        for number, cost in self.frontier.items():
            for adjacency in self._view.adjacent(number, forward=self._forward, backward=self._backward):
                others = adjacency if goal is None else adjacency.keys() & goal.keys()
                for other in others:
                    bits = adjacency[other]["kinds"] & kinds
                    if not bits or other in seen:
                        continue
                    total = cost + _COST_OF[bits]
                    known = reached.get(other)
                    if known is None or total < known:
                        reached[other] = total
                        parents[other] = [number]
                    elif total == known and parents[other][-1] != number:
                        parents[other].append(number)
        return reached


_COST_OF = [0] + [_COST[best_kind(bits)] for bits in range(1, ALL_KINDS + 1)]


def _join(ahead: _Side, behind: _Side) -> Route:
    """The layers of every best connection through the nodes where the two sides met."""
    meeting = ahead.frontier.keys() & behind.frontier.keys()
    costs = {number: ahead.frontier[number] + behind.frontier[number] for number in meeting}
    best = min(costs.values())
    middle = sorted(number for number, cost in costs.items() if cost == best)
    links: dict[tuple[int, int], tuple[int, ...]] = {}
    layers = [tuple(middle)]
    for depth in range(ahead.depth, 0, -1):
        for number in layers[0]:
            links[depth, number] = tuple(ahead.parents[number])
        layers.insert(0, tuple(sorted({p for number in layers[0] for p in ahead.parents[number]})))
    for depth in range(ahead.depth, ahead.depth + behind.depth):
        following: dict[int, list[int]] = {}
        for number in layers[-1]:
            for parent in behind.parents[number]:
                following.setdefault(parent, []).append(number)
        links.update({(depth + 1, number): tuple(before) for number, before in following.items()})
        layers.append(tuple(sorted(following)))
    return Route(layers=tuple(layers), links=links)
