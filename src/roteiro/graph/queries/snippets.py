"""The line of a node's source that shows best why it was found. Thread: any."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from roteiro.graph.model import Node
from roteiro.graph.queries.evidence import Term

LINES_LOOKED_AT = 400
SNIPPET_CHARS = 160


def pattern_of(wanted: Collection[Term]) -> re.Pattern[str] | None:
    """Finds the stems of the terms in a lower-case line."""
    stems = sorted({term.stem for term in wanted if len(term.stem) > 1}, key=lambda s: (-len(s), s))
    return re.compile("|".join(map(re.escape, stems))) if stems else None


def snippet(node: Node, lines: Sequence[str], pattern: re.Pattern[str] | None) -> str | None:
    """The first line with most of the words, shortened; None where no line has any."""
    if pattern is None:
        return None
    first = (node.line or 1) - 1
    last = min(node.end_line or len(lines), first + LINES_LOOKED_AT)
    best, most = "", 0
    for line in lines[first:last]:
        found = len(set(pattern.findall(line.lower()))) if len(line) < 2_000 else 0
        if found > most:
            best, most = line, found
    text = " ".join(best.split())
    return f"{text[: SNIPPET_CHARS - 1]}…" if len(text) > SNIPPET_CHARS else text or None
