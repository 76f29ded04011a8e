"""The graph's store: the only door to SQLite. Reads are `GraphStore`'s, writes are `sync`'s alone.

    with open_graph(Path.cwd()) as store:      # NoGraph, StoreTooNew
        node = store.node(key)
        hits = store.search_rows(match, limit=50, weights=(8, 4, 2, 2, 2, 1))

`search` has the columns `name parts path signature doc body`, filled by `graph.words.index_text`.
A long-lived holder keeps one `GraphStore` and caches by `generation()`. `is_stale` is in
`graph.freshness`. Thread: any.
"""

from __future__ import annotations

from pathlib import Path

from roteiro.graph.roots import find_root
from roteiro.graph.store.reader import GraphStore
from roteiro.graph.store.rows import FileRecord, NumberedEdge, SearchRow, Skipped

__all__ = ["FileRecord", "GraphStore", "NumberedEdge", "SearchRow", "Skipped", "open_graph"]


def open_graph(start: Path) -> GraphStore:
    """The graph of the tree that a path belongs to.

    Raises:
        NoGraph: the tree has not been synced.
        StoreTooNew: a newer Roteiro wrote the graph.
        RootRefused: the path does not exist.
    """
    # Whoever synced a home folder on purpose may read its graph.
    root = find_root(start, force=True)
    return GraphStore(root.path, root.store_path)
