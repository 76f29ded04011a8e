"""`explain`: what a node is, what it is connected to, and the decisions and debt near it.

An edge that is not here may still exist: dynamic calls leave no trace. So an empty list means "none
found", and no renderer may call a symbol unused. Thread: any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from roteiro.errors import AmbiguousName
from roteiro.graph.model import EDGE_KINDS, EdgeKind, Marker, Node
from roteiro.graph.queries.names import resolve_name
from roteiro.graph.queries.pages import checked_choices, checked_page, page
from roteiro.graph.queries.shapes import EdgeEnd, Json, envelope, marker_json, node_json
from roteiro.graph.store import GraphStore, NumberedEdge

DEFAULT_LIMIT = 50
MARKERS_SHOWN = 50

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
    outgoing_by_kind: dict[str, int]
    incoming: tuple[EdgeEnd, ...]
    incoming_total: int
    incoming_by_kind: dict[str, int]
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
    """The answer to a name that several nodes bear."""

    name: str
    nodes: tuple[Node, ...]

    def to_json(self) -> Json:
        """The promised shape."""
        return envelope(name=self.name, ambiguous=[node_json(node) for node in self.nodes])


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
        node = resolve_name(store, name)
        number = store.node_ids([node.key])[node.key]
        leaving = _of_kinds(store.ends(number, incoming=False), wanted)
        arriving = _of_kinds(store.ends(number, incoming=True), wanted)
        markers = _markers_near(store, node)
        return Explanation(
            node=node,
            outgoing=_shown(store, leaving, incoming=False, limit=limit, offset=offset),
            outgoing_total=len(leaving),
            outgoing_by_kind=_by_kind(leaving),
            incoming=_shown(store, arriving, incoming=True, limit=limit, offset=offset),
            incoming_total=len(arriving),
            incoming_by_kind=_by_kind(arriving),
            markers=tuple(markers[:MARKERS_SHOWN]),
            markers_total=len(markers),
            decisions=_decisions_near(store, node, [*leaving, *arriving]),
        )


def candidates(store: GraphStore, error: AmbiguousName) -> Candidates:
    """The nodes behind an ambiguous name, in the order of their keys."""
    nodes = store.nodes(list(store.node_ids(error.keys).values()))
    return Candidates(name=error.name, nodes=tuple(sorted(nodes.values(), key=lambda node: node.key)))


# --------------------------------------------------------------------------------------------------


def _of_kinds(edges: Sequence[NumberedEdge], kinds: Collection[EdgeKind]) -> list[NumberedEdge]:
    return [edge for edge in edges if not kinds or edge.kind in kinds]


def _by_kind(edges: Sequence[NumberedEdge]) -> dict[str, int]:
    counted = Counter(edge.kind for edge in edges)
    return {kind: counted[kind] for kind in KIND_ORDER if counted[kind]}


def _shown(
    store: GraphStore, edges: Sequence[NumberedEdge], *, incoming: bool, limit: int, offset: int
) -> tuple[EdgeEnd, ...]:
    """One page of edges: chosen in turns, then listed kind by kind and by place."""
    chosen = page(_in_turns(edges, incoming=incoming), limit=limit, offset=offset)
    others = store.nodes([edge.source if incoming else edge.target for edge in chosen])
    ends = [
        EdgeEnd(
            kind=edge.kind,
            provenance=edge.provenance,
            confidence=edge.confidence,
            node=others[edge.source if incoming else edge.target],
            path=edge.path,
            line=edge.line,
            sites=edge.sites,
        )
        for edge in chosen
    ]
    ends.sort(key=lambda end: (KIND_ORDER.index(end.kind), end.path, end.line, end.node.key))
    return tuple(ends)


def _in_turns(edges: Sequence[NumberedEdge], *, incoming: bool) -> list[NumberedEdge]:
    """Ten of each kind, then ten more of each: what is certain and near the top of files first."""
    other = 0 if incoming else 1
    ordered = sorted(
        edges, key=lambda e: (KIND_ORDER.index(e.kind), e.confidence is not None, e.path, e.line, e[other])
    )
    seen: Counter[str] = Counter()
    turns: list[tuple[int, int, NumberedEdge]] = []
    for at, edge in enumerate(ordered):
        turns.append((seen[edge.kind] // _TURN, at, edge))
        seen[edge.kind] += 1
    return [edge for _, _, edge in sorted(turns, key=lambda turn: turn[:2])]


def _markers_near(store: GraphStore, node: Node) -> list[Marker]:
    """Markers in the node: on it, on what it holds, or anywhere in a file."""
    found = store.markers(path=node.path)
    if node.line is None:
        return found
    last = node.end_line or node.line
    return [marker for marker in found if node.line <= marker.line <= last or marker.symbol == node.key]


def _decisions_near(store: GraphStore, node: Node, edges: Sequence[NumberedEdge]) -> tuple[Node, ...]:
    """ADRs with an edge to or from the node, its file, or a symbol around it."""
    around = store.node_ids([f"file:{node.path}", *_enclosing(node.key)])
    nearby = [
        edge
        for number in around.values()
        for incoming in (False, True)
        for edge in store.ends(number, incoming=incoming)
        if edge.kind in ("authored_by", "references")
    ]
    numbers = {number for edge in [*edges, *nearby] for number in edge[:2]}
    if not numbers:
        return ()
    decided = store.ids_of_kinds(["adr", "adr_section"])
    found = [other for other in store.nodes(numbers & decided).values() if other.key != node.key]
    return tuple(sorted(found, key=lambda other: other.key))


def _enclosing(key: str) -> list[str]:
    """Keys of the symbols around one: `A.b.c` lies in `A.b` and `A`."""
    path, _, qualified = key.partition("#")
    parts = qualified.split(".")
    return [f"{path}#{'.'.join(parts[:at])}" for at in range(1, len(parts))]
