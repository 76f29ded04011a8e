"""Facts of the graph as sentences that a small model can repeat as its answer.

One fact a line, the subject named, `path:line` in one string with what it belongs to, totals before lists,
signatures on one line. Measured: few facts worded as answers beat many rows of data. Pure; thread: any.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from roteiro.graph.model import EdgeKind, Marker, Node
from roteiro.graph.queries.explain import Explanation
from roteiro.graph.queries.path import Connection
from roteiro.graph.queries.search import SearchHit
from roteiro.graph.queries.shapes import EdgeEnd, place

KIND_WORDS = {
    "fn": "function",
    "const": "constant",
    "adr": "decision record",
    "adr_section": "section of a decision record",
    "doc": "document section",
}
# What an edge says, read from its source and from its target.
_FORWARD: dict[EdgeKind, str] = {
    "calls": "calls",
    "inherits": "inherits from",
    "imports": "imports",
    "references": "refers to",
    "contains": "contains",
    "defines": "defines",
    "supersedes": "supersedes",
    "authored_by": "was decided by",
    "related": "is related to",
}
_BACKWARD: dict[EdgeKind, str] = {
    "calls": "is called by",
    "inherits": "is the base class of",
    "imports": "is imported by",
    "references": "is referred to by",
    "contains": "is in",
    "defines": "is defined by",
    "supersedes": "is superseded by",
    "authored_by": "decided",
    "related": "is related to",
}
_SIGNATURE_CHARACTERS = 300


def kind_word(node: Node) -> str:
    """The kind as people say it."""
    return KIND_WORDS.get(node.kind, node.kind)


def name_of(node: Node) -> str:
    """The qualified name of a symbol, the path of a file, the title of a record or section."""
    if node.key.startswith("sym:"):
        return plain(node.key.partition("#")[2])
    if node.kind in ("adr", "adr_section", "doc"):
        return node.title or node.name
    return node.path


def plain(name: str) -> str:
    """A name without the number that tells definitions of one name in one file apart."""
    return re.sub(r"~\d+(?=\.|$)", "", name)


def counted(number: int, word: str) -> str:
    """`1 method`, `2 classes`."""
    if number == 1:
        return f"1 {word}"
    return f"{number} {word}es" if word.endswith("s") else f"{number} {word}s"


def defined(node: Node) -> str:
    """Where a node is, in one sentence."""
    if node.kind in ("file", "module"):
        return f"`{node.path}` is a file."
    return f"`{name_of(node)}` is a {kind_word(node)} in {place(node)}."


def signature(node: Node) -> str | None:
    """The signature on one line, or None."""
    if not node.signature:
        return None
    text = " ".join(node.signature.split())
    if len(text) > _SIGNATURE_CHARACTERS:
        text = text[:_SIGNATURE_CHARACTERS] + " ..."
    return f"Signature of `{name_of(node)}`: {text}"


def hit(number: int, found: SearchHit) -> str:
    """A search hit on one line."""
    node = found.node
    parts = [f"{number}. {kind_word(node)} `{name_of(node)}` in {place(node)}"]
    if node.doc:
        parts.append(node.doc.strip())
    elif found.snippet:
        parts.append(" ".join(found.snippet.split()))
    return ": ".join(parts)


def ends(node: Node, edges: Sequence[EdgeEnd], kind: EdgeKind, total: int, *, incoming: bool) -> str:
    """All ends of one kind in one sentence, the number first; a single one in the active voice."""
    if total == 1 and incoming and kind in _FORWARD:
        end = edges[0]
        return (
            f"`{name_of(end.node)}` {_FORWARD[kind]} `{name_of(node)}` ({end.path}:{end.line}{_sure(end)})."
        )
    verb = (_BACKWARD if incoming else _FORWARD)[kind]
    listed = ", ".join(end_text(end) for end in edges)
    more = f", and {total - len(edges)} more" if total > len(edges) else ""
    count = "" if total == 1 else f" {total}:"
    return f"`{name_of(node)}` {verb}{count} {listed}{more}."


def end_text(end: EdgeEnd) -> str:
    """The node at an edge's end, with the place of the edge, and how sure it is."""
    return f"`{name_of(end.node)}` ({end.path}:{end.line}{_sure(end)})"


def _sure(end: EdgeEnd) -> str:
    return "" if end.confidence is None else f", not certain ({end.confidence:.0%})"


def connection(found: Connection) -> list[str]:
    """A path as one sentence that begins with what lies in between, in the form of an answer.

    Measured: a small model repeats the question where the ends come first, and names an end.
    """
    if not found.steps:
        return [f"`{name_of(found.start)}` and `{name_of(found.end)}` are the same."]
    middle = found.nodes[1:-1]
    kinds = {kind_word(node) for node in middle}
    what = kinds.pop() if len(kinds) == 1 else "symbol"
    listed = ", then ".join(f"`{name_of(node)}`" for node in middle)
    if not middle:
        first = "They are connected directly"
    elif len(middle) == 1:
        first = f"The {what} in between is {listed}"
    else:
        first = f"The {counted(len(middle), what)} in between are {listed}"
    way = f"`{name_of(found.start)}`"
    for number, (step, node) in enumerate(zip(found.steps, found.nodes[1:], strict=True)):
        verb = (_BACKWARD if step.reversed else _FORWARD)[step.kind]
        way += f"{', which' if number else ''} {verb} `{name_of(node)}` ({step.path}:{step.line})"
    return [f"{first}: {way}."]


def marker(item: Marker) -> str:
    """A debt finding on one line, the symbol that holds it first."""
    said = " ".join(item.text.split())
    if item.symbol and item.symbol.startswith("sym:"):
        name = plain(item.symbol.partition("#")[2])
        return f"`{name}` has at {item.path}:{item.line} ({item.category}): {said}"
    return f"{item.category} at {item.path}:{item.line}: {said}"


def explanation(found: Explanation) -> list[str]:
    """Everything known of a node, what is asked most first."""
    node = found.node
    lines = [defined(node)]
    if (said := signature(node)) is not None:
        lines.append(said)
    if node.doc:
        lines.append(f"It says of itself: {node.doc.strip()}")
    for incoming, edges, totals in (
        (True, found.incoming, found.incoming_by_kind),
        (False, found.outgoing, found.outgoing_by_kind),
    ):
        for kind, total in totals.items():
            of_kind = [end for end in edges if end.kind == kind]
            if of_kind:
                lines.append(ends(node, of_kind, kind, total, incoming=incoming))
    if not found.incoming_by_kind.get("calls") and node.kind in ("fn", "method", "class"):
        lines.append(f"No caller of `{name_of(node)}` was found in this repository.")
    lines += [f"Decision: {name_of(record)} ({place(record)})." for record in found.decisions]
    lines += [marker(item) for item in found.markers]
    return lines
