"""Finds facts of the graph and words each as one direct answer; the best come first.

Each function takes the open store and what the question means, and returns sentences. Thread: any; blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from roteiro.graph.model import EdgeKind, Node, NodeKind
from roteiro.graph.queries.explain import Explanation, explain
from roteiro.graph.queries.path import path
from roteiro.graph.queries.shapes import place
from roteiro.graph.store import GraphStore
from roteiro.tools import wording
from roteiro.tools.briefing.signatures import name_of_parameter, parameters_of
from roteiro.tools.briefing.subjects import is_test, tests_last

# Callers and the like beyond so many are counted, not listed.
LISTED = 8
_PATH_DEPTH = 8
_USES: tuple[EdgeKind, ...] = ("calls", "references", "imports")
_TYPES: tuple[NodeKind, ...] = ("class", "interface", "struct", "trait")
_CONSTRUCTORS = ("__init__", "__new__", "constructor", "new", "New", "initialize", "__construct")


def about(node: Node) -> list[str]:
    """What and where it is."""
    lines = [wording.defined(node)]
    if node.doc:
        lines[0] += f" {_sentence(node.doc)}"
    return lines


def callers(store: GraphStore, node: Node, *, outgoing: bool, tests: bool) -> list[str]:
    """Who calls or refers to a symbol, or what it calls; calls before mere references."""
    found = _explained(store, node)
    for kind in _USES:
        text = _ends(found, kind, incoming=not outgoing, tests=tests)
        if text:
            return [text]
    name = wording.name_of(node)
    if outgoing:
        return [f"`{name}` calls nothing in this repository that was found."]
    return [f"No caller of `{name}` was found in this repository."]


def bases(store: GraphStore, node: Node) -> list[str]:
    """The declaration of a class, its bases with their own declarations, and its subclasses."""
    found = _explained(store, node)
    lines = [_declares(node)]
    lines += [_declares(end.node) for end in found.outgoing if end.kind == "inherits"]
    below = _ends(found, "inherits", incoming=True, tests=True)
    return [*lines, *([below] if below else [])]


def subclasses_of_foreign(store: GraphStore, name: str) -> list[str]:
    """Classes whose declaration names a base that the repository does not define."""
    last = name.rsplit(".", 1)[-1]
    found = [
        node
        for kind in _TYPES
        for node in store.nodes_by_kind(kind)
        if node.signature and _declares_base(node.signature, last)
    ]
    return [f"{_declares(node)} It is a subclass of `{name}`." for node in tests_last(found)[:LISTED]]


def parameters(store: GraphStore, node: Node, asked: str | None) -> list[str]:
    """The parameters of a function, or of a class's constructor, numbered."""
    target = _constructor(store, node) or node
    if not target.signature:
        return []
    listed = parameters_of(target.signature)
    if listed is None:
        return [wording.signature(target) or ""]
    name = wording.name_of(target)
    numbered = ", ".join(f"{number}. `{text}`" for number, text in enumerate(listed, 1))
    lines = [
        f"`{name}` ({place(target)}) takes {len(listed)} parameters: {numbered}."
        if listed
        else f"`{name}` ({place(target)}) takes no parameters."
    ]
    if asked is not None:
        own = [text for text in listed if name_of_parameter(text) == asked]
        lines.insert(
            0,
            f"The parameter `{asked}` of `{name}` is declared as `{own[0]}`."
            if own
            else f"`{name}` has no parameter `{asked}`: it does not take one.",
        )
    if "->" in target.signature:
        lines.append(f"`{name}` returns `{target.signature.rsplit('->', 1)[1].strip()}`.")
    return lines


def connection(store: GraphStore, start: Node, end: Node) -> list[str]:
    """How one leads to the other: along calls if it does, else along any edge."""
    for first, last in ((start, end), (end, start)):
        found = path(store, first.key, last.key, kinds=("calls",), directed=True, max_depth=_PATH_DEPTH)
        if found.found and found.steps:
            return wording.connection(found)
    found = path(store, start.key, end.key, max_depth=_PATH_DEPTH)
    if found.found:
        return wording.connection(found)
    return [f"No connection from `{wording.name_of(start)}` to `{wording.name_of(end)}` was found."]


# ------------------------------------------------------------------------------------------------


def _explained(store: GraphStore, node: Node) -> Explanation:
    return explain(store, node.key, limit=0)


def _ends(found: Explanation, kind: EdgeKind, *, incoming: bool, tests: bool) -> str | None:
    edges = [end for end in (found.incoming if incoming else found.outgoing) if end.kind == kind]
    own = [end for end in edges if tests or not is_test(end.path)]
    chosen = own or edges
    if not chosen:
        return None
    text = wording.ends(found.node, chosen[:LISTED], kind, len(chosen), incoming=incoming)
    left = len(edges) - len(chosen)
    return f"{text} ({left} more in tests.)" if left else text


def _declares(node: Node) -> str:
    said = " ".join((node.signature or "").split())
    declared = f": `{said}`" if said else ""
    return f"`{wording.name_of(node)}` is a {wording.kind_word(node)} in {place(node)}{declared}."


def _declares_base(signature: str, base: str) -> bool:
    _, _, after = signature.partition("(")
    listed = after or signature.partition(":")[2] or signature.partition("extends")[2]
    return any(
        part.strip(" )]}{,").rsplit(".", 1)[-1] == base for part in listed.replace("<", ",").split(",")
    )


def _constructor(store: GraphStore, node: Node) -> Node | None:
    if node.kind not in ("class", "struct", "interface"):
        return None
    inner: Sequence[Node] = store.nodes_in(node.path)
    for name in _CONSTRUCTORS:
        for candidate in inner:
            if candidate.key == f"{node.key}.{name}":
                return candidate
    return None


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."
