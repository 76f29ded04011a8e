"""The second pass of a search: the likeliest rows, read whole and scored exactly.

A score of 1 is a node whose name bears every word of the question. A name that is the text itself
lies above all of those. Knows no SQL. Thread: any.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from roteiro.graph.model import Node, NodeKind
from roteiro.graph.queries.asked import Asked
from roteiro.graph.queries.evidence import PREFIX_WEIGHT, Term
from roteiro.graph.words import compact, terms

EXACT, QUALIFIED, ONE_WORD, SPELLED_OUT, BEGINS = 10.0, 9.0, 8.0, 3.0, 1.0

_WEIGHTS = (("parts", 1.0), ("signature", 0.55), ("doc", 0.5), ("path", 0.45), ("body", 0.3))
_OTHER_PLACES = 0.1
_IN_DOC = 0.6
_NAME_FIT = 0.25
# A synonym fits a name less than the word itself: "stored" must not find `put` before `store`.
_SYNONYM_FIT = 0.4
# `threadpool` begins with "thread"; short stems begin too many words.
_BEGINNING, _SHORTEST_BEGINNING = 0.4, 5
# Documents hold every word somewhere; code is what a code graph is asked for.
_KIND_FACTOR: dict[NodeKind, float] = {"file": 0.85, "doc": 0.9, "const": 0.95, "marker": 0.7}
_HINTED = 1.15
_PROSE = ("doc", "adr", "adr_section")
_TEST_FACTOR = 0.7
_TEST_PATH = re.compile(r"(^|/)(tests?|testing|__tests__|spec|specs)/|(^|/)(test_|conftest)|[._]test\.")
# Small enough never to overrule a word, large enough to order what is equal.
_CENTRALITY = 0.01
_SHORT_PROSE_WORDS = 60
_SHORT_BODY_WORDS = 30


@dataclass(frozen=True, slots=True)
class Row:
    """What the index holds of a node: stems with a space before and after each.

    Looking for ` word ` in a text is quicker than taking the text apart for a dozen questions.
    """

    name: str
    parts: str
    path: str
    signature: str
    doc: str
    body: str


def row_of(texts: Sequence[str]) -> Row:
    """A row from the texts of the search columns, in their order."""
    name, parts, path, signature, doc, body = texts
    return Row(name, f" {name} {parts} ", f" {path} ", f" {signature} ", f" {doc} ", f" {body} ")


def score(node: Node, row: Row, asked: Asked, wanted: Sequence[Term], *, arriving: int) -> float:
    """How well a node answers; larger is better.

    Args:
        node: the node.
        row: what the index holds of it.
        asked: the question.
        wanted: its terms with their weights.
        arriving: how many edges arrive at the node.
    """
    possible = sum(term.weight for term in wanted) or 1.0
    shares = [_share(node, row, term) for term in wanted]
    covered = sum(term.weight for term, share in zip(wanted, shares, strict=True) if share)
    gained = sum(term.weight * share for term, share in zip(wanted, shares, strict=True))
    fit = gained / possible * (0.5 + 0.5 * covered / possible)
    fit += _NAME_FIT * _name_fit(node, wanted) * covered / possible
    return fit * _factor(node, asked) + _name_bonus(node, row, asked) + _CENTRALITY * math.log1p(arriving)


# --------------------------------------------------------------------------------------------------


def _share(node: Node, row: Row, term: Term) -> float:
    word = f" {term.stem} "
    found = [
        weight * _dilution(node, column, text)
        for column, weight in _WEIGHTS
        if word in (text := getattr(row, column))
    ]
    begins = len(term.stem) >= _SHORTEST_BEGINNING and f" {term.stem}" in row.parts
    if found:
        best = max(found)
        best += _OTHER_PLACES * (sum(found) - best)
        return max(best, _BEGINNING) if begins else best
    if term.prefix and f" {term.prefix}" in row.parts:
        return PREFIX_WEIGHT
    other = max((_other_share(row, f" {word} ", share) for word, share in term.others.items()), default=0.0)
    return max(other, _BEGINNING if begins else 0.0)


def _other_share(row: Row, word: str, share: float) -> float:
    if word in row.parts:
        return share
    return share * _IN_DOC if word in row.doc else 0.0


def _dilution(node: Node, column: str, text: str) -> float:
    """A long text bears many words by chance."""
    if column == "body":
        return _long(text.count(" "), _SHORT_BODY_WORDS)
    if column == "doc" and node.kind in _PROSE:
        return _long(text.count(" "), _SHORT_PROSE_WORDS)
    return 1.0


def _long(length: int, short: int) -> float:
    return 1.0 / (1.0 + math.log10(max(1.0, length / short)))


def _name_fit(node: Node, wanted: Sequence[Term]) -> float:
    """How much of the node's own name the question has: `send` fits `send` better than `send_all`.

    A title is a sentence and has more words than anyone asks for; there the question's share counts.
    """
    own = set(terms(node.path.rsplit("/", 1)[-1] if node.kind == "file" else node.title or node.name))
    if not own:
        return 0.0
    if node.kind in _PROSE:
        said = sum(term.weight for term in wanted if term.stem in own)
        return said / (sum(term.weight for term in wanted) or 1.0)
    spelled = {term.stem for term in wanted}
    meant = {other for term in wanted for other in term.others} - spelled
    return (len(own & spelled) + _SYNONYM_FIT * len(own & meant)) / len(own)


def _factor(node: Node, asked: Asked) -> float:
    factor = _KIND_FACTOR.get(node.kind, 1.0)
    if node.kind in asked.kinds:
        factor = _HINTED
    if not asked.about_tests and _TEST_PATH.search(node.path):
        factor *= _TEST_FACTOR
    return factor


def _name_bonus(node: Node, row: Row, asked: Asked) -> float:
    """What being called as the text says is worth."""
    qualified = node.key.partition("#")[2]
    test = 0.5 if not asked.about_tests and _TEST_PATH.search(node.path) else 0.0
    whole = node.path if node.kind in ("file", "doc") and node.line is None else qualified
    if asked.text in (node.name, node.key, whole):
        return EXACT - test
    if _ends(whole, asked.text) or _ends(node.key, asked.text):
        return QUALIFIED - test
    if asked.whole and row.name == asked.whole:
        return ONE_WORD - test
    if any(_is_called(node, qualified, name) for name in asked.names):
        return SPELLED_OUT - test
    if asked.is_name and len(asked.whole) > 2 and row.name.startswith(asked.whole):
        return BEGINS * len(asked.whole) / len(compact(node.name) or row.name)
    return 0.0


def _is_called(node: Node, qualified: str, name: str) -> bool:
    """Whether a name spelled out means the node: bare, qualified, or with its package before it."""
    name = name.replace("::", ".").replace("->", ".").replace("#", ".")
    if name in (node.name, qualified) or _ends(qualified, name):
        return True
    package, _, last = name.rpartition(".")
    return bool(package) and last == qualified and package.rpartition(".")[2] in node.path


def _ends(long: str, end: str) -> bool:
    return long.endswith(end) and len(long) > len(end) and long[-len(end) - 1] in "./#"
