"""`search`: the nodes that a name, some words or a question mean, best first.

Two passes: posting lists choose the likely nodes (`evidence`), their rows order them (`ranking`). Words
that occur nowhere are corrected once. The same text on the same graph gives the same answer.
Thread: any.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from roteiro.errors import UsageError
from roteiro.graph.model import NODE_KINDS, Node
from roteiro.graph.queries.asked import Asked, take_apart
from roteiro.graph.queries.evidence import Evidence, Term, gather
from roteiro.graph.queries.names import like
from roteiro.graph.queries.pages import checked_choices, checked_page
from roteiro.graph.queries.ranking import row_of, score
from roteiro.graph.queries.shapes import Json, envelope, node_json
from roteiro.graph.queries.snippets import pattern_of, snippet
from roteiro.graph.queries.spelling import corrections
from roteiro.graph.store import GraphStore
from roteiro.graph.words import stem

DEFAULT_LIMIT = 20
# As many rows are read whole; what lies behind keeps the order of the first pass, on every page.
RESCORED = 64
# Of a name that more than so many bear (`__init__`), so many are sure to be among the hits.
NAMED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A node that was found, how well it fits, and the line that shows it."""

    node: Node
    score: float
    snippet: str | None

    def to_json(self) -> Json:
        """The node's fields with score and snippet."""
        return {**node_json(self.node), "score": self.score, "snippet": self.snippet}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One page of hits; `total` counts them all.

    `corrected` says what was searched for in place of words that occur nowhere. `exact` tells whether
    a hit bears the text itself as its name. `undefined` are the names that the query spells out and
    nothing in the graph bears: whatever was found instead, they are not defined here.
    """

    query: str
    total: int
    hits: tuple[SearchHit, ...]
    exact: bool
    corrected: dict[str, tuple[str, ...]] = field(default_factory=dict)
    undefined: tuple[str, ...] = ()

    def to_json(self) -> Json:
        """The promised shape."""
        return envelope(
            query=self.query,
            total=self.total,
            exact=self.exact,
            corrected={word: list(others) for word, others in self.corrected.items()},
            undefined=list(self.undefined),
            hits=[hit.to_json() for hit in self.hits],
        )


def search(
    store: GraphStore,
    query: str,
    *,
    kinds: Collection[str] = (),
    limit: int = DEFAULT_LIMIT,
    offset: int = 0,
) -> SearchResult:
    """Find nodes.

    Args:
        store: the graph.
        query: a name, a part of one, some words, or a question.
        kinds: only nodes of these kinds.
        limit: the most hits; 0 is all.
        offset: how many of the best to leave out.

    Raises:
        UsageError: an empty query, an unknown kind or a negative page.
    """
    checked_page(limit, offset)
    wanted = checked_choices(kinds, NODE_KINDS, what="kind")
    asked = take_apart(query)
    if not asked.text:
        raise UsageError("The query is empty.", hint="Give a name or some words.", param="query")
    with store.snapshot():
        within = store.ids_of_kinds(wanted) if wanted else None
        return _search(store, asked, within, slice(offset, offset + limit if limit else None))


# --------------------------------------------------------------------------------------------------


def _search(store: GraphStore, asked: Asked, within: set[int] | None, wanted: slice) -> SearchResult:
    text = asked.text
    evidence = gather(store, asked, within=within)
    corrected: dict[str, tuple[str, ...]] = {}
    if not evidence.points:
        corrected = corrections(store, [asked.spellings[term] for term in asked.terms])
        asked = _corrected(asked, corrected)
        evidence = gather(store, asked, within=within) if corrected else evidence
    named, undefined = _named(store, asked)
    named = [number for number in named if within is None or number in within]
    chosen = list(dict.fromkeys([*named, *evidence.likeliest(RESCORED)]))
    best = _rescored(store, chosen, asked, evidence.terms)
    total = len(evidence.points) + sum(number not in evidence.points for number in named)
    if len(best) < total and (wanted.stop is None or wanted.stop > len(best)):
        first = set(chosen)
        best += [(number, 0.0) for number in evidence.ranked() if number not in first]
    hits = _hits(store, best[wanted], evidence)
    exact = any(node.name == asked.text for node in store.nodes(named).values())
    return SearchResult(
        query=text, total=total, hits=hits, exact=exact, corrected=corrected, undefined=undefined
    )


def _corrected(asked: Asked, corrected: dict[str, tuple[str, ...]]) -> Asked:
    spellings: dict[str, str] = {}
    for term in asked.terms:
        for word in corrected.get(asked.spellings[term], (asked.spellings[term],)):
            spellings.setdefault(stem(word), word)
    return replace(asked, terms=tuple(spellings), spellings=spellings)


def _named(store: GraphStore, asked: Asked) -> tuple[list[int], tuple[str, ...]]:
    """Nodes that the text names outright, and the names that none bears.

    Words alone might miss the nodes (`e`, `__init__`, paths).
    """
    numbers: set[int] = set()
    undefined: list[str] = []
    for name in dict.fromkeys([asked.text, *asked.names]):
        last = re.split(r"\.|::|#|->", name)[-1]
        found = store.ids_by_name(name, limit=NAMED) or store.ids_by_name(last, limit=NAMED)
        found = found or _files(store, name)
        numbers.update(found)
        if not found and name in asked.names and not store.nodes_by_name(last, ignore_case=True):
            undefined.append(name)
    return sorted(numbers.union(store.node_ids([asked.text]).values())), tuple(undefined)


def _files(store: GraphStore, name: str) -> list[int]:
    """Files and docs whose path is, or ends with, what looks like one."""
    if "." not in name and "/" not in name:
        return []
    keys = [key for kind in ("file", "doc") for key in store.keyed(f"{kind}:%{like(name)}", limit=NAMED)]
    fitting = [key for key in keys if key.partition(":")[2] == name or key.endswith(f"/{name}")]
    return sorted(store.node_ids(fitting).values())


def _rescored(
    store: GraphStore, numbers: Sequence[int], asked: Asked, wanted: tuple[Term, ...]
) -> list[tuple[int, float]]:
    nodes, rows = store.nodes(numbers), store.index_rows(numbers)
    arriving = store.in_degrees(numbers)
    empty = ("",) * 6
    scored = [
        (
            round(
                score(
                    node,
                    row_of(rows.get(number, empty)),
                    asked,
                    wanted,
                    arriving=arriving.get(number, 0),
                ),
                4,
            ),
            node,
            number,
        )
        for number, node in nodes.items()
    ]
    scored.sort(key=lambda item: (-item[0], item[1].path, item[1].line or 0, item[1].key))
    return [(number, value) for value, _, number in scored]


def _hits(
    store: GraphStore, chosen: Sequence[tuple[int, float]], evidence: Evidence
) -> tuple[SearchHit, ...]:
    nodes = store.nodes([number for number, _ in chosen])
    pattern = pattern_of(evidence.terms)
    lines: dict[str, list[str]] = {}
    hits: list[SearchHit] = []
    for number, value in chosen:
        node = nodes[number]
        if node.path not in lines:
            lines[node.path] = (store.read_source(node.path) or "").split("\n")
        shown = snippet(node, lines[node.path], pattern)
        hits.append(SearchHit(node=node, score=value, snippet=shown))
    return tuple(hits)
