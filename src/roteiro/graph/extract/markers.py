"""Debt in code: what comments, docstrings and stub bodies admit.

Owns the words that count and what opts out (`roteiro:ignore` on a line, `roteiro:ignore-file`). Knows no
syntax: the caller says where comments and candidate stubs stand, so that a string literal in code
is never debt. Pure. Thread: any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from roteiro.graph.model import Marker, MarkerCategory, Node

_TEXT_MAX: Final = 200

# Words in order of weight: of two on one line the first one found in this table names the marker.
_WORDS: Final[tuple[tuple[MarkerCategory, re.Pattern[str]], ...]] = (
    ("fixme", re.compile(r"\bfixme\b", re.IGNORECASE)),
    ("todo", re.compile(r"\btodo\b", re.IGNORECASE)),
    # An upper-case word, or the annotation forms `bug:` and `bug(name)`; not the id `BUG-12`.
    ("fixme", re.compile(r"(?<![\w-])BUG(?!\w|-\w)|\b[Bb]ug(?=[:(])")),
    ("hack", re.compile(r"(?<![\w-])(?:HACK|XXX)(?!\w|-\w)|\b(?:[Hh]ack|xxx|Xxx)(?=[:(])")),
)
_DEFERRALS: Final = re.compile(
    r"\bfor now\b|\bdeferred\b|\bfollow[- ]?ups?\b|\btbd\b"
    r"|\bnot implemented yet\b|\bnot yet implemented\b",
    re.IGNORECASE,
)
_MAYBE: Final = re.compile(r"todo|fixme|bug|hack|xxx|for now|deferred|follow|tbd|implemented", re.IGNORECASE)
_HINTS: Final = (
    "todo", "fixme", "bug", "hack", "xxx", "for now", "deferred", "follow", "tbd", "implemented",
    "roteiro:",
)  # fmt: skip
_IGNORE_LINE: Final = re.compile(r"roteiro:\s?ignore(?!-file)\b")
_IGNORE_FILE: Final = re.compile(r"roteiro:\s?ignore-file\b")
_DOCSTRING: Final = re.compile(r"\s*[A-Za-z]{0,2}[\"'`]")
_COMMENT_MARKS: Final = re.compile(
    r"^\s*(?:/\*+|\*+/?|///?!?|//|#+!?|--|;+|%+|<!--)?\s*|\s*(?:\*+/|-->)?\s*$"
)

_ABSTRACT: Final = re.compile(r"@[\w.]*(?:abstract\w*|overload)\b")
_PROTOCOL: Final = re.compile(r"\bProtocol\b")


class CommentText(Protocol):
    """A comment or docstring: its first line, its text with its marks, the index of its symbol (-1: file)."""

    @property
    def line(self) -> int:
        """Counts from 1."""

    @property
    def text(self) -> str:
        """As written; a docstring begins with its quotes."""

    @property
    def symbol(self) -> int:
        """Of the innermost enclosing definition; its node is `nodes[symbol + 1]`."""


class StubSite(NamedTuple):
    """A place that syntax makes a candidate: `raise NotImplementedError`, `...` as a body, `todo!()`."""

    line: int
    symbol: int
    text: str


def find_markers(
    nodes: Sequence[Node],
    comments: Iterable[CommentText],
    stubs: Iterable[StubSite] = (),
    lines: Sequence[str] = (),
) -> tuple[Marker, ...]:
    """The debt of one file of code, by line, at most one marker a line.

    Args:
        nodes: the file's own node, then one for each definition.
        comments: every comment and docstring, in source order.
        stubs: candidate stubs; abstract methods, overloads and protocols are taken out here.
        lines: the source, to see the decorators of a candidate stub.
    """
    path = nodes[0].path
    found: dict[int, Marker] = {}
    ignored: set[int] = set()
    for comment in _telling(list(comments)):
        prose = not _DOCSTRING.match(comment.text)
        for number, row in enumerate(comment.text.split("\n"), start=comment.line):
            if "roteiro:" in row:
                if _IGNORE_FILE.search(row):
                    return ()
                if _IGNORE_LINE.search(row):
                    ignored.add(number)
            category = category_of(row, deferrals=prose)
            if category is not None and number not in found:
                symbol = _key(nodes, comment.symbol)
                found[number] = marker(path, number, category, _clean(row), symbol)
    for stub in stubs:
        if stub.line not in found and not _is_abstract(nodes, stub.symbol, lines):
            symbol = _key(nodes, stub.symbol)
            found[stub.line] = marker(path, stub.line, "stub", " ".join(stub.text.split()), symbol)
    return tuple(found[number] for number in sorted(found) if number not in ignored)


def category_of(text: str, *, deferrals: bool) -> MarkerCategory | None:
    """What a line of a comment or of prose admits, if anything.

    Args:
        text: the line.
        deferrals: whether phrases like "for now" count.
    """
    if _MAYBE.search(text) is None:
        return None
    for category, pattern in _WORDS:
        if pattern.search(text):
            return category
    return "deferred" if deferrals and _DEFERRALS.search(text) else None


def opts_out(line: str) -> bool:
    """Whether the line says that nothing on it is debt."""
    return "roteiro:" in line and _IGNORE_LINE.search(line) is not None


def file_opts_out(text: str) -> bool:
    """Whether the text says that nothing in its file is debt."""
    return "roteiro:" in text and _IGNORE_FILE.search(text) is not None


def marker(path: str, line: int, category: MarkerCategory, text: str, symbol: str | None) -> Marker:
    """A marker at a line, its text bounded."""
    return Marker(
        key=f"marker:{path}#{line}",
        category=category,
        text=text[:_TEXT_MAX],
        path=path,
        line=line,
        symbol=symbol,
    )


# --------------------------------------------------------------------------------------------------


def _telling(comments: Sequence[CommentText]) -> Iterator[CommentText]:
    """The comments that hold a word that counts: plain searches, many times a pattern's speed."""
    texts = [comment.text.lower() for comment in comments]
    whole = "\n".join(texts)
    hints = [hint for hint in _HINTS if hint in whole]
    for comment, text in zip(comments, texts, strict=True):
        for hint in hints:
            if hint in text:
                yield comment
                break


def _key(nodes: Sequence[Node], symbol: int) -> str | None:
    return nodes[symbol + 1].key if symbol >= 0 else None


def _clean(row: str) -> str:
    return _COMMENT_MARKS.sub("", row).strip()


def _is_abstract(nodes: Sequence[Node], symbol: int, lines: Sequence[str]) -> bool:
    """Whether a body that does nothing is what its author meant: interfaces, not debt."""
    own = nodes[symbol + 1]
    if own.path.endswith(".pyi"):
        return True
    if symbol < 0 or own.line is None:
        return False
    for row in lines[own.line - 1 : own.end_line]:
        if not row.lstrip().startswith("@"):
            break
        if _ABSTRACT.search(row):
            return True
    outer = own.key.rpartition(".")[0]
    return any(node.key == outer and _PROTOCOL.search(node.signature or "") is not None for node in nodes)
