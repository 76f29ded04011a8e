"""What counts as debt in code."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from roteiro.graph.extract.markers import StubSite, category_of, find_markers
from roteiro.graph.model import Node


class Text(NamedTuple):
    line: int
    text: str
    symbol: int = -1


FILE = Node(key="file:a.py", kind="file", name="a.py", path="a.py")


def symbol(name: str, line: int, end: int, signature: str | None = None) -> Node:
    key = f"sym:python:{FILE.path}#{name}"
    return Node(key=key, kind="fn", name=name, path=FILE.path, line=line, end_line=end, signature=signature)


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("# TODO: tidy", "todo"),
        ("# todo(ana) tidy", "todo"),
        ("// Todo tidy", "todo"),
        ("# FIXME", "fixme"),
        ("/* fixme later */", "fixme"),
        ("# BUG in here", "fixme"),
        ("# bug: off by one", "fixme"),
        ("# bug(12) off by one", "fixme"),
        ("# HACK around it", "hack"),
        ("# hack: around it", "hack"),
        ("# XXX", "hack"),
        ("# TODO FIXME", "fixme"),
        ("# good enough for now", "deferred"),
        ("# For now, this will do", "deferred"),
        ("# deferred to the next release", "deferred"),
        ("# left to a follow-up", "deferred"),
        ("# TBD", "deferred"),
        ("# not implemented yet", "deferred"),
        ("# not yet implemented", "deferred"),
        # The words inside other words, and talk of bugs that is no annotation.
        ("# the mastodon list", None),
        ("# a debug aid for hackers", None),
        ("# this bug was found by hacking", None),
        ("# see BUG-123", None),
        ("# todo_items are shown", None),
        ("# XXXX", None),
        ("# NotImplemented is returned", None),
    ],
)
def test_the_words_that_count(text: str, category: str | None) -> None:
    assert category_of(text, deferrals=True) == category


def test_deferral_phrases_count_in_comments_and_not_in_docstrings() -> None:
    found = find_markers([FILE], [Text(1, '"""Good for now. """'), Text(3, "# good for now")])
    assert [(marker.line, marker.category) for marker in found] == [(3, "deferred")]


def test_a_todo_in_a_docstring_counts_and_hangs_on_its_symbol() -> None:
    nodes = [FILE, symbol("f", 1, 5)]
    (found,) = find_markers(nodes, [Text(2, '"""Does it.\n\n    TODO: do it well\n    """', 0)])
    assert (found.line, found.category, found.text) == (4, "todo", "TODO: do it well")
    assert found.symbol == "sym:python:a.py#f"
    assert found.key == "marker:a.py#4"


def test_a_line_has_one_marker_and_lines_come_in_order() -> None:
    comments = [Text(9, "/* FIXME b */"), Text(2, "# TODO a"), Text(2, "# HACK c")]
    found = find_markers([FILE], comments)
    assert [(marker.line, marker.text) for marker in found] == [(2, "TODO a"), (9, "FIXME b")]


def test_a_line_and_a_file_can_opt_out() -> None:
    comments = [Text(1, "# TODO a  roteiro:ignore"), Text(2, "# TODO b")]
    assert [marker.line for marker in find_markers([FILE], comments)] == [2]
    assert find_markers([FILE], [*comments, Text(9, "# roteiro:ignore-file")]) == ()


def test_stubs_are_debt_unless_they_are_meant() -> None:
    lines = [
        "class Port(Protocol):",
        "    def a(self): ...",
        "class Base:",
        "    @abc.abstractmethod",
        "    def b(self):",
        "        raise NotImplementedError",
        "    def c(self):",
        "        raise NotImplementedError",
        "@overload",
        "def d(): ...",
    ]
    nodes = [
        FILE,
        symbol("Port", 1, 2, "class Port(Protocol):"),
        symbol("Port.a", 2, 2),
        symbol("Base", 3, 8, "class Base:"),
        symbol("Base.b", 4, 6),
        symbol("Base.c", 7, 8),
        symbol("d", 9, 10),
    ]
    sites = [StubSite(2, 1, "..."), StubSite(6, 3, "raise NotImplementedError"),
             StubSite(8, 4, "raise NotImplementedError"), StubSite(10, 5, "...")]  # fmt: skip
    found = find_markers(nodes, [], sites, lines)
    assert [(marker.line, marker.category, marker.symbol) for marker in found] == [
        (8, "stub", "sym:python:a.py#Base.c")
    ]


def test_a_long_line_is_cut() -> None:
    (found,) = find_markers([FILE], [Text(1, "# TODO " + "x" * 9000)])
    assert len(found.text) == 200
