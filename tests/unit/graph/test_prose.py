"""Documents: sections, links and debt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roteiro.graph.extract.facts import Link
from roteiro.graph.extract.prose import extract_prose
from roteiro.graph.link import Linker

GUIDE = """\
# The Guide

It explains `things`.

## Install

Run it, see [[src/app.py#Client.get]] and ADR-0007.

### On Linux

```sh
# TODO not debt: this is code
[[ -f x ]] && echo
```

## Use

- [ ] write this part
- [x] done
1. [ ] and this

Not implemented yet. <!-- TODO: say more -->
A deferred part. <!-- roteiro:ignore -->
## Install
"""


def test_sections_are_nested_and_have_keys_of_their_own() -> None:
    facts = extract_prose("docs/guide.md", GUIDE.encode(), "markdown")
    assert [(node.key, node.kind, node.line, node.end_line) for node in facts.nodes] == [
        ("doc:docs/guide.md", "doc", None, None),
        ("doc:docs/guide.md#install", "doc", 5, 15),
        ("doc:docs/guide.md#on-linux", "doc", 9, 15),
        ("doc:docs/guide.md#use", "doc", 16, 23),
        ("doc:docs/guide.md#install~2", "doc", 24, 24),
    ]
    assert facts.nodes[0].name == "The Guide"
    assert facts.nodes[0].doc == "It explains things."
    assert facts.header.keys == tuple(node.key for node in facts.nodes)
    assert facts.lines == 24


def test_links_start_at_the_section_that_holds_them() -> None:
    facts = extract_prose("docs/guide.md", GUIDE.encode(), "markdown")
    section = "doc:docs/guide.md#install"
    assert tuple(link for link in facts.body.links if link.kind != "contains") == (
        Link(section, "link", "src/app.py#Client.get", 7),
        Link(section, "adr", "0007", 7),
    )
    assert {"Client", "get"} <= facts.mentions


def test_debt_of_prose_is_tasks_and_admissions_outside_code() -> None:
    facts = extract_prose("docs/guide.md", GUIDE.encode(), "markdown")
    found = [(marker.line, marker.category, marker.symbol) for marker in facts.markers]
    use = "doc:docs/guide.md#use"
    assert found == [(18, "deferred", use), (20, "deferred", use), (22, "todo", use)]


def test_words_in_code_marks_are_spoken_of_and_not_said() -> None:
    text = "Categories are `todo`, ``fixme`` and `hack: x`.\n\nTODO: say what `hack` is\n"
    found = extract_prose("a.md", text.encode(), "markdown").markers
    assert [(marker.line, marker.category) for marker in found] == [(3, "todo")]


def test_a_document_can_opt_out() -> None:
    text = "TODO\n\n<!-- roteiro:ignore-file -->\n"
    assert extract_prose("a.md", text.encode(), "markdown").markers == ()


def test_a_changelog_is_divided_by_version() -> None:
    text = (
        "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- x\n\n## [1.2.0] - 2024-05-01\n\n### Fixed\n\n- y\n"
    )
    facts = extract_prose("CHANGELOG.md", text.encode(), "markdown")
    assert [node.name for node in facts.nodes] == ["Changelog", "[Unreleased]", "[1.2.0] - 2024-05-01"]
    assert [node.end_line for node in facts.nodes[1:]] == [8, 13]


def test_setext_headings_and_front_matter() -> None:
    text = "---\ntitle: X\n---\n\nOne\n===\n\nTwo `x`\n---\n\n    # code\n"
    facts = extract_prose("a.md", text.encode(), "markdown")
    assert [(node.name, node.line) for node in facts.nodes] == [("One", None), ("Two x", 8)]


RST = """\
=====
Title
=====

Intro text.

First
-----

A literal block::

    TODO in code
    Heading
    -------

Deeper
~~~~~~

===== =====
a     b
===== =====
x     y
===== =====

Second :class:`pkg.Thing`
-------------------------
"""


def test_the_sections_of_restructured_text() -> None:
    facts = extract_prose("docs/a.rst", RST.encode(), "rst")
    assert [(node.name, node.line, node.end_line) for node in facts.nodes] == [
        ("Title", None, None),
        ("First", 7, 24),
        ("Deeper", 16, 24),
        ("Second pkg.Thing", 25, 26),
    ]
    assert facts.markers == ()


@pytest.mark.parametrize("lang", ["markdown", "rst"])
def test_odd_documents_give_their_own_node(lang: str) -> None:
    for text in (
        "",
        "\n\n",
        "#",
        "===\n",
        "```",
        "---\n",
        "# \n\n## \n",
        "> " * 2000,
        "[[" * 500,
        "* " * 900,
    ):
        facts = extract_prose("a.md", text.encode(), lang)
        assert facts.nodes[0].key == "doc:a.md"


@given(st.lists(st.sampled_from(["# a", "## b", "====", "----", "```", "x", "", "- [ ] t", "TODO", "    y"])))
def test_every_node_and_marker_lies_in_the_document(lines: list[str]) -> None:
    data = "\n".join(lines).encode()
    for lang in ("markdown", "rst"):
        facts = extract_prose("a.md", data, lang)
        assert len({node.key for node in facts.nodes}) == len(facts.nodes)
        for node in facts.nodes[1:]:
            assert node.line is not None
            assert node.end_line is not None
            assert 1 <= node.line <= node.end_line <= len(lines)
        for marker in facts.markers:
            assert 1 <= marker.line <= len(lines)
            assert marker.symbol is None or marker.symbol in facts.header.keys


def test_a_document_contains_its_sections_and_they_theirs() -> None:
    facts = {"a.md": extract_prose("a.md", b"# A\n\n## B\n\n### C\n\n## D\n", "markdown")}
    edges = Linker({"a.md": facts["a.md"].header}).resolve("a.md", facts["a.md"].header, facts["a.md"].body)
    assert [(edge.source, edge.target, edge.line) for edge in edges] == [
        ("doc:a.md", "doc:a.md#b", 3),
        ("doc:a.md#b", "doc:a.md#c", 5),
        ("doc:a.md", "doc:a.md#d", 7),
    ]
    assert {(edge.kind, edge.provenance) for edge in edges} == {("contains", "derived")}
