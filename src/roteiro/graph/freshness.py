"""Whether the tree has moved on since its graph was made.

Looks at the listing, sizes and times, and reads only files whose numbers leave doubt. Thread: any.
"""

from __future__ import annotations

from roteiro.graph.compare import differs
from roteiro.graph.roots import find_root
from roteiro.graph.scan import list_files
from roteiro.graph.store import GraphStore


def is_stale(store: GraphStore) -> bool:
    """Whether a sync would change the graph."""
    root = find_root(store.root, force=True)
    return differs(root.path, list_files(root), store.known_files())
