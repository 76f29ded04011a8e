"""Markers as nodes: a debt finding has a key and a place, and lies in the symbol around it.

The store keeps them in a table of their own, without edges; here they get the shape of a node.
Thread: any.
"""

from __future__ import annotations

from roteiro.graph.model import Marker, Node
from roteiro.graph.store import GraphStore

PREFIX = "marker:"


def marker_node(marker: Marker) -> Node:
    """A marker as a node; its text is its name, its category the first word of what it is."""
    return Node(
        key=marker.key,
        kind="marker",
        name=marker.text,
        path=marker.path,
        line=marker.line,
        end_line=marker.line,
        signature=marker.category,
    )


def find_marker(store: GraphStore, key: str) -> Marker | None:
    """The marker with a key (`marker:<path>#<line>`)."""
    path = key.removeprefix(PREFIX).rpartition("#")[0]
    if path == key:
        return None
    return next((marker for marker in store.markers(path=path) if marker.key == key), None)


def holder(store: GraphStore, marker: Marker) -> Node | None:
    """The symbol that a marker lies in, else its file."""
    found = store.node(marker.symbol) if marker.symbol else None
    return found or store.node(f"file:{marker.path}") or store.node(f"doc:{marker.path}")
