"""Finds what the names of a question mean in this repository: symbols, mere mentions, or nothing.

Thread: any; blocks on the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from roteiro.errors import AmbiguousName, NodeNotFound
from roteiro.graph.model import Node
from roteiro.graph.queries.names import near_names, resolve_name
from roteiro.graph.store import GraphStore
from roteiro.tools.briefing.mentions import is_mentioned, last_part

# A name that more symbols bear than this says little; the best few are enough.
MAX_MEANINGS = 4

_TEST_PATH = re.compile(
    r"(^|/)(tests?|testing|spec|specs|__tests__|examples?|benchmarks?|vendor)(/|$)|(^|/)test_|_test\.|\.test\.|\.spec\."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A name of the question.

    `nodes` are what it means, tests last; with none, `mentioned` says whether the text of the repository
    holds it at all. `near` are existing names that look like it.
    """

    name: str
    nodes: tuple[Node, ...] = ()
    mentioned: bool = False
    near: tuple[str, ...] = ()

    @property
    def absent(self) -> bool:
        """True when the repository knows nothing of the name."""
        return not self.nodes and not self.mentioned


def find_subject(store: GraphStore, name: str) -> Subject:
    """What a name means."""
    nodes = _nodes(store, name)
    if nodes:
        return Subject(name=name, nodes=nodes)
    mentioned = is_mentioned(store, name)
    near = () if mentioned else tuple(near_names(store, last_part(name))[:3])
    return Subject(name=name, mentioned=mentioned, near=near)


def find_symbol(store: GraphStore, name: str) -> Subject:
    """What a plain word means if it is exactly a symbol's name; nothing else is looked for."""
    nodes = [node for node in store.nodes_by_name(name) if node.key.startswith("sym:")]
    return Subject(name=name, nodes=tuple(tests_last(nodes)[:MAX_MEANINGS]))


def is_test(path: str) -> bool:
    """Whether a path is one of tests, examples or foreign code."""
    return bool(_TEST_PATH.search(path))


def tests_last(nodes: Iterable[Node]) -> list[Node]:
    """The same nodes with those of tests at the end."""
    return sorted(nodes, key=lambda node: is_test(node.path))


# ------------------------------------------------------------------------------------------------


def _nodes(store: GraphStore, name: str) -> tuple[Node, ...]:
    """The meanings of the name; of a dotted one also without its leading parts (a package's own name)."""
    tried = name
    while tried:
        try:
            return (resolve_name(store, tried),)
        except AmbiguousName as error:
            nodes = [node for key in error.keys[:50] if (node := store.node(key)) is not None]
            return tuple(tests_last(_definitions(nodes))[:MAX_MEANINGS])
        except NodeNotFound:
            head, separator, rest = tried.partition(".")
            # `package.Name` may leave out its package; `Class.member` may not leave out its class.
            if not separator or store.nodes_by_name(head) or not rest:
                return ()
            tried = rest
    return ()


def _definitions(nodes: list[Node]) -> list[Node]:
    """Symbols before files and sections, when both bear the name."""
    symbols = [node for node in nodes if node.key.startswith("sym:")]
    return symbols or nodes
