"""Documents: their sections as nodes, their links and their debt.

Owns Markdown and reStructuredText, changelogs (divided by version) and what is common to ADRs, whose own
meaning is in `adr`. Pure; a document is never parsed as code. Thread: any; runs in worker processes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Final

from roteiro.graph.extract.adr import AdrHead, adr_links, adr_number, read_adr
from roteiro.graph.extract.facts import FileBody, FileFacts, FileHeader, Link
from roteiro.graph.extract.headings import Heading, Outline, markdown_outline, plain, rst_outline
from roteiro.graph.extract.links import links_in
from roteiro.graph.extract.markers import category_of, file_opts_out, marker, opts_out
from roteiro.graph.model import Marker, Node

_CHANGELOG: Final = re.compile(
    r"(?:change(?:s|log|_log|-log)?|history|news|releases?|release[-_]?notes)$", re.IGNORECASE
)
_VERSION: Final = re.compile(r"\d+\.\d+|\bunreleased\b|\bupcoming\b|\bv\d+\b", re.IGNORECASE)
_TASK: Final = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+\[ \]\s+\S")
_CODE: Final = re.compile(r"(`+)[^`].*?\1")
_CODE_SPAN: Final = re.compile(r"`[^`\n]*\[\[[^`\n]*`")
_WORD: Final = re.compile(r"[^\W]\w*")
_SLUG_DROP: Final = re.compile(r"[^\w\- ]")
_NOT_PROSE: Final = re.compile(r"\s*(?:[#=\-~^*+|<>!\[{.:]|$)")
_DOC_MAX: Final = 200


def extract_prose(path: str, data: bytes, lang: str) -> FileFacts:
    """What a document says. `data` is UTF-8 with LF line ends."""
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    outline = markdown_outline(text) if lang == "markdown" else rst_outline(text)
    number = adr_number(path)
    title, headings = _titled(outline, path)
    if number is None:
        own = _document(path, lang, title, lines, headings)
    else:
        own = _decision(path, lang, read_adr(number, title, lines, outline), lines, headings)
    nodes = (own, *_sections(own, headings, lines))
    links = (*_contained(nodes), *_links(nodes, number, lines, outline.code))
    return FileFacts(
        path=path,
        lang=lang,
        header=FileHeader(lang=lang, keys=tuple(node.key for node in nodes)),
        body=FileBody(links=links),
        nodes=nodes,
        markers=() if file_opts_out(text) else tuple(_markers(nodes, lines, outline.code)),
        mentions=frozenset(
            word for link in links if link.kind != "contains" for word in _WORD.findall(link.target)
        ),
        lines=len(lines) - (lines[-1] == ""),
    )


# --------------------------------------------------------------------------------------------------


def _titled(outline: Outline, path: str) -> tuple[str | None, Sequence[Heading]]:
    """The document's title, if its first heading stands above all others, and its section headings."""
    headings = outline.headings
    title = outline.front_matter.get("title")
    top = min((heading.level for heading in headings), default=0)
    if headings and [h.level for h in headings].count(top) == 1 and headings[0].level == top:
        title, headings = headings[0].text, headings[1:]
    if _CHANGELOG.match(PurePosixPath(path).stem):
        versions = tuple(heading for heading in headings if _VERSION.search(heading.text))
        headings = versions or headings
    return title, headings


def _document(
    path: str, lang: str, title: str | None, lines: Sequence[str], headings: Sequence[Heading]
) -> Node:
    end = headings[0].line - 1 if headings else len(lines)
    return Node(
        key=f"doc:{path}",
        kind="doc",
        name=title or path,
        path=path,
        lang=lang,
        doc=_first_sentence(lines[:end], title),
    )


def _decision(path: str, lang: str, head: AdrHead, lines: Sequence[str], headings: Sequence[Heading]) -> Node:
    return Node(
        key=f"adr:{head.number:04d}",
        kind="adr",
        name=f"ADR-{head.number:04d}",
        path=path,
        line=1,
        end_line=_last(lines),
        lang=lang,
        doc=_first_sentence(lines[: headings[0].line - 1] if headings else lines, head.title),
        number=head.number,
        title=head.title,
        status=head.status,
    )


def _sections(own: Node, headings: Sequence[Heading], lines: Sequence[str]) -> list[Node]:
    """A node for each heading, from it to the next of its level or a higher one."""
    used: dict[str, int] = {}
    sections: list[Node] = []
    for at, heading in enumerate(headings):
        slug = _slug(heading.text)
        used[slug] = used.get(slug, 0) + 1
        key = f"{own.key}#{slug}" + (f"~{used[slug]}" if used[slug] > 1 else "")
        later = [h.line for h in headings[at + 1 :] if h.level <= heading.level]
        end = later[0] - 1 if later else _last(lines)
        following = headings[at + 1].line - 1 if at + 1 < len(headings) else end
        sections.append(
            Node(
                key=key,
                kind="adr_section" if own.kind == "adr" else "doc",
                name=heading.text,
                path=own.path,
                line=heading.line,
                end_line=max(end, heading.line),
                lang=own.lang,
                doc=_first_sentence(lines[heading.line : following], None),
            )
        )
    return sections


def _contained(nodes: Sequence[Node]) -> Iterable[Link]:
    """From a document to its sections, from a section to those within it."""
    around = [nodes[0]]
    for node in nodes[1:]:
        while len(around) > 1 and (around[-1].end_line or 0) < (node.line or 0):
            around.pop()
        yield Link(around[-1].key, "contains", node.key, node.line or 1)
        around.append(node)


def _slug(heading: str) -> str:
    return _SLUG_DROP.sub("", heading.lower()).strip().replace(" ", "-") or "section"


def _last(lines: Sequence[str]) -> int:
    return max(1, len(lines) - (lines[-1] == ""))


def _first_sentence(lines: Sequence[str], title: str | None) -> str | None:
    """The first line of running text."""
    for line in lines:
        if _NOT_PROSE.match(line):
            continue
        words = plain(line)
        if words and words != title and not words.startswith("---"):
            return words[:_DOC_MAX]
    return None


class _Sections:
    """Tells the innermost section of a line, for lines asked in order."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._at = 0

    def of(self, line: int) -> Node:
        nodes = self._nodes
        while self._at + 1 < len(nodes) and (nodes[self._at + 1].line or 0) <= line:
            self._at += 1
        return nodes[self._at]


def _links(
    nodes: Sequence[Node], number: int | None, lines: Sequence[str], code: frozenset[int]
) -> Iterable[Link]:
    sections = _Sections(nodes)
    for at, line in enumerate(lines, start=1):
        if at in code or not line:
            continue
        source = sections.of(at).key
        if number is not None:
            yield from adr_links(line, number=number, line=at)
        for link in links_in(_CODE_SPAN.sub("", line), source=source, line=at):
            if link.kind != "adr" or number is None or int(link.target) != number:
                yield link


def _markers(nodes: Sequence[Node], lines: Sequence[str], code: frozenset[int]) -> Iterable[Marker]:
    sections = _Sections(nodes)
    for at, line in enumerate(lines, start=1):
        if at in code or opts_out(line):
            continue
        # A word in code marks is spoken of, not said.
        said = _CODE.sub("", line) if "`" in line else line
        category = "deferred" if _TASK.match(line) else category_of(said, deferrals=True)
        if category is not None:
            own = sections.of(at)
            symbol = own.key if own is not nodes[0] or own.kind == "adr" else None
            yield marker(own.path, at, category, line.strip(), symbol)
