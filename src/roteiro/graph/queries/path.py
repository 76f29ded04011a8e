"""`path`: how two nodes are connected, by the fewest steps, and of those by the most telling ones.

The same graph gives the same path: among equals the smaller keys win. Thread: the view's.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from roteiro.errors import UsageError
from roteiro.graph.model import EDGE_KINDS, EdgeKind, Node, Provenance
from roteiro.graph.queries.explain import KIND_ORDER
from roteiro.graph.queries.names import resolve_name
from roteiro.graph.queries.pages import checked_choices
from roteiro.graph.queries.shapes import Json, envelope, node_json
from roteiro.graph.store import GraphStore
from roteiro.graph.view import GraphView, Route, kind_bits

DEFAULT_MAX_DEPTH = 12
_CALLS: tuple[EdgeKind, ...] = ("calls",)

Reason: TypeAlias = Literal["connected", "no_path", "not_within_depth"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One edge of a path. `reversed` says that it was walked from its target to its source."""

    start: str
    end: str
    kind: EdgeKind
    provenance: Provenance
    confidence: float | None
    reversed: bool
    path: str
    line: int

    def to_json(self) -> Json:
        """The promised fields."""
        return {
            "from": self.start,
            "to": self.end,
            "kind": self.kind,
            "provenance": self.provenance,
            "confidence": self.confidence,
            "reversed": self.reversed,
            "path": self.path,
            "line": self.line,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The answer to "how do these two hang together".

    Two functions are often joined soonest by a type that both use. `call_chain` says beside that how
    the first comes to call the second, where it does and that is another way.
    """

    start: Node
    end: Node
    reason: Reason
    max_depth: int
    steps: tuple[Step, ...]
    nodes: tuple[Node, ...]
    call_chain: tuple[Step, ...] = ()

    @property
    def found(self) -> bool:
        """Whether there is a path within the depth."""
        return self.reason == "connected"

    def to_json(self) -> Json:
        """The promised shape, with the nodes on the way (both ends included) and the call chain."""
        return envelope(
            **{"from": node_json(self.start), "to": node_json(self.end)},
            found=self.found,
            reason=self.reason,
            max_depth=self.max_depth,
            steps=[step.to_json() for step in self.steps],
            nodes=[node_json(node) for node in self.nodes],
            call_chain=[step.to_json() for step in self.call_chain],
        )


def path(
    store: GraphStore,
    start: str,
    end: str,
    *,
    max_depth: int = DEFAULT_MAX_DEPTH,
    kinds: Collection[str] = (),
    directed: bool = False,
    view: GraphView | None = None,
) -> Connection:
    """Find the shortest connection of two nodes.

    Args:
        store: the graph.
        start: a key or unique name.
        end: a key or unique name.
        max_depth: the most steps; 0 is any number.
        kinds: only edges of these kinds; empty is all.
        directed: walk edges only from source to target.
        view: a view kept from an earlier question on the same generation.

    Raises:
        NodeNotFound: nothing bears one of the names.
        AmbiguousName: several nodes bear one of them.
        UsageError: an unknown kind or a negative depth.
    """
    if max_depth < 0:
        raise UsageError(
            f"The depth is {max_depth}; it cannot be negative.",
            hint="A depth of 0 is any number of steps.",
            param="max_depth",
        )
    wanted = checked_choices(kinds, EDGE_KINDS, what="edge kind")
    with store.snapshot():
        first, last = resolve_name(store, start), resolve_name(store, end)
        way = _Way(store, view or GraphView(store), first, last, max_depth)
        route = way.route(wanted, directed=directed)
        nodes, steps = way.walk(route, wanted, directed=directed)
        chain: tuple[Step, ...] = ()
        if steps and not directed and not wanted:
            _, chain = way.walk(way.route(_CALLS, directed=True), _CALLS, directed=True)
        return Connection(
            start=first,
            end=last,
            reason=_reason(route),
            max_depth=max_depth,
            nodes=nodes,
            steps=steps,
            call_chain=chain if chain != steps else (),
        )


# --------------------------------------------------------------------------------------------------


def _reason(route: Route) -> Reason:
    if route.layers:
        return "connected"
    return "no_path" if route.exhausted else "not_within_depth"


@dataclass(frozen=True, slots=True)
class _Way:
    """Two nodes, and what it takes to look for connections of them."""

    store: GraphStore
    view: GraphView
    start: Node
    end: Node
    max_depth: int

    def route(self, kinds: Collection[EdgeKind], *, directed: bool) -> Route:
        numbers = self.store.node_ids([self.start.key, self.end.key])
        return self.view.route(
            numbers[self.start.key],
            numbers[self.end.key],
            max_depth=self.max_depth,
            kinds=kind_bits(kinds),
            directed=directed,
        )

    def walk(
        self, route: Route, kinds: Collection[EdgeKind], *, directed: bool
    ) -> tuple[tuple[Node, ...], tuple[Step, ...]]:
        """Of the equally good ways the one with the smallest keys, read from the end."""
        if not route.layers:
            return (), ()
        known = self.store.nodes([number for layer in route.layers for number in layer])
        numbers = [route.layers[-1][0]]
        for depth in range(len(route.layers) - 1, 0, -1):
            before = route.links[depth, numbers[0]]
            numbers.insert(0, min(before, key=lambda number: known[number].key))
        nodes = tuple(known[number] for number in numbers)
        steps = (_step(self.store, one, other, kinds, directed=directed) for one, other in pairwise(nodes))
        return nodes, tuple(steps)


def _step(store: GraphStore, start: Node, end: Node, kinds: Collection[EdgeKind], *, directed: bool) -> Step:
    """The edge between two neighbours that says most, one that runs our way before one that does not."""
    edges = [(False, edge) for edge in store.edges_between(start.key, end.key)]
    if not directed:
        edges += [(True, edge) for edge in store.edges_between(end.key, start.key)]
    against, edge = min(
        ((against, edge) for against, edge in edges if not kinds or edge.kind in kinds),
        key=lambda item: (KIND_ORDER.index(item[1].kind), item[0]),
    )
    return Step(
        start=start.key,
        end=end.key,
        kind=edge.kind,
        provenance=edge.provenance,
        confidence=edge.confidence,
        reversed=against,
        path=edge.path,
        line=edge.line,
    )
