"""`list`: every node of one kind. Thread: any."""

from __future__ import annotations

from dataclasses import dataclass

from roteiro.graph.model import NODE_KINDS, Node, NodeKind
from roteiro.graph.queries.marked import marker_node
from roteiro.graph.queries.pages import checked_choice, checked_page, page
from roteiro.graph.queries.shapes import Json, envelope, node_json
from roteiro.graph.store import GraphStore


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeList:
    """One page of the nodes of a kind; `total` counts them all."""

    kind: NodeKind
    total: int
    nodes: tuple[Node, ...]

    def to_json(self) -> Json:
        """The promised shape."""
        return envelope(kind=self.kind, total=self.total, nodes=[node_json(n) for n in self.nodes])


def list_nodes(store: GraphStore, kind: str, *, limit: int = 0, offset: int = 0) -> NodeList:
    """List the nodes of a kind, by key; markers by path and line.

    Args:
        store: the graph.
        kind: which.
        limit: the most nodes; 0 is all.
        offset: how many to leave out.

    Raises:
        UsageError: an unknown kind or a negative page.
    """
    checked_page(limit, offset)
    wanted = checked_choice(kind, NODE_KINDS, what="kind")
    if wanted == "marker":
        markers = store.markers()
        listed = tuple(map(marker_node, page(markers, limit=limit, offset=offset)))
        return NodeList(kind=wanted, total=len(markers), nodes=listed)
    with store.snapshot():
        total = store.counts().get(f"kind:{wanted}", 0)
        nodes = store.nodes_by_kind(wanted, limit=limit, offset=offset)
    return NodeList(kind=wanted, total=total, nodes=tuple(nodes))
