"""Finds the headings of Markdown and reStructuredText, and the lines that are code.

Owns how a document is divided; what the sections mean is for `prose` and `adr`. Pure. Thread: any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_RST_RULE: Final = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*$")
_RST_LITERAL: Final = re.compile(
    r"^(?!\.\.\s).*::\s*$|^\s*\.\. (?:code|code-block|sourcecode|parsed-literal)::"
)
_FRONT_MATTER_LINES: Final = 100

# Inline markup that is not part of a heading's words.
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ROLE: Final = re.compile(r":[\w:.+-]+:`~?([^`<]*?)(?:\s*<[^`]*>)?`")
_MARKS: Final = re.compile(r"[`*]|(?<!\w)_+|_+(?!\w)|<[^>]{1,80}>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading: its words without markup, its level from 1, and its line."""

    text: str
    level: int
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A document's headings in order. `code` are the lines of code blocks; `front_matter` its entries."""

    headings: tuple[Heading, ...]
    code: frozenset[int]
    front_matter: dict[str, str]


def markdown_outline(text: str) -> Outline:
    """The outline of a CommonMark document, YAML front matter set apart."""
    lines = text.split("\n")
    end = _front_matter_end(lines)
    # Blank lines in its place keep every line number.
    body = "\n" * end + "\n".join(lines[end:])
    headings: list[Heading] = []
    code: set[int] = set()
    tokens = _markdown().parse(body)
    for at, token in enumerate(tokens):
        if token.map is None:
            continue
        if token.type == "heading_open" and token.level == 0:
            words = plain(tokens[at + 1].content)
            headings.append(Heading(text=words, level=int(token.tag[1]), line=token.map[0] + 1))
        elif token.type in ("fence", "code_block"):
            code.update(range(token.map[0] + 1, token.map[1] + 1))
    return Outline(
        headings=tuple(heading for heading in headings if heading.text),
        code=frozenset(code),
        front_matter=_entries(lines[1 : max(end - 1, 1)]),
    )


def rst_outline(text: str) -> Outline:
    """The outline of a reStructuredText document: levels are in the order in which their marks appear."""
    lines = text.split("\n")
    styles: list[tuple[str, bool]] = []
    headings: list[Heading] = []
    for at, title in _rst_titles(lines):
        over = at > 0 and lines[at - 1].rstrip() == lines[at + 1].rstrip()
        style = (lines[at + 1][0], over)
        if style not in styles:
            styles.append(style)
        headings.append(Heading(text=title, level=styles.index(style) + 1, line=at + 1))
    return Outline(headings=tuple(headings), code=frozenset(_rst_code(lines)), front_matter={})


def plain(text: str) -> str:
    """A heading's words without links, roles and emphasis."""
    text = _ROLE.sub(r"\1", _LINK.sub(r"\1", text))
    return " ".join(_MARKS.sub("", text).split())


# --------------------------------------------------------------------------------------------------


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Blocks are enough: headings, fences and where they stand.
    return MarkdownIt("commonmark").disable("inline")


def _front_matter_end(lines: list[str]) -> int:
    """How many lines the front matter takes, 0 without one."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for at, line in enumerate(lines[1:_FRONT_MATTER_LINES], start=1):
        if line.rstrip() in ("---", "..."):
            return at + 1
    return 0


def _entries(lines: list[str]) -> dict[str, str]:
    entries: dict[str, str] = {}
    for line in lines:
        key, colon, value = line.partition(":")
        if colon and key.strip() == key and key:
            entries[key.lower()] = value.strip().strip("\"'")
    return entries


def _rst_titles(lines: list[str]) -> Iterator[tuple[int, str]]:
    """(index, words) of the lines that are titles."""
    for at in range(len(lines) - 1):
        title, rule = lines[at], lines[at + 1]
        if not title.strip() or not _RST_RULE.match(rule) or _RST_RULE.match(title):
            continue
        before = lines[at - 1].strip() if at else ""
        over = before == rule.strip()
        # Without a blank above it is a paragraph's or a table's last line.
        if (before and not over) or (title[0].isspace() and not over):
            continue
        if len(rule.rstrip()) >= len(title.strip()) or len(rule.rstrip()) >= 4:
            yield at, plain(title)


def _rst_code(lines: list[str]) -> Iterator[int]:
    """Numbers of the lines in literal blocks: what is indented deeper than the line that opens them."""
    opener: int | None = None
    for number, line in enumerate(lines, start=1):
        indent = len(line) - len(line.lstrip())
        if opener is not None and line.strip():
            if indent > opener:
                yield number
                continue
            opener = None
        if opener is None and _RST_LITERAL.match(line):
            opener = indent
