"""Architecture decision records: which documents are some, their number, title, status and succession.

Reads the common layouts: `docs/adr/0007-title.md`, `adr-0007.md`; a `Status` section, a `Status:` line, a
table row or front matter. Pure. Thread: any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from roteiro.graph.extract.facts import Link
from roteiro.graph.extract.headings import Outline, plain
from roteiro.graph.extract.links import adr_id

_FOLDERS: Final = frozenset(
    {"adr", "adrs", "decision", "decisions", "decision-records", "architecture-decisions",
     "architecture_decisions", "architecture-decision-records"}
)  # fmt: skip
_NUMBERED: Final = re.compile(r"(\d{1,4})(?:[-_. ]|$)")
_PREFIXED: Final = re.compile(r"adr[-_ ]?(\d{1,4})(?!\d)", re.IGNORECASE)
_NO_DECISION: Final = re.compile(r"template|readme|index", re.IGNORECASE)

_TITLE_NUMBER: Final = re.compile(
    r"^(?:(?:ADR|Decision)[- ]?\d{1,4}|\d{1,4}(?=[.:-])|\d{3,4}(?=\s))\s*[.:\u2013\u2014-]?\s*", re.IGNORECASE
)
_STATUS_LINE: Final = re.compile(
    r"^\s*(?:[-*+]\s+|\|\s*|:)?[*_]{0,2}(?:status|state)[*_]{0,2}\s*[:|][*_]{0,2}\s*(?P<value>[^|\n]+)",
    re.IGNORECASE,
)
_STATUS_MAX: Final = 120
_HEAD_LINES: Final = 40

_SUPERSEDED: Final = re.compile(r"\b(?:superseded|replaced)\b(?:\s+(?:by|in)\b)?", re.IGNORECASE)
_SUPERSEDES: Final = re.compile(r"\b(?:supersedes?|superseding|replaces)\b", re.IGNORECASE)
_NEGATED: Final = re.compile(
    r"\b(?:not|never|no longer|n't)\s+(?:be\s+|been\s+)?(?:fully\s+)?$", re.IGNORECASE
)
# `ADR-0007`, `[7. Title](0007-title.md)`, `0007-title.md`; in a table or a status also `0007` alone.
_NAMED: Final = re.compile(
    r"\bADR[- ]?(\d{1,4})(?!\w)|(?<![\w/.-])(?:[\w./-]*/)?(\d{3,4})[-_][\w.-]*\.(?:md|rst|markdown)\b"
    r"|(?<![\w.#/-])(\d{4})(?![\w.-])",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdrHead:
    """What identifies a decision."""

    number: int
    title: str
    status: str | None


def adr_number(path: str) -> int | None:
    """The number of the decision that a document records, None for any other document."""
    file = PurePosixPath(path)
    if _NO_DECISION.search(file.stem):
        return None
    match = _PREFIXED.match(file.stem)
    if match is None and file.parent.name.lower() in _FOLDERS:
        match = _NUMBERED.match(file.stem)
    return int(match[1]) if match else None


def read_adr(number: int, title: str | None, lines: Sequence[str], outline: Outline) -> AdrHead:
    """The head of a decision; a document without a title is called by its number."""
    words = _TITLE_NUMBER.sub("", title or "", count=1).strip()
    status = outline.front_matter.get("status") or _status(lines, outline)
    return AdrHead(
        number=number,
        title=words or title or f"ADR-{number:04d}",
        status=plain(status)[:_STATUS_MAX] or None if status else None,
    )


def adr_links(text: str, *, number: int, line: int) -> Iterable[Link]:
    """The successions that one line of a decision states, from the later ADR to the one it replaces."""
    later = _SUPERSEDED.search(text)
    earlier = _SUPERSEDES.search(text)
    for found, is_later in ((later, True), (earlier, False)):
        if found is None or _NEGATED.search(text[: found.start()]):
            continue
        # What follows the word up to the other word is what it speaks of.
        rest = text[found.end() :]
        other = (_SUPERSEDES if is_later else _SUPERSEDED).search(rest)
        for named in _numbers(rest[: other.start()] if other else rest):
            if named != number and is_later:
                yield Link(f"adr:{adr_id(named)}", "supersedes", adr_id(number), line)
            elif named != number:
                yield Link(f"adr:{adr_id(number)}", "supersedes", adr_id(named), line)


# --------------------------------------------------------------------------------------------------


def _status(lines: Sequence[str], outline: Outline) -> str | None:
    for heading in outline.headings:
        if heading.text.lower().rstrip(":") in ("status", "state"):
            later = [h.line for h in outline.headings if h.line > heading.line]
            end = later[0] - 1 if later else len(lines)
            for line in lines[heading.line : end]:
                words = line.strip().lstrip("-*+> ").strip()
                if words and not set(words) <= set("=-~^"):
                    return words
    for line in lines[:_HEAD_LINES]:
        match = _STATUS_LINE.match(line)
        if match:
            return match["value"].strip().strip("*_ ")
    return None


def _numbers(text: str) -> list[int]:
    found = [int(next(filter(None, match.groups()))) for match in _NAMED.finditer(text)]
    return list(dict.fromkeys(found))
