"""Tells a repository's own sources from what stands beside them: tests, stubs, builds, foreign code.

A question that does not ask for those is about the sources. Pure text; thread: any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from roteiro.graph.model import Node

_TEST = re.compile(
    r"(^|/)(tests?|testing|specs?|__tests__|__mocks__|fixtures)/|(^|/)(test_|conftest\.)|_test\.|\.(test|spec)\."
)
_ASIDE = re.compile(
    r"^(scripts?|tools|docs?|bench|benchmarks?|examples?|samples?|\.[^/]+)/|(^|/)(vendor|third_party|node_modules)/"
)
# What is made from the sources, or repeats their declarations.
_DERIVED = re.compile(
    r"^(dist|build|out|cjs|esm|umd|lib/(cjs|esm))/|\.(pyi|d\.ts|d\.mts|d\.cts|flow|cjs)$|\.min\."
)
_SRC = re.compile(r"(^|/)src/")


def is_test(path: str) -> bool:
    """Whether a path is one of tests."""
    return bool(_TEST.search(path))


def is_aside(path: str) -> bool:
    """Whether a path is outside the sources: tests, examples, scripts, builds, stubs, foreign code."""
    return standing(path) > 0


def standing(path: str) -> int:
    """0 for sources, 1 for stubs and builds, 2 for what stands beside, 3 for tests."""
    if is_test(path):
        return 3
    if _ASIDE.search(path):
        return 2
    return 1 if _DERIVED.search(path) else 0


def sources_first(nodes: Iterable[Node]) -> list[Node]:
    """The same nodes with those of the sources first, else in order."""
    return sorted(nodes, key=lambda node: standing(node.path))


def best_standing(nodes: Iterable[Node]) -> list[Node]:
    """Only the nodes that stand best: a definition's stub and its build are not further meanings.

    Packages are published with what is compiled beside `src`: of one name those under `src` are meant.
    """
    listed = list(nodes)
    best = min((standing(node.path) for node in listed), default=0)
    chosen = [node for node in listed if standing(node.path) == best]
    return [node for node in chosen if _SRC.search(node.path)] or chosen


def is_handwritten(path: str) -> bool:
    """Whether a path is of the sources or a stub that people write."""
    return standing(path) == 0 or path.endswith(".pyi")
