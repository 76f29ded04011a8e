"""Finds where a name is written in the repository's text, as it is written. Thread: any; reads files."""

from __future__ import annotations

import re

from roteiro.graph.model import Node
from roteiro.graph.store import GraphStore
from roteiro.graph.words import compact, stem, terms, words

LINE_CHARACTERS = 240
# Nodes looked into: a name that stands in more of them is no rare one.
_NODES = 400

Mention = tuple[Node, int, str]


def is_mentioned(store: GraphStore, name: str) -> bool:
    """Whether the name is written anywhere, in its own spelling."""
    return bool(lines_with(store, name))


def lines_with(store: GraphStore, name: str) -> list[Mention]:
    """(innermost node, line number, text) of every line that writes the last part of a name."""
    last = last_part(name)
    pattern = re.compile(rf"(?<!\w){re.escape(last)}(?!\w)")
    nodes = store.nodes(store.matching(_match_of(last), limit=_NODES)).values()
    found: dict[tuple[str, int], Mention] = {}
    sources: dict[str, list[str]] = {}
    for node in sorted(nodes, key=lambda n: (n.path, (n.end_line or 1 << 30) - (n.line or 0))):
        if node.path not in sources:
            sources[node.path] = (store.read_source(node.path) or "").split("\n")
        lines = sources[node.path]
        for number in range(node.line or 1, min(node.end_line or len(lines), len(lines)) + 1):
            text = lines[number - 1]
            if (node.path, number) not in found and pattern.search(text):
                found[node.path, number] = (node, number, " ".join(text.split())[:LINE_CHARACTERS])
    return [found[place] for place in sorted(found)]


def last_part(name: str) -> str:
    """The last part of a qualified name."""
    return re.split(r"[.#]|::|->", name.rstrip("().:#"))[-1] or name


# ------------------------------------------------------------------------------------------------


def _match_of(last: str) -> str:
    """An FTS5 expression for text that holds a name as an identifier, in any spelling.

    Code is indexed with each identifier as one word too, prose only with the identifier's words.
    """
    parts = words(last)
    if len(parts) > 1:
        each = " AND ".join(f'"{term}"' for term in dict.fromkeys(terms(last)))
        return f'"{compact(last)}" OR (doc : ({each}))'
    return f'"{stem(parts[0]) if parts else compact(last)}"'
