"""Words what a function takes and returns, and what a class is made with. Thread: any; reads the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from roteiro.graph.model import Node
from roteiro.graph.queries.shapes import place
from roteiro.graph.store import GraphStore
from roteiro.tools import wording
from roteiro.tools.briefing import signatures

_CONSTRUCTORS = ("__init__", "__new__", "constructor", "new", "New", "initialize", "__construct")
_TYPES = ("class", "struct", "interface", "trait", "enum")
# Source lines read for a signature that the graph holds cut short.
_SIGNATURE_LINES = 60
# A longer list beside the one that is asked for hides it.
_LISTED = 8
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def parameters(store: GraphStore, node: Node, asked: str | None, words: Iterable[str] = ()) -> list[str]:
    """The parameters of a function, or of a class's constructor or fields, numbered.

    Args:
        store: the graph.
        node: the function or class.
        asked: the parameter that the question names; it is told to be missing if it is.
        words: other words of the question; one that is a parameter's name is told of first.
    """
    if node.kind == "const":
        return []
    target = _constructor(store, node) or node
    listed, result = _taken(store, target)
    if listed is None:
        return _fields(store, node, asked, words)
    name = wording.name_of(target)
    first = _asked_for(name, listed, asked, words)
    numbered = ", ".join(f"{number}. `{text}`" for number, text in enumerate(listed, 1))
    takes = wording.counted(len(listed), "parameter")
    lines = list(first)
    if not listed:
        lines.append(f"`{name}` ({place(target)}) takes no parameters.")
    elif not first or len(listed) <= _LISTED:
        lines.append(f"`{name}` ({place(target)}) takes {takes}: {numbered}.")
    if result and result != "None":
        lines.append(f"`{name}` returns `{result}`.")
    return lines


def lacks(store: GraphStore, node: Node, asked: str) -> str | None:
    """That a function or class takes no such parameter, with those it takes; None where it may take it."""
    target = _constructor(store, node) or node
    listed, _ = _taken(store, target)
    if listed is None or any(text.startswith(("**", "...")) for text in listed):
        return None
    names = [signatures.name_of_parameter(text) for text in listed]
    if asked in names:
        return None
    takes = f"It takes: {', '.join(f'`{name}`' for name in names)}." if names else "It takes no parameters."
    return f"`{wording.name_of(target)}` ({place(target)}) has no parameter `{asked}`. {takes}"


def ordinal(store: GraphStore, node: Node, text: str) -> list[str]:
    """The parameter that a question names by its place ("the second parameter")."""
    wanted = next((n for n, word in enumerate(_ORDINALS) if f"{word} " in text.lower()), None)
    target = _constructor(store, node) or node
    listed, _ = _taken(store, target)
    if wanted is None or not listed or wanted >= len(listed):
        return []
    name = wording.name_of(target)
    own = signatures.name_of_parameter(listed[wanted])
    return [f"The {_ORDINALS[wanted]} parameter of `{name}` is `{own}`, declared as `{listed[wanted]}`."]


# ------------------------------------------------------------------------------------------------


def _taken(store: GraphStore, node: Node) -> tuple[list[str] | None, str | None]:
    signature = " ".join((node.signature or "").split())
    if node.kind in _TYPES:
        return None, None
    if "(" not in signature or signature.endswith("…"):
        lines = (store.read_source(node.path) or "").split("\n")
        start = (node.line or 1) - 1
        signature = signatures.whole(lines[start : start + _SIGNATURE_LINES], node.name) or signature
    return signatures.parameters_of(signature), signatures.result_of(signature)


def _asked_for(name: str, listed: Sequence[str], asked: str | None, words: Iterable[str]) -> list[str]:
    """The parameter that the question is about, declared; or that there is none such."""
    names = {signatures.name_of_parameter(text): text for text in listed}
    if asked is not None and asked not in names:
        return [f"`{name}` has no parameter `{asked}`: it does not take one."]
    wanted = [asked] if asked is not None else [word for word in dict.fromkeys(words) if word in names]
    return [_declared(name, word, names[word]) for word in wanted[:2]]


def _declared(owner: str, name: str, text: str) -> str:
    default = signatures.default_of(text)
    said = f"The parameter `{name}` of `{owner}` is declared as `{text}`"
    return f"{said}; its default is `{default}`." if default else f"{said}; it has no default."


def _fields(store: GraphStore, node: Node, asked: str | None, words: Iterable[str]) -> list[str]:
    """A class without a constructor of its own is made from its fields."""
    if node.kind not in _TYPES:
        return [said] if (said := wording.signature(node)) else []
    inside = [
        child
        for child in store.nodes_in(node.path)
        if child.kind == "const" and child.key.rpartition(".")[0] == node.key and child.signature
    ]
    fields = {wording.plain(child.name): " ".join((child.signature or "").split()) for child in inside}
    name = wording.name_of(node)
    wanted = [asked] if asked else [word for word in dict.fromkeys(words) if word in fields]
    lines = [
        f"`{name}` has the field `{fields[word]}`."
        if word in fields
        else f"`{name}` has no parameter or field `{word}`: it does not take one."
        for word in wanted[:2]
    ]
    if fields:
        listed = ", ".join(f"`{text}`" for text in fields.values())
        lines.append(f"`{name}` ({place(node)}) has {wording.counted(len(fields), 'field')}: {listed}.")
    return lines


def _constructor(store: GraphStore, node: Node) -> Node | None:
    if node.kind not in _TYPES:
        return None
    inner: Sequence[Node] = store.nodes_in(node.path)
    for name in _CONSTRUCTORS:
        for candidate in inner:
            if candidate.key == f"{node.key}.{name}":
                return candidate
    return None
