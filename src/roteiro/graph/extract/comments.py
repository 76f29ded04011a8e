"""The comments and docstrings of one file: the first line of a definition's doc, and where text stands.

Knows comment marks of every language and nothing of symbols. Thread: any.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from roteiro.graph.extract.parsing import SyntaxNode

_OPENING: Final = re.compile(r"^[ \t]*(?:/\*+[*!<]*|///?[/!<]*|//|#+|--|\"\"\"|'''|;+|\*(?!/))?[ \t]*")
_QUOTES: Final = re.compile(r"^[A-Za-z]{0,3}(\"\"\"|'''|\"|')")
_TAGS: Final = re.compile(r"^</?\w+>\s*|</\w+>$|^@(?:brief|summary)\s+")
_DOC_MAX: Final = 200


class Comment(NamedTuple):
    """A comment's or docstring's text with the line it starts on."""

    line: int
    end_line: int
    text: str
    alone: bool
    symbol: int


class Comments:
    """Collects the comments of a file in source order."""

    __slots__ = ("_data", "_ending", "found")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._ending: dict[int, Comment] = {}
        self.found: list[Comment] = []

    def add(self, node: SyntaxNode, symbol: int) -> None:
        """Take in a comment that stands within `symbol` (an index, -1 for the file)."""
        row, column = node.start_point
        begin = node.start_byte
        raw = self._data[begin : node.end_byte]
        last = node.end_point[0] + 1
        if raw.endswith(b"\n"):
            raw, last = raw.rstrip(b"\r\n"), row + 1 + raw.rstrip(b"\r\n").count(b"\n")
        alone = not self._data[begin - column : begin].strip()
        comment = Comment(row + 1, last, raw.decode("utf-8", "replace"), alone, symbol)
        self.found.append(comment)
        if alone:
            self._ending[last] = comment

    def before(self, line: int) -> str | None:
        """The first line of the comment block that ends just above `line`."""
        comment = self._ending.get(line - 1)
        if comment is None:
            return None
        while (above := self._ending.get(comment.line - 1)) is not None and above.alone:
            comment = above
        return first_line(comment.text)


def first_line(text: str) -> str | None:
    """The first line of a comment or docstring that says something, its marks taken off."""
    text = _QUOTES.sub("", text, count=1)
    for raw in text.split("\n", 20)[:20]:
        line = _OPENING.sub("", raw).strip()
        line = line.removesuffix("*/").strip().strip("\"'").strip()
        line = _TAGS.sub("", line).strip()
        if line and not line.startswith(("!", "@")):
            return line[:_DOC_MAX]
    return None
