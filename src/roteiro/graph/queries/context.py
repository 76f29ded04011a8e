"""`context`: the most useful source for a symbol or a question, within a budget of tokens.

The definition comes first, then what it rests on and what rests on it, the nearest first. Nothing is
repeated and the budget is never passed. Thread: any.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from roteiro.errors import AmbiguousName, NodeNotFound, UsageError
from roteiro.graph.model import EdgeKind, Node
from roteiro.graph.queries.excerpts import Sources, fitting, signature_text, tokens_of
from roteiro.graph.queries.names import resolve_name
from roteiro.graph.queries.search import search
from roteiro.graph.queries.shapes import Json, envelope, node_json
from roteiro.graph.store import GraphStore, NumberedEdge

DEFAULT_BUDGET = 4_000
LEAST_BUDGET = 50
# One block may not eat what the others need; the definition asked for may have more.
_SUBJECT_SHARE = 0.6
_HIT_SHARE = 0.35
_HITS = 8
_NEIGHBOURS = 40

_OUTGOING: dict[EdgeKind, float] = {
    "calls": 3.0,
    "inherits": 3.0,
    "references": 2.0,
    "authored_by": 2.5,
    "supersedes": 2.5,
    "contains": 1.0,
}
_INCOMING: dict[EdgeKind, float] = {"calls": 2.0, "inherits": 1.5, "references": 1.5, "supersedes": 2.0}
_WHY_OUT: dict[EdgeKind, str] = {
    "calls": "called by",
    "references": "referred to by",
    "supersedes": "superseded by",
    "contains": "member of",
    "inherits": "base of",
    "authored_by": "decides on",
}
_WHY_IN: dict[EdgeKind, str] = {
    "calls": "calls",
    "inherits": "derives from",
    "references": "refers to",
    "supersedes": "supersedes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One piece of source, and why it is here."""

    key: str
    path: str
    line: int
    end_line: int
    why: str
    text: str

    @property
    def header(self) -> str:
        """`path:line` and the reason."""
        return f"{self.path}:{self.line} ({self.why})"

    @property
    def tokens(self) -> int:
        """What it costs, header included."""
        return tokens_of(f"{self.header}\n{self.text}\n\n")

    def to_json(self) -> Json:
        """The promised fields."""
        return {
            "key": self.key,
            "path": self.path,
            "line": self.line,
            "end_line": self.end_line,
            "why": self.why,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Blocks within a budget. `left_out` counts what was relevant and did not fit."""

    subject: Node | None
    query: str
    budget: int
    tokens: int
    blocks: tuple[Block, ...]
    left_out: int

    def to_json(self) -> Json:
        """The promised shape."""
        return envelope(
            subject=None if self.subject is None else node_json(self.subject),
            query=self.query,
            budget=self.budget,
            tokens=self.tokens,
            left_out=self.left_out,
            blocks=[block.to_json() for block in self.blocks],
        )


def context(store: GraphStore, query: str, *, budget: int = DEFAULT_BUDGET) -> Context:
    """Collect source.

    Args:
        store: the graph.
        query: a key, a unique name, or a question.
        budget: the most tokens, estimated.

    Raises:
        NodeNotFound: nothing bears the name and no hit has its words.
        AmbiguousName: several nodes bear exactly this name.
        UsageError: an empty query or a budget that holds nothing.
    """
    if budget < LEAST_BUDGET:
        raise UsageError(
            f"A budget of {budget} tokens holds nothing.",
            hint=f"Give at least {LEAST_BUDGET}.",
            param="budget",
        )
    with store.snapshot():
        subject = _subject(store, query)
        hits = [subject] if subject else _hits(store, query)
        gathered = _Gathered(store=store, budget=budget)
        share = _SUBJECT_SHARE if subject else _HIT_SHARE
        why = "definition" if subject else "matches the question"
        for node in hits:
            gathered.add_definition(node, why, share=share)
        for node in hits[: 1 if subject else 2]:
            gathered.add_neighbours(node)
        return Context(
            subject=subject,
            query=query,
            budget=budget,
            tokens=gathered.spent,
            blocks=tuple(gathered.blocks),
            left_out=gathered.left_out,
        )


# --------------------------------------------------------------------------------------------------


def _subject(store: GraphStore, query: str) -> Node | None:
    """The node that the query names, if it is a name."""
    name = query.strip()
    if len(name.split()) != 1 and store.node(name) is None:
        return None
    try:
        return resolve_name(store, name)
    except NodeNotFound:
        return None
    except AmbiguousName:
        if store.nodes_by_name(name):
            raise
        return None


def _hits(store: GraphStore, query: str) -> list[Node]:
    found = [hit.node for hit in search(store, query, limit=_HITS).hits]
    if not found:
        raise NodeNotFound(query.strip())
    return found


@dataclass(slots=True)
class _Gathered:
    """Blocks so far, and what they cost."""

    store: GraphStore
    budget: int
    spent: int = 0
    left_out: int = 0
    blocks: list[Block] = field(default_factory=list)
    # Places that are here in full; an outline shows a class and still leaves its methods to show.
    covered: list[tuple[str, int, int]] = field(default_factory=list)
    sources: Sources = field(init=False)

    def __post_init__(self) -> None:
        self.sources = Sources(self.store)

    def add_definition(self, node: Node, why: str, *, share: float) -> None:
        """A node's source, as much as its share of the budget allows."""
        room = min(int(self.budget * share), self.budget - self.spent)
        self._add(node, why, lambda allowed: fitting(node, self.sources, allowed), room=room)

    def add_neighbours(self, node: Node) -> None:
        """What is next to a node, the most relevant first."""
        for other, why, edge in _neighbours(self.store, node):
            if why.startswith(("calls ", "refers to ")):
                text = self.sources.around(edge.path, edge.line)
                line = max(1, edge.line - 2)
                self._add(other, why, _constant(text), line=line, end_line=edge.line + 2, path=edge.path)
            else:
                self.add_definition(other, why, share=_HIT_SHARE / 2)

    def _add(
        self,
        node: Node,
        why: str,
        text_in: Callable[[int], str],
        *,
        room: int | None = None,
        path: str | None = None,
        line: int | None = None,
        end_line: int | None = None,
    ) -> None:
        path, line = path or node.path, line or node.line or 1
        end_line = end_line or node.end_line or max(line, len(self.sources.lines(path)))
        if any(_holds(span, (path, line, end_line)) for span in self.covered):
            return
        empty = Block(key=node.key, path=path, line=line, end_line=end_line, why=why, text="")
        room = self.budget - self.spent if room is None else room
        for text in (text_in(room - empty.tokens - 1), signature_text(node)):
            block = Block(key=node.key, path=path, line=line, end_line=end_line, why=why, text=text)
            if text and block.tokens <= room:
                self.blocks.append(block)
                self.spent += block.tokens
                if text.count("\n") >= end_line - line:
                    self.covered.append((path, line, end_line))
                return
        self.left_out += 1


def _constant(text: str) -> Callable[[int], str]:
    return lambda _: text


def _holds(span: tuple[str, int, int], other: tuple[str, int, int]) -> bool:
    return span[0] == other[0] and span[1] <= other[1] and other[2] <= span[2]


def _neighbours(store: GraphStore, node: Node) -> Iterator[tuple[Node, str, NumberedEdge]]:
    """(neighbour, why, edge), the most relevant first; a helper that everybody calls tells little."""
    number = store.node_ids([node.key])[node.key]
    edges = [
        *_weighed(store, number, _OUTGOING, incoming=False),
        *_weighed(store, number, _INCOMING, incoming=True),
    ]
    popular = store.in_degrees([other for _, other, _, _ in edges])
    others = store.nodes([other for _, other, _, _ in edges])

    def relevance(item: tuple[float, int, bool, NumberedEdge]) -> tuple[float, str, int, str]:
        weight, other, _, edge = item
        near = 1.2 if others[other].path == node.path else 1.0
        common = 1.0 + 0.3 * math.log1p(popular.get(other, 0))
        return -weight * near / common, edge.path, edge.line, others[other].key

    for _, other, incoming, edge in sorted(edges, key=relevance)[:_NEIGHBOURS]:
        wording = (_WHY_IN if incoming else _WHY_OUT).get(edge.kind, edge.kind.replace("_", " "))
        yield others[other], f"{wording} {node.name}", edge


def _weighed(
    store: GraphStore, number: int, weights: dict[EdgeKind, float], *, incoming: bool
) -> Iterator[tuple[float, int, bool, NumberedEdge]]:
    """(weight, other end, incoming, edge) of the first edges of each kind that tells something."""
    for kind, weight in weights.items():
        for edge in store.ends(number, kind, incoming=incoming, limit=_NEIGHBOURS):
            other = edge.source if incoming else edge.target
            yield weight * (edge.confidence or 1.0), other, incoming, edge
