"""Pieces of source for a reader with a budget: a whole definition, its outline, or its first lines.

A budget is in tokens, estimated as UTF-8 bytes by 3.5, since no model is at hand. Thread: any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from roteiro.graph.model import Node
from roteiro.graph.store import GraphStore

BYTES_PER_TOKEN = 3.5
_OUTLINE_LINES = 200


def tokens_of(text: str) -> int:
    """How many tokens a text is likely to be."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN)


@dataclass(slots=True)
class Sources:
    """The files of one answer, each read once."""

    store: GraphStore
    _lines: dict[str, list[str]] = field(default_factory=dict)
    _nodes: dict[str, list[Node]] = field(default_factory=dict)

    def lines(self, path: str) -> list[str]:
        """A file's lines; none where it is gone."""
        if path not in self._lines:
            self._lines[path] = _lines(self.store.read_source(path))
        return self._lines[path]

    def inside(self, node: Node) -> list[Node]:
        """The definitions directly or deeper inside a node, by line."""
        if node.path not in self._nodes:
            self._nodes[node.path] = self.store.nodes_in(node.path)
        last = node.end_line or len(self.lines(node.path))
        return [
            other
            for other in self._nodes[node.path]
            if other.kind != "marker"
            and other.line is not None
            and (node.line or 0) <= other.line
            and (other.end_line or other.line) <= last
            and other.key != node.key
        ]

    def whole(self, node: Node) -> str:
        """A node's text."""
        lines = self.lines(node.path)
        return "\n".join(lines[(node.line or 1) - 1 : node.end_line or len(lines)])

    def around(self, path: str, line: int, *, before: int = 2, after: int = 2) -> str:
        """The lines next to a place."""
        return "\n".join(self.lines(path)[max(0, line - 1 - before) : line + after])

    def outline(self, node: Node) -> str:
        """A node's head and one line for each definition inside it."""
        inner = self.inside(node)
        if not inner:
            return ""
        lines = self.lines(node.path)
        first = node.line or 1
        head = lines[first - 1 : min(first + 11, (inner[0].line or first) - 1)]
        listed = [_signature_line(other) for other in inner[:_OUTLINE_LINES]]
        if len(inner) > len(listed):
            listed.append(f"... {len(inner) - len(listed)} more definitions")
        return "\n".join([*head, *listed])


def fitting(node: Node, sources: Sources, budget: int) -> str:
    """The most that a budget allows of a node: all of it, its outline, or its beginning.

    What is left out is said in the last line. Empty where not even a line fits.
    """
    whole = sources.whole(node)
    if tokens_of(whole) <= budget:
        return whole
    outline = sources.outline(node)
    if outline and tokens_of(outline) <= budget:
        return outline
    return _beginning((outline or whole).split("\n"), budget)


def signature_text(node: Node) -> str:
    """The shortest thing to say of a node: its signature and the first line of its docstring."""
    return "\n".join(filter(None, (node.signature, node.doc)))


# --------------------------------------------------------------------------------------------------


def _lines(text: str | None) -> list[str]:
    """Lines as the graph counts them: by LF alone, whatever else Unicode takes for a line's end."""
    if not text:
        return []
    return text.removesuffix("\n").split("\n")


def _beginning(lines: Sequence[str], budget: int) -> str:
    kept: list[str] = []
    spent = tokens_of("... 00000 more lines\n")
    for line in lines:
        spent += tokens_of(f"{line}\n")
        if spent > budget:
            break
        kept.append(line)
    if not kept:
        return ""
    return "\n".join([*kept, f"... {len(lines) - len(kept)} more lines"])


def _signature_line(node: Node) -> str:
    depth = node.key.partition("#")[2].count(".")
    return f"{'    ' * depth}{node.signature or node.name}  # line {node.line}"
