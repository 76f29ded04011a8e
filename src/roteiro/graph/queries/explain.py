"""`explain`: what a node is, what it is connected to, and the decisions and debt near it.

An edge that is not here may still exist: dynamic calls leave no trace. So an empty list means "none
found", and no renderer may call a symbol unused. Thread: any.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from roteiro.errors import AmbiguousName
from roteiro.graph.model import EDGE_KINDS, EdgeKind, Marker, Node
from roteiro.graph.queries.marked import find_marker, holder, marker_node
from roteiro.graph.queries.names import resolve_name
from roteiro.graph.queries.pages import checked_choices, checked_page
from roteiro.graph.queries.shapes import EdgeEnd, Json, envelope, marker_json, node_json
from roteiro.graph.store import GraphStore, NumberedEdge

DEFAULT_LIMIT = 50
MARKERS_SHOWN = 50
CANDIDATES_SHOWN = 50

# The order in which kinds are listed: what a reader asks about first.
KIND_ORDER: tuple[EdgeKind, ...] = (
    "calls",
    "inherits",
    "references",
    "imports",
    "supersedes",
    "authored_by",
    "related",
    "defines",
    "contains",
)
# So many of each kind come before more of the first: 500 callers must not push out the subclasses.
_TURN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A node with a page of its edges each way.

    The totals are of all edges of the kinds asked for; `..._by_kind` says how they divide.
    """

    node: Node
    outgoing: tuple[EdgeEnd, ...]
    outgoing_total: int
    outgoing_by_kind: dict[EdgeKind, int]
    incoming: tuple[EdgeEnd, ...]
    incoming_total: int
    incoming_by_kind: dict[EdgeKind, int]
    markers: tuple[Marker, ...]
    markers_total: int
    decisions: tuple[Node, ...]

    def to_json(self) -> Json:
        """The promised shape."""
        return envelope(
            node=node_json(self.node),
            outgoing=[end.to_json() for end in self.outgoing],
            outgoing_total=self.outgoing_total,
            outgoing_by_kind=self.outgoing_by_kind,
            incoming=[end.to_json() for end in self.incoming],
            incoming_total=self.incoming_total,
            incoming_by_kind=self.incoming_by_kind,
            markers=[marker_json(marker) for marker in self.markers],
            markers_total=self.markers_total,
            decisions=[node_json(node) for node in self.decisions],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The answer to a name that several nodes bear: the first of them, and how many there are."""

    name: str
    total: int
    nodes: tuple[Node, ...]

    def to_json(self) -> Json:
        """The promised shape."""
        return envelope(name=self.name, total=self.total, ambiguous=[node_json(node) for node in self.nodes])


def explain(
    store: GraphStore,
    name: str,
    *,
    kinds: Collection[str] = (),
    limit: int = DEFAULT_LIMIT,
    offset: int = 0,
) -> Explanation:
    """Explain a node.

    Args:
        store: the graph.
        name: its key, or a name that is unique.
        kinds: only edges of these kinds; empty is all.
        limit: the most edges each way; 0 is all.
        offset: how many to leave out each way.

    Raises:
        NodeNotFound: nothing bears the name.
        AmbiguousName: several nodes do; see `candidates`.
        UsageError: an unknown kind or a negative page.
    """
    checked_page(limit, offset)
    wanted = checked_choices(kinds, EDGE_KINDS, what="edge kind")
    with store.snapshot():
        marker = find_marker(store, name.strip())
        if marker is not None:
            return _of_marker(store, marker)
        node = resolve_name(store, name)
        number = store.node_ids([node.key])[node.key]
        leaving = _Direction(store, number, wanted, incoming=False)
        arriving = _Direction(store, number, wanted, incoming=True)
        markers = _markers_near(store, node)
        return Explanation(
            node=node,
            outgoing=leaving.page(limit=limit, offset=offset),
            outgoing_total=sum(leaving.counts.values()),
            outgoing_by_kind=dict(leaving.counts),
            incoming=arriving.page(limit=limit, offset=offset),
            incoming_total=sum(arriving.counts.values()),
            incoming_by_kind=dict(arriving.counts),
            markers=tuple(markers[:MARKERS_SHOWN]),
            markers_total=len(markers),
            decisions=_decisions_near(store, node, number),
        )


def candidates(store: GraphStore, error: AmbiguousName) -> Candidates:
    """The nodes behind an ambiguous name, in the order of their keys."""
    nodes = store.nodes(list(store.node_ids(error.keys[:CANDIDATES_SHOWN]).values()))
    listed = tuple(sorted(nodes.values(), key=lambda node: node.key))
    return Candidates(name=error.name, total=len(error.keys), nodes=listed)


# --------------------------------------------------------------------------------------------------


def _of_marker(store: GraphStore, marker: Marker) -> Explanation:
    """A marker with what it lies in as its one edge."""
    around = holder(store, marker)
    ends: tuple[EdgeEnd, ...] = ()
    if around is not None:
        ends = (
            EdgeEnd(
                kind="contains",
                provenance="derived",
                confidence=None,
                node=around,
                path=marker.path,
                line=marker.line,
                sites=1,
            ),
        )
    return Explanation(
        node=marker_node(marker),
        outgoing=(),
        outgoing_total=0,
        outgoing_by_kind={},
        incoming=ends,
        incoming_total=len(ends),
        incoming_by_kind={"contains": len(ends)} if ends else {},
        markers=(marker,),
        markers_total=1,
        decisions=(),
    )


class _Direction:
    """The edges of a node one way, of which only a page is read."""

    def __init__(
        self, store: GraphStore, number: int, kinds: Collection[EdgeKind], *, incoming: bool
    ) -> None:
        self._store = store
        self._number = number
        self._incoming = incoming
        counted = store.end_counts(number, incoming=incoming)
        self.counts: dict[EdgeKind, int] = {
            kind: counted[kind] for kind in KIND_ORDER if kind in counted and (not kinds or kind in kinds)
        }

    def page(self, *, limit: int, offset: int) -> tuple[EdgeEnd, ...]:
        """One page of edges: chosen in turns, then listed kind by kind and by place."""
        chosen = list(islice(self._in_turns(), offset, offset + limit if limit else None))
        edges: list[NumberedEdge] = []
        for kind in self.counts:
            places = [place for of, place in chosen if of == kind]
            if places:
                first = self._store.ends(self._number, kind, incoming=self._incoming, limit=max(places) + 1)
                edges += [first[place] for place in places]
        return self._ends(edges)

    def _in_turns(self) -> Iterator[tuple[EdgeKind, int]]:
        """Ten of each kind, then ten more of each, as (kind, place among its kind)."""
        for start in range(0, max(self.counts.values(), default=0), _TURN):
            for kind, count in self.counts.items():
                yield from ((kind, place) for place in range(start, min(count, start + _TURN)))

    def _ends(self, edges: Sequence[NumberedEdge]) -> tuple[EdgeEnd, ...]:
        others = self._store.nodes([self._other(edge) for edge in edges])
        ends = [
            EdgeEnd(
                kind=edge.kind,
                provenance=edge.provenance,
                confidence=edge.confidence,
                node=others[self._other(edge)],
                path=edge.path,
                line=edge.line,
                sites=edge.sites,
            )
            for edge in edges
        ]
        ends.sort(key=lambda end: (KIND_ORDER.index(end.kind), end.path, end.line, end.node.key))
        return tuple(ends)

    def _other(self, edge: NumberedEdge) -> int:
        return edge.source if self._incoming else edge.target


def _markers_near(store: GraphStore, node: Node) -> list[Marker]:
    """Markers in the node: on it, on what it holds, or anywhere in a file."""
    found = store.markers(path=node.path)
    if node.line is None:
        return found
    last = node.end_line or node.line
    return [marker for marker in found if node.line <= marker.line <= last or marker.symbol == node.key]


def _decisions_near(store: GraphStore, node: Node, number: int) -> tuple[Node, ...]:
    """ADRs that people connected with the node, its file, or a symbol around it."""
    around = store.node_ids([f"file:{node.path}", *_enclosing(node.key)])
    decided = store.decisions_at([number, *around.values()]) - {number}
    return tuple(sorted(store.nodes(decided).values(), key=lambda other: other.key))


def _enclosing(key: str) -> list[str]:
    """Keys of the symbols around one: `A.b.c` lies in `A.b` and `A`."""
    path, _, qualified = key.partition("#")
    parts = qualified.split(".")
    return [f"{path}#{'.'.join(parts[:at])}" for at in range(1, len(parts))]
