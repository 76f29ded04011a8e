"""The first pass of a search: which nodes bear which of the words, and how much that is worth.

Reads posting lists only. A list that is long tells little and costs much, so lists are cut off by a
share of the graph and a cut list counts nothing here; the second pass reads the few best rows whole
and sees those words too. Thread: any.
"""

from __future__ import annotations

import heapq
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
SYNONYM_WEIGHT = 0.35
PREFIX_WEIGHT = 0.7
# A name that somebody took the trouble to spell out tells more than a word.
SPELLED_OUT = 2.0

# The most nodes that may bear a word in a column for the list to count, as a share of the graph, and
# the least bound. A word that more than the last two bear in their names is looked for in names only.
_NAME_SHARE, _OTHER_SHARE, _SYNONYM_SHARE = 0.06, 0.01, 0.003
_LEAST_BOUND, _LEAST_SYNONYM_BOUND = 1_000, 250
_SHORTEST_PREFIX = 3
# Hits must cover at least this much of what the best one covers.
QUORUM = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One word of the question: its stem, how telling it is, and its other words with their share."""

    stem: str
    weight: float
    others: dict[str, float] = field(default_factory=dict)
    prefix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the posting lists say: the terms, and the weight of every node that covers enough."""

    terms: tuple[Term, ...]
    points: dict[int, float]

    def likeliest(self, count: int) -> list[int]:
        """The nodes with the most weight, in order; ties by number."""
        best = heapq.nsmallest(count, ((-weight, number) for number, weight in self.points.items()))
        return [number for _, number in best]

    def ranked(self) -> list[int]:
        """All nodes, the likeliest first."""
        return sorted(self.points, key=lambda number: (-self.points[number], number))


def gather(store: GraphStore, asked: Asked, *, within: set[int] | None = None) -> Evidence:
    """Every node that covers enough of the question.

    Args:
        store: the graph.
        asked: the question.
        within: only these nodes, None for all.
    """
    lists = _Lists(store)
    found: list[tuple[Term, dict[int, float]]] = [lists.of_term(asked, stem) for stem in asked.terms]
    terms = tuple(term for term, _ in found)
    if not any(bearers for _, bearers in found):
        found = lists.of_frequent_terms(terms)
    points, covered = _sums(found)
    if within is not None:
        covered = {number: weight for number, weight in covered.items() if number in within}
    enough = QUORUM * max(covered.values(), default=0.0)
    return Evidence(
        terms=terms,
        points={number: points[number] for number, weight in covered.items() if weight >= enough},
    )


# --------------------------------------------------------------------------------------------------


class _Lists:
    """Posting lists of one question over one store."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._nodes = store.node_count()

    def of_term(self, asked: Asked, stem: str) -> tuple[Term, dict[int, float]]:
        """A term and the nodes that bear it, each with the weight of its best place."""
        numbers, borne = self._bounded(f'{IN_NAME} : "{stem}"', self._bound(_NAME_SHARE))
        found = dict.fromkeys(numbers, NAME_WEIGHT)
        other_bound = self._bound(_OTHER_SHARE)
        if borne <= other_bound:
            for columns, weight in ((IN_RECORD, RECORD_WEIGHT), (IN_BODY, BODY_WEIGHT)):
                numbers, length = self._bounded(f'{columns} : "{stem}"', other_bound)
                borne = max(borne, length)
                _keep_best(found, numbers, weight)
        weight = self._telling(borne) * (SPELLED_OUT if stem in asked.identifiers else 1.0)
        prefix = "" if borne > other_bound else self._add_prefix(asked, stem, found)
        others = {} if asked.is_name else self._add_synonyms(stem, weight, found)
        return Term(stem=stem, weight=weight, others=others, prefix=prefix), found

    def of_frequent_terms(self, terms: Iterable[Term]) -> list[tuple[Term, dict[int, float]]]:
        """Where every word is frequent: who bears each in its name, else anywhere."""
        found: list[tuple[Term, dict[int, float]]] = []
        for term in terms:
            for columns in (IN_NAME, IN_RECORD, IN_BODY):
                numbers = self._store.matching(f'{columns} : "{term.stem}"')
                if numbers:
                    found.append((term, dict.fromkeys(numbers, NAME_WEIGHT)))
                    break
        return found

    def _add_prefix(self, asked: Asked, stem: str, found: dict[int, float]) -> str:
        """What a single or unknown word may be the beginning of."""
        spelling = asked.spellings[stem]
        if len(spelling) < _SHORTEST_PREFIX or (found and len(asked.terms) > 1):
            return ""
        numbers, _ = self._bounded(f'{IN_NAME} : "{spelling}" *', self._bound(_NAME_SHARE))
        _keep_best(found, numbers, PREFIX_WEIGHT)
        return spelling

    def _add_synonyms(self, stem: str, weight: float, found: dict[int, float]) -> dict[str, float]:
        shares: dict[str, float] = {}
        bound = max(_LEAST_SYNONYM_BOUND, int(self._nodes * _SYNONYM_SHARE))
        for other in synonyms([stem]).get(stem, ()):
            numbers, length = self._bounded(f'{IN_NAME_OR_DOC} : "{other}"', bound)
            if length:
                shares[other] = SYNONYM_WEIGHT * min(1.0, self._telling(length) / weight)
                _keep_best(found, numbers, shares[other])
        return shares

    def _bounded(self, match: str, bound: int) -> tuple[list[int], int]:
        """A list and its length; an empty list and a length above the bound where it is too long."""
        numbers = self._store.matching(match, limit=bound + 1)
        return (numbers if len(numbers) <= bound else []), len(numbers)

    def _bound(self, share: float) -> int:
        return max(_LEAST_BOUND, int(self._nodes * share))

    def _telling(self, borne: int) -> float:
        """How much a word tells: the logarithm of how rare it is, rare words raised.

        A question has many common words and few rare ones; in sum the common ones must not win.
        """
        return float(math.log(1.0 + self._nodes / (1.0 + borne)) ** 1.5)


def _sums(
    found: Iterable[tuple[Term, dict[int, float]]],
) -> tuple[dict[int, float], dict[int, float]]:
    """Each node's weighted points, and the weight of the terms that it bears at all."""
    points: dict[int, float] = {}
    covered: dict[int, float] = {}
    for term, bearers in found:
        weight = term.weight
        if not points:
            points = {number: share * weight for number, share in bearers.items()}
            covered = dict.fromkeys(bearers, weight)
            continue
        for number, share in bearers.items():
            points[number] = points.get(number, 0.0) + share * weight
            covered[number] = covered.get(number, 0.0) + weight
    return points, covered


def _keep_best(found: dict[int, float], numbers: Iterable[int], weight: float) -> None:
    for number in numbers:
        if found.get(number, 0.0) < weight:
            found[number] = weight
