"""Decisions: which documents are some, and what they say of themselves."""

from __future__ import annotations

import pytest

from roteiro.graph.extract.adr import adr_links, adr_number
from roteiro.graph.extract.prose import extract_prose
from roteiro.graph.model import Node


def adr(text: str, path: str = "docs/adr/0007-use-x.md") -> Node:
    lang = "rst" if path.endswith(".rst") else "markdown"
    return extract_prose(path, text.encode(), lang).nodes[0]


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("docs/adr/0007-use-x.md", 7),
        ("adr/7-use-x.md", 7),
        ("doc/architecture-decisions/0012_y.rst", 12),
        ("docs/decisions/0003.md", 3),
        ("notes/adr-0042-z.md", 42),
        ("ADR0001.md", 1),
        ("docs/adr/README.md", None),
        ("docs/adr/0000-template.md", None),
        ("docs/0007-guide.md", None),
        ("docs/adr/notes.md", None),
        ("2024-plan.md", None),
    ],
)
def test_which_documents_are_decisions(path: str, number: int | None) -> None:
    assert adr_number(path) == number


@pytest.mark.parametrize(
    ("text", "title", "status"),
    [
        ("# 7. Use X\n\n## Status\n\nAccepted\n\n## Context\n", "Use X", "Accepted"),
        ("# ADR-0007: Use X\n\n- Status: proposed\n", "Use X", "proposed"),
        ("# Use X\n\n**Status:** Accepted (2024-01-01)\n", "Use X", "Accepted (2024-01-01)"),
        ("# Use X\n\n| State | Accepted |\n| Domain | y |\n", "Use X", "Accepted"),
        ("---\nstatus: superseded\ntitle: Use X\n---\n\nText\n", "Use X", "superseded"),
        ("# Use X\n\n## Status\n\nSuperseded by [ADR-0009](0009-y.md)\n", "Use X", "Superseded by ADR-0009"),
        ("# ADR 7 \u2014 Use X\n", "Use X", None),
        ("# 7 things to know\n", "7 things to know", None),
        ("text only\n", "ADR-0007", None),
    ],
)
def test_title_and_status(text: str, title: str, status: str | None) -> None:
    node = adr(text)
    assert (node.key, node.kind, node.number) == ("adr:0007", "adr", 7)
    assert (node.title, node.status) == (title, status)


def test_a_decision_in_restructured_text() -> None:
    text = "ADR-0007: Use X\n===============\n\n:Status: Accepted\n\nContext\n-------\n\nText.\n"
    facts = extract_prose("docs/adr/0007-x.rst", text.encode(), "rst")
    assert (facts.nodes[0].title, facts.nodes[0].status) == ("Use X", "Accepted")
    assert [node.key for node in facts.nodes[1:]] == ["adr:0007#context"]


@pytest.mark.parametrize(
    ("line", "pairs"),
    [
        ("Supersedes ADR-0003", [("adr:0007", "0003")]),
        ("Supersedes [3. Old](0003-old.md) and ADR-4.", [("adr:0007", "0003"), ("adr:0007", "0004")]),
        ("Superseded by ADR-0009", [("adr:0009", "0007")]),
        ("| Superseded by | 0009 |", [("adr:0009", "0007")]),
        ("Superseded by [ADR-0009](docs/adr/0009-x.md); supersedes ADR-0002",
         [("adr:0009", "0007"), ("adr:0007", "0002")]),
        ("This does not supersede ADR-0003", []),
        ("Superseded by nothing, see ADR", []),
        ("ADR-0003 is related", []),
        ("Supersedes ADR-0007", []),
        ("Supersedes the plan of 12.2024", []),
    ],
)  # fmt: skip
def test_successions(line: str, pairs: list[tuple[str, str]]) -> None:
    found = list(adr_links(line, number=7, line=1))
    assert [(link.source, link.target) for link in found] == pairs
    assert {link.kind for link in found} <= {"supersedes"}
