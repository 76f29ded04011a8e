"""Finds literal markers in text that arrives in pieces.

Two questions: where is the first marker, and how much of the end must be held back because it may become
one. Pure; thread: any.
"""

from __future__ import annotations

from collections.abc import Iterable


def held_back(text: str, markers: Iterable[str]) -> int:
    """Length of the longest end of `text` that is a proper beginning of a marker."""
    longest = 0
    for marker in markers:
        for size in range(min(len(marker) - 1, len(text)), longest, -1):
            if text.endswith(marker[:size]):
                longest = size
                break
    return longest


def first_of(text: str, markers: Iterable[str]) -> tuple[int, str] | None:
    """The first marker in `text` and its place; of several at one place the longest."""
    best: tuple[int, str] | None = None
    for marker in markers:
        at = text.find(marker)
        if at < 0:
            continue
        if best is None or at < best[0] or (at == best[0] and len(marker) > len(best[1])):
            best = (at, marker)
    return best


def may_grow(text: str, at: int, found: str, markers: Iterable[str]) -> bool:
    """True when what stands at `at` may yet become a longer marker than `found`."""
    rest = text[at:]
    return any(
        len(marker) > len(found) and len(marker) > len(rest) and marker.startswith(rest) for marker in markers
    )
