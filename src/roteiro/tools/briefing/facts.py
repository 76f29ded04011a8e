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
from roteiro.tools.briefing.signatures import bases_of
from roteiro.tools.scope import is_aside, is_test, sources_first

# Callers and the like beyond so many are counted, not listed.
LISTED = 10
_PATH_DEPTH = 8
_DECISION_LINES = 3
_SEVERAL = 2
_LEADING: tuple[tuple[EdgeKind, ...], ...] = (("calls",), ("calls", "references"))
_ANY_USE: tuple[EdgeKind, ...] = ("calls", "references", "inherits", "imports", "authored_by", "supersedes")
_USES: tuple[EdgeKind, ...] = ("calls", "references", "imports")
_TYPES: tuple[NodeKind, ...] = ("class", "interface", "struct", "trait", "enum")


def about(store: GraphStore, node: Node) -> list[str]:
    """What and where it is; of a decision record also what was decided."""
    if node.kind == "adr":
        return _decision(store, node)
    line = wording.defined(node)
    if node.kind == "const" and node.signature:
        line = f"{line[:-1]}: `{' '.join(node.signature.split())}`."
    if node.doc:
        line += f" {_sentence(node.doc)}"
    return [line]


def callers(
    store: GraphStore, node: Node, *, outgoing: bool, tests: bool, imports: bool = False
) -> list[str]:
    """Who calls or refers to a symbol, or what it calls; calls before mere references."""
    found = _explained(store, node)
    for kind in sorted(_USES, key=lambda kind: kind != "imports") if imports else _USES:
        text = _ends(found, kind, incoming=not outgoing, tests=tests)
        if text:
            return [text]
    name = wording.name_of(node)
    if outgoing:
        return [f"`{name}` calls nothing in this repository that was found."]
    return [f"No caller of `{name}` was found in this repository."]


def common_callers(store: GraphStore, nodes: Sequence[Node]) -> list[str]:
    """Who calls every one of several symbols."""
    shared: dict[str, Node] | None = None
    for node in nodes:
        callers_of = {
            end.node.key: end.node for end in _explained(store, node).incoming if end.kind == "calls"
        }
        shared = {key: end for key, end in (shared or callers_of).items() if key in callers_of}
    names = " and ".join(f"`{wording.name_of(node)}`" for node in nodes)
    if not shared:
        return [f"Nothing was found that calls {names} both."]
    listed = ", ".join(
        f"`{wording.name_of(node)}` ({place(node)})" for node in list(shared.values())[:LISTED]
    )
    return [f"{listed} {'calls' if len(shared) == 1 else 'call'} {names}."]


def several(name: str, nodes: Sequence[Node]) -> list[str]:
    """That a name means several things, each with its place; nothing where it means one."""
    # Overloads are one definition.
    named = {(node.path, wording.name_of(node)): node for node in reversed(nodes)}
    if len(named) < _SEVERAL:
        return []
    listed = ", ".join(f"`{own}` ({place(node)})" for (_, own), node in reversed(named.items()))
    return [f"`{name}` is defined {len(named)} times: {listed}."]


def neighbours(store: GraphStore, node: Node) -> list[str]:
    """What a symbol holds, calls and is called by, where there is anything: for "what does it do"."""
    if node.kind in (*_TYPES, "file"):
        return members(store, node)
    found = _explained(store, node)
    told = (_ends(found, "calls", incoming=incoming, tests=False) for incoming in (False, True))
    return [text for text in told if text]


def bases(store: GraphStore, node: Node, *, below: bool, tests: bool) -> list[str]:
    """The declaration of a class, its bases with their own declarations, and its subclasses.

    Args:
        store: the graph.
        node: the class.
        below: its subclasses are what is asked for; they come first then.
        tests: those in tests are meant.
    """
    found = _explained(store, node)
    lines = [_derives(node)]
    lines += [_derives(end.node) for end in found.outgoing if end.kind == "inherits"]
    under = _ends(found, "inherits", incoming=True, tests=tests)
    if below:
        name = wording.name_of(node)
        return [under or f"No class that inherits from `{name}` was found in this repository.", *lines]
    return [*lines, *([under] if under else [])]


def subclasses_of_foreign(store: GraphStore, name: str) -> list[str]:
    """Classes whose declaration names a base that the repository does not define."""
    last = name.rsplit(".", 1)[-1]
    found = [
        node
        for kind in _TYPES
        for node in store.nodes_by_kind(kind)
        if node.signature and _declares_base(node.signature, last)
    ]
    own = [node for node in found if not is_aside(node.path)] or sources_first(found)
    if not own:
        return []
    named = ", ".join(f"`{wording.name_of(node)}` ({place(node)})" for node in own[:LISTED])
    counted = f"{len(own)} classes are subclasses" if len(own) > 1 else "1 class is a subclass"
    return [f"{counted} of `{name}`: {named}."]


def members(store: GraphStore, node: Node) -> list[str]:
    """What a class, module or file holds, by kind, counted."""
    found = _explained(store, node)
    inner = [end.node for end in found.outgoing if end.kind in ("contains", "defines")]
    inner = list({child.key: child for child in inner}.values())
    by_kind: dict[str, list[Node]] = {}
    for child in inner:
        if child.kind not in ("marker", "doc", "file"):
            by_kind.setdefault(child.kind, []).append(child)
    lines = []
    for children in by_kind.values():
        named = list(dict.fromkeys(wording.plain(child.name) for child in children))
        listed = ", ".join(f"`{name}`" for name in named[: 3 * LISTED])
        what = wording.counted(len(named), wording.kind_word(children[0]))
        lines.append(f"`{wording.name_of(node)}` has {what}: {listed}.")
    return lines


def connection(store: GraphStore, start: Node, end: Node) -> list[str]:
    """How one leads to the other: along calls, else along functions passed as values, else along any use."""
    for kinds in _LEADING:
        for first, last in ((start, end), (end, start)):
            found = path(store, first.key, last.key, kinds=kinds, directed=True, max_depth=_PATH_DEPTH)
            if found.found and found.steps:
                return wording.connection(found)
    # What merely stands in the same file is no connection to tell of.
    found = path(store, start.key, end.key, kinds=_ANY_USE, max_depth=_PATH_DEPTH)
    if found.found:
        return wording.connection(found)
    return [f"No connection from `{wording.name_of(start)}` to `{wording.name_of(end)}` was found."]


# ------------------------------------------------------------------------------------------------


def _explained(store: GraphStore, node: Node) -> Explanation:
    return explain(store, node.key, limit=0)


def _decision(store: GraphStore, node: Node) -> list[str]:
    """A record's number, title, status and place, and the first lines under "Decision"."""
    status = f" Its status is {node.status}." if node.status else ""
    lines = [
        f"ADR-{node.number or 0:04d} is `{node.title or node.name}` ({node.path}:{node.line or 1}).{status}"
    ]
    source = (store.read_source(node.path) or "").split("\n")
    for section in store.nodes_in(node.path):
        if section.kind == "adr_section" and section.line and section.name.lower().startswith("decision"):
            said = [text for line in source[section.line : section.end_line] if (text := line.strip(" -*#"))]
            lines += [f"It decides: {text}" for text in said[:_DECISION_LINES]]
    return lines


def _ends(found: Explanation, kind: EdgeKind, *, incoming: bool, tests: bool) -> str | None:
    """One sentence of the ends of a kind; those in tests are counted apart, or come first if asked for."""
    edges = [end for end in (found.incoming if incoming else found.outgoing) if end.kind == kind]
    own = [end for end in edges if is_test(end.path) == tests]
    if not tests:
        own = [end for end in own if not is_aside(end.path)] or own
    chosen = own or edges
    if not chosen:
        return None
    text = wording.ends(found.node, chosen[:LISTED], kind, len(chosen), incoming=incoming)
    left = [end for end in edges if end not in chosen]
    if not left:
        return text
    where = "in tests" if all(is_test(end.path) for end in left) else "elsewhere"
    return f"{text} (Not counted: {len(left)} {where}.)"


def _derives(node: Node) -> str:
    """A class's bases in one sentence; its bare declaration where none can be read from it."""
    found = bases_of(node.signature or "")
    if not found:
        return f"{_declares(node)[:-1]}; no base class is declared."
    name, where = wording.name_of(node), place(node)
    if len(found) == 1:
        return f"The base class of `{name}` is `{found[0]}` ({where})."
    listed = " and ".join(f"`{base}`" for base in found)
    return f"The {len(found)} base classes of `{name}` are {listed} ({where})."


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


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."
