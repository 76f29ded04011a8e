"""Finds what people name in prose and comments: `[[path#Symbol]]` and `ADR-0007`.

Who is meant is decided when the whole tree is known (`graph/link`). Pure text. Thread: any.
"""

from __future__ import annotations

import re
from typing import Final

from roteiro.graph.extract.facts import Link

# `[[src/app.py#Client.get]]`, also with an alias after `|`; the content holds no bracket.
_WIKI: Final = re.compile(r"\[\[([^\[\]\n|]{1,400})(?:\|[^\[\]\n]*)?\]\]")
_ADR: Final = re.compile(r"(?<![\w-])ADR[- ]?(\d{1,4})(?!\w)")


def links_in(text: str, *, source: str, line: int) -> list[Link]:
    """The links that a text makes, in order, each target once a line.

    Args:
        text: prose, or the text of one comment.
        source: the key of the node that holds it.
        line: the line on which the text begins.
    """
    if "[[" not in text and "ADR" not in text:
        return []
    found: dict[tuple[int, str, str], None] = {}
    for number, row in enumerate(text.split("\n"), start=line):
        spots = [(match.start(), "link", match[1].strip()) for match in _WIKI.finditer(row)]
        spots += [(match.start(), "adr", adr_id(int(match[1]))) for match in _ADR.finditer(row)]
        found.update(dict.fromkeys((number, kind, target) for _, kind, target in sorted(spots)))
    return [Link(source, kind, target, number) for number, kind, target in found if target]


def adr_id(number: int) -> str:
    """An ADR's number as its id has it, with four digits."""
    return f"{number:04d}"
