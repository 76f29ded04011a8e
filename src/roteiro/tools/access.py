"""The graph as the tools hold it: opened when first asked for, shared by every call.

A long-lived server holds one reader; what it reads is always the last whole sync. Thread: any.
"""

from __future__ import annotations

import threading
from pathlib import Path

from roteiro.errors import NoGraph, StoreTooNew
from roteiro.graph.store import GraphStore, open_graph


class GraphAccess:
    """One tree's graph.

    Args:
        root: a path in the tree.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._store: GraphStore | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<GraphAccess {str(self.root)!r} {'open' if self._store else 'closed'}>"

    def store(self) -> GraphStore:
        """The open graph. Blocks on the disk.

        Raises:
            NoGraph, StoreTooNew: there is none that this program can read.
        """
        with self._lock:
            if self._store is None or not self._store.path.exists():
                self._close()
                self._store = open_graph(self.root)
            return self._store

    def available(self) -> bool:
        """Whether there is a graph to ask. Blocks on the disk."""
        try:
            self.store()
        except (NoGraph, StoreTooNew):
            return False
        return True

    def close(self) -> None:
        """Close the reader; the next use opens it again."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None
