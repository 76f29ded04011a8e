"""Finds what the words of a question describe, and tells whether that is enough to be what is asked for.

Thread: any; blocks on the store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from roteiro.graph.model import Node, NodeKind
from roteiro.graph.queries.asked import take_apart
from roteiro.graph.queries.search import SearchHit, search
from roteiro.graph.queries.thesaurus import synonyms
from roteiro.graph.store import GraphStore
from roteiro.graph.words import KIND_WORDS, STOP_WORDS, words
from roteiro.tools import wording
from roteiro.tools.briefing.passages import weights_of
from roteiro.tools.briefing.question import Question
from roteiro.tools.scope import best_standing, is_test, standing

SHOWN = 5
_LOOKED_AT = 30
_SAID = 160
# Share of a question's telling words that a hit must hold; below it the hit is about something else.
# A question that need not be about code at all has to be met better.
ENOUGH, SURELY_ENOUGH = 0.18, 0.4
CODE: tuple[NodeKind, ...] = (
    "fn", "method", "class", "const", "interface", "struct", "enum", "trait", "module",
)  # fmt: skip


def described(store: GraphStore, question: Question, *, within: Node | None = None) -> Iterator[str]:
    """The symbols, else the documents, that the words of the question describe.

    Args:
        store: the graph.
        question: the question.
        within: only members of this class.
    """
    if not _tells(question.text):
        return
    kinds: Collection[NodeKind] = question.kinds or (CODE if question.about_code or question.here else ())
    found = _worth(store, question, kinds, within)
    if not found and kinds and within is None:
        found = _worth(store, question, ())
    for hit in found[:SHOWN]:
        said = hit.node.doc or hit.snippet or ""
        yield f"{wording.defined(hit.node)} {' '.join(said.split())[:_SAID]}".strip()


# ------------------------------------------------------------------------------------------------


def _worth(
    store: GraphStore, question: Question, kinds: Collection[NodeKind], within: Node | None = None
) -> list[SearchHit]:
    found = search(store, question.text, kinds=kinds, limit=_LOOKED_AT if within is None else 0).hits
    if within is not None:
        found = tuple(hit for hit in found if hit.node.key.startswith(f"{within.key}."))
    own = [hit for hit in found if _in_scope(hit.node, question)]
    covered = _coverage(store, question, [hit.node for hit in own])
    enough = ENOUGH if question.here or question.about_code else SURELY_ENOUGH
    if not covered or max(covered.values()) < enough:
        return []
    # A build repeats its sources; only where nothing else is found it is shown.
    best = min(standing(hit.node.path) for hit in own)
    own = [hit for hit in own if standing(hit.node.path) == best or question.about_tests]
    names = [wording.name_of(hit.node) for hit in own]
    own = [
        hit
        for hit, name in zip(own, names, strict=True)
        if hit.node in best_standing(other.node for other in own if wording.name_of(other.node) == name)
    ]
    return [hit for hit in own if covered[hit.node.key] >= ENOUGH / 2]


def _tells(text: str) -> bool:
    """Whether a text has a word to look for at all ("who are you?" has none)."""
    return any(len(word) > 2 and word not in STOP_WORDS | KIND_WORDS for word in words(text))


def _in_scope(node: Node, question: Question) -> bool:
    return question.about_tests or not (is_test(node.path) or node.path.startswith("."))


def _coverage(store: GraphStore, question: Question, nodes: Sequence[Node]) -> dict[str, float]:
    """How much of what a question says each node's row in the index holds, from 0 to 1."""
    weights = weights_of(store, question.text)
    asked = {word: weights[word] for word in take_apart(question.text).terms if word in weights}
    total = sum(asked.values()) or 1.0
    numbers = store.node_ids([node.key for node in nodes])
    rows = store.index_rows(list(numbers.values()))
    covered = {}
    for node in nodes:
        said = set(" ".join(rows.get(numbers[node.key], ())).split())
        covered[node.key] = sum(weight * _said(word, said) for word, weight in asked.items()) / total
    return covered


def _said(word: str, said: set[str]) -> float:
    """1 where the word itself is said, half where another word for it is."""
    if word in said:
        return 1.0
    return 0.5 if said.intersection(synonyms([word]).get(word, ())) else 0.0
