"""From what somebody typed to the one node that is meant.

A key, `path#name`, a path, a module's dotted name, or any name or part of one that is unique. What
several nodes bear is refused with all of them; what none bears, with the nearest names. Thread: any.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence

from roteiro.errors import AmbiguousName, NodeNotFound
from roteiro.graph.model import Node
from roteiro.graph.queries.marked import PREFIX, find_marker, holder
from roteiro.graph.queries.spelling import distance
from roteiro.graph.store import GraphStore
from roteiro.graph.words import compact

# More nodes than this are no answer to "which one did you mean".
CANDIDATES = 200
SUGGESTIONS = 5
NAME_CHARS = 60
_NEAR_NAMES = 400
_PROSE = ("doc", "adr_section", "marker")
_ADR = re.compile(r"(?:adr[-_ :]?)?0*(\d{1,4})", re.IGNORECASE)


def resolve_name(store: GraphStore, text: str) -> Node:
    """The node that a key, a name or a part of a name means.

    Args:
        store: the graph.
        text: what was typed.

    Raises:
        NodeNotFound: nothing bears the name; the error suggests the nearest.
        AmbiguousName: several nodes do; the error lists their keys.
    """
    asked = text.strip().strip("`")
    for find in _WAYS if asked else ():
        found = _worth(find(store, asked))
        if len(found) == 1:
            return found[0]
        if found:
            raise AmbiguousName(text, [node.key for node in found])
    raise NodeNotFound(text, near_names(store, asked))


def near_names(store: GraphStore, text: str, *, count: int = SUGGESTIONS) -> list[str]:
    """The existing names that look most like a text, best first.

    Names that share three-letter pieces with it are compared first, the whole repository's only if
    none of those is near: that takes a tenth of a second for a hundred thousand.
    """
    wanted = compact(re.split(r"[#/.:]", text.rstrip("#/.:"))[-1] or text)[:NAME_CHARS]
    if not wanted:
        return []
    likely = _sharing(store, wanted)
    near = difflib.get_close_matches(wanted, likely, n=count, cutoff=0.6)
    return [likely[name] for name in near] or _few_edits_away(store, wanted)[:count]


def like(text: str) -> str:
    """A text as a literal part of an SQL pattern."""
    return re.sub(r"([\\%_])", r"\\\1", text)


# --------------------------------------------------------------------------------------------------


def _sharing(store: GraphStore, wanted: str) -> dict[str, str]:
    """The names that share most three-letter pieces with a word, by how they read as one word."""
    shared: dict[str, int] = {}
    for piece in sorted({wanted[at : at + 3] for at in range(max(1, len(wanted) - 2))}):
        for name in {name for name, _ in store.named(f"%{like(piece)}%", limit=_NEAR_NAMES)}:
            shared[name] = shared.get(name, 0) + 1
    likely = sorted(shared, key=lambda name: (-shared[name], abs(len(name) - len(wanted)), name))
    spelled: dict[str, str] = {}
    for name in likely[:_NEAR_NAMES]:
        spelled.setdefault(compact(name), name)
    return spelled


def _few_edits_away(store: GraphStore, wanted: str) -> list[str]:
    found: dict[str, int] = {}
    letters = set(wanted)
    for name, _, _ in store.names():
        if abs(len(name) - len(wanted)) <= 2 and len(letters - set(name.lower())) <= 2:
            edits = distance(wanted, compact(name), at_most=2)
            if edits <= 2 and edits * 3 < len(wanted):
                found[name] = edits
    return sorted(found, key=lambda name: (found[name], name))


def _worth(nodes: Iterable[Node]) -> list[Node]:
    """The nodes worth choosing from: a heading that repeats a class's name is not the class."""
    found = list({node.key: node for node in nodes}.values())
    code = [node for node in found if node.kind not in _PROSE]
    return code or found


def _by_key(store: GraphStore, text: str) -> list[Node]:
    keys = [text, f"file:{text}", f"doc:{text}"]
    return [node for node in map(store.node, keys) if node is not None][:1]


def _by_marker(store: GraphStore, text: str) -> list[Node]:
    """A marker's key means what it lies in; `explain` alone tells of the marker itself."""
    marker = find_marker(store, text) if text.startswith(PREFIX) else None
    node = None if marker is None else holder(store, marker)
    return [] if node is None else [node]


def _by_decision(store: GraphStore, text: str) -> list[Node]:
    match = _ADR.fullmatch(text)
    if match is None:
        return []
    node = store.node(f"adr:{int(match[1]):04d}")
    return [] if node is None else [node]


def _by_path_and_name(store: GraphStore, text: str) -> list[Node]:
    path, separator, name = text.partition("#")
    if not separator or not path or not name:
        return []
    nodes = _bearing(store, name)
    exact = [node for node in nodes if node.path == path]
    return _closest(exact or [node for node in nodes if _ends_path(node.path, path)], name)


def _by_path(store: GraphStore, text: str) -> list[Node]:
    path = text.removeprefix("./").rstrip("/")
    if "/" not in path and "." not in path:
        return []
    keys = [*store.keyed(f"file:%{like(path)}", limit=CANDIDATES)]
    keys += store.keyed(f"doc:%{like(path)}", limit=CANDIDATES)
    nodes = _present(store, keys)
    return [node for node in nodes if _ends_path(node.path, path)]


def _by_name(store: GraphStore, text: str) -> list[Node]:
    numbers = store.ids_by_name(text)
    if len(numbers) > CANDIDATES:
        # Thousands of `__init__`: their keys tell it all.
        raise AmbiguousName(text, store.keys(numbers))
    return list(store.nodes(numbers).values())


def _by_qualified_name(store: GraphStore, text: str) -> list[Node]:
    """`Client.send`, `outer::inner`, `Class#method`: the end of a qualified name."""
    name = re.sub(r"::|->|#", ".", text).removesuffix("()")
    return _closest(_bearing(store, name), name)


def _by_module(store: GraphStore, text: str) -> list[Node]:
    """`package.module` and `package.module.Class.method`: the dots of a path and those of a name."""
    parts = text.split(".")
    for at in range(len(parts), 0, -1):
        path, name = "/".join(parts[:at]), ".".join(parts[at:])
        if not name:
            found = _modules(store, path)
        else:
            keys = store.keyed(f"sym:%{like(path)}%#{like(name)}", limit=CANDIDATES)
            found = [node for node in _present(store, keys) if _is_module(node.path, path)]
        if found:
            return found
    return []


def _by_name_in_any_case(store: GraphStore, text: str) -> list[Node]:
    return store.nodes_by_name(text.removesuffix("()"), ignore_case=True)


def _by_part(store: GraphStore, text: str) -> list[Node]:
    """A name that holds the text; the beginning of a name counts before its middle."""
    if len(text) < 3:
        return []
    for pattern in (f"{like(text)}%", f"%{like(text)}%"):
        found = store.named(pattern, limit=CANDIDATES)
        if found:
            return _worth(_present(store, [key for _, key in found]))
    return []


_WAYS: Sequence[Callable[[GraphStore, str], list[Node]]] = (
    _by_key,
    _by_marker,
    _by_decision,
    _by_path_and_name,
    _by_path,
    _by_name,
    _by_qualified_name,
    _by_name_in_any_case,
    _by_module,
    _by_part,
)


def _bearing(store: GraphStore, name: str) -> list[Node]:
    """The nodes whose qualified name is, or ends with, a qualified name."""
    last = re.sub(r"~\d+$", "", name.rpartition(".")[2])
    keys = store.keys(store.ids_by_name(last))
    return _present(store, [key for key in keys if _has_suffix(key, name)])


def _present(store: GraphStore, keys: Sequence[str]) -> list[Node]:
    nodes = store.nodes(list(store.node_ids(keys).values()))
    return sorted(nodes.values(), key=lambda node: node.key)


def _has_suffix(key: str, name: str) -> bool:
    qualified = _qualified(key)
    return qualified == name or qualified.endswith(f".{name}")


def _closest(nodes: Sequence[Node], name: str) -> list[Node]:
    """Whole qualified names before the ends of longer ones."""
    whole = [node for node in nodes if _qualified(node.key) == name]
    return whole or list(nodes)


def _qualified(key: str) -> str:
    return key.partition("#")[2]


def _modules(store: GraphStore, path: str) -> list[Node]:
    keys = store.keyed(f"file:%{like(path)}%", limit=CANDIDATES)
    return [node for node in _present(store, keys) if _is_module(node.path, path)]


def _is_module(path: str, wanted: str) -> bool:
    stem = path.rpartition(".")[0] or path
    return _ends_path(stem, wanted) or _ends_path(stem, f"{wanted}/__init__")


def _ends_path(path: str, end: str) -> bool:
    return path == end or path.endswith(f"/{end}")
