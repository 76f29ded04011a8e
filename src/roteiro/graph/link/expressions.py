"""The small arithmetic of linking: expressions as head and steps, and sets of values as tuples.

Pure. Thread: any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from roteiro.graph.link.values import (
    EXTERNAL,
    ONLY_EXTERNAL,
    ONLY_UNKNOWN,
    UNKNOWN,
    Value,
    Values,
)

_STEP: Final = re.compile(r"\.[^.()\[\]]+|\(\)|\[\]")
_HEAD: Final = re.compile(r"[^.()\[\]]+")
_MAX_VALUES: Final = 8


@lru_cache(maxsize=32768)
def parse(expr: str) -> tuple[str, tuple[str, ...]]:
    """An expression without alternatives as its head and steps."""
    match = _HEAD.match(expr)
    if match is None:
        return "", ()
    return match[0], tuple(_STEP.findall(expr, match.end()))


def settled(values: Values) -> Values:
    """The same values; a lone external or unknown one as the constant that others compare with."""
    if len(values) == 1:
        only = values[0]
        if only[0] == "?":
            return ONLY_UNKNOWN
        return ONLY_EXTERNAL if only[0] == "x" else values
    return values[:_MAX_VALUES]


def merged(parts: Iterable[Values]) -> Values:
    """All values of all parts, each once, bounded."""
    found: dict[Value, None] = {}
    for part in parts:
        for value in part:
            found[value] = None
    if len(found) == 1:
        only = next(iter(found))
        if only == EXTERNAL:
            return ONLY_EXTERNAL
        return ONLY_UNKNOWN if only == UNKNOWN else (only,)
    return tuple(found)[:_MAX_VALUES]
