"""Finds what the names of a question mean in this repository: symbols, mere mentions, or nothing.

A name is taken as it is spelled: what merely contains it is another name. Thread: any; blocks on the store.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from roteiro.errors import AmbiguousName, NodeNotFound
from roteiro.graph.model import Node
from roteiro.graph.queries.names import like, near_names, resolve_name
from roteiro.graph.store import GraphStore
from roteiro.tools.briefing.mentions import is_mentioned, last_part
from roteiro.tools.scope import best_standing, sources_first

# A name that more symbols bear than this describes rather than names (`__init__`); so many are kept.
MANY = 12
_TYPES = frozenset(("class", "interface", "struct", "enum", "trait"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A name of the question.

    `nodes` are what it means, the sources' first; with none, `mentioned` says whether the text of the
    repository holds it at all. `near` are existing names that look like it. `owner` is the class that
    `Class.member` names where only the member is missing. `weak` marks a word that may be meant as a
    name or not. `foreign` tells that the name belongs to something that this repository knows nothing of.
    """

    name: str
    nodes: tuple[Node, ...] = ()
    mentioned: bool = False
    near: tuple[str, ...] = ()
    owner: Node | None = None
    weak: bool = False
    foreign: bool = False

    @property
    def absent(self) -> bool:
        """True when the repository knows nothing of the name."""
        return not self.nodes and not self.mentioned

    @property
    def symbols(self) -> tuple[Node, ...]:
        """Those of its nodes that are code."""
        return tuple(node for node in self.nodes if node.key.startswith("sym:"))


def find_subject(store: GraphStore, name: str) -> Subject:
    """What a name means."""
    nodes = _meanings(store, name)
    if nodes:
        few = tuple(nodes[:MANY])
        weak = len(nodes) > MANY or _is_protocol(name)
        return Subject(name=name, nodes=few, weak=weak, mentioned=True)
    if (owner := _owner(store, name)) is not None:
        return Subject(name=name, owner=owner, near=_near_members(store, owner, last_part(name)))
    mentioned = is_mentioned(store, name)
    near = () if mentioned else tuple(near_names(store, last_part(name))[:3])
    return Subject(name=name, mentioned=mentioned, near=near, foreign=not mentioned and _foreign(store, name))


def find_symbol(store: GraphStore, name: str, *, weak: bool) -> Subject:
    """What a plain word means if it is exactly a symbol's name; nothing else is looked for."""
    nodes = [node for node in store.nodes_by_name(name) if node.key.startswith("sym:")]
    chosen = best_standing(nodes)
    # `Map` in a sentence is hardly the constant of that name.
    weak = weak or len(chosen) > MANY or all(node.kind == "const" for node in chosen)
    return Subject(name=name, nodes=tuple(chosen[:MANY]), weak=weak)


def narrowed(subjects: Sequence[Subject]) -> list[Subject]:
    """The subjects with each name read as a member of another subject where it is one (`x` of `C`)."""
    owners = [node.key for subject in subjects for node in subject.nodes]
    result = []
    for subject in subjects:
        inside = tuple(
            node for node in subject.nodes if any(node.key.startswith(f"{key}.") for key in owners)
        )
        result.append(replace(subject, nodes=inside) if inside else subject)
    return result


# ------------------------------------------------------------------------------------------------


def _meanings(store: GraphStore, name: str) -> list[Node]:
    """The meanings of the name; of a dotted one also without its leading parts.

    `package.Name` may leave out its package and `variable.method` the variable, but `Class.member` not its
    class, nor `library.Name` the library.
    """
    tried, inside = name, True
    while tried:
        found = _exact(store, tried)
        if found and (inside or all(node.kind == "method" for node in found)):
            return found
        head, separator, rest = tried.partition(".")
        if not separator or not rest or _types(store, head):
            return []
        inside = inside and _is_module(store, head)
        tried = rest
    return []


def _exact(store: GraphStore, name: str) -> list[Node]:
    try:
        found = [resolve_name(store, name)]
    except AmbiguousName as error:
        found = list(store.nodes(list(store.node_ids(error.keys[:200]).values())).values())
    except NodeNotFound:
        return []
    spelled = [node for node in found if _bears(node, name)]
    symbols = [node for node in spelled if node.key.startswith("sym:")]
    ordered = sorted(symbols or spelled, key=lambda node: (node.kind == "const", node.key))
    return sources_first(best_standing(ordered))


def _bears(node: Node, name: str) -> bool:
    """Whether a node has the name as it is spelled; records and files go by other spellings too."""
    if not node.key.startswith("sym:"):
        return node.kind != "marker"
    return _plain(node.name) == last_part(name) or node.key == name


def _is_protocol(name: str) -> bool:
    """`__init__` and its like describe what any class has."""
    return re.fullmatch(r"__\w+__|constructor", name) is not None


def _plain(name: str) -> str:
    return re.sub(r"~\d+$", "", name)


def _owner(store: GraphStore, name: str) -> Node | None:
    """The class of `Class.member` where the class is there and the member is not."""
    parts = re.split(r"[.#]|::|->", name.rstrip("().:#"))
    for owner in parts[-2:-1]:
        if types := _types(store, owner):
            return best_standing(types)[0]
    return None


def _types(store: GraphStore, name: str) -> list[Node]:
    return [node for node in store.nodes_by_name(name) if node.kind in _TYPES]


def _near_members(store: GraphStore, owner: Node, member: str) -> tuple[str, ...]:
    names = [
        _plain(node.name) for node in store.nodes_in(owner.path) if node.key.rpartition(".")[0] == owner.key
    ]
    return tuple(get_close_matches(member, dict.fromkeys(names), n=3))


def _foreign(store: GraphStore, name: str) -> bool:
    """Whether `module.name` begins with a module that is no part of this repository."""
    head, dot, _ = name.partition(".")
    return bool(dot) and not store.nodes_by_name(head) and not _is_module(store, head)


def _is_module(store: GraphStore, name: str) -> bool:
    """Whether a folder or file of the repository is called so."""
    keys = store.keyed(f"file:%{like(name)}%", limit=200)
    return any(name in re.split(r"[/.]", key.partition(":")[2]) for key in keys)
