"""What a misspelt word may have been: the nearest words that the graph's names are made of.

A fallback of `search` for words that occur nowhere. Thread: any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from roteiro.graph.store import GraphStore
from roteiro.graph.words import words

# Shorter words are one letter away from too many others.
SHORTEST = 4
_ONE_EDIT_UP_TO = 5
_MOST = 3


def corrections(store: GraphStore, unknown: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The nearest known words for each unknown one; none for a word without any."""
    searched = [word for word in unknown if len(word) >= SHORTEST]
    if not searched:
        return {}
    known = set(_vocabulary(store))
    near = {word: _nearest(word, known) for word in searched}
    return {word: found for word, found in near.items() if found}


def distance(one: str, other: str, *, at_most: int) -> int:
    """Edits between two words (a swap of neighbours is one); `at_most + 1` stands for any more."""
    if abs(len(one) - len(other)) > at_most:
        return at_most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        older, before, row = before, row, [at]
        for to, target in enumerate(other, 1):
            cost = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != target))
            swapped = at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == target
            row.append(min(cost, older[to - 2] + 1) if swapped else cost)
        if min(row) > at_most:
            return at_most + 1
    return row[-1]


# --------------------------------------------------------------------------------------------------


def _vocabulary(store: GraphStore) -> Iterator[str]:
    """The words of every name; files by their last part, so that folders do not count twice."""
    for name, _, _ in store.names():
        yield from words(name.rsplit("/", 1)[-1])


def _nearest(word: str, known: Iterable[str]) -> tuple[str, ...]:
    bound = 1 if len(word) <= _ONE_EDIT_UP_TO else 2
    letters = set(word)
    near: list[tuple[int, str]] = []
    for other in known:
        # Each edit changes at most one letter of a set, so this spares most comparisons.
        if abs(len(other) - len(word)) <= bound and len(letters - set(other)) <= bound:
            edits = distance(word, other, at_most=bound)
            if edits <= bound:
                near.append((edits, other))
    fewest = min(near, default=(0, ""))[0]
    return tuple(other for edits, other in sorted(near) if edits == fewest)[:_MOST]
