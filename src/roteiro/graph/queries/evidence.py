"""The first pass of a search: which nodes bear which of the words, and how much that is worth.

Reads posting lists only. A list that is long tells little and costs much, so lists are cut off by a
share of the graph and a cut list counts nothing here; the second pass reads the few best rows whole
and sees those words too. Thread: any.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from roteiro.graph.queries.asked import Asked
from roteiro.graph.queries.thesaurus import synonyms
from roteiro.graph.store import GraphStore

IN_NAME = "{name parts}"
IN_RECORD = "{path signature doc}"
IN_BODY = "body"
IN_NAME_OR_DOC = "{name parts doc}"

NAME_WEIGHT = 1.0
RECORD_WEIGHT = 0.55
BODY_WEIGHT = 0.3
SYNONYM_WEIGHT = 0.5
PREFIX_WEIGHT = 0.7
# A name that somebody took the trouble to spell out tells more than a word.
SPELLED_OUT = 2.0

# The most nodes a word may be borne by in a column, as a share of the graph, and the least bound.
_NAME_SHARE, _RECORD_SHARE, _BODY_SHARE, _SYNONYM_SHARE = 0.2, 0.05, 0.02, 0.01
_LEAST_BOUND = 1_000
_SHORTEST_PREFIX = 3
# Hits must cover at least this much of what the best one covers.
QUORUM = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One word of the question: its stem, how telling it is, and its other words with their share."""

    stem: str
    weight: float
    others: dict[str, float] = field(default_factory=dict)
    prefix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the posting lists say: the terms, and each node's sum of weights, best first."""

    terms: tuple[Term, ...]
    ranked: tuple[int, ...]


def gather(store: GraphStore, asked: Asked, *, within: set[int] | None = None) -> Evidence:
    """Every node that covers enough of the question, the likeliest first.

    Args:
        store: the graph.
        asked: the question.
        within: only these nodes, None for all.
    """
    lists = _Lists(store)
    points: dict[int, float] = {}
    covered: dict[int, float] = {}
    terms: list[Term] = []
    for stem in asked.terms:
        term, found = lists.of_term(asked, stem)
        terms.append(term)
        for number, share in found.items():
            points[number] = points.get(number, 0.0) + share * term.weight
            covered[number] = covered.get(number, 0.0) + term.weight
    if not points:
        points = covered = lists.of_frequent_terms(terms)
    if within is not None:
        covered = {number: weight for number, weight in covered.items() if number in within}
    enough = QUORUM * max(covered.values(), default=0.0)
    ranked = sorted(
        (number for number, weight in covered.items() if weight >= enough),
        key=lambda number: (-points[number], number),
    )
    return Evidence(terms=tuple(terms), ranked=tuple(ranked))


# --------------------------------------------------------------------------------------------------


class _Lists:
    """Posting lists of one question over one store."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._nodes = store.node_count()

    def of_term(self, asked: Asked, stem: str) -> tuple[Term, dict[int, float]]:
        """A term and the nodes that bear it, each with the weight of its best place."""
        found: dict[int, float] = {}
        borne = 0
        for columns, weight, share in (
            (IN_NAME, NAME_WEIGHT, _NAME_SHARE),
            (IN_RECORD, RECORD_WEIGHT, _RECORD_SHARE),
            (IN_BODY, BODY_WEIGHT, _BODY_SHARE),
        ):
            numbers, length = self._bounded(f'{columns} : "{stem}"', share)
            borne = max(borne, length)
            _keep_best(found, numbers, weight)
        weight = self._telling(borne) * (SPELLED_OUT if stem in asked.identifiers else 1.0)
        prefix = self._add_prefix(asked, stem, found, borne)
        others = {} if asked.is_name else self._add_synonyms(stem, weight, found)
        return Term(stem=stem, weight=weight, others=others, prefix=prefix), found

    def of_frequent_terms(self, terms: Iterable[Term]) -> dict[int, float]:
        """Where every word is frequent: the first bearers of each in their names, then anywhere."""
        found: dict[int, float] = {}
        for term in terms:
            for columns, weight in ((IN_NAME, NAME_WEIGHT), (IN_RECORD, 0.5), (IN_BODY, 0.3)):
                numbers = self._store.matching(f'{columns} : "{term.stem}"', limit=self._bound(_NAME_SHARE))
                for number in numbers:
                    found[number] = found.get(number, 0.0) + weight * term.weight
                if numbers:
                    break
        return found

    def _add_prefix(self, asked: Asked, stem: str, found: dict[int, float], borne: int) -> str:
        """What a single or unknown word may be the beginning of."""
        spelling = asked.spellings[stem]
        if len(spelling) < _SHORTEST_PREFIX or (borne and len(asked.terms) > 1):
            return ""
        numbers, _ = self._bounded(f'{IN_NAME} : "{spelling}" *', _NAME_SHARE)
        _keep_best(found, numbers, PREFIX_WEIGHT)
        return spelling

    def _add_synonyms(self, stem: str, weight: float, found: dict[int, float]) -> dict[str, float]:
        shares: dict[str, float] = {}
        for other in synonyms([stem]).get(stem, ()):
            numbers, length = self._bounded(f'{IN_NAME_OR_DOC} : "{other}"', _SYNONYM_SHARE)
            if length:
                shares[other] = SYNONYM_WEIGHT * min(1.0, self._telling(length) / weight)
                _keep_best(found, numbers, shares[other])
        return shares

    def _bounded(self, match: str, share: float) -> tuple[list[int], int]:
        """A list and its length; an empty list and the bound where it is too long to count."""
        bound = self._bound(share)
        numbers = self._store.matching(match, limit=bound + 1)
        return (numbers, len(numbers)) if len(numbers) <= bound else ([], bound)

    def _bound(self, share: float) -> int:
        return max(_LEAST_BOUND, int(self._nodes * share))

    def _telling(self, borne: int) -> float:
        """How much a word tells: the logarithm of how rare it is."""
        return math.log(1.0 + self._nodes / (1.0 + borne))


def _keep_best(found: dict[int, float], numbers: Iterable[int], weight: float) -> None:
    for number in numbers:
        if found.get(number, 0.0) < weight:
            found[number] = weight
